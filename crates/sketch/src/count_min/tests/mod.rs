//! Examples, statistical bounds, stored forms.

mod accuracy;
mod limit;
mod merge;
mod reported;
mod stored;

use super::cell::ALL_SIZES;
use super::*;
use crate::blocks::{Addresses, MovesAll};
use crate::hash::murmur2;
use crate::stored::Stored;
use crate::testing::fed;
use std::cell::Cell;

/// An empty sketch. Every allocation is allowed.
pub(super) fn sketch(width: u64, depth: u64, cell_size: CellSize) -> CountMin {
    CountMin::new(width, depth, cell_size, Budget::UNLIMITED).unwrap()
}

pub(super) fn other<S>(sketch: &S, weight: i64) -> MergeSource<'_, S> {
    let sketch = Some(sketch);
    MergeSource { sketch, weight }
}

pub(super) fn own<S: 'static>(weight: i64) -> MergeSource<'static, S> {
    let sketch = None;
    MergeSource { sketch, weight }
}

#[test]
fn creation_requests_all_bytes_from_the_budget_at_once() {
    for (cell_size, bytes) in ALL_SIZES.into_iter().zip([1500, 3000, 6000, 12_000]) {
        let asked = Cell::new(Vec::new());
        let answer = |allowed| {
            let allows = |bytes| {
                let mut all = asked.take();
                all.push(bytes);
                asked.set(all);
                allowed
            };
            CountMin::new(300, 5, cell_size, Budget::new(&allows))
        };
        assert_eq!(answer(false), Err(OutOfMemory { bytes }.into()));
        assert_eq!(answer(true).unwrap().cells.len() as u64, bytes);
        assert_eq!(asked.take(), [bytes, bytes]);
    }
}

#[test]
fn impossible_sizes_are_out_of_memory() {
    for width in [1 << 61, 1 << 62, i64::MAX as u64] {
        let sketch = CountMin::new(width, 1, CellSize::Eight, Budget::UNLIMITED);
        assert!(matches!(sketch, Err(CountMinError::OutOfMemory(_))));
    }
}

#[test]
fn a_copy_is_equal_and_independent() {
    let mut sketch = CountMin::new(10, 3, CellSize::Two, Budget::UNLIMITED).unwrap();
    sketch.increment(b"a", 5).unwrap();
    let copy = sketch.try_clone().unwrap();
    assert_eq!(copy, sketch);
    sketch.increment(b"a", 1).unwrap();
    assert_eq!((copy.query(b"a"), sketch.query(b"a")), (5, 6));
    assert_ne!(copy, sketch);
}

#[test]
fn different_states_have_different_digests() {
    let mut sketch = CountMin::new(10, 3, CellSize::Two, Budget::UNLIMITED).unwrap();
    let before = fed(&sketch);
    sketch.increment(b"a", 5).unwrap();
    assert_ne!(fed(&sketch), before);
    assert_eq!(fed(&sketch.try_clone().unwrap()), fed(&sketch));
    sketch.increment(b"a", -5).unwrap();
    assert_eq!(fed(&sketch), before);
    for (width, depth, cell_size) in [
        (3, 10, CellSize::Two),
        (10, 6, CellSize::One),
        (30, 1, CellSize::Two),
    ] {
        let other = CountMin::new(width, depth, cell_size, Budget::UNLIMITED).unwrap();
        assert_ne!(fed(&other), before);
    }
}

#[test]
fn a_sketch_has_one_block() {
    let mut sketch = CountMin::new(10, 3, CellSize::Two, Budget::UNLIMITED).unwrap();
    sketch.increment(b"a", 5).unwrap();
    let mut blocks = Addresses::default();
    sketch.for_each_block(&mut blocks);
    assert_eq!(blocks.0, [sketch.cells.as_ptr().addr()]);
    let mut mover = MovesAll::default();
    assert!(sketch.relocate_block(0, &mut mover) && !sketch.relocate_block(1, &mut mover));
    assert_eq!((mover.moves, sketch.query(b"a")), (1, 5));
}

#[test]
fn increments_above_the_maximum_of_a_cell_are_refused() {
    for cell_size in ALL_SIZES {
        for depth in [1, 5, 200] {
            let max = cell_size.max_count();
            let mut sketch = sketch(100, depth, cell_size);
            let by = max.cast_signed();
            assert_eq!(sketch.increment(b"a", by), Ok(max));
            assert_eq!(sketch.increment(b"a", 1), Err(CountMinError::Overflow));
            let refused = sketch.increment(b"a", i64::MAX);
            assert_eq!(refused, Err(CountMinError::Overflow));
            assert_eq!(sketch.increment(b"a", 0), Ok(max));
            assert_eq!((sketch.query(b"a"), sketch.total()), (max, max));
            let refused = sketch.increment(b"a", i64::MIN);
            assert_eq!(refused, Err(CountMinError::Underflow));
            assert_eq!(sketch.increment(b"a", -by), Ok(0));
            assert_eq!(sketch.increment(b"a", -1), Err(CountMinError::Underflow));
            assert_eq!(sketch.total(), 0);
        }
    }
}

