//! Examples, merges, reported errors, stored forms.

mod merge;
mod reported;
mod stored;

use super::cell::ALL_SIZES;
use super::*;
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
