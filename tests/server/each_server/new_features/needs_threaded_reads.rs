//! I/O threads that read commands.

use crate::families::FAMILIES;
use crate::support::server::{Options, Server};
use crate::workload::words;
use std::thread;

/// Clients that send commands at the same time.
const CLIENTS: usize = 4;
/// Pipelines that each of them sends per type.
const PIPELINES: usize = 5;
/// Commands per pipeline.
const COMMANDS: usize = 20;

/// Threads read the commands of clients and write the replies: on Valkey only under load, unless they are always active. Each client has its own keys, sends its commands in pipelines, and must
/// receive the replies of a server without such threads.
#[test]
#[ignore = "needs a server whose threads can be forced to read commands: Redis 8.0, Valkey 9.0"]
fn io_threads_change_no_reply() {
    let arguments: &[&str] = match Server::start().version().is_valkey() {
        true => &["--io-threads", "4", "--io-threads-always-active", "yes"],
        false => &["--io-threads", "4"],
    };
    let server = Options::new().arguments(arguments).start();
    let plain = Server::start();
    let run = |server: &Server, client: usize| {
        let mut connection = server.resp3();
        let mut replies = Vec::new();
        for family in FAMILIES {
            let key = format!("{}:{client}", family.type_name);
            family.build(&mut connection, &key);
            for pipeline in 0..PIPELINES {
                let write = family.change.0.replace("KEY", &key);
                for item in 0..COMMANDS {
                    let number = (pipeline * COMMANDS + item).to_string();
                    let command = words(&write.replace("NEW", &number));
                    connection.write(&command).expect("a connection");
                }
                replies.extend((0..COMMANDS).map(|_| connection.read().expect("a reply")));
            }
            replies.extend(family.view(&mut connection, &key));
        }
        replies
    };
    let found: Vec<_> = thread::scope(|scope| {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                scope.spawn({
                    let (run, server) = (&run, &server);
                    move || run(server, client)
                })
            })
            .collect();
        clients
            .into_iter()
            .map(|client| client.join().expect("a client"))
            .collect()
    });
    for (client, found) in found.iter().enumerate() {
        assert_eq!(found, &run(&plain, client), "client {client}");
    }
    let read = server.info_number("io_threaded_reads_processed");
    let are_threaded = read >= (CLIENTS * FAMILIES.len() * PIPELINES) as i64;
    assert!(are_threaded, "{read} reads of threads");
}
