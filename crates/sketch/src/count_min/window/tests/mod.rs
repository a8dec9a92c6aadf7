//! Examples, stored forms, merges and memory.

mod exact;
mod memory;
mod merge;
mod reported;
mod stored;

use super::super::CellSize;
use super::super::cell::ALL_SIZES;
use super::*;
use crate::format::FormatError;
use crate::stored::Stored;
use crate::testing::saved;
use crate::window::Panes;
use roughly_dump::{Value, Values};

/// An empty sketch. Every allocation is allowed.
fn sketch(dimensions: (u64, u64, CellSize), panes: u64) -> CountMinWindow {
    sketch_of(dimensions, Window::new(1 << 20, panes, None).unwrap())
}

fn sketch_of((width, depth, cell_size): (u64, u64, CellSize), window: Window) -> CountMinWindow {
    let dimensions = Dimensions::new(width, depth, cell_size).unwrap();
    CountMinWindow::new(dimensions, window, SEED, Budget::UNLIMITED).unwrap()
}

const SEED: Seed = Seed(*b"0123456789abcdef");

fn increment(sketch: &mut CountMinWindow, item: &[u8], by: i64) -> Result<u64, CountMinError> {
    sketch.increment(item, by, Budget::UNLIMITED)
}

fn load(mut values: Values) -> Result<CountMinWindow, FormatError> {
    CountMinWindow::load(&mut values, 3, &())
}

/// Checks the totals, that no count is above the total of its pane, and the number of exact counts.
fn check_invariants(sketch: &CountMinWindow) {
    let panes = sketch.panes.all();
    let total: u64 = panes.iter().map(|pane| pane.content.total).sum();
    assert_eq!(sketch.total, total);
    let Grid {
        rows, max_entries, ..
    } = sketch.grid;
    with_cell!(sketch.dimensions.cell_size(), C => for StoredPane { first, content } in panes {
        assert!(sketch.timeline.level_of(*first).is_some());
        assert!(content.total > 0 && content.largest::<C>() <= content.total);
        match &content.counts {
            PaneCounts::Exact(exact) => {
                assert!((1..=max_entries).contains(&exact.len()));
                assert!(exact.entries().is_sorted_by(|one, other| one.hash < other.hash));
            }
            PaneCounts::Array(cells) => assert_eq!(C::all(cells).len(), rows.width * rows.depth),
        }
    });
}

#[test]
fn negative_increments_are_refused() {
    for depth in [2, 30] {
        let mut sketch = sketch((10, depth, CellSize::Four), 3);
        for _ in 0..2 {
            let before = saved(&sketch);
            for by in [-1, i64::MIN] {
                let refused = Err(CountMinError::WindowDecrement);
                assert_eq!(increment(&mut sketch, b"a", by), refused);
            }
            assert_eq!(saved(&sketch), before);
            assert!(increment(&mut sketch, b"a", 5).is_ok());
        }
    }
}

#[test]
fn refused_and_zero_increments_change_nothing() {
    let mut sketch = sketch((600, 6, CellSize::One), 4);
    for pane in [10, 11, 12] {
        sketch.advance(pane);
        for item in 0..50u8 {
            increment(&mut sketch, &[item], 1).unwrap();
        }
        increment(&mut sketch, b"full", 60).unwrap();
    }
    let no = Budget::new(&|_| false);
    for pane in [13, 16] {
        sketch.advance(pane);
        let before = saved(&sketch);
        let full = sketch.query(b"full", Panes::ALL);
        let refused = increment(&mut sketch, b"full", 256 - full.cast_signed());
        assert_eq!(refused, Err(CountMinError::Overflow));
        let refused = sketch.increment_limited(b"full", 1, full, no);
        assert_eq!(refused, Err(CountMinError::AboveLimit(full)));
        assert_eq!(increment(&mut sketch, b"full", 0), Ok(full));
        let refused = sketch.increment(b"a", 1, no);
        assert!(matches!(refused, Err(CountMinError::OutOfMemory(_))));
        assert_eq!(saved(&sketch), before);
    }
}

/// Whether the items share their cells or have exact counts.
#[test]
fn the_estimate_over_all_panes_is_limited() {
    for cell_size in ALL_SIZES {
        let max = cell_size.max_count().cast_signed();
        let mut sketch = sketch((600, 4, cell_size), 3);
        assert!(increment(&mut sketch, b"a", max - 1).is_ok());
        if cell_size != CellSize::Eight {
            // The total is not limited by a cell.
            assert!(increment(&mut sketch, b"b", max).is_ok());
        }
        sketch.advance(1);
        let refused = increment(&mut sketch, b"a", 2);
        assert_eq!(refused, Err(CountMinError::Overflow));
        assert_eq!(increment(&mut sketch, b"a", 1), Ok(max.cast_unsigned()));
    }

    for cell_size in ALL_SIZES {
        let max = cell_size.max_count().cast_signed();
        let mut sketch = sketch((1, 2, cell_size), 3);
        let count = increment(&mut sketch, b"a", max - 1);
        assert_eq!(count, Ok(max.cast_unsigned() - 1));
        sketch.advance(1);
        // All items have the same cells.
        let refused = increment(&mut sketch, b"b", 2);
        assert_eq!(refused, Err(CountMinError::Overflow));
        assert_eq!(increment(&mut sketch, b"b", 1), Ok(max.cast_unsigned()));
        for (item, by) in [(b"a", 1), (b"b", max)] {
            let refused = increment(&mut sketch, item, by);
            assert_eq!(refused, Err(CountMinError::Overflow));
        }
        sketch.advance(5);
        assert_eq!(increment(&mut sketch, b"a", max), Ok(max.cast_unsigned()));
    }
}

