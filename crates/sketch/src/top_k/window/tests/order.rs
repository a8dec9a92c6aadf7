//! The order of items with equal counts, and the bytes that comparisons read.

use super::super::candidates::Candidates;
use super::super::candidates::NONE;
use super::super::{TopKWindow, order};
use super::{RankingCache, from_chunks, leveled, listed_with, reloaded, saved, sketch};
use crate::accuracy::Accuracy;
use crate::stored::Stored;
use crate::testing::{COMPARED_BYTES, HASH_PASSES};
use crate::window::{Period, Timed};
use proptest::prelude::*;
use std::collections::BTreeMap;

const K: u64 = 32;
/// Bytes per item.
const LEN: usize = 3000;
/// Bytes of the items of a sketch, all with equal counts.
const ITEM_BYTES: u64 = K * LEN as u64;
/// A list compares each item at most as often, on average: a heap of 32 elements is built with two comparisons per element,
/// and sorted with at most 6.
const MAX_PER_LIST: u64 = 8;
/// The merges of a step compare each item at most as often, on average.
const MAX_PER_MERGES: u64 = 2;

fn item(number: u64) -> Vec<u8> {
    [&[b'x'; LEN - 1][..], &[number as u8]].concat()
}

/// Adds the same items, whose last bytes differ, to the newest pane.
fn fill(sketch: &mut TopKWindow) {
    for number in (0..K).rev() {
        sketch.add(&item(number), 1).unwrap();
    }
}

fn compared(work: impl FnOnce()) -> u64 {
    COMPARED_BYTES.with(|bytes| bytes.during(work))
}

/// A sketch with the same items in all panes.
fn full() -> TopKWindow {
    let at_end = {
        let mut sketch = leveled((K, 300, 2, 1.0), 12, 100_000);
        sketch.advance(100_000);
        sketch
    };
    let mut sketch = leveled((K, 300, 2, 1.0), 12, 100_000);
    for range in at_end.timeline().panes() {
        sketch.advance(range.first);
        fill(&mut sketch);
    }
    assert!(sketch.panes.all().len() > 160);
    sketch
}

#[test]
fn a_step_compares_items_once_for_all_merges() {
    for ahead in [1, 1000, 25_000, 99_000] {
        let mut sketch = full();
        let panes = sketch.panes.all().len();
        let newest = sketch.timeline().newest();
        let bytes = compared(|| assert!(sketch.advance(newest + ahead)));
        let most = (MAX_PER_LIST + MAX_PER_MERGES) * ITEM_BYTES;
        assert!(bytes > ITEM_BYTES && bytes <= most, "{ahead}: {bytes}");
        assert!(ahead == 1 || sketch.panes.all().len() < panes / 2);
    }
}

#[test]
fn reads_compare_items_for_one_list() {
    let sketch = full();
    let newest = sketch.timeline().newest();
    for later in [0, 1, 1000, 50_000] {
        let cache = &mut RankingCache::default();
        let list = |cache: &mut RankingCache| {
            assert_eq!(listed_with(cache, &sketch, newest + later).len() as u64, K);
        };
        for _ in 0..2 {
            let bytes = compared(|| list(cache));
            assert!(bytes <= MAX_PER_LIST * ITEM_BYTES, "{later}: {bytes}");
        }
        // A look-up compares one item.
        let panes = sketch.panes_in(newest + later);
        let bytes = compared(|| {
            for number in 0..K {
                let found = sketch.query_at(&item(number), panes, cache);
                assert_eq!(found, Ok(true));
            }
        });
        assert_eq!(bytes, K * (LEN as u64 + 1));
        let absent = [item(200), item(0)[1..].to_vec()];
        let bytes = compared(|| {
            for item in &absent {
                assert_eq!(sketch.query_at(item, panes, cache), Ok(false));
            }
        });
        assert_eq!(bytes, 0);
    }
}

