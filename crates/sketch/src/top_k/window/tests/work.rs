//! Bounds of the work of one command: limits of the parameters, and counts of the steps.

use super::super::{CANDIDATE_BUCKETS, MAX_DEPTH, MAX_STEP_BUCKETS, TopKWindow};
use super::RankingCache;
use super::{listed_with, saved, sketch, through_chunks, through_values};
use crate::format::FormatError;
use crate::memory::Budget;
use crate::stored::Stored;
use crate::testing::{ESTIMATES, HASH_PASSES};
use crate::top_k::TopKError;
use crate::window::{Timed, Window};
use roughly_dump::Value;

/// The panes that have a table in [`full`].
const TABLES: u64 = 100;

/// A sketch with a table in each of 100 closed panes and in the newest one; every pane has other items.
fn full(k: u64, depth: u64) -> TopKWindow {
    let mut sketch = sketch(k, 4000, depth, 1.0, TABLES);
    for pane in 0..=TABLES {
        sketch.advance(pane);
        for item in 0..k {
            sketch.add(format!("{pane} {item}").as_bytes(), 3).unwrap();
        }
    }
    assert_eq!(sketch.candidate_count() as u64, k * (TABLES + 1));
    sketch
}

fn passes(work: impl FnOnce()) -> u64 {
    HASH_PASSES.with(|passes| passes.during(work))
}

fn estimates(work: impl FnOnce()) -> u64 {
    ESTIMATES.with(|estimates| estimates.during(work))
}

#[test]
fn an_item_is_hashed_once_for_all_panes() {
    for depth in [1, 7, 8, 15, 16, MAX_DEPTH] {
        let mut sketch = full(2, depth);
        // The first pass includes seven rows, the second all others.
        let most = if depth <= 7 { 1 } else { 2 };
        assert_eq!(
            passes(|| assert_eq!(sketch.count_at(b"0 1", sketch.panes_in(100)), 3)),
            most
        );
        assert_eq!(
            passes(|| {
                let panes = sketch.panes_in(100);
                let queried = sketch.query_at(b"0 1", panes, &mut RankingCache::default());
                assert!(queried.is_ok());
            }),
            1
        );
        // The addition to the newest table, and the sum of the estimates in the others.
        let added = passes(|| {
            sketch.add(b"new", 5).unwrap();
        });
        assert!(added < 2 * most + 1, "depth {depth}: {added}");
    }
}

#[test]
fn a_load_reads_no_table_and_hashes_each_item_once() {
    let sketch = full(5, MAX_DEPTH);
    for load in [through_values, through_chunks] {
        let read = estimates(|| assert_eq!(load(&sketch), sketch));
        assert_eq!(read, 0);
    }
}

#[test]
fn a_list_is_computed_once_per_pane_from_the_panes_that_expired_since() {
    let sketch = full(5, 9);
    let candidates = 5 * (TABLES + 1);
    let list = |cache: &mut RankingCache, current| {
        let steps = estimates(|| {
            listed_with(cache, &sketch, current);
        });
        let again = estimates(|| assert!(!listed_with(cache, &sketch, current).is_empty()));
        assert_eq!(again, 0);
        steps
    };
    let cache = &mut RankingCache::default();
    // The newest pane, and fifty that have expired.
    assert_eq!(list(cache, TABLES + 50), 51 * candidates);
    assert_eq!(list(cache, TABLES + 51), candidates);
    // The panes that are kept are fewer.
    assert_eq!(list(cache, TABLES + 90), 11 * candidates);
    let queries = estimates(|| {
        let panes = sketch.panes_in(TABLES + 90);
        assert_eq!(sketch.query_at(b"100 1", panes, cache), Ok(true));
        assert_eq!(sketch.query_at(b"0 1", panes, cache), Ok(false));
    });
    assert_eq!(queries, 0);
    // Earlier than what is kept: from the sums of the sketch.
    assert_eq!(list(cache, TABLES + 1), 2 * candidates);
    let none = estimates(|| assert_eq!(listed_with(cache, &sketch, 2 * TABLES + 1), []));
    assert_eq!(none, 0);
}

