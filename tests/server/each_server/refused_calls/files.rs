//! A full disk and short writes. A limit of the size of files has the same effect: the write that reaches the limit is short,
//! and those after it fail.

use super::digest;
use crate::families::{FAMILIES, build_all};
use crate::support::resp::Connection;
use crate::support::server::{Options, Server};
use std::fs;

/// Limits per test, as parts of the size of the complete file.
const PARTS: u64 = 8;

fn start(arguments: &[&str]) -> (Server, Connection) {
    let options = Options::new().arguments(arguments);
    let (server, mut connection) = options.tolerates_file_limit().start().connected();
    build_all(&mut connection);
    (server, connection)
}

/// The file after a failed save is that of the last successful one.
#[test]
fn a_short_write_of_a_save_keeps_the_old_file() {
    let (mut server, mut connection) = start(&["--rdbcompression", "no"]);
    connection.ok("SAVE");
    let file = server.dir().join("dump.rdb");
    let saved = fs::read(&file).expect("a file");
    let before = digest(&mut connection);
    for family in FAMILIES {
        family.change(&mut connection, family.type_name, "changed");
    }
    let changed = digest(&mut connection);
    for part in 0..PARTS {
        server.limit_files(Some(saved.len() as u64 * part / PARTS));
        assert!(connection.call("SAVE").is_error(), "{part}");
        assert!(!server.save_in_background(), "{part}");
        assert!(fs::read(&file).expect("a file") == saved, "{part}");
        assert_eq!(digest(&mut connection), changed, "{part}");
    }
    server.limit_files(None);
    server.kill_and_restart();
    assert_eq!(digest(&mut server.resp2()), before);
}

/// A failed rewrite keeps the old AOF, with and without a preamble.
#[test]
fn a_short_write_of_a_rewrite_keeps_the_old_aof() {
    for preamble in ["yes", "no"] {
        let arguments = ["--appendonly", "yes", "--aof-use-rdb-preamble", preamble];
        let (mut server, mut connection) = start(&arguments);
        assert!(server.rewrite_aof());
        let base = server.info_number("aof_base_size").unsigned_abs();
        let expected = digest(&mut connection);
        for part in 0..PARTS {
            server.limit_files(Some(base * part / PARTS));
            connection.call("BGREWRITEAOF");
            assert!(!server.wait_for_rewrite(), "{preamble} {part}");
        }
        server.limit_files(None);
        server.kill_and_restart();
        assert_eq!(digest(&mut server.resp2()), expected, "{preamble}");
        assert!(server.rewrite_aof(), "{preamble}");
    }
}
