//! BF.ADDNX.

use super::filter::Filter;
use super::logged_commands;
use crate::families::dump;
use crate::support::resp::{Protocol, Reply, error};

#[test]
fn the_items_that_were_added_are_replicated() {
    let mut filter = Filter::new("BF.RESERVE k 1e-9 100");
    filter.call("BF.RESERVE plain 1e-9 100 EXPANSION 2");
    filter.call("BF.ADDNX k a b");
    filter.call("BF.ADDNX k a b");
    filter.call("BF.ADDNX k a c b d");
    filter.at(1);
    // It adds nothing, so the pane does not change either.
    filter.call("BF.ADDNX k a");
    filter.call("BF.ADDNX k a e");
    filter.call("BF.ADDNX plain a b a");
    filter.call("BF.ADDNX plain a b");
    let mut commands = logged_commands(&filter.server);
    commands.retain(|command| !["MULTI", "EXEC"].contains(&command.as_str()));
    commands.retain(|command| !command.contains("RESERVE"));
    let expected = "SKETCH.ADVANCE k 1000;BF.MADD k a b;BF.MADD k c d;SKETCH.ADVANCE k 1001;\
        BF.MADD k e;BF.MADD plain a b";
    assert_eq!(commands.join(";"), expected);
    let before = dump(&mut filter.connection, "k");
    filter.server.kill_and_restart();
    assert_eq!(dump(&mut filter.server.resp2(), "k"), before);
}

#[test]
fn a_full_filter_ends_the_array_with_an_error() {
    let mut filter = Filter::new("BF.RESERVE k 1e-9 4 NONSCALING");
    filter.call("BF.RESERVE plain 1e-9 4 NONSCALING");
    filter.call("BF.INSERT valkey TIGHTENING 0.5 NONSCALING CAPACITY 4 ERROR 0.000000001 ITEMS 0");
    let full = error("ERR non scaling filter is full");
    for key in ["k", "plain", "valkey"] {
        let reply = filter.call(&format!("BF.ADDNX {key} 0 1 2 3 4 5 6 7"));
        let items = reply.items().expect("an array");
        assert_eq!(items.last(), Some(&full), "{key}: {reply}");
        assert!(items.len() < 8, "{key}: {reply}");
        // What is in the filter needs no room.
        filter.check(&format!("BF.ADDNX {key} 0 1 2 3"), "*[:0 :0 :0 :0]");
    }
}

/// On filters without a window, the replies and effects are those of BF.MADD.
#[test]
fn other_filters_behave_as_with_madd() {
    let filter = Filter::new("BF.RESERVE k 1e-9 100");
    for protocol in [Protocol::Resp2, Protocol::Resp3] {
        let mut connection = filter.server.connect(protocol);
        for create in [
            "BF.RESERVE KEY 0.01 4 EXPANSION 2",
            "BF.INSERT KEY SEED 00112233445566778899aabbccddeeff CAPACITY 4 ITEMS x",
            "BF.INSERT KEY TIGHTENING 0.5 CAPACITY 4 ITEMS x",
        ] {
            connection.call("DEL one other");
            connection.call(&create.replace("KEY", "one"));
            if let Reply::Bulk(payload) = connection.call("DUMP one") {
                connection.restore("other", &payload);
            }
            for items in ["a b a", "a c d e f g h i j k", "x"] {
                let one = connection.call(&format!("BF.MADD one {items}"));
                let other = connection.call(&format!("BF.ADDNX other {items}"));
                assert_eq!(one, other, "{create}: {items}");
            }
            let [one, other] = ["one", "other"].map(|key| dump(&mut connection, key));
            assert_eq!(one, other, "{create}");
        }
    }
}