#[test]
fn a_step_reads_at_most_half_of_the_panes() {
    for (ahead, tables) in [(1, 2), (50, 51), (51, 50), (99, 2), (101, 0)] {
        let mut sketch = full(3, 8);
        let read = estimates(|| assert!(sketch.advance(TABLES + ahead)));
        assert_eq!(read, tables * 3 * (TABLES + 1), "{ahead}");
    }
}

/// A read, a write and a load accept the same parameters: the error of each that refuses them.
fn check(k: u64, width: u64, depth: u64, panes: u64) -> Result<(), TopKError> {
    let window = Window::new(1000 * panes, panes).unwrap();
    let created = TopKWindow::new(k, width, depth, 0.9, window, Budget::new(&|_| false));
    let stored = {
        let mut values = saved(&sketch(1, 1, 1, 0.9, 1));
        let numbers = [1000 * panes, panes, 0, k, width, depth];
        for (value, number) in values.values.iter_mut().zip(numbers) {
            *value = Value::Integer(number);
        }
        TopKWindow::load(&mut values, TopKWindow::ENCODING_VERSION, &())
    };
    let header = {
        let mut header = sketch(1, 1, 1, 0.9, 1).header().unwrap();
        for (place, number) in
            header[8..]
                .as_chunks_mut()
                .0
                .iter_mut()
                .zip([1000 * panes, panes, 0, k, width, depth])
        {
            *place = number.to_le_bytes();
        }
        TopKWindow::from_header(&header, Budget::new(&|_| false))
    };
    match created.unwrap_err() {
        TopKError::OutOfMemory(_) => {
            assert!(matches!(
                header,
                Err(FormatError::OutOfMemory(_) | FormatError::Truncated)
            ));
            Ok(())
        }
        error => {
            assert_eq!(stored.unwrap_err(), FormatError::from(error));
            assert_eq!(header.unwrap_err(), FormatError::from(error));
            Err(error)
        }
    }
}

#[test]
fn parameters_with_too_much_work_per_step_are_refused() {
    assert_eq!(check(1, 1, MAX_DEPTH, 100), Ok(()));
    assert_eq!(
        check(1, 1, MAX_DEPTH + 1, 1),
        Err(TopKError::TooDeepForWindow)
    );
    // The candidates of all panes, the rows of half of the panes.
    let most = MAX_STEP_BUCKETS / (101 * (CANDIDATE_BUCKETS + 7 * 50));
    assert_eq!(most, 575);
    assert_eq!(check(most, 8, 7, 100), Ok(()));
    assert_eq!(
        check(most + 1, 8, 7, 100),
        Err(TopKError::TooManyCandidates)
    );
    assert_eq!(
        check(u32::MAX.into(), u32::MAX.into(), 32, 100),
        Err(TopKError::TooManyCandidates)
    );
    let invalid_first =
        TopKWindow::new(0, 1, 33, 0.9, Window::new(1, 1).unwrap(), Budget::UNLIMITED);
    assert_eq!(invalid_first, Err(TopKError::InvalidK));
}

/// A step hashes the items of all candidates.
#[test]
fn the_items_of_all_candidates_have_at_most_16_mebibytes() {
    let mut sketch = sketch(20, 100, 3, 0.9, 2);
    let item = |number: u8| vec![number; 1 << 20];
    for number in 0..16 {
        sketch.add(&item(number), 5).unwrap();
    }
    let full = saved(&sketch);
    assert_eq!([sketch.has_room(0), sketch.has_room(1)], [true, false]);
    for refused in [item(16), vec![0]] {
        let bytes = refused.len() as u64;
        assert_eq!(sketch.add(&refused, 1).unwrap_err().bytes, bytes);
        assert_eq!(saved(&sketch), full);
    }
    // Candidates need no room.
    sketch.add(&item(3), 1).unwrap();
    for loaded in [through_values(&sketch), through_chunks(&sketch)] {
        assert!(!loaded.has_room(1));
    }
    let copy = sketch.try_clone().unwrap();
    assert!(!copy.has_room(1));
    // Candidates that expire make room.
    sketch.advance(2);
    sketch.add(&item(7), 1).unwrap();
    assert!(!sketch.has_room(1));
    sketch.advance(3);
    assert_eq!(sketch.candidate_count(), 1);
    assert!(sketch.has_room(15 << 20));
    sketch.advance(10);
    assert!(sketch.has_room(16 << 20));
}
