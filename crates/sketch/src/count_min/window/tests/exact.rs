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

/// Each cell is the largest count of the items that share it; then the increment follows.
#[test]
fn the_array_is_the_smallest_one_in_which_no_count_is_too_low() {
    for width in WIDTHS {
        let mut sketch = full(width);
        let (grid, len) = (sketch.grid, sketch.grid.max_entries as u64);
        let mut expected = vec![0; grid.rows.width * grid.rows.depth];
        for n in 0..len {
            for cell in grid.rows.cells(grid.rows.hash(&n.to_le_bytes())) {
                expected[cell] = expected[cell].max(n + 1);
            }
        }
        // An increment of an item of the pane makes no array.
        assert!(increment(&mut sketch, &0u64.to_le_bytes(), 0).is_ok());
        assert_eq!(sketch.arrays().count(), 0);
        let cells: Vec<_> = grid.rows.cells(grid.rows.hash(b"new")).collect();
        let smallest = cells.iter().map(|&cell| expected[cell]).min().unwrap();
        assert_eq!(increment(&mut sketch, b"new", 5), Ok(smallest + 5));
        for &cell in &cells {
            expected[cell] = expected[cell].max(smallest + 5);
        }
        let array = sketch.arrays().next().unwrap();
        let array = u16::all(array).iter().map(|&cell| u16::count(cell));
        assert!(array.eq(expected));
        for n in 0..len {
            assert!(sketch.query(&n.to_le_bytes(), Panes::ALL) > n);
        }
        check_invariants(&sketch);
    }
}

/// Because of the limit of a command, the range of a cell, or the memory.
#[test]
fn a_refused_increment_makes_no_array() {
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

/// In a step: exact counts that are too many together, and exact counts and an array.
#[test]
fn merged_panes_become_arrays() {
    let window = Window::new(1000, 1, Some(1)).unwrap();
    let items = |from: u64, to: u64| (from..to).map(u64::to_le_bytes);
    let counted = |units: &[(u64, u64, u64)]| {
        let mut sketch = sketch_of((16, 4, CellSize::Eight), window);
        for &(unit, from, to) in units {
            sketch.advance(unit);
            for (item, by) in items(from, to).zip(1..) {
                increment(&mut sketch, &item, by).unwrap();
            }
        }
        sketch
    };
    // The panes of the units 0 and 1 are merged.
    let merged = |units: &[(u64, u64, u64)]| {
        let mut sketch = counted(units);
        sketch.advance(5);
        assert_eq!(sketch.panes.all().len(), 1);
        check_invariants(&sketch);
        sketch
    };
    // 7 and 7 items of which 6 are the same.
    let sketch = merged(&[(0, 0, 7), (1, 1, 8)]);
    assert_eq!(sketch.arrays().count(), 0);
    for (item, n) in items(0, 8).zip(0..) {
        let count = if n < 7 { n + 1 } else { 0 } + if n > 0 { n } else { 0 };
        assert_eq!(sketch.query(&item, Panes::ALL), count);
    }
    let rows = sketch.grid.rows;
    let cell_of = |sketch: &CountMinWindow, item: &[u8]| {
        let cells = rows.cells(rows.hash(item));
        let array = sketch.arrays().next().unwrap();
        (cells.map(|cell| u64::count(u64::all(array)[cell]))).collect::<Vec<_>>()
    };
    // 8 and 8 other items: the array of their sums.
    let sketch = merged(&[(0, 0, 8), (1, 8, 16)]);
    for (item, n) in items(0, 16).zip(0..) {
        let largest = rows.cells(rows.hash(&item)).map(|cell| {
            let sharing = (items(0, 16).zip(0..))
                .filter(|(other, _)| rows.cells(rows.hash(other)).any(|other| other == cell));
            sharing.map(|(_, n)| n % 8 + 1).max().unwrap()
        });
        assert!(largest.eq(cell_of(&sketch, &item)), "{n}");
    }
    // An array and exact counts, in either order: conservative updates in ascending order of the hashes.
    let mut depends_on_order = 0;
    for from in 0..40 {
        let (array, exact) = ((0, 20), (from, from + 8));
        let mut entries: Vec<_> = items(exact.0, exact.1).zip(1..).collect();
        entries.sort_unstable_by_key(|(item, _)| rows.hash(item));
        let updated = |entries: &[([u8; 8], i64)]| {
            let mut sketch = counted(&[(0, array.0, array.1)]);
            assert_eq!(sketch.arrays().count(), 1);
            for (item, by) in entries {
                increment(&mut sketch, item, *by).unwrap();
            }
            sketch
        };
        let expected = updated(&entries);
        entries.reverse();
        depends_on_order += usize::from(updated(&entries) != expected);
        for units in [[array, exact], [exact, array]] {
            let [(a, b), (c, d)] = units;
            let sketch = merged(&[(0, a, b), (1, c, d)]);
            assert!(sketch.arrays().eq(expected.arrays()));
            assert_eq!(sketch.total, expected.total);
        }
    }
    assert!(depends_on_order > 5, "{depends_on_order}");
}

#[test]
fn merged_counts_become_at_most_the_maximum_of_a_cell() {
    let window = Window::new(1000, 1, Some(1)).unwrap();
    for width in [10, 600] {
        let mut sketch = sketch_of((width, 4, CellSize::One), window);
        for (unit, item) in [(0, b"a"), (1, b"b"), (1, b"a")] {
            sketch.advance(unit);
            let by = if item == b"a" { 127 } else { 255 };
            let _ = increment(&mut sketch, item, by);
        }
        sketch.advance(5);
        check_invariants(&sketch);
        assert!(sketch.query(b"a", Panes::ALL) >= 254);
        let mut loaded = load(saved(&sketch)).unwrap();
        assert_eq!(loaded, sketch);
        let refused = increment(&mut loaded, b"a", 2);
        assert_eq!(refused, Err(CountMinError::Overflow));
    }
}
