//! Features of new servers with every type. A test does nothing on a server without its feature. The tests of clusters run atomic slot
//! migrations, and tests/defrag.rs runs active defragmentation.

use super::settings::settings;
use crate::families::{FAMILIES, Family};
use crate::support::resp::{Connection, Reply};
use crate::support::server::{Options, Server, module_path};
use crate::workload::words;
use std::thread;

/// Clients of the test of I/O threads.
const CLIENTS: usize = 4;
/// Pipelines that each of them sends per type.
const PIPELINES: usize = 5;
/// Commands per pipeline.
const COMMANDS: usize = 20;

fn ok(connection: &mut Connection, command: &[&str]) {
    let reply = connection.send(command);
    assert!(reply.is_ok(), "{command:?}: {reply}");
}

/// CONFIG sets every setting by its full name, and ARGS has load arguments.
#[test]
fn module_loadex_sets_every_setting() {
    let options = Options::new().without_module();
    let options = options.arguments(&["--enable-module-command", "yes"]);
    let server = options.start();
    let mut connection = server.resp2();
    let module = module_path();
    let mut load: Vec<_> = ["MODULE", "LOADEX"].map(str::to_owned).into();
    load.push(module.to_str().expect("a UTF-8 path").to_owned());
    for setting in settings() {
        let value = setting.other.to_owned();
        load.extend(["CONFIG".to_owned(), server.setting(setting.name), value]);
    }
    let reply = connection.send(&load);
    assert!(reply.is_ok(), "{reply}\n{}", server.log_tail());
    for setting in settings() {
        let name = server.setting(setting.name);
        let shown = connection.send(&["CONFIG", "GET", &name]).to_string();
        assert_eq!(shown, format!("*[${name} ${}]", setting.other));
        ok(&mut connection, &["CONFIG", "SET", &name, setting.default]);
    }
    for family in FAMILIES {
        family.build(&mut connection, family.type_name);
    }
}

/// The names of the keys in a list of HOTKEYS GET, which has a number after each name.
fn hot_keys(reply: &Reply, list: &str) -> Vec<String> {
    // The reply is an array with one element, or a flat list of fields.
    let field = reply
        .field(list)
        .or_else(|| reply.items()?.first()?.field(list));
    let list = field.unwrap_or_else(|| panic!("no {list}: {reply}"));
    let names = list.items().expect("keys").iter().step_by(2);
    let names = names.map(|name| name.text().expect("a key").to_vec());
    let names = names.map(|name| String::from_utf8(name).expect("UTF-8"));
    names.collect()
}

/// HOTKEYS finds the keys of commands of modules by their key specs: with reads, writes and merges.
#[test]
fn hotkeys_lists_keys_of_every_type() {
    let server = Server::start();
    if !server.version().is_redis_at_least(8, 6) {
        return;
    }
    let mut connection = server.resp2();
    for family in FAMILIES {
        family.build(&mut connection, family.type_name);
        family.build(&mut connection, &format!("{}:read", family.type_name));
    }
    let start = "HOTKEYS START METRICS 2 CPU NET COUNT 64";
    ok(&mut connection, &start.split(' ').collect::<Vec<_>>());
    for family in FAMILIES {
        family.change(&mut connection, family.type_name, "77");
        family.read(&mut connection, &format!("{}:read", family.type_name));
    }
    let found = connection.call("HOTKEYS GET");
    for list in ["by-cpu-time-us", "by-net-bytes"] {
        let keys = hot_keys(&found, list);
        for family in FAMILIES {
            for key in [family.type_name, &format!("{}:read", family.type_name)] {
                assert!(keys.iter().any(|found| found == key), "{list}: {keys:?}");
            }
        }
    }
    ok(&mut connection, &["HOTKEYS", "STOP"]);
    ok(&mut connection, &["HOTKEYS", "RESET"]);
}

/// Statistics of the keyspace, which the server itself compares with its keys after every command.
#[test]
fn statistics_of_the_keyspace_stay_correct() {
    if !Server::start().version().is_redis_at_least(8, 6) {
        return;
    }
    let options = Options::new().arguments(&["--key-memory-histograms", "yes"]);
    let server = options.start();
    let mut connection = server.resp2();
    ok(&mut connection, &["DEBUG", "KEYSIZES-HIST-ASSERT", "1"]);
    for family in FAMILIES {
        let key = family.type_name;
        run_life(family, &mut connection, key);
    }
    ok(&mut connection, &["DEBUG", "RELOAD"]);
    for family in FAMILIES {
        let removed = connection.send(&["DEL", family.type_name]);
        assert_eq!(removed.integer(), Some(1), "{}", family.name);
    }
    ok(&mut connection, &["FLUSHALL"]);
    assert_eq!(connection.call("DBSIZE").integer(), Some(0));
}

/// What changes the keyspace: creation, writes, copies, names, values and times to live.
fn run_life(family: &Family, connection: &mut Connection, key: &str) {
    family.build(connection, key);
    for item in 0..200 {
        family.change(connection, key, &item.to_string());
    }
    let view = family.view(connection, key);
    let dump = connection.send(&["DUMP", key]);
    let dump = dump.text().expect("a payload").to_vec();
    let (copy, moved) = (format!("{key}:copy"), format!("{key}:moved"));
    assert_eq!(connection.send(&["COPY", key, &copy]).integer(), Some(1));
    ok(connection, &["RENAME", &copy, &moved]);
    let restore: [&[u8]; 5] = [b"RESTORE", moved.as_bytes(), b"60000", &dump, b"REPLACE"];
    assert!(connection.send(&restore).is_ok());
    assert_eq!(connection.send(&["PERSIST", &moved]).integer(), Some(1));
    assert_eq!(family.view(connection, &moved), view, "{}", family.name);
    assert_eq!(connection.send(&["UNLINK", &moved]).integer(), Some(1));
}

/// Threads read the commands of clients and write the replies: on Valkey only under load, unless they are always active. Each client has its own keys, sends its commands in pipelines, and must
/// receive the replies of a server without such threads.
#[test]
fn io_threads_change_no_reply() {
    let version = Server::start().version();
    let arguments: &[&str] = if version.is_redis_at_least(8, 0) {
        &["--io-threads", "4"]
    } else if version.is_valkey_at_least(9, 0) {
        &["--io-threads", "4", "--io-threads-always-active", "yes"]
    } else {
        return;
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
    assert!(
        read >= (CLIENTS * FAMILIES.len() * PIPELINES) as i64,
        "{read} reads of threads"
    );
}
