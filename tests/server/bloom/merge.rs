//! BF.MERGE on a real server: replies, results, replication.

use crate::families::{dump, numbers};
use crate::support::server::Server;

#[test]
fn failed_merges_report_errors_and_change_nothing() {
    let (_server, mut connection) = Server::start().connected();
    let wrong_type = "-WRONGTYPE Operation against a key holding the wrong kind of value";
    connection.check_all(
        "
        SET string x => +OK
        BF.RESERVE a 0.01 100 => +OK
        BF.MADD a 1 2 3 => *[:1 :1 :1]
        BF.RESERVE capacity 0.01 101 => +OK
        BF.RESERVE rate 0.001 100 => +OK
        BF.RESERVE factor 0.01 100 EXPANSION 4 => +OK
        BF.RESERVE fixed 0.01 100 NONSCALING => +OK
    ",
    );
    let before = dump(&mut connection, "a");
    connection.check_all(&format!(
        "
        BF.MERGE a 1 => -ERR wrong number of arguments for 'bf.merge' command
        BF.MERGE a x b => -ERR numkeys is not an integer or out of range
        BF.MERGE a 9223372036854775808 b => -ERR numkeys is not an integer or out of range
        BF.MERGE a 0 b => -ERR numkeys should be greater than 0
        BF.MERGE a -1 b => -ERR numkeys should be greater than 0
        BF.MERGE a 2 b => -ERR numkeys is not the number of keys that follow
        BF.MERGE a 1 a a => -ERR numkeys is not the number of keys that follow
        BF.MERGE a 9223372036854775807 a => -ERR numkeys is not the number of keys that follow
        BF.MERGE string 1 a => {wrong_type}
        BF.MERGE a 1 string => {wrong_type}
        BF.MERGE new 2 a string => {wrong_type}
        BF.MERGE a 1 nothing => -ERR not found
        BF.MERGE new 2 a nothing => -ERR not found
        BF.MERGE a 2 a capacity => -ERR cannot merge: capacity differs: 100 and 101
        BF.MERGE new 2 a rate => -ERR cannot merge: error rate differs: 0.01 and 0.001
        BF.MERGE a 1 factor => -ERR cannot merge: expansion differs: 2 and 4
        BF.MERGE a 1 fixed => -ERR cannot merge: scaling differs: yes and no
        EXISTS new nothing => :0
    "
    ));
    assert_eq!(dump(&mut connection, "a"), before);
}

#[test]
fn a_merged_filter_has_all_items_also_on_a_replica() {
    let (server, replica) = Server::with_replica();
    let mut connection = server.resp2();
    for (key, from, to) in [("a", 0, 150), ("b", 100, 1000), ("c", 5000, 5010)] {
        connection.ok(&format!("BF.RESERVE {key} 0.001 100"));
        connection.call(&format!("BF.MADD {key} {}", numbers(from, to - from)));
    }
    // A source may occur twice, and it may be the destination.
    connection.check_all(
        "
        BF.MERGE new 3 a b a => +OK
        EXPIRE a 1000 => :1
        BF.MERGE a 2 c a => +OK
        BF.MERGE a 1 b => +OK
        TTL a => :1000
        ",
    );
    for (key, wanted) in [("new", 1000), ("a", 1010)] {
        let found = connection.call(&format!("BF.MEXISTS {key} {}", numbers(0, 1000)));
        assert_eq!(found.ones(), 1000, "{found}");
        // The count is at least the largest one and at most the sum of the sources; 160 items are in both.
        let items = connection.call(&format!("BF.CARD {key}")).integer();
        let items = items.expect("a number");
        let is_between = (wanted - 20..=wanted + 60).contains(&items);
        assert!(is_between, "{key}: {items}");
        // The result has as many filters as the longest source.
        let filters = connection.call("BF.INFO b FILTERS").to_string();
        connection.check(&format!("BF.INFO {key} FILTERS"), filters);
        connection.check(&format!("BF.ADD {key} more"), ":1");
    }
    let mut other = replica.resp2();
    let mut primary = server;
    primary.wait_for_replica(&replica);
    for key in ["a", "b", "c", "new"] {
        assert_eq!(dump(&mut other, key), dump(&mut connection, key), "{key}");
    }
    connection.ok("DEBUG RELOAD");
    for key in ["a", "new"] {
        assert_eq!(dump(&mut other, key), dump(&mut connection, key), "{key}");
    }
}
