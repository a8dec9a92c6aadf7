//! Stored count-min sketches on a real server: payloads and the AOF that the recordings lack.

use crate::families::dump;
use crate::support::resp::{Connection, Reply};
use crate::support::server::{Options, Server};
use crate::windows::logged_commands;
use roughly_dump::{Writer, type_id};

/// The reply of RESTORE to a payload of these values.
fn restore(connection: &mut Connection, version: u16, numbers: &[u64], cells: &[u8]) -> Reply {
    let mut payload = Writer::new(type_id(b"CMSk-TYPE", version));
    for &number in numbers {
        payload.write_unsigned(number);
    }
    payload.write_bytes(cells);
    connection.replace("k", &payload.finish())
}

#[test]
fn payloads_of_every_version_load_and_invalid_ones_are_refused() {
    let (_server, mut connection) = Server::start().connected();
    let cells = |bytes: usize| vec![1; 6 * bytes];
    for (version, numbers, bytes, info) in [
        (0, &[3, 2, 77][..], 1, "+count :77 +cell_size :1]"),
        (0, &[3, 2, 77], 4, "+count :77]"),
        (0, &[3, 2, u64::MAX], 4, "+count :9223372036854775807]"),
        (1, &[3, 2, 77, 4], 4, "+count :77]"),
        (1, &[3, 2, 4, 77], 4, "+count :77]"),
        (1, &[3, 2, 8, 1], 8, "+count :1 +cell_size :8]"),
        (1, &[3, 2, 2, 2], 2, "+count :2 +cell_size :2]"),
    ] {
        let reply = restore(&mut connection, version, numbers, &cells(bytes));
        assert!(reply.is_ok(), "{numbers:?}: {reply}");
        connection.check("CMS.INFO k", format!("*[+width :3 +depth :2 {info}"));
        // Roughly writes version 0.
        let payload = connection.payload("k");
        let mut expected = Writer::new(type_id(b"CMSk-TYPE", 0)).finish();
        expected.truncate(10);
        assert_eq!(payload[..10], expected);
    }
    let before = dump(&mut connection, "k");
    for (version, numbers, cells) in [
        (0, &[0, 2, 7][..], cells(4)),
        (0, &[3, 2, 7], cells(3)),
        (0, &[3, 2, 7], vec![]),
        (0, &[1 << 32, 1 << 32, 0], cells(4)),
        (0, &[3, 2, 7], vec![0xff; 48]),
        (0, &[3, 2], cells(4)),
        (0, &[3, 2, 7, 4], cells(4)),
        (1, &[3, 2, 7, 8], cells(4)),
        (1, &[3, 2, 7], cells(4)),
        (2, &[3, 2, 7, 4], cells(4)),
    ] {
        let reply = restore(&mut connection, version, numbers, &cells).to_string();
        assert_eq!(reply, "-ERR Bad data format", "{version} {numbers:?}");
    }
    assert_eq!(dump(&mut connection, "k"), before);
}

#[test]
fn only_changes_are_written_to_the_aof() {
    let log = ["--appendonly", "yes", "--appendfsync", "always"];
    let (server, mut connection) = Options::new().arguments(&log).start().connected();
    connection.ok("CMS.INITBYPROB k 0.01 0.01 CELL_SIZE 1");
    for command in [
        "CMS.INCRBY k a 0 b -1",
        "CMS.INCRBY k a 200 b 1",
        "CMS.INCRBY k a 100 b 1 c 0 a -300 d 3",
        "CMS.MERGE k 1 k",
        "CMS.MERGE k 1 k WEIGHTS 2",
        "CMS.MERGE k 1 k WEIGHTS 0",
    ] {
        connection.call(command);
    }
    let expected = "CMS.INITBYDIM k 200 7 CELL_SIZE 1\n\
        CMS.INCRBY k a 200 b 1\n\
        CMS.INCRBY k b 1 d 3\n\
        CMS.MERGE k 1 k WEIGHTS 0";
    assert_eq!(logged_commands(&server).join("\n"), expected);
}
