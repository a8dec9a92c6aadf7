//! Memory: asked for before it is taken, accounted for, and no more than the items need.

use super::super::{TopK, TopKError};
use super::sketch;
use crate::sketch::buffer::Addresses;
use crate::sketch::buffer::{Blocks, OutOfMemory};
use std::cell::Cell;
use std::collections::HashSet;

#[test]
fn the_allowance_is_asked_once_for_what_is_allocated() {
    let asked = Cell::new(Vec::new());
    let allows = |bytes| {
        let mut all = asked.take();
        all.push(bytes);
        asked.set(all);
        true
    };
    TopK::new(10, 50, 5, 0.9, &allows).unwrap();
    assert_eq!(asked.take(), [50 * 5 * 8 + 10 * 8]);
}

#[test]
fn refused_or_impossible_memory_is_an_error() {
    let refused = TopK::new(10, 50, 5, 0.9, &|_| false).unwrap_err();
    assert_eq!(refused, TopKError::OutOfMemory(OutOfMemory { bytes: 2080 }));
    let most = u64::from(u32::MAX);
    for (width, depth) in [(most, most), (1 << 31, 1 << 30), (1 << 31, 1 << 29)] {
        let refused = TopK::new(1, width, depth, 0.9, &|_| true);
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
    let mut sketch = sketch(3, 8, 7, 0.9);
    // Buckets and elements.
    assert_eq!(blocks(&sketch).len(), 2);
    for item in [&b"a"[..], b"", b"b"] {
        sketch.add(item, 1).unwrap();
    }
    // Also slots, index, and the two items that have bytes.
    let visited = blocks(&sketch);
    assert_eq!(visited.len(), 6);
    assert_eq!(visited.iter().collect::<HashSet<_>>().len(), 6);
    // Also the memory of the item that was expelled.
    assert_eq!(sketch.add(b"long", 5).unwrap().expelled, Some(&b"a"[..]));
    sketch.add(b"x", 6).unwrap();
    assert_eq!(blocks(&sketch).len(), 7);
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
