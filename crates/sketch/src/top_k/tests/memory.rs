//! Memory: requested before it is allocated, recorded, and no more than the items need.

use super::super::records::MAX_SHARED;
use super::super::{TopK, TopKError};
use super::{saved, sketch};
use crate::blocks::{Addresses, BlockChanges, Blocks};
use crate::memory::{Budget, OutOfMemory};
use crate::stored::Stored;
use crate::testing::{bytes, move_all, reloaded};
use proptest::prelude::*;
use roughly_dump::Value;
use std::cell::Cell;
use std::collections::HashSet;

#[test]
fn creation_requests_all_bytes_from_the_budget_at_once() {
    let asked = Cell::new(Vec::new());
    let allows = |bytes| {
        let mut all = asked.take();
        all.push(bytes);
        asked.set(all);
        true
    };
    TopK::new(10, 50, 5, 0.9, Budget::new(&allows)).unwrap();
    assert_eq!(asked.take(), [50 * 5 * 8 + 10 * 32]);
}

#[test]
fn refused_or_impossible_memory_is_an_error() {
    let refused = TopK::new(10, 50, 5, 0.9, Budget::new(&|_| false)).unwrap_err();
    assert_eq!(refused, TopKError::OutOfMemory(OutOfMemory { bytes: 2320 }));
    let most = u64::from(u32::MAX);
    for (width, depth) in [(most, most), (1 << 31, 1 << 30), (1 << 31, 1 << 29)] {
        let refused = TopK::new(1, width, depth, 0.9, Budget::UNLIMITED);
        assert!(matches!(refused, Err(TopKError::OutOfMemory(_))));
    }
}

fn blocks(sketch: &TopK) -> Vec<usize> {
    let mut blocks = Addresses::default();
    sketch.for_each_block(&mut blocks);
    blocks.0
}

#[test]
fn every_block_is_visited_once() {
    // Buckets and elements; powers of another decay than the default one.
    assert_eq!(blocks(&sketch(17, 8, 7, 0.8)).len(), 3);
    let mut sketch = sketch(17, 1000, 7, 0.9);
    assert_eq!(blocks(&sketch).len(), 2);
    for number in 0..17 {
        let item = match number {
            0..3 => format!("a long item {number:03}"),
            _ => "fourteen bytes"[number % 14..].to_owned(),
        };
        sketch.add(item.as_bytes(), 1 + number as u32).unwrap();
    }
    // Also slots, index, and three items. Slots contain the others.
    let visited = blocks(&sketch);
    assert_eq!(visited.len(), 7);
    assert_eq!(visited.iter().collect::<HashSet<_>>().len(), 7);
    // The expelled item keeps its memory until the next one is expelled.
    let mut add = |item: &[u8]| {
        let expelled = sketch.add(item, 100).unwrap().expelled.map(<[u8]>::to_vec);
        (expelled, blocks(&sketch).len())
    };
    assert_eq!(add(b"x"), (Some(b"a long item 000".to_vec()), 7));
    assert_eq!(add(b"y"), (Some(b"a long item 001".to_vec()), 6));
    let added = add(b"a long item 003");
    assert_eq!(added, (Some(b"a long item 002".to_vec()), 6));
    assert_eq!(add(b"a long item 004").1, 6);
}

/// A heap that is too large for the shared records has a block for them, and so does its copy.
#[test]
fn a_large_heap_has_its_own_memory_for_records() {
    for (k, records) in [(MAX_SHARED as u64, 0), (MAX_SHARED as u64 + 1, 1)] {
        let mut large = sketch(k, 8, 7, 0.9);
        assert_eq!(blocks(&large).len(), 2 + records);
        assert_eq!(blocks(&large.try_clone().unwrap()).len(), 2 + records);
        assert_eq!(move_all(&mut large).1, 2 + records);
        // Saved twice: in the second save the records contain those of the first.
        for item in [&b"a"[..], b"b"] {
            large.add(item, 3).unwrap();
            assert_eq!(reloaded(&large), large);
        }
    }
}

#[test]
fn records_of_another_sketch_are_overwritten() {
    let mut full = sketch(100, 8, 7, 0.9);
    let empty = sketch(50, 8, 7, 0.9);
    let before = saved(&empty);
    for number in 0..100u32 {
        full.add(&number.to_le_bytes(), number + 1).unwrap();
    }
    assert_eq!(reloaded(&full), full);
    assert_eq!(saved(&empty), before);
}

