//! What CF commands do with the occurrences of items in a window.

use super::filter::Filter;
use crate::families::{Family, dump, numbers};
use crate::support::resp::error;
use crate::support::server::Server;

#[test]
fn del_of_an_expired_item_deletes_nothing() {
    let mut filter = Filter::new("CF.RESERVE k 100");
    filter.check("CF.ADD k a", ":1");
    filter.at(5);
    filter.check("CF.EXISTS k a", ":0");
    filter.check("CF.DEL k a", ":0");
    assert_eq!(filter.field("CF.INFO k", "Number of items deleted"), 0);
    let deleted = |server: &Server| server.info_number("bf_cuckoo_window_items_deleted");
    assert_eq!(deleted(&filter.server), 0);
    filter.check("CF.ADD k a", ":1");
    filter.check("CF.DEL k a", ":1");
    assert_eq!(deleted(&filter.server), 1);
    assert_eq!(filter.server.info_number("bf_cuckoo_items_deleted"), 0);
}

#[test]
fn compact_frees_expired_slots_and_empty_sub_filters() {
    let mut filter = Filter::new("CF.RESERVE k 100 EXPANSION 2");
    filter.call(&format!("CF.INSERT k ITEMS {}", numbers(0, 2000)));
    assert!(filter.field("CF.INFO k", "Number of filters") > 2);
    assert_eq!(filter.field("CF.INFO k", "Number of items inserted"), 2000);
    let bytes = |server: &Server| server.info_number("bf_cuckoo_window_bytes");
    let full = bytes(&filter.server);
    filter.at(5);
    // Reads free nothing.
    assert_eq!(filter.field("CF.INFO k", "Number of items inserted"), 0);
    assert_eq!(bytes(&filter.server), full);
    // The sub-filters are removed by the advance.
    filter.ok("CF.COMPACT k");
    assert_eq!(filter.field("CF.INFO k", "Number of filters"), 0);
    assert!(bytes(&filter.server) * 4 < full);
    // Expired slots in a sub-filter with live items.
    filter.call("CF.INSERT k ITEMS a b c d");
    filter.at(8);
    filter.call("CF.INSERT k ITEMS e");
    filter.at(10);
    let compactions = |server: &Server| server.info_number("bf_cuckoo_window_compactions");
    let before = compactions(&filter.server);
    filter.ok("CF.COMPACT k");
    assert_eq!(compactions(&filter.server), before + 1);
    // Nothing is left to do.
    filter.ok("CF.COMPACT k");
    assert_eq!(compactions(&filter.server), before + 1);
    filter.check("CF.MEXISTS k a b c d e", "*[:0 :0 :0 :0 :1]");
    // A compaction resets the count of deletions.
    filter.check("CF.DEL k e", ":1");
    assert_eq!(filter.field("CF.INFO k", "Number of items deleted"), 1);
    filter.ok("CF.COMPACT k");
    assert_eq!(filter.field("CF.INFO k", "Number of items deleted"), 0);
}

/// An empty filter is copied with all its parameters.
#[test]
fn an_empty_filter_has_a_header_and_chunks() {
    let mut filter = Filter::new("CF.RESERVE k 100");
    let family = Family::of("cf");
    let mut copy = filter.server.resp2();
    let chunks = family.copy_in_chunks(&mut filter.connection, "k", &mut copy, "copy");
    assert!(chunks > 1);
    let expected = dump(&mut filter.connection, "k");
    assert_eq!(dump(&mut filter.connection, "copy"), expected);
    let header = family.chunks(&mut filter.connection, "k").remove(0).1;
    for (chunk, text) in [
        (&header[..header.len() - 1], "Couldn't create filter!"),
        (&header[..30], "Couldn't create filter!"),
        (&header[1..], "Invalid header"),
    ] {
        let reply = family.load(&mut filter.connection, "new", 1, chunk);
        assert_eq!(reply, error(text));
    }
}
