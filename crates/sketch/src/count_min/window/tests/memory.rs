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

/// One array per live pane, and the list of panes.
#[test]
fn a_sketch_takes_at_most_the_memory_of_its_panes() {
    let array = 4000 * 5 * 4;
    for (ms, panes, finest) in [
        (1, 1, None),
        (12, 12, None),
        (100, 100, None),
        (400, 6, Some(1)),
    ] {
        let window = Window::new(ms, panes, finest).unwrap();
        let mut sketch = sketch_of((4000, 5, CellSize::Four), window);
        let max = window.live_panes() * (array + size_of::<StoredPane<Pane>>());
        let mut largest = 0;
        for round in 0..3 * ms {
            increment(&mut sketch, &round.to_le_bytes(), 1).unwrap();
            largest = largest.max(bytes(&sketch));
            sketch.advance(sketch.timeline().newest() + 1);
        }
        check_invariants(&sketch);
        assert!(largest <= max, "{largest} {max}");
        // The bound is tight.
        assert!(largest > max - 2 * array, "{largest} {max}");
        sketch.advance(sketch.timeline().newest() + 2 * ms);
        assert_eq!(bytes(&sketch), 0);
    }
}

/// A step over many panes gives the same state as single steps, and records the arrays that it frees.
#[test]
fn merged_and_expired_arrays_are_freed() {
    let window = Window::new(400, 6, Some(1)).unwrap();
    let mut sketch = sketch_of((700, 5, CellSize::Two), window);
    for unit in 0..500 {
        sketch.advance(unit);
        increment(&mut sketch, &[unit as u8], 1).unwrap();
    }
    let mut single = sketch.try_clone().unwrap();
    for newest in [501, 502, 510, 560, 700, 890, 911, 912] {
        let mut changes = BlockChanges::<Bytes>::default();
        let before = bytes(&sketch);
        assert!(sketch.advance_recorded(newest, &mut changes));
        assert_eq!(
            before + changes.allocated.0 - changes.freed.0,
            bytes(&sketch)
        );
        while single.timeline().newest() < newest {
            single.advance(single.timeline().newest() + 1);
        }
        assert_eq!(values(&sketch), values(&single));
        check_invariants(&sketch);
    }
    assert!(sketch.panes.all().is_empty());
}

#[test]
fn all_blocks_are_moved() {
    let mut sketch = sketch((70_000, 5, CellSize::Four), 3);
    for pane in 0..4 {
        sketch.advance(pane);
        increment(&mut sketch, b"a", 1).unwrap();
    }
    let before = values(&sketch);
    let mut blocks = Addresses::default();
    sketch.for_each_block(&mut blocks);
    let mut mover = MovesAll::default();
    let mut index = 0;
    while sketch.relocate_block(index, &mut mover) {
        index += 1;
    }
    // The list and four arrays.
    assert_eq!((blocks.0.len(), mover.moves), (5, 5));
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
    let window = Window::new(1000, 12, None).unwrap();
    let shape = Shape::new(300, 5, CellSize::Four).unwrap();
    let array = 300 * 5 * 4;
    let mut sketch = CountMinWindow::new(shape, window, SEED, budget).unwrap();
    assert!(requested.take() > array);
    for pane in [0, 0, 1, 13, 13] {
        sketch.advance(pane);
        let (growth, before) = (sketch.growth(), bytes(&sketch));
        sketch.increment(b"a", 1, budget).unwrap();
        assert_eq!(requested.take(), growth);
        assert!(bytes(&sketch) - before <= growth as usize);
    }
    let header = sketch.header().unwrap();
    CountMinWindow::from_header(&header, budget).unwrap();
    assert_eq!(requested.take(), 2 * array);
    let refused = CountMinWindow::from_header(&header, Budget::new(&|_| false));
    assert!(matches!(refused, Err(FormatError::OutOfMemory(_))));
    let refused = CountMinWindow::new(shape, window, SEED, Budget::new(&|bytes| bytes < array));
    assert!(matches!(refused, Err(CountMinError::OutOfMemory(_))));
    // Values without arrays take no memory for the cells.
    let large = super::sketch((1 << 21, 32, CellSize::Eight), 3);
    assert!(bytes(&load(values(&large)).unwrap()) < 1000);
}
