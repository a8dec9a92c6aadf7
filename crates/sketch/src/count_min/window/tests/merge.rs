//! Merges.

use super::super::super::MergeSource;
use super::super::super::cell::ALL_SIZES;
use super::*;
use crate::testing::{MERGED_BLOCKS, with};
use crate::window::Panes;

fn other(sketch: &CountMinWindow, weight: i64) -> MergeSource<'_, CountMinWindow> {
    MergeSource {
        sketch: Some(sketch),
        weight,
    }
}

fn own(weight: i64) -> MergeSource<'static, CountMinWindow> {
    MergeSource {
        sketch: None,
        weight,
    }
}

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
        assert!(sketch.is_blank() && sketch.total(Panes::ALL) == 0);
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
    let mut stale = counted(CellSize::Four, &[(7, 3), (8, 4), (9, 5)]);
    stale.advance(12);
    assert!(stale.ages.stale() != 0);
    let mut sketch = counted(CellSize::Four, &[]);
    assert_eq!(merge(&mut sketch, &[other(&stale, 1)]), Ok(true));
    assert_eq!(
        (sketch.query(b"a", Panes::ALL), sketch.total(Panes::ALL)),
        (5, 5)
    );
}

#[test]
fn refused_merges_change_nothing() {
    for cell_size in ALL_SIZES {
        let max = cell_size.max_count().cast_signed();
        let full = counted(cell_size, &[(1, max)]);
        let half = counted(cell_size, &[(2, max / 2 + 1)]);
        let mut sketch = counted(cell_size, &[(1, 7)]);
        sketch.advance(2);
        let before = values(&sketch);
        for sources in [
            &[other(&full, 1), own(1)][..],
            &[other(&full, 2)],
            &[other(&full, i64::MAX)],
            &[other(&full, i64::MIN)],
            &[own(-1)],
            // Each pane is in range, their sum is not.
            &[other(&full, 1), other(&half, 1)],
            // The sum is in range, a partial sum is not.
            &[other(&full, i64::MAX), other(&full, -i64::MAX), own(1)],
        ] {
            if sources.len() == 3 && max == 1 {
                continue;
            }
            assert_eq!(
                merge(&mut sketch, sources),
                Err(CountMinError::MergeOverflow)
            );
            assert_eq!(values(&sketch), before);
        }
        let no = Budget::new(&|_| false);
        let refused = sketch.merge_within(&[other(&half, 1)], u64::MAX, no);
        assert!(matches!(refused, Err(CountMinError::OutOfMemory(_))));
        assert_eq!(values(&sketch), before);
        assert_eq!(merge(&mut sketch, &[other(&full, 1)]), Ok(true));
        assert_eq!(sketch.query(b"a", Panes::ALL), max.cast_unsigned());
    }
}

/// Only a stored total can be below the counts.
#[test]
fn counts_above_their_total_do_not_overflow() {
    let full = counted(CellSize::Eight, &[(1, i64::MAX)]);
    let full = load(with(&values(&full), 10, Value::Integer(1))).unwrap();
    let mut sketch = counted(CellSize::Eight, &[(1, 7)]);
    let before = values(&sketch);
    for sources in [&[other(&full, 2)][..], &[other(&full, 1), own(1)]] {
        assert_eq!(
            merge(&mut sketch, sources),
            Err(CountMinError::MergeOverflow)
        );
        assert_eq!(values(&sketch), before);
    }
}

#[test]
fn the_work_limit_counts_the_arrays_of_distinct_sources() {
    let first = counted(CellSize::Four, &[(1, 1), (2, 1)]);
    let second = counted(CellSize::Four, &[(2, 1)]);
    let mut sketch = counted(CellSize::Four, &[(1, 1)]);
    let array = first.sum.cells.len() as u64;
    let sources = [other(&first, 1), other(&second, 1), own(1)].repeat(5);
    let refused = sketch.merge_within(&sources, 4 * array - 1, Budget::UNLIMITED);
    assert!(matches!(refused, Err(CountMinError::TooMuchWork(_))));
    let merged = sketch.merge_within(&sources, 4 * array, Budget::UNLIMITED);
    assert_eq!((merged, sketch.query(b"a", Panes::ALL)), (Ok(true), 20));
    let two = sketch.merge_within(&[own(1), other(&first, 1)], 0, Budget::UNLIMITED);
    assert_eq!(two, Ok(true));
}

/// The cost of a merge does not depend on the number of panes: it looks up the blocks of the arrays that exist, twice.
#[test]
fn a_merge_reads_only_the_arrays_of_the_sources() {
    for panes in [1, 10, 100] {
        let shape = (60_000, 4, CellSize::Four);
        let mut source = sketch(shape, panes);
        increment(&mut source, b"a", 5).unwrap();
        let other_source = source.try_clone().unwrap();
        let mut destination = sketch(shape, panes);
        let sources = [other(&source, 1), other(&other_source, 2), own(1)];
        let blocks = source.blocks() as u64;
        assert!(blocks > 900);
        let read = MERGED_BLOCKS.with(|blocks| {
            blocks.during(|| assert_eq!(merge(&mut destination, &sources), Ok(true)))
        });
        assert_eq!(read, 2 * 2 * blocks, "{panes} panes");
        assert_eq!(destination.query(b"a", Panes::ALL), 15);
    }
}

#[test]
fn sources_of_other_shapes_and_windows_are_refused() {
    let mut destination = sketch((300, 4, CellSize::Two), 3);
    let long = Window::new(1 << 21, 3).unwrap();
    let long = CountMinWindow::new(300, 4, CellSize::Two, long, Budget::UNLIMITED).unwrap();
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
    ] {
        source.advance(9);
        let sources = [own(1), other(&source, 1)];
        assert_eq!(merge(&mut destination, &sources), Err(error));
        assert_eq!(destination.timeline().newest(), 0);
    }
}
