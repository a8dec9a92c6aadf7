//! Bloom filters on a real server: behavior that the recordings do not cover.

mod merge;

use crate::support::cpu;
use crate::support::resp::Connection;
use crate::support::server::Server;

/// The arguments `head`, then one item per number.
fn numbered(head: &[&str], from: u32, to: u32) -> Vec<String> {
    let head = head.iter().map(ToString::to_string);
    head.chain((from..to).map(|i| format!("item:{i}")))
        .collect()
}

/// The server's limits are read once per command. Reading them for each refused item would take a hundred times as long.
#[test]
fn refused_items_take_as_long_as_accepted_ones() {
    let (_server, mut connection) = Server::start().connected();
    connection.ok("BF.RESERVE k 0.01 3 EXPANSION 32768");
    // The next filter takes 128 KB for 98,304 entries, and the one after it 4 GB.
    for start in (0..98_000).step_by(1000) {
        connection.send(&numbered(&["BF.MADD", "k"], start, start + 1000));
    }
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
    let items = replies
        .iter()
        .flat_map(|reply| reply.items().expect("an array"));
    let refused = items.filter(|item| item.is_error()).count();
    assert!(refused > 15_000, "{refused}");
    assert!(refusing <= accepting * 20, "{refusing:?}, {accepting:?}");
}