#[test]
fn short_items_do_not_keep_the_memory_of_long_ones() {
    let mut sketch = sketch(4, 1000, 2, 0.9);
    let long: Vec<Vec<u8>> = (0..20).map(|i| vec![i; 100_000]).collect();
    for (item, increment) in long.iter().zip(1..) {
        sketch.add(item, increment).unwrap();
    }
    for number in 100..200u32 {
        sketch.add(&number.to_le_bytes(), number).unwrap();
    }
    assert!(sketch.heap.item_bytes() < 1000);
}

proptest! {
    /// The blocks that are recorded as allocated and not freed are the present ones.
    #[test]
    fn every_change_of_blocks_is_recorded(
        k in 1u64..40,
        steps in prop::collection::vec((0u8..60, prop_oneof![0usize..100, 3000usize..9000]), 0..60),
    ) {
        let mut sketch = sketch(k, 50, 2, 0.9);
        let mut live = blocks(&sketch);
        for ((item, len), increment) in steps.into_iter().zip(1..) {
            let item = vec![item; len];
            let hash = sketch.hash(&item);
            let mut changes = BlockChanges::<Addresses>::default();
            sketch.add_hashed(&item, &hash, increment, Budget::UNLIMITED, &mut changes).unwrap();
            // An address may be used again within one addition.
            live.extend(changes.allocated.0);
            for freed in changes.freed.0 {
                let at = live.iter().position(|&block| block == freed);
                live.swap_remove(at.expect("what goes was there"));
            }
            live.sort_unstable();
            let mut there = blocks(&sketch);
            there.sort_unstable();
            prop_assert_eq!(&live, &there);
        }
    }
}

/// Only items, and the memory for the next item, may have spare capacity that a copy lacks.
#[test]
fn a_loaded_sketch_and_a_copy_take_no_more_memory() {
    for k in [1u64, 3, 50] {
        let mut sketch = sketch(k, 8, 3, 0.9);
        for number in 0..300u32 {
            // Some items occur several times.
            let number = number * 7 % 101;
            let item = vec![b'x'; number as usize];
            sketch.add(&item, number % 5 + 1).unwrap();
            let copied = sketch.try_clone().unwrap();
            let besides_items = |sketch: &TopK| bytes(sketch) - sketch.heap.item_bytes() as u64;
            for same in [&reloaded(&sketch), &copied] {
                assert_eq!(same, &sketch);
                assert!(bytes(same) <= bytes(&sketch), "k {k}");
                assert_eq!(besides_items(same), besides_items(&sketch), "k {k}");
            }
            if number % 13 == 0 {
                sketch = copied;
            }
        }
    }
}

/// Of six stored elements, one is a duplicate and three were lost.
#[test]
fn elements_dropped_by_a_load_take_no_memory() {
    let mut six = sketch(6, 8, 3, 0.9);
    for (item, increment) in (0..6u8).zip(1..) {
        six.add(&[item], increment).unwrap();
    }
    let mut values = saved(&six);
    values.values[7] = values.values[6].clone();
    for lost in 8..11 {
        values.values[lost] = Value::Bytes(vec![0]);
    }
    let loaded = TopK::load(&mut values, 0, &()).unwrap();
    assert_eq!(loaded.item_count(), 2);
    assert_eq!(bytes(&loaded), bytes(&reloaded(&loaded)));
    assert!(bytes(&loaded) < bytes(&six));
}

/// Items of different lengths, both before and after all slots are occupied.
#[test]
fn memory_grows_by_at_most_the_reported_growth() {
    let mut sketch = sketch(50, 8, 3, 0.9);
    let mut grown = 0;
    for number in 0..1000u32 {
        let item = vec![b'x'; (number * 7919 % 300) as usize];
        let item = [&item[..], &number.to_le_bytes()].concat();
        let growth = sketch.growth(&item, &sketch.hash(&item));
        let before = bytes(&sketch);
        sketch.add(&item, number % 50 + 1).unwrap();
        assert!(bytes(&sketch) <= before + growth, "item {number}");
        grown += u32::from(bytes(&sketch) == before + growth && growth > 0);
    }
    assert!(grown >= 50, "{grown}");
}
