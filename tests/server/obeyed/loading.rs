//! Clients of a writable replica while it loads asynchronously: the server sets the flag of loading for them, too.

use crate::families::{FAMILIES, on_key};
use crate::support::resp::Reply;
use crate::support::server::Options;

/// Keys of the primary; the replica takes 10 ms for each.
const KEYS: usize = 500;

#[test]
fn clients_are_limited_during_asynchronous_loading() {
    let mut primary = Options::new()
        .arguments(&["--repl-backlog-size", "16kb", "--repl-diskless-sync", "yes"])
        .arguments(&["--rdbcompression", "no"])
        .start();
    let mut replica = Options::new()
        .arguments(&[
            "--repl-diskless-load",
            "swapdb",
            "--replica-read-only",
            "no",
        ])
        .arguments(&["--loading-process-events-interval-bytes", "1024"])
        .module_arguments(&["sketch-max-key-bytes", "1", "sketch-windows", "no"])
        .start();
    replica.replicate(&primary);
    let mut connection = primary.resp2();
    for family in FAMILIES {
        family.build(&mut connection, &format!("{}:source", family.name));
    }
    let value = "x".repeat(1000);
    for number in 0..KEYS {
        connection.send(&["SET", &number.to_string(), &value]);
    }
    primary.wait_for_replica(&replica);
    // The primary has the identity that the replica expects, but not the commands that it lacks.
    replica.ok("CONFIG SET key-load-delay 10000");
    connection.call("MULTI");
    connection.call("CLIENT KILL TYPE replica");
    connection.send(&["SET", "large", &"x".repeat(100_000)]);
    connection.call("EXEC");
    replica.wait_until("asynchronous loading", |replica| {
        replica.info("async_loading").as_deref() == Some("1")
    });
    let commands: Vec<_> = FAMILIES
        .iter()
        .flat_map(|family| {
            let creations = family.creations.iter().enumerate();
            creations.map(|(number, creation)| {
                let command = creation.replace("SOURCE", &format!("{}:source", family.name));
                on_key(&command, &format!("{}:{number}", family.name))
            })
        })
        .collect();
    let mut client = replica.resp2();
    for command in commands
        .iter()
        .map(String::as_str)
        .chain(["INFO persistence"])
    {
        let arguments: Vec<_> = command.split(' ').collect();
        client.write(&arguments).expect("a command");
    }
    for command in &commands {
        let reply = client.read().expect("a reply").to_string();
        let limits = ["sketch-max-key-bytes", "sketch-windows"];
        let is_limited = limits.iter().any(|limit| reply.contains(limit));
        assert!(is_limited, "{command}: {reply}");
    }
    let info = client.read().expect("a reply").to_string();
    assert!(info.contains("async_loading:1"), "{info}");
    client.ok("CONFIG SET key-load-delay 0");
    primary.wait_for_replica(&replica);
    // The loaded keys are those of the primary.
    for family in FAMILIES {
        let found = replica.call(&format!("EXISTS {}:source", family.name));
        assert_eq!(found, Reply::Integer(1), "{}", family.name);
    }
}
