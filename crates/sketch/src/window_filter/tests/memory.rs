//! Memory: budgets, and usage as a function of the state.

use super::*;
use crate::blocks::{BlockChanges, Bytes};
use crate::testing::{bytes, move_all};
use std::cell::Cell;

/// Two bytes per live pane for the panes and for the counts of the sub-filter, besides its entry in the list, 42 buckets of
/// four slots of 14 bits, and the generation of one group.
#[test]
fn a_small_filter_takes_few_bytes_besides_its_slots() {
    assert!(size_of::<SubFilter>() <= 112);
    let filter = set(100, 0.01, 2, 12);
    let others = filter.slot_bytes() + 2;
    let expected = others + 2 * 13 * 2 + size_of::<SubFilter>() as u64;
    assert_eq!(bytes(&filter), expected);
}

/// All bytes are requested, except those of the list of sub-filters.
#[test]
fn memory_is_requested_before_it_is_allocated() {
    let requested = Cell::new(0);
    let allows = |bytes| {
        requested.set(requested.get() + bytes);
        true
    };
    let budget = Budget::new(&allows);
    let mut filter = BloomWindow::new(window(30), &of_set(1000, 0.01, 2), budget).unwrap();
    for number in 0..10_000u64 {
        filter.add(&number.to_le_bytes(), budget).unwrap();
        let list = filter.sub_filters.capacity() * size_of::<SubFilter>();
        assert_eq!(bytes(&filter), requested.get() + list as u64);
    }
    assert_eq!(filter.num_sub_filters(), 4);
    requested.set(0);
    let copy = BloomWindow::from_header(&filter.header().unwrap(), budget).unwrap();
    assert_eq!(requested.get(), bytes(&filter));
    for copy in [copy, reloaded(&filter), filter.try_clone().unwrap()] {
        assert_eq!(bytes(&copy), bytes(&filter));
    }
    filter.advance(31);
    assert_eq!(bytes(&reloaded(&filter)), bytes(&filter));
}

/// The slots of a removed sub-filter are freed in steps, and the recorded changes are those of all blocks.
#[test]
fn large_sub_filters_are_freed_in_steps() {
    let mut filter = set(300_000, EXACT, 1, 3);
    add_all(&mut filter, 0, 800_000);
    assert_eq!(filter.num_sub_filters(), 2);
    let full = bytes(&filter);
    let mut changes = BlockChanges::<Bytes>::default();
    assert!(!filter.release_recorded(&mut changes));
    assert!(filter.advance_recorded(4, &mut changes));
    let counts = (filter.items(filter.panes_in(4)), filter.num_sub_filters());
    assert_eq!(counts, (0, 1));
    assert!(bytes(&filter) > full * 9 / 10);
    assert_eq!(full + changes.allocated.0 - changes.freed.0, bytes(&filter));
    let copy = filter.try_clone().unwrap();
    assert!(copy == filter && saved(&copy) == saved(&filter));
    assert_eq!(move_all(&mut filter).0, 2 + 3 + 2);
    let mut steps = 0;
    loop {
        let (before, mut changes) = (bytes(&filter), BlockChanges::<Bytes>::default());
        if !filter.release_recorded(&mut changes) {
            break;
        }
        let recorded = before + changes.allocated.0 - changes.freed.0;
        assert_eq!(recorded, bytes(&filter));
        assert!(before - bytes(&filter) <= 200_000);
        steps += 1;
    }
    assert!(steps > 5);
    assert_eq!(bytes(&filter), bytes(&copy));
    add_all(&mut filter, 0, 400_000);
    assert_eq!(filter.num_sub_filters(), 1);
}

#[test]
fn after_a_refusal_nothing_has_changed() {
    let none = Budget::new(&|_| false);
    let mut filter = set(100, EXACT, 2, 5);
    add_all(&mut filter, 0, 120);
    filter.advance(3);
    let (before, size) = (saved(&filter), bytes(&filter));
    let refused = filter.add(b"more", none);
    assert!(matches!(refused, Err(Error::OutOfMemory(_))));
    assert_eq!((saved(&filter), bytes(&filter)), (before, size));
    let added = filter.add(&5u64.to_le_bytes(), none);
    assert_eq!(added, Ok(Addition::Refreshed));
    assert_eq!(filter.add(b"more", ANY), Ok(Addition::New));
    let header = filter.header().unwrap();
    assert!(BloomWindow::from_header(&header, none).is_err());
}
