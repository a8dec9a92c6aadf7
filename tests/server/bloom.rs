//! Bloom filters on a real server: behavior that the recordings do not cover.

mod merge;

use crate::families::dump;
use crate::support::cpu;
use crate::support::resp::{Connection, Reply};
use crate::support::server::Server;

/// The arguments `head`, then one item per number.
pub fn numbered(head: &[&str], from: u32, to: u32) -> Vec<String> {
    let head = head.iter().map(ToString::to_string);
    head.chain((from..to).map(|i| format!("item:{i}")))
        .collect()
}

/// Runs a command with one item per number, 1,000 at a time. Returns how many replies are 1.
pub fn count(connection: &mut Connection, head: &[&str], from: u32, to: u32) -> usize {
    let starts = (from..to).step_by(1000);
    let words = starts.map(|start| numbered(head, start, to.min(start + 1000)));
    words.map(|words| connection.send(&words).ones()).sum()
}

/// If a filter cannot grow, the reply has an error for each refused item, and only the added items are replicated.
#[test]
fn items_that_a_filter_cannot_grow_for_are_errors_and_not_replicated() {
    let (mut primary, replica) = Server::with_replica();
    let mut connection = primary.resp2();
    connection.ok("BF.RESERVE k 0.01 3 EXPANSION 32768");
    // The next filter takes 128 KB for 98,304 entries, and the one after it 4 GB.
    count(&mut connection, &["BF.MADD", "k"], 0, 98_000);
    connection.ok("BF.RESERVE accepts 0.01 100000 NONSCALING");
    let add = |connection: &mut Connection, key: &str| {
        let add = |start| connection.send(&numbered(&["BF.MADD", key], start, start + 10_000));
        [98_000, 108_000].map(add)
    };
    let (accepting, _) =
        cpu::of_main_thread_during(&mut connection, |connection| add(connection, "accepts"));
    connection.ok("CONFIG SET maxmemory 200mb");
    let (refusing, replies) =
        cpu::of_main_thread_during(&mut connection, |connection| add(connection, "k"));
    let mut refused = 0;
    for reply in replies {
        let items = reply.items().expect("an array");
        assert_eq!(items.len(), 10_000);
        for item in items {
            if let Reply::Error(text) = item {
                assert_eq!(text, b"ERR problem inserting into filter");
                refused += 1;
            }
        }
    }
    assert!(refused > 15_000, "{refused}");
    // The server's limits are read once per command. Reading them for each item would take a hundred times as long.
    assert!(refusing <= accepting * 20, "{refusing:?}, {accepting:?}");
    assert!(primary.info_number("bf_bloom_refusals") >= refused);
    primary.wait_for_replica(&replica);
    let mut on_replica = replica.resp2();
    assert_eq!(dump(&mut on_replica, "k"), dump(&mut connection, "k"));
}
