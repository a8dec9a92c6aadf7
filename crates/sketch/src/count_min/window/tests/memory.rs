//! Memory: blocks, limits, budgets.

use super::*;
use crate::blocks::{Addresses, BlockChanges, MovesAll};
use crate::format::FormatError;

/// The bytes of the visited blocks.
#[derive(Default)]
struct Bytes(usize);

impl BlockVisitor for Bytes {
    fn visit<T>(&mut self, vec: &Vec<T>) {
        self.0 += vec.capacity() * size_of::<T>();
    }
}

fn bytes(sketch: &CountMinWindow) -> usize {
    let mut bytes = Bytes::default();
    sketch.for_each_block(&mut bytes);
    bytes.0
}

/// One array per slot and one for the sums: `panes` + 2 times the classic sketch. The ring of panes and the ages add 32
/// bytes per pane and at most 1/32 of an array.
#[test]
fn a_sketch_takes_at_most_panes_plus_2_times_the_memory() {
    for panes in [1, 12, 100] {
        let mut sketch = sketch((4000, 5, CellSize::Four), panes);
        let array = 4000 * 5 * 4;
        let max = (panes as usize + 2) * array + array / 32 + 32 * (panes as usize + 2);
        let mut largest = 0;
        for round in 0..4 * panes {
            for item in 0..40u64 {
                increment(&mut sketch, &item.to_le_bytes(), 1).unwrap();
                largest = largest.max(bytes(&sketch));
            }
            let idle = if round % (2 * panes) == 2 * panes - 1 {
                panes + 1
            } else {
                1
            };
            sketch.advance(sketch.timeline().newest() + idle);
            check_invariants(&sketch);
        }
        assert!(largest <= max, "{largest} {max}");
        // The bound is tight.
        assert!(largest > max - array);
    }
}

#[test]
fn expired_arrays_are_freed() {
    let array = 70_000 * 5 * 4;
    let mut sketch = sketch((70_000, 5, CellSize::Four), 8);
    for pane in 0..9 {
        sketch.advance(pane);
        increment(&mut sketch, b"a", 1).unwrap();
    }
    assert!(bytes(&sketch) > 10 * array);
    // All panes expire at once: one array is reused, the others are freed by the next commands.
    sketch.advance(100);
    let mut changes = BlockChanges::<Bytes>::default();
    let before = bytes(&sketch);
    while sketch.release_recorded(&mut changes) {}
    assert_eq!(
        before + changes.allocated.0 - changes.freed.0,
        bytes(&sketch)
    );
    increment(&mut sketch, b"a", 1).unwrap();
    assert!(bytes(&sketch) < 2 * array + array / 32 + 4096);
    // One pane after the other expires: its array is freed when no block is stale.
    sketch.advance(101);
    increment(&mut sketch, b"a", 1).unwrap();
    assert!(bytes(&sketch) > 3 * array);
    sketch.advance(109);
    for _ in 0..3000 {
        increment(&mut sketch, b"a", 1).unwrap();
    }
    assert_eq!(sketch.ages.stale(), 0);
    while sketch.release_recorded(&mut changes) {}
    assert!(bytes(&sketch) < 3 * array + array / 32 + 4096);
    let clone = sketch.try_clone().unwrap();
    assert_eq!(bytes(&clone), bytes(&sketch));
    assert_eq!(bytes(&load(values(&sketch)).unwrap()), bytes(&sketch));
}

