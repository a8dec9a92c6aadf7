//! Memory: blocks, limits, budgets.

use super::*;
use crate::blocks::{BlockChanges, Bytes};
use crate::count_min::tests::{other, own};
use crate::format::FormatError;
use crate::testing::bytes;

/// One array per live pane, and the list of panes.
#[test]
fn a_sketch_takes_at_most_the_memory_of_its_panes() {
    let (array, of_list) = (20 * 5, size_of::<StoredPane<Pane>>() as u64);
    for (ms, panes, finest) in [
        (1, 1, None),
        (12, 12, None),
        (100, 100, None),
        (400, 6, Some(1)),
    ] {
        let window = Window::new(ms, panes, finest).unwrap();
        let mut sketch = sketch_of((20, 5, CellSize::One), window);
        let max = window.live_panes() as u64 * (array + of_list);
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

/// The target for a sketch of 7 rows of 2,000 cells.
#[test]
fn a_sketch_takes_memory_for_what_it_holds() {
    let month = Window::new(30 * 24 * 3600 * 1000, 12, Some(1000)).unwrap();
    let mut sketch = sketch_of((2000, 7, CellSize::Four), month);
    let units = month.ms() / 1000;
    for item in 0..500u64 {
        sketch.advance(units + item * units / 500);
        increment(&mut sketch, &item.to_le_bytes(), 1).unwrap();
    }
    assert!(bytes(&sketch) <= 48 << 10, "{}", bytes(&sketch));
}

/// The figures of README.md and docs/performance.md: items that occur in one of the 13 panes, and in all.
#[test]
fn exact_panes_take_memory_per_item_and_pane() {
    let hour = Window::new(3_600_000, 12, None).unwrap();
    for (items, of_one, of_all) in [
        (100, 3_100, 34_500),
        (200, 6_200, 68_500),
        (500, 15_500, 161_500),
    ] {
        for (panes_of_item, most) in [(1, of_one), (13, of_all)] {
            let mut sketch = sketch_of((2000, 7, CellSize::Four), hour);
            for pane in 0..13 {
                sketch.advance(pane);
                for item in (0..items).filter(|item| panes_of_item == 13 || item % 13 == pane) {
                    increment(&mut sketch, &item.to_le_bytes(), 1).unwrap();
                }
            }
            let bytes = bytes(&sketch);
            let is_close = bytes <= most && bytes > most * 3 / 4;
            assert!(is_close, "{items} {panes_of_item} {bytes}");
        }
    }
}

/// A step over many panes gives the same state and memory as single steps, and records the blocks that it frees and allocates.
#[test]
fn merged_and_expired_panes_are_freed() {
    // The panes have exact counts, become arrays when they are merged, and have arrays.
    for (width, items) in [(700, 1), (90, 4), (10, 1)] {
        let window = Window::new(400, 6, Some(1)).unwrap();
        let mut sketch = sketch_of((width, 5, CellSize::Two), window);
        for unit in 0..500u64 {
            sketch.advance(unit);
            for item in 0..items {
                increment(&mut sketch, &[unit as u8, item], 1).unwrap();
            }
        }
        let mut single = sketch.try_clone().unwrap();
        for newest in [501, 502, 510, 560, 700, 890, 911, 912] {
            let mut changes = BlockChanges::<Bytes>::default();
            let before = bytes(&sketch);
            assert!(sketch.advance_recorded(newest, &mut changes));
            let recorded = before + changes.allocated.0 - changes.freed.0;
            assert_eq!(recorded, bytes(&sketch));
            while single.timeline().newest() < newest {
                single.advance(single.timeline().newest() + 1);
            }
            assert_eq!(saved(&sketch), saved(&single));
            assert_eq!(bytes(&sketch), bytes(&single));
            check_invariants(&sketch);
        }
        assert!(sketch.panes.all().is_empty());
    }
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
    let dimensions = Dimensions::new(300, 5, CellSize::Four).unwrap();
    let array = 300 * 5 * 4;
    let mut sketch = CountMinWindow::new(dimensions, window, SEED, budget).unwrap();
    let first = requested.take();
    for (n, pane) in [0, 0, 1, 13].into_iter().chain([13; 200]).enumerate() {
        let before = bytes(&sketch);
        sketch.advance(pane);
        let left = bytes(&sketch);
        sketch.increment(&n.to_le_bytes(), 1, budget).unwrap();
        let bytes = bytes(&sketch);
        assert_eq!(requested.take(), bytes - left);
        assert!(before > 0 || bytes == first);
    }
    assert_eq!(sketch.arrays().count(), 1);
    let header = sketch.header().unwrap();
    CountMinWindow::from_header(&header, budget).unwrap();
    assert_eq!(requested.take(), array);
    let refused = CountMinWindow::from_header(&header, Budget::new(&|_| false));
    assert!(matches!(refused, Err(FormatError::OutOfMemory(_))));
    let less = |bytes| bytes < first;
    let refused = CountMinWindow::new(dimensions, window, SEED, Budget::new(&less));
    assert!(matches!(refused, Err(CountMinError::OutOfMemory(_))));
    // Values without arrays take no memory for the cells.
    let large = super::sketch((1 << 21, 32, CellSize::Eight), 3);
    assert!(bytes(&load(saved(&large)).unwrap()) < 1000);
}

/// A merge requests its result, and as growth of the key what it has more than before.
#[test]
fn a_merge_requests_its_result() {
    use crate::memory::{Grants, Purpose};
    #[derive(Default)]
    struct Requests {
        created: std::cell::Cell<u64>,
        added: std::cell::Cell<u64>,
    }
    impl Grants for Requests {
        fn grants(&self, purpose: Purpose, bytes: u64) -> bool {
            let sum = match purpose {
                Purpose::Add => &self.added,
                _ => &self.created,
            };
            sum.set(sum.get() + bytes);
            true
        }
    }
    let arrays = |panes: u64| {
        let mut sketch = sketch((20, 5, CellSize::One), 12);
        for pane in 0..panes {
            sketch.advance(pane);
            increment(&mut sketch, b"a", 1).unwrap();
        }
        sketch
    };
    let (mut sketch, source) = (arrays(2), arrays(5));
    let sources = [own(1), other(&source, 1)];
    let before = saved(&sketch);
    let refused = sketch.merge_within(&sources, u64::MAX, Budget::new(&|_| false));
    assert!(matches!(refused, Err(CountMinError::OutOfMemory(_))));
    assert_eq!(saved(&sketch), before);
    let requests = Requests::default();
    let budget = Budget::of(&requests, Purpose::Create);
    sketch.merge_within(&sources, u64::MAX, budget).unwrap();
    let list = PaneList::<Pane>::default().growth(5, sketch.timeline());
    let list_before = PaneList::<Pane>::default().growth(2, sketch.timeline());
    assert_eq!(requests.created.get(), 5 * 100);
    assert_eq!(requests.added.get(), 3 * 100 + list - list_before);
    // A merge that does not make the key larger requests nothing of its limit.
    requests.added.set(0);
    sketch.merge_within(&sources, u64::MAX, budget).unwrap();
    assert_eq!(requests.added.get(), 0);
}
