//! What BF commands do with the items of a window.

use super::filter::Filter;
use super::logged_writes;
use crate::families::numbers;

#[test]
fn additions_are_replicated_if_they_change_the_filter() {
    let mut filter = Filter::new("BF.RESERVE k 1e-9 100");
    filter.call("BF.ADD k a");
    // These change nothing.
    filter.call("BF.ADD k a");
    filter.call("BF.MADD k a a");
    filter.call("BF.INSERT k ITEMS a");
    filter.at(1);
    filter.call("BF.MADD k a a");
    filter.call("BF.ADD k a");
    assert_eq!(
        logged_writes(&filter.server),
        [
            "BF.RESERVE k 1e-9 100 EXPANSION 2 WINDOW 4000 PANES 4",
            "SKETCH.ADVANCE k 1000",
            "BF.ADD k a",
            "SKETCH.ADVANCE k 1001",
            // The second time, the item does not change.
            "BF.MADD k a",
        ]
    );
}

/// A write that removes a large sub-filter does not free it at once: each later write frees a part.
#[test]
fn later_writes_free_a_large_sub_filter() {
    let mut filter = Filter::new("BF.RESERVE k 1e-9 300000 EXPANSION 1");
    for first in (0..700_000).step_by(10_000) {
        filter.call(&format!("BF.MADD k {}", numbers(first, 10_000)));
    }
    let bytes = |filter: &Filter| filter.server.info_number("bf_bloom_window_bytes");
    let full = bytes(&filter);
    assert_eq!(filter.field("BF.INFO k", "Number of filters"), 2);
    filter.at(5);
    filter.call("BF.ADD k 1");
    assert_eq!(filter.field("BF.INFO k", "Number of filters"), 1);
    assert!(bytes(&filter) > full * 3 / 4);
    let mut before = bytes(&filter);
    let mut writes = 0;
    while before > full * 11 / 20 {
        filter.call("BF.ADD k 1");
        // The allocator has few sizes for large blocks, so a write can free nothing or a few parts.
        let after = bytes(&filter);
        let is_a_part = after <= before && before - after < 600_000;
        assert!(is_a_part, "{before} {after}");
        before = after;
        writes += 1;
    }
    assert!(writes > 5, "{writes}");
    for _ in 0..5 {
        filter.call("BF.ADD k 1");
    }
    let after = bytes(&filter);
    filter.call("BF.ADD k 1");
    assert_eq!(bytes(&filter), after);
    filter.ok("DEBUG RELOAD");
    filter.check("BF.MEXISTS k 1 2", "*[:1 :0]");
    assert!(bytes(&filter) <= after);
}
