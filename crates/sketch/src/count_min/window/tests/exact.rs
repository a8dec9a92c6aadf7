//! Exact panes, and how they become arrays.

use super::*;

/// The smallest number of entries, 8, and the next ones; the largest.
const WIDTHS: [u64; 4] = [128, 144, 600, 1 << 17];

/// A sketch of four rows whose newest pane has as many items as an exact pane may have, item `n` with the count `n` + 1.
fn full(width: u64) -> CountMinWindow {
    let mut sketch = sketch((width, 4, CellSize::Two), 3);
    for n in 0..sketch.grid.max_entries as u64 {
        let count = increment(&mut sketch, &n.to_le_bytes(), n as i64 + 1);
        assert_eq!(count, Ok(n + 1));
    }
    assert_eq!(sketch.arrays().count(), 0);
    sketch
}

#[test]
fn a_pane_has_an_array_when_exact_counts_would_take_a_quarter_of_it_or_64_kib() {
    let entries = |width, depth, cell_size| {
        let sketch = sketch((width, depth, cell_size), 3);
        sketch.grid.max_entries
    };
    assert_eq!(entries(2000, 7, CellSize::Four), 875);
    assert_eq!(entries(127, 4, CellSize::One), 0);
    assert_eq!(entries(128, 4, CellSize::One), 8);
    assert_eq!(entries(1 << 20, 7, CellSize::Eight), 4096);
    // Arrays that take too long to make.
    assert_eq!(entries(1 << 21, 32, CellSize::One), 4096);
    assert_eq!(entries((1 << 21) + 1, 32, CellSize::One), 0);
    let leveled = Window::new(1000, 3, Some(1)).unwrap();
    let entries = |dimensions| sketch_of(dimensions, leveled).grid.max_entries;
    assert_eq!(entries((1 << 17, 8, CellSize::One)), 4096);
    assert_eq!(entries(((1 << 17) + 1, 8, CellSize::One)), 0);
    assert_eq!(entries((1 << 15, 32, CellSize::One)), 1024);
    let limits = WIDTHS.map(|width| full(width).grid.max_entries);
    assert_eq!(limits, [16, 18, 75, 4096]);
}

/// Because of the limit of a command, the range of a cell, or the memory.
#[test]
fn a_refused_increment_makes_no_array_and_no_pane() {
    for width in WIDTHS {
        let mut sketch = full(width);
        let before = saved(&sketch);
        let limited = sketch.increment_limited(b"new", 5, 4, Budget::UNLIMITED);
        assert_eq!(limited, Err(CountMinError::AboveLimit(0)));
        let max = i64::from(u16::MAX);
        let refused = increment(&mut sketch, b"new", max + 1);
        assert_eq!(refused, Err(CountMinError::Overflow));
        let array = sketch.grid.array_bytes;
        let refused = sketch.increment(b"new", 1, Budget::new(&|bytes| bytes < array / 2));
        assert!(matches!(refused, Err(CountMinError::OutOfMemory(_))));
        assert_eq!(saved(&sketch), before);
        sketch.advance(1);
        let before = saved(&sketch);
        let refused = sketch.increment(b"new", 1, Budget::new(&|_| false));
        assert!(matches!(refused, Err(CountMinError::OutOfMemory(_))));
        assert_eq!(saved(&sketch), before);
    }
}

/// An item can share all its cells in the array that its increment would make: then the estimate is limited, not the increment.
#[test]
fn the_estimate_after_the_conversion_is_limited() {
    let mut sketch = full(WIDTHS[0]);
    let before = saved(&sketch);
    let rows = sketch.grid.rows;
    let used: Vec<_> = (0..sketch.grid.max_entries as u64)
        .flat_map(|n| rows.cells(rows.hash(&n.to_le_bytes())))
        .collect();
    let shares_all = |item: &u64| {
        let mut cells = rows.cells(rows.hash(&item.to_le_bytes()));
        cells.all(|cell| used.contains(&cell))
    };
    let item = (1000..1 << 20).find(shares_all).unwrap().to_le_bytes();
    let refused = sketch.increment_limited(&item, 3, 3, Budget::UNLIMITED);
    assert_eq!(refused, Err(CountMinError::AboveLimit(0)));
    let max = i64::from(u16::MAX);
    let refused = increment(&mut sketch, &item, max);
    assert_eq!(refused, Err(CountMinError::Overflow));
    assert_eq!(saved(&sketch), before);
    let estimate = increment(&mut sketch, &item, 3).unwrap();
    assert!(estimate > 3 && sketch.arrays().count() == 1);
    assert_eq!(sketch.query(&item, Panes::ALL), estimate);
}