/// An increment raises the cells of the newest pane only as far as needed, and the estimate is the sum of the minima of the
/// panes.
#[test]
fn increments_are_conservative_in_each_pane() {
    let mut sketch = sketch((2, 3, CellSize::Four), 3);
    let cells = |sketch: &CountMinWindow, item: &[u8]| {
        let cells = sketch.grid.rows.cells(sketch.grid.rows.hash(item));
        cells.map(|cell| cell % 2).collect::<Vec<_>>()
    };
    let items: Vec<_> = (0..100u8).map(|item| [item]).collect();
    let first = &items[0];
    let other = items.iter().find(|item| {
        let same = cells(&sketch, *item).into_iter().zip(cells(&sketch, first));
        same.filter(|(one, other)| one == other).count() == 2
    });
    let other = other.unwrap();
    assert_eq!(increment(&mut sketch, first, 5), Ok(5));
    // Two of its cells contain 5: they need not be raised.
    assert_eq!(increment(&mut sketch, other, 3), Ok(3));
    assert_eq!(sketch.query(first, Panes::ALL), 5);
    assert_eq!(increment(&mut sketch, other, 4), Ok(7));
    assert_eq!(
        sketch.query(first, Panes::ALL),
        7.min(sketch.query(first, Panes::ALL))
    );
    sketch.advance(1);
    assert_eq!(increment(&mut sketch, other, 10), Ok(17));
    // The third cell of the first item is 0 in the newest pane.
    assert_eq!(sketch.query(first, Panes::ALL), 5);
    assert_eq!(sketch.query(first, sketch.panes_in(4)), 0);
    check_invariants(&sketch);
}

#[test]
fn totals_are_those_of_the_live_panes() {
    let mut sketch = sketch((100, 3, CellSize::Four), 2);
    for (pane, by) in [(5, 1), (6, 10), (7, 100)] {
        sketch.advance(pane);
        increment(&mut sketch, b"a", by).unwrap();
    }
    let totals = [0, 7, 8, 9, 10, u64::MAX].map(|current| sketch.total(sketch.panes_in(current)));
    assert_eq!(totals, [111, 111, 110, 100, 0, 0]);
    let totals = [0, 4, 5, 6, 7, 8, u64::MAX].map(|pane| sketch.pane_total(pane));
    assert_eq!(totals, [0, 0, 1, 10, 100, 0, 0]);
    assert!(!sketch.advance(7) && !sketch.advance(3));
    assert!(sketch.advance(9));
    assert_eq!(sketch.total(Panes::ALL), 100);
}

/// In every stored form and at creation.
#[test]
fn shapes_above_the_limits_are_refused() {
    let uniform = Window::new(1000, 3, None).unwrap();
    let leveled = Window::new(1000, 3, Some(1)).unwrap();
    let new = |width, depth, cell_size, window| {
        let dimensions = Dimensions::new(width, depth, cell_size).unwrap();
        CountMinWindow::new(dimensions, window, SEED, Budget::UNLIMITED)
    };
    let is_deep = Err(CountMinError::TooDeepForWindow);
    assert_eq!(new(2, MAX_DEPTH + 1, CellSize::Four, uniform), is_deep);
    for (window, max) in [
        (uniform, MAX_ARRAY_BYTES),
        (leveled, MAX_MERGED_ARRAY_BYTES),
    ] {
        let width = max / 8 / MAX_DEPTH;
        for width in [width + 1, 1 << 57] {
            let refused = new(width, MAX_DEPTH, CellSize::Eight, window);
            assert_eq!(refused, Err(CountMinError::InvalidDimensions));
        }
        let largest = new(width, MAX_DEPTH, CellSize::Eight, window).unwrap();
        let stored = saved(&largest);
        assert_eq!(load(stored.clone()).as_ref(), Ok(&largest));
        let header = largest.header().unwrap();
        for number in [width, MAX_DEPTH] {
            let mut stored = stored.clone();
            let is_number = |value: &Value| *value == Value::Integer(number);
            let at = stored.values.iter().position(is_number).unwrap();
            stored.values[at] = Value::Integer(number + 1);
            let refused = Err(FormatError::Invalid("a width or depth out of range"));
            assert_eq!(load(stored), refused);
            let mut header = header.clone();
            let at = (header.chunks(8)).position(|field| field == number.to_le_bytes());
            header[8 * at.unwrap()..][..8].copy_from_slice(&(number + 1).to_le_bytes());
            let loaded = CountMinWindow::from_header(&header, Budget::UNLIMITED);
            assert_eq!(loaded, refused);
        }
    }
}

/// The numbers share every cell of a classic sketch, whatever its depth.
#[test]
fn numbers_that_collide_for_every_seed_of_murmur_hash_do_not() {
    let (one, other) = (&b"504102"[..], &b"780518"[..]);
    let mut classic = crate::count_min::tests::sketch(1 << 20, 32, CellSize::Four);
    classic.increment(one, 1000).unwrap();
    assert_eq!(classic.query(other), 1000);
    let mut sketch = sketch((2000, 7, CellSize::Four), 12);
    increment(&mut sketch, one, 1000).unwrap();
    assert_eq!(sketch.query(other, Panes::ALL), 0);
}
