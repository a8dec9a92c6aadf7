//! A replica that lacks memory for an obeyed RESTORE or COPY ends. One that lacks memory that a command does not need obeys it.

use super::injector::{Refused, Requests};
use crate::families::{FAMILIES, on_key, run_on};
use crate::obeyed::ends::{assert_ended, without_crash_report};
use crate::support::resp::{Connection, Reply};
use crate::support::server::{Options, Server};

fn send(connection: &mut Connection, arguments: &[&[u8]]) {
    let reply = connection.send_run(arguments);
    let is_accepted = reply.is_ok() || reply == Reply::Integer(1);
    assert!(is_accepted, "{}: {reply}", arguments[0].escape_ascii());
}

fn refuse(server: &Server, faults: Refused) -> Requests {
    Requests::of(&server.resp2().send(&faults.command()))
}

/// For every type: the first request for memory, and the last.
#[test]
fn a_replica_without_memory_for_restore_or_copy_ends() {
    let mut primary = Server::start();
    let start = |primary: &Server| {
        let mut replica = without_crash_report(Options::new().debug_module()).start();
        replica.replicate(primary);
        replica
    };
    let mut replica = start(&primary);
    let mut connection = primary.resp2();
    let mut ended = [0, 0];
    for family in FAMILIES {
        family.build(&mut connection, "source");
        let payload = &connection.payload("source");
        let restore: [&[u8]; 4] = [b"RESTORE", b"new", b"0", payload];
        let copy: [&[u8]; 3] = [b"COPY", b"source", b"new"];
        let cases = [
            (&restore[..], "the load of a value", "new"),
            (&copy, "COPY", "source"),
        ];
        for (case, (command, operation, key)) in cases.into_iter().enumerate() {
            primary.wait_for_replica(&replica);
            refuse(&replica, Refused::NONE);
            send(&mut connection, command);
            primary.wait_for_replica(&replica);
            let Requests { count, .. } = refuse(&replica, Refused::NONE);
            connection.call("DEL new");
            for position in [1, count].into_iter().take(count.min(2) as usize) {
                primary.wait_for_replica(&replica);
                refuse(&replica, Refused::one(position));
                send(&mut connection, command);
                replica.wait_until("the end", |replica| !replica.is_running());
                assert_ended(&replica.log(), operation, key);
                ended[case] += 1;
                connection.call("DEL new");
                replica = start(&primary);
            }
        }
        connection.call("DEL source");
    }
    println!("{ended:?} ends in RESTORE and COPY");
    let is_enough = ended.iter().all(|&ends| ends >= FAMILIES.len());
    assert!(is_enough, "{ended:?}");
}

/// The commands that build keys. The last one allocates blocks without which it does the same: smaller lists, and the index of a
/// compaction.
const OPTIONAL: [&[&str]; 3] = [
    &[
        "CF.RESERVE KEY 256 BUCKETSIZE 1 EXPANSION 1",
        "CF.INSERT KEY ITEMS 0..2000",
        "CF.DEL KEY 5",
        "CF.COMPACT KEY",
    ],
    &[
        "CF.RESERVE KEY 256 BUCKETSIZE 1 EXPANSION 2",
        "CF.INSERT KEY ITEMS 0..6000",
        "CF.DEL KEY 5",
        "CF.COMPACT KEY",
    ],
    &[
        "CF.RESERVE KEY 16 EXPANSION 1 WINDOW 1000 PANES 4",
        "CF.INSERT KEY ITEMS 0..100",
        "SKETCH.ADVANCE KEY 100000000",
    ],
];

/// Each request for memory of these commands is refused once to a client. If the command succeeds nevertheless, a replica without
/// this memory obeys it.
#[test]
fn a_replica_without_memory_that_a_command_does_not_need_obeys_it() {
    let mut primary = Options::new().debug_module().start();
    let mut replica = Options::new().debug_module().start();
    replica.replicate(&primary);
    let mut connection = primary.resp2();
    let dump = crate::families::dump;
    for (case, commands) in OPTIONAL.iter().enumerate() {
        let (command, build) = commands.split_last().expect("a command");
        primary.set_clock("1000000");
        run_on(&mut connection, "source", build);
        // The current pane is number 100000000.
        primary.set_clock("25000000000");
        let mut copies = 0;
        let mut copy = |connection: &mut Connection| {
            copies += 1;
            let key = format!("copy:{case}:{copies}");
            send(connection, &[b"COPY", b"source", key.as_bytes()]);
            key
        };
        let key = copy(&mut connection);
        refuse(&primary, Refused::NONE);
        let reply = connection.call(&on_key(command, &key));
        let Requests { count, .. } = refuse(&primary, Refused::NONE);
        let wanted = dump(&mut connection, &key);
        let mut optional = 0;
        for position in 1..=count {
            let key = copy(&mut connection);
            refuse(&primary, Refused::one(position));
            let found = connection.call(&on_key(command, &key));
            refuse(&primary, Refused::NONE);
            if found != reply || dump(&mut connection, &key) != wanted {
                continue;
            }
            let key = copy(&mut connection);
            primary.wait_for_replica(&replica);
            refuse(&replica, Refused::one(position));
            connection.call(&on_key(command, &key));
            primary.wait_for_replica(&replica);
            let Requests { refused, .. } = refuse(&replica, Refused::NONE);
            let found = dump(&mut replica.resp2(), &key);
            assert_eq!(found, wanted, "{command} {build:?}");
            optional += refused;
        }
        assert!(optional > 0, "{command} {build:?}: {count} requests");
        connection.call("DEL source");
    }
}
