//! A replica that lacks memory for an obeyed RESTORE or COPY ends.

use super::injector::{Refused, Requests};
use crate::families::FAMILIES;
use crate::obeyed::ends::{assert_ended, without_crash_report};
use crate::support::resp::{Connection, Reply};
use crate::support::server::{Options, Server};

fn send(connection: &mut Connection, arguments: &[&[u8]]) {
    let reply = connection.send(arguments);
    let name = arguments[0].escape_ascii();
    assert!(
        reply.is_ok() || reply == Reply::Integer(1),
        "{name}: {reply}"
    );
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
        let payload = connection.call("DUMP source");
        let payload = payload.text().expect("a payload");
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