#[test]
fn the_rows_of_a_series_compare_items_as_two_lists_and_hash_none() {
    let sketch = full();
    let now = sketch
        .timeline()
        .window()
        .start_of(sketch.timeline().newest());
    let period = Period::new(0, now + 1, now + 1).unwrap();
    let rows = || sketch.timeline().rows(period, 1).unwrap();
    assert!(rows().count() > 160);
    let mut lists = Vec::new();
    let mut cache = RankingCache::default();
    let bytes = compared(|| {
        for row in rows() {
            let list = sketch.list_at(row.panes, &mut cache).unwrap();
            lists.push(list.map(|(item, _)| item.to_vec()).collect::<Vec<_>>());
        }
    });
    // The last row has a cache of its own.
    assert!(bytes <= 3 * MAX_PER_LIST * ITEM_BYTES, "{bytes}");
    for (row, list) in rows().zip(lists) {
        let cache = &mut RankingCache::default();
        let alone = sketch.list_at(row.panes, cache).unwrap();
        assert!(alone.map(|(item, _)| item).eq(list.iter()));
    }
    let mut cache = RankingCache::default();
    let mut hashed = 0;
    let bytes = compared(|| {
        hashed = HASH_PASSES.with(|passes| {
            passes.during(|| {
                rows().for_each(|row| drop(sketch.accuracy(row.panes, &mut cache).unwrap()))
            })
        });
    });
    assert!(bytes <= 3 * MAX_PER_LIST * ITEM_BYTES, "{bytes}");
    assert_eq!(hashed, 0);
}

#[test]
fn additions_and_loads_compare_one_item_at_most() {
    let mut sketch = sketch(K, 300, 2, 1.0, 4);
    assert_eq!(compared(|| fill(&mut sketch)), 0);
    let bytes = compared(|| fill(&mut sketch));
    assert_eq!(bytes, K * (LEN as u64 + 1));
    for load in [
        reloaded::<TopKWindow>,
        |sketch: &TopKWindow| from_chunks(sketch, 100),
        |sketch: &TopKWindow| sketch.try_clone().unwrap(),
    ] {
        let bytes = compared(|| assert_eq!(saved(&load(&sketch)), saved(&sketch)));
        assert_eq!(bytes, 0);
    }
}

/// The index compares the lower half of a hash, of which clients who have the seed can find equal ones.
#[test]
fn items_with_other_hashes_are_not_compared() {
    let mut candidates = Candidates::default();
    for number in 0..K {
        let loaded = candidates.load(&item(number), number << 32 | 7, 0);
        assert_eq!(loaded, Ok(true));
    }
    let bytes = compared(|| {
        assert_eq!(candidates.find(&item(5), 5 << 32 | 7), Some(5));
        assert_eq!(candidates.find(&item(5), K << 32 | 7), None);
        assert_eq!(candidates.find(&item(5)[1..], 5 << 32 | 7), None);
    });
    assert_eq!(bytes, LEN as u64 + 1);
}

/// Items with long common prefixes, some of which are prefixes of others.
fn items() -> impl Strategy<Value = Vec<u8>> {
    let parts = prop::sample::select(vec![1usize, 2, 63, 64, 65, 128, 200]);
    prop::collection::vec((parts, 0u8..3), 0..4).prop_map(|parts| {
        let parts = parts.into_iter();
        parts.flat_map(|(len, byte)| vec![byte; len]).collect()
    })
}

proptest! {
    #[test]
    fn ranks_are_the_order_of_bytes(
        items in prop::collection::hash_set(items(), 0..80), repeated in prop::collection::vec(any::<prop::sample::Index>(), 0..120),
    ) {
        let mut candidates = Candidates::default();
        let items: Vec<_> = items.into_iter().collect();
        for (item, hash) in items.iter().zip(0..) {
            prop_assert_eq!(candidates.load(item, hash, 0), Ok(true));
        }
        let numbers: Vec<u32> = match items.len() {
            0 => Vec::new(),
            len => repeated.iter().map(|index| index.index(len) as u32).collect(),
        };
        order::rank(&mut candidates, numbers.iter().copied());
        let by_item: BTreeMap<&[u8], u32> =
            numbers.iter().map(|&number| (&*items[number as usize], number)).collect();
        let expected: BTreeMap<u32, u32> = by_item.values().copied().zip(0..).collect();
        for number in 0..candidates.len() {
            let rank = order::rank_of(candidates.get(number));
            prop_assert_eq!(rank, expected.get(&number).copied().unwrap_or(NONE));
            prop_assert_eq!(candidates.get(number).positions[0], NONE);
        }
        order::clear(&mut candidates);
        prop_assert!(candidates.iter().all(|candidate| candidate.positions == [NONE; 2]));
    }
}
