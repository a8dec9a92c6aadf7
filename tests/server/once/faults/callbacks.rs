//! Refused memory in what is not a command of the module: RESTORE, COPY, DUMP, saves, AOF rewrites, settings and loading.

use super::injector::{Refused, Requests};
use super::states::{State, states};
use crate::families::{FAMILIES, dump, one_per_family};
use crate::support::resp::{Connection, Reply};
use crate::support::sample::Sample;
use crate::support::server::{Options, Server};

fn start() -> (Server, Connection) {
    Options::new().debug_module().start().connected()
}

/// Runs a command with refused memory.
fn with_faults(client: &mut Connection, faults: Refused, command: &[&[u8]]) -> (Reply, Requests) {
    client.send(&faults.command());
    (client.send(command), Requests::end(client))
}

/// RESTORE and COPY either create an equal key or none. A refusal leaves no memory behind.
#[test]
fn keys_are_loaded_and_copied_completely_or_not_at_all() {
    let (server, mut connection) = start();
    let mut runs = 0;
    for family in Sample::of_run().one_in(2).of(FAMILIES) {
        let states = states(&server, &mut connection, family);
        for State { name, payload, .. } in &states {
            let Some(payload) = payload else { continue };
            let restore = [&b"RESTORE"[..], b"new", b"0", payload];
            let copy = [&b"COPY"[..], b"key", b"new"];
            connection.restore("key", payload);
            let expected = dump(&mut connection, "key");
            let bytes = family.info(&server, "bytes");
            for command in [&restore[..], &copy] {
                let what = format!("{}, {name}: {}", family.name, command[0].escape_ascii());
                let (reply, requests) = with_faults(&mut connection, Refused::NONE, command);
                let is_accepted = reply.is_ok() || reply == Reply::Integer(1);
                assert!(is_accepted, "{what}: {reply}");
                connection.call("DEL new");
                for fault in Refused::each(requests.count) {
                    runs += 1;
                    let (reply, requests) = with_faults(&mut connection, fault, command);
                    let what = format!("{what}, {fault:?}: {reply}");
                    assert!(requests.refused > 0, "{what}");
                    let found = dump(&mut connection, "new");
                    match reply.to_string().as_str() {
                        "+OK" | ":1" => assert_eq!(found, expected, "{what}"),
                        "-ERR Bad data format" | "-ERR module key failed to copy" => {
                            assert_eq!(found, Reply::Null('$'), "{what}");
                            assert_eq!(family.info(&server, "bytes"), bytes, "{what}");
                        }
                        _ => panic!("{what}"),
                    }
                    connection.call("DEL new");
                    assert_eq!(dump(&mut connection, "key"), expected, "{what}");
                }
            }
            connection.call("DEL key");
        }
    }
    assert_eq!(server.info_number("bf_internal_errors"), 0);
    println!("{runs} runs");
}

/// DUMP, SAVE and DEBUG DIGEST request no memory, so they cannot fail for lack of it.
#[test]
fn a_save_requests_no_memory() {
    let (server, mut connection) = start();
    for family in Sample::of_run().one_in(2).of(FAMILIES) {
        for (index, state) in states(&server, &mut connection, family).iter().enumerate() {
            let Some(payload) = &state.payload else {
                continue;
            };
            let key = format!("{}{index}", family.name);
            connection.restore(&key, payload);
            for command in ["DUMP KEY", "DEBUG DIGEST-VALUE KEY", "MEMORY USAGE KEY"] {
                let command = command.replace("KEY", &key);
                let command: Vec<_> = command.split(' ').map(str::as_bytes).collect();
                let faults = Refused::all_from(1);
                let (reply, requests) = with_faults(&mut connection, faults, &command);
                assert!(!reply.is_error(), "{key}: {reply}");
                assert_eq!(requests.count, 0, "{key}");
            }
            let (reply, requests) = with_faults(&mut connection, Refused::all_from(1), &[b"SAVE"]);
            assert!(reply.is_ok(), "{key}: {reply}");
            assert_eq!(requests.count, 0, "{key}");
        }
    }
}

/// Requests of the rewrite of one key of each type at most.
const MAX_REWRITE_REQUESTS: u64 = 30;

/// A rewrite runs in a child process, which inherits what is refused. It succeeds with an equal AOF, or fails and the
/// server keeps the old one.
#[test]
fn an_aof_is_rewritten_completely_or_not_at_all() {
    let options = Options::new().debug_module();
    let options = options.arguments(&["--appendonly", "yes", "--aof-use-rdb-preamble", "no"]);
    let (mut server, mut connection) = options.start().connected();
    for family in FAMILIES {
        family.build(&mut connection, family.name);
    }
    let digest = |connection: &mut Connection| connection.call("DEBUG DIGEST");
    let expected = digest(&mut connection);
    let mut outcomes = [0, 0];
    for fault in Refused::each(MAX_REWRITE_REQUESTS) {
        connection.send(&fault.command());
        let rewritten = server.rewrite_aof();
        connection.send(&Refused::NONE.command());
        outcomes[usize::from(rewritten)] += 1;
        let loaded = connection.call("DEBUG LOADAOF");
        assert!(loaded.is_ok(), "{fault:?}: {loaded}");
        assert_eq!(digest(&mut connection), expected, "{fault:?}");
    }
    println!("{outcomes:?} rewrites failed and succeeded");
    assert!(outcomes[1] > 0, "{outcomes:?}");
}

/// Loading the module and settings request no memory that can be refused.
#[test]
fn loading_and_settings_request_no_memory() {
    let (server, mut connection) = start();
    assert_eq!(Requests::end(&mut connection).count, 0);
    for setting in one_per_family().flat_map(|family| family.settings) {
        let name = server.setting(setting.name);
        for value in [setting.other, setting.default, setting.invalid] {
            let set = ["CONFIG", "SET", &name, value].map(str::as_bytes);
            let (reply, requests) = with_faults(&mut connection, Refused::all_from(1), &set);
            let is_valid = value != setting.invalid;
            assert_eq!(reply.is_ok(), is_valid, "{name} {value}: {reply}");
            assert_eq!(requests.count, 0, "{name}");
        }
    }
}