/// [`Timed::expire`] processes at least 4 MiB of cells per call, whatever is written in between. The sketch then takes
/// what one takes whose panes never had the expired increments.
#[test]
fn expire_frees_the_arrays_of_expired_panes() {
    let array = 700_000 * 5 * 4;
    let mut sketch = sketch((700_000, 5, CellSize::Four), 3);
    let mut other = sketch.try_clone().unwrap();
    let new = bytes(&sketch);
    assert!(!sketch.expire());
    for pane in 0..6 {
        sketch.advance(pane);
        other.advance(pane);
        increment(&mut sketch, b"a", 1).unwrap();
    }
    sketch.advance(7);
    other.advance(7);
    increment(&mut sketch, b"b", 1).unwrap();
    increment(&mut other, b"b", 1).unwrap();
    // Two panes have expired; all blocks have the age 4, except for those of the items. The sums and the panes 4, 5 and 7 remain.
    let mut calls = 0;
    while sketch.expire() {
        check_invariants(&sketch);
        calls += 1;
    }
    assert!(calls <= 4 * array / EXPIRED_BYTES + 1, "{calls}");
    let mut changes = BlockChanges::<()>::default();
    while sketch.release_recorded(&mut changes) {}
    assert!(bytes(&sketch) < 4 * array + array / 32 + 4096);
    assert_eq!(
        (
            sketch.query(b"a", sketch.panes_in(7)),
            sketch.query(b"b", sketch.panes_in(7))
        ),
        (2, 1)
    );
    // All but one pane without an increment have expired.
    sketch.advance(9);
    other.advance(9);
    while sketch.expire() {}
    while sketch.release_recorded(&mut changes) {}
    assert_eq!(bytes(&sketch), bytes(&other));
    assert_eq!(values(&sketch), values(&other));
    sketch.advance(11);
    assert!(sketch.expire() && !sketch.expire());
    while sketch.release_recorded(&mut changes) {}
    assert_eq!(bytes(&sketch), new);
    increment(&mut sketch, b"c", 1).unwrap();
    check_invariants(&sketch);
}

#[test]
fn all_blocks_are_moved() {
    let mut sketch = sketch((70_000, 5, CellSize::Four), 3);
    for pane in 0..4 {
        sketch.advance(pane);
        increment(&mut sketch, b"a", 1).unwrap();
    }
    sketch.advance(100);
    let before = values(&sketch);
    let mut blocks = Addresses::default();
    sketch.for_each_block(&mut blocks);
    let mut mover = MovesAll::default();
    let mut index = 0;
    while sketch.relocate_block(index, &mut mover) {
        index += 1;
    }
    // The ring, the sums, the ages, one array, the list of the retired ones and three of them.
    assert_eq!((blocks.0.len(), mover.moves), (8, 8));
    assert_eq!(values(&sketch), before);
}

#[test]
fn memory_is_requested_before_it_is_allocated() {
    let requested = std::cell::Cell::new(0);
    let budget = &|bytes| {
        requested.set(requested.get() + bytes);
        true
    };
    let budget = Budget::new(budget);
    let window = Window::new(1000, 12).unwrap();
    let array = 300 * 5 * 4;
    let mut sketch = CountMinWindow::new(300, 5, CellSize::Four, window, budget).unwrap();
    assert!(requested.take() > 2 * array);
    for (pane, expected) in [(0, 2 * array + 12), (0, 0), (1, array), (13, 0)] {
        sketch.advance(pane);
        sketch.increment(b"a", 1, budget).unwrap();
        assert_eq!(requested.take(), expected);
    }
    let header = sketch.header().unwrap();
    CountMinWindow::from_header(&header, budget).unwrap();
    assert_eq!(requested.take(), bytes(&sketch) as u64);
    let refused = CountMinWindow::from_header(&header, Budget::new(&|_| false));
    assert!(matches!(refused, Err(FormatError::OutOfMemory(_))));
    let refused = CountMinWindow::new(
        300,
        5,
        CellSize::Four,
        window,
        Budget::new(&|bytes| bytes < array),
    );
    assert!(matches!(refused, Err(CountMinError::OutOfMemory(_))));
    // Values without arrays take no memory for the cells.
    let large = super::sketch((1 << 57, 32, CellSize::Eight), 3);
    assert!(bytes(&load(values(&large)).unwrap()) < 1000);
}