#[test]
fn a_refused_increment_changes_no_row() {
    // Items that share some cells with `a`, but not all.
    for depth in [4, 6, 9, 16, 17] {
        check_refused_increments(depth);
    }
}

fn check_refused_increments(depth: u64) {
    let mut sketch = sketch(2, depth, CellSize::One);
    assert_eq!(sketch.increment(b"a", 200), Ok(200));
    let before = sketch.try_clone().unwrap();
    let mut failed = 0;
    for item in 0..100u8 {
        // In a batch with another item.
        let mut twin = before.try_clone().unwrap();
        let mut answers = Vec::new();
        let pair = [(&[item][..], 60), (&b"a"[..], 5)];
        twin.increment_all(pair.into_iter(), NO_LIMIT, |_, answer| answers.push(answer));
        let one_by_one = [sketch.increment(&[item], 60), sketch.increment(b"a", 5)];
        assert_eq!(answers, one_by_one);
        assert_eq!(twin, sketch);
        if one_by_one[1].is_ok() {
            sketch.increment(b"a", -5).unwrap();
        }
        if one_by_one[0].is_ok() {
            sketch.increment(&[item], -60).unwrap();
        }
        assert_eq!(sketch, before);
        match sketch.increment(&[item], 60) {
            Ok(_) => {
                sketch.increment(&[item], -60).unwrap();
            }
            Err(error) => {
                assert_eq!(error, CountMinError::Overflow);
                failed += 1;
            }
        }
        assert_eq!(sketch, before);
        if sketch.query(&[item]) == 0 {
            assert_eq!(sketch.increment(&[item], -1), Err(CountMinError::Underflow));
            assert_eq!(sketch, before);
        }
    }
    assert!(failed > 50);
}

#[test]
fn increments_above_the_maximum_total_are_refused() {
    let mut sketch = sketch(1000, 3, CellSize::Eight);
    assert_eq!(sketch.increment(b"a", i64::MAX - 1), Ok(MAX_TOTAL - 1));
    assert_eq!(sketch.increment(b"b", 2), Err(CountMinError::Overflow));
    assert_eq!(sketch.increment(b"b", 1), Ok(1));
    assert_eq!(sketch.increment(b"b", 1), Err(CountMinError::Overflow));
    assert_eq!((sketch.query(b"b"), sketch.total()), (1, MAX_TOTAL));
}

#[test]
fn increments_of_a_batch_see_the_earlier_ones() {
    for depth in [1, 4, 5, 8, 9, 16, 17, 100] {
        let mut sketch = sketch(50, depth, CellSize::One);
        let mut answers = Vec::new();
        let items = (0..70).map(|i| (&b"twice"[..], if i % 2 == 0 { 9 } else { -4 }));
        sketch.increment_all(items, NO_LIMIT, |_, answer| answers.push(answer));
        let mut count = 0u64;
        for (i, answer) in answers.iter().enumerate() {
            match (i % 2, count) {
                (0, 0..=246) => count += 9,
                (0, _) => {
                    assert_eq!(*answer, Err(CountMinError::Overflow));
                    continue;
                }
                _ => count -= 4,
            }
            assert_eq!(*answer, Ok(count));
        }
        assert_eq!(answers.len(), 70);
        let mut estimates = Vec::new();
        sketch.query_all([&b"twice"[..]; 33].into_iter(), |estimate| {
            estimates.push(estimate)
        });
        assert_eq!(estimates, [count; 33]);
    }
}

/// Numbers of six digits that share every cell of every sketch: the word of the first four digits and that of the last two differ
/// in the same bits. After a suffix to a multiple of four bytes there are none.
#[test]
fn numbers_that_share_all_cells_do_not_if_their_length_is_a_multiple_of_four() {
    let pairs = |suffix: &str| {
        let hashes = (100_000..1_000_000).map(|number| {
            let item = format!("{number}{suffix}");
            [0, 1, 2, 31].map(|seed| murmur2(item.as_bytes(), seed))
        });
        let mut hashes: Vec<_> = hashes.collect();
        hashes.sort_unstable();
        hashes.windows(2).filter(|pair| pair[0] == pair[1]).count()
    };
    assert_eq!((pairs(""), pairs("--")), (40, 0));
    let mut sketch = sketch(1 << 20, 32, CellSize::Four);
    for suffix in ["", "-", "--"] {
        (sketch.increment(format!("504102{suffix}").as_bytes(), 1000)).unwrap();
        let twin = sketch.query(format!("780518{suffix}").as_bytes());
        assert_eq!(twin, if suffix.len() < 2 { 1000 } else { 0 }, "{suffix}");
    }
}
