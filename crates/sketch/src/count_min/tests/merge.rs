//! Merges.

use super::*;

fn counted(cell_size: CellSize, count: i64) -> CountMin {
    let mut sketch = CountMin::new(300, 4, cell_size, Budget::UNLIMITED).unwrap();
    sketch.increment(b"a", count).unwrap();
    sketch
}

#[test]
fn sums_out_of_range_change_nothing() {
    for cell_size in ALL_SIZES {
        let max = cell_size.max_count().cast_signed();
        let full = counted(cell_size, max);
        let mut sketch = counted(cell_size, 7);
        for sources in [
            &[other(&full, 1), own(1)][..],
            &[other(&full, 2)],
            &[other(&full, i64::MAX)],
            &[other(&full, i64::MIN)],
            &[own(-1)],
            // The sum is in range, a partial sum is not.
            &[other(&full, i64::MAX), other(&full, -i64::MAX), own(1)],
        ] {
            let merged = sketch.merge(sources);
            assert_eq!(merged, Err(CountMinError::MergeOverflow));
            assert_eq!(sketch, counted(cell_size, 7));
        }
        assert_eq!(sketch.merge(&[other(&full, 1)]), Ok(true));
        assert_eq!(sketch, full);
    }
}

#[test]
fn an_overflow_of_the_total_alone_is_refused() {
    // RedisBloom 8.10 saves such sketches, with a total that does not match the cells.
    let mut sketch = counted(CellSize::Four, 1);
    sketch.total = MAX_TOTAL;
    let before = sketch.try_clone().unwrap();
    let refused = sketch.merge(&[own(1), own(1)]);
    assert_eq!(refused, Err(CountMinError::MergeOverflow));
    assert_eq!(sketch, before);
    assert_eq!(sketch.merge(&[own(1)]), Ok(false));
}

#[test]
fn a_repeated_source_is_read_once_and_counted_each_time() {
    for cell_size in ALL_SIZES {
        let [first, second] = [1, 2].map(|count| counted(cell_size, count));
        let bytes = first.cells.len() as u64;
        let sources = [
            other(&first, 1),
            other(&second, -1),
            own(1),
            other(&second, 2),
        ]
        .repeat(10);
        let mut sketch = counted(cell_size, 3);
        let refused = sketch.merge_within(&sources, 3 * bytes - 1);
        assert!(matches!(refused, Err(CountMinError::TooMuchWork(_))));
        assert_eq!(sketch, counted(cell_size, 3));
        assert_eq!(sketch.merge_within(&sources, 3 * bytes), Ok(true));
        assert_eq!((sketch.query(b"a"), sketch.total()), (60, 60));
    }
}

#[test]
fn a_repeated_source_is_read_each_time_if_partial_sums_may_overflow() {
    let large = counted(CellSize::Eight, 1 << 62);
    let small = counted(CellSize::Eight, 1);
    let bytes = large.cells.len() as u64;
    let pair = [other(&large, 1), other(&large, -1)];
    let sources = [&pair.repeat(10)[..], &[other(&small, 5)]].concat();
    let mut sketch = counted(CellSize::Eight, 7);
    let refused = sketch.merge_within(&sources, 21 * bytes - 1);
    assert!(matches!(refused, Err(CountMinError::TooMuchWork(_))));
    assert_eq!(sketch, counted(CellSize::Eight, 7));
    assert_eq!(sketch.merge_within(&sources, 21 * bytes), Ok(true));
    assert_eq!((sketch.query(b"a"), sketch.total()), (5, 5));
}

#[test]
fn a_merge_of_two_sources_has_no_work_limit() {
    let source = counted(CellSize::Four, 3);
    let mut sketch = counted(CellSize::Four, 4);
    let merged = sketch.merge_within(&[own(1), other(&source, 1)], 0);
    assert_eq!(merged, Ok(true));
    assert_eq!(sketch.query(b"a"), 7);
}

#[test]
fn sources_of_other_shapes_are_refused() {
    let mut sketch = counted(CellSize::Two, 1);
    let new = |width, depth, size| CountMin::new(width, depth, size, Budget::UNLIMITED).unwrap();
    for (source, error) in [
        (new(301, 4, CellSize::Two), CountMinError::DimensionMismatch),
        (new(300, 5, CellSize::Two), CountMinError::DimensionMismatch),
        (new(400, 3, CellSize::Two), CountMinError::DimensionMismatch),
        (new(301, 4, CellSize::One), CountMinError::DimensionMismatch),
        (new(300, 4, CellSize::Four), CountMinError::CellSizeMismatch),
    ] {
        assert_eq!(sketch.merge(&[own(1), other(&source, 1)]), Err(error));
        assert_eq!(sketch, counted(CellSize::Two, 1));
    }
}

/// As RedisBloom 2.6.12: 4,000,000,000 twice, five times, times -1, and times 5,000,000,000.
#[test]
fn sums_of_a_replicated_merge_wrap_in_cells_of_four_bytes() {
    let source = counted(CellSize::Four, 4_000_000_000);
    let mut sketch = counted(CellSize::Four, 7);
    for (weight, cell, total) in [
        (2, 3_705_032_704, 8_000_000_000),
        (5, 2_820_130_816, 20_000_000_000),
        (-1, 294_967_296, MAX_TOTAL),
        (5_000_000_000, 332_398_592, 1_553_255_926_290_448_384),
    ] {
        let merged = sketch.merge_wrapping(&[other(&source, weight)], u64::MAX);
        assert_eq!(merged, Ok(true));
        assert_eq!((sketch.query(b"a"), sketch.total()), (cell, total));
        let again = sketch.merge_wrapping(&[other(&source, weight)], u64::MAX);
        assert_eq!(again, Ok(false));
    }
    let mut in_range = counted(CellSize::Four, 7);
    assert_eq!(in_range.merge_wrapping(&[own(2)], u64::MAX), Ok(true));
    assert_eq!((in_range.query(b"a"), in_range.total()), (14, 14));
    // RedisBloom has only cells of four bytes.
    for cell_size in ALL_SIZES.into_iter().filter(|&size| size != CellSize::Four) {
        let mut sketch = counted(cell_size, 7);
        let refused = sketch.merge_wrapping(&[own(i64::MAX)], u64::MAX);
        assert_eq!(refused, Err(CountMinError::MergeOverflow));
    }
}
