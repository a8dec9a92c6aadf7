//! Merges.

use super::super::super::MergeSource;
use super::*;
use crate::count_min::tests::{other, own};
use crate::window::Panes;

/// A sketch with three panes and these increments of one item.
fn counted(cell_size: CellSize, increments: &[(u64, i64)]) -> CountMinWindow {
    let mut sketch = sketch((600, 4, cell_size), 3);
    for &(pane, by) in increments {
        sketch.advance(pane);
        increment(&mut sketch, b"a", by).unwrap();
    }
    sketch
}

fn merge(
    sketch: &mut CountMinWindow,
    sources: &[MergeSource<'_, CountMinWindow>],
) -> Result<bool, CountMinError> {
    let result = sketch.merge_within(sources, u64::MAX, Budget::UNLIMITED);
    check_invariants(sketch);
    result
}

#[test]
fn panes_with_equal_numbers_are_merged() {
    for cell_size in ALL_SIZES {
        // Pane 1 expires, because the source is at pane 5.
        let mut sketch = counted(cell_size, &[(1, 50), (2, 1), (3, 2)]);
        let source = counted(cell_size, &[(3, 10), (5, 20)]);
        let sources = [other(&source, 2), own(1), own(2)];
        assert_eq!(merge(&mut sketch, &sources), Ok(true));
        assert_eq!(sketch.timeline().newest(), 5);
        let totals = [1, 2, 3, 4, 5].map(|pane| sketch.pane_total(pane));
        assert_eq!(totals, [0, 3, 26, 0, 40]);
        let counts = [5, 6, 7, 8, 9].map(|current| sketch.query(b"a", sketch.panes_in(current)));
        assert_eq!(counts, [69, 66, 40, 40, 0]);
        assert_eq!(merge(&mut sketch, &[own(1)]), Ok(false));
        assert_eq!(merge(&mut sketch, &[own(0)]), Ok(true));
        assert!(sketch.panes.all().is_empty() && sketch.total == 0);
        assert_eq!(merge(&mut sketch, &[own(5)]), Ok(false));
        assert_eq!(sketch.query(b"a", Panes::ALL), 0);
    }
}

#[test]
fn panes_of_sources_that_have_expired_do_not_count() {
    let mut sketch = counted(CellSize::Four, &[(10, 1)]);
    let old = counted(CellSize::Four, &[(5, 100), (6, 100), (7, 3)]);
    assert_eq!(merge(&mut sketch, &[own(1), other(&old, 1)]), Ok(true));
    assert_eq!(sketch.query(b"a", Panes::ALL), 4);
}

#[test]
fn refused_merges_change_nothing() {
    for cell_size in ALL_SIZES {
        let max = cell_size.max_count().cast_signed();
        let full = counted(cell_size, &[(1, max)]);
        let half = counted(cell_size, &[(2, max / 2 + 1)]);
        let mut sketch = counted(cell_size, &[(1, 7)]);
        sketch.advance(2);
        let before = saved(&sketch);
        for sources in [
            &[other(&full, 1), own(1)][..],
            &[other(&full, 2)],
            &[other(&full, i64::MAX)],
            // Each pane is in range, their sum is not.
            &[other(&full, 1), other(&half, 1)],
            &[own(i64::MAX), own(i64::MAX), own(i64::MAX)],
        ] {
            let refused = merge(&mut sketch, sources);
            assert_eq!(refused, Err(CountMinError::MergeOverflow));
            assert_eq!(saved(&sketch), before);
        }
        let negative = merge(&mut sketch, &[other(&full, 1), own(i64::MIN)]);
        assert_eq!(negative, Err(CountMinError::WindowDecrement));
        let no = Budget::new(&|_| false);
        let refused = sketch.merge_within(&[other(&half, 1)], u64::MAX, no);
        assert!(matches!(refused, Err(CountMinError::OutOfMemory(_))));
        assert_eq!(saved(&sketch), before);
        assert_eq!(merge(&mut sketch, &[other(&full, 1)]), Ok(true));
        assert_eq!(sketch.query(b"a", Panes::ALL), max.cast_unsigned());
    }
}

/// The largest counts decide where the sums of the totals exceed the maximum of a cell.
#[test]
fn totals_above_the_maximum_of_a_cell_are_merged() {
    let mut sketch = sketch((600, 4, CellSize::One), 3);
    for item in 0..100u8 {
        increment(&mut sketch, &[item], 2).unwrap();
    }
    let copy = sketch.try_clone().unwrap();
    sketch.advance(1);
    assert_eq!(merge(&mut sketch, &[other(&copy, 20), own(1)]), Ok(true));
    assert_eq!((sketch.query(&[7], Panes::ALL), sketch.total), (42, 4200));
    let refused = merge(&mut sketch, &[other(&copy, 127), own(1)]);
    assert_eq!(refused, Err(CountMinError::MergeOverflow));
}

#[test]
fn the_work_limit_counts_the_panes_of_distinct_sources() {
    let array = sketch((20, 4, CellSize::One), 3).grid.array_bytes;
    // An exact count reads as many bytes as a slot per row.
    for (dimensions, bytes) in [((20, 4), array), ((600, 4), 16 * 4)] {
        let counted = |increments: &[(u64, i64)]| {
            let mut sketch = sketch((dimensions.0, dimensions.1, CellSize::One), 3);
            for &(pane, by) in increments {
                sketch.advance(pane);
                increment(&mut sketch, b"a", by).unwrap();
            }
            sketch
        };
        let first = counted(&[(1, 1), (2, 1)]);
        let second = counted(&[(2, 1)]);
        let mut sketch = counted(&[(1, 1)]);
        let sources = [other(&first, 1), other(&second, 1), own(1)].repeat(5);
        let refused = sketch.merge_within(&sources, 4 * bytes - 1, Budget::UNLIMITED);
        assert!(matches!(refused, Err(CountMinError::TooMuchWork(_))));
        let merged = sketch.merge_within(&sources, 4 * bytes, Budget::UNLIMITED);
        assert_eq!((merged, sketch.query(b"a", Panes::ALL)), (Ok(true), 20));
        let two = sketch.merge_within(&[own(1), other(&first, 1)], 0, Budget::UNLIMITED);
        assert_eq!(two, Ok(true));
    }
}

#[test]
fn sources_of_other_shapes_and_windows_are_refused() {
    let mut destination = sketch((300, 4, CellSize::Two), 3);
    let dimensions = (300, 4, CellSize::Two);
    let long = sketch_of(dimensions, Window::new(1 << 21, 3, None).unwrap());
    let finer = sketch_of(dimensions, Window::new(1 << 20, 3, Some(1000)).unwrap());
    let mut seeded = sketch(dimensions, 3);
    seeded.grid.rows.seed.0[15] += 1;
    for (mut source, error) in [
        (
            sketch((301, 4, CellSize::One), 4),
            CountMinError::DimensionMismatch,
        ),
        (
            sketch((300, 5, CellSize::Two), 3),
            CountMinError::DimensionMismatch,
        ),
        (
            sketch((300, 4, CellSize::Four), 4),
            CountMinError::CellSizeMismatch,
        ),
        (
            sketch((300, 4, CellSize::Two), 4),
            CountMinError::WindowMismatch,
        ),
        (long, CountMinError::WindowMismatch),
        (finer, CountMinError::WindowMismatch),
        (seeded, CountMinError::SeedMismatch),
    ] {
        source.advance(9);
        let sources = [own(1), other(&source, 1)];
        assert_eq!(merge(&mut destination, &sources), Err(error));
        assert_eq!(destination.timeline().newest(), 0);
    }
}

/// The result is that of an increment per event in one sketch whose increments do not collide: each pane of a source lies in
/// one pane of the result.
#[test]
fn panes_of_different_levels_are_merged() {
    let window = Window::new(1000, 4, Some(10)).unwrap();
    let new = || sketch_of((600, 4, CellSize::Four), window);
    for newest in [0, 3, 40, 63, 100, 150, 1000] {
        let (mut first, mut second, mut both) = (new(), new(), new());
        for unit in 0..=120 {
            for (sketch, part) in [(&mut first, unit % 3), (&mut second, 1 - unit % 2)] {
                if part == 0 {
                    sketch.advance(unit);
                    increment(sketch, b"a", 1 + unit.cast_signed()).unwrap();
                    both.advance(unit);
                    increment(&mut both, b"a", 1 + unit.cast_signed()).unwrap();
                }
            }
            if unit == newest {
                both.advance(120);
                break;
            }
        }
        second.advance(120);
        assert_eq!(merge(&mut first, &[own(1), other(&second, 1)]), Ok(true));
        both.advance(120);
        assert_eq!(first, both);
    }
}
