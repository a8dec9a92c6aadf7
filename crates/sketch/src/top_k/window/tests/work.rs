//! Bounds of the work of one command: limits of the parameters, and counts of the steps.

use super::super::{CANDIDATE_WORK, ESTIMATE_WORK, MAX_DEPTH, MAX_STEP_WORK, TopKWindow};
use super::RankingCache;
use super::{SEED, from_chunks, listed, listed_with, reloaded, saved, sketch};
use crate::format::FormatError;
use crate::memory::Budget;
use crate::stored::Stored;
use crate::testing::{ESTIMATES, HASH_PASSES};
use crate::top_k::TopKError;
use crate::window::{Panes, Timed, Window};
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
    assert_eq!(u64::from(sketch.candidates.len()), k * (TABLES + 1));
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
    for depth in [1, 7, MAX_DEPTH] {
        let mut sketch = full(2, depth);
        let hashed = passes(|| assert_eq!(sketch.count_at(b"0 1", sketch.panes_in(100)), 3));
        assert_eq!(hashed, 1);
        let panes = sketch.panes_in(100);
        let hashed = passes(|| {
            let queried = sketch.query_at(b"0 1", panes, &mut RankingCache::default());
            assert!(queried.is_ok());
        });
        assert_eq!(hashed, 1);
        // Also if the item becomes a candidate.
        assert_eq!(passes(|| assert!(sketch.add(b"new", 5).is_ok())), 1);
        // The hashes of candidates are stored.
        assert_eq!(passes(|| assert!(sketch.advance(101))), 0);
        let list = || assert!(!listed(&sketch, 150).is_empty());
        assert_eq!(passes(list), 0);
    }
}

#[test]
fn a_load_reads_no_table_and_hashes_each_item_once() {
    let sketch = full(5, MAX_DEPTH);
    for load in [reloaded::<TopKWindow>, |sketch: &TopKWindow| {
        from_chunks(sketch, 100)
    }] {
        let read = estimates(|| assert_eq!(load(&sketch), sketch));
        assert_eq!(read, 0);
    }
}

#[test]
fn a_list_of_other_panes_is_computed_once_from_at_most_half_of_them() {
    let sketch = full(5, 9);
    let list = |cache: &mut RankingCache, current| {
        let steps = estimates(|| {
            listed_with(cache, &sketch, current);
        });
        let again = estimates(|| assert!(!listed_with(cache, &sketch, current).is_empty()));
        assert_eq!(again, 0);
        steps
    };
    let cache = &mut RankingCache::default();
    // All candidates, in the newest pane and in as many panes as have expired or are kept.
    let expected = |expired: u64| 5 * (TABLES + 1) * (1 + expired.min(TABLES - expired));
    for expired in [50, 51, 1, 90] {
        let read = list(cache, TABLES + expired);
        assert_eq!(read, expected(expired), "{expired}");
    }
    let queries = estimates(|| {
        let panes = sketch.panes_in(TABLES + 90);
        assert_eq!(sketch.query_at(b"100 1", panes, cache), Ok(true));
        assert_eq!(sketch.query_at(b"0 1", panes, cache), Ok(false));
    });
    assert_eq!(queries, 0);
    let none = estimates(|| assert_eq!(listed_with(cache, &sketch, 2 * TABLES + 1), []));
    assert_eq!(none, 0);
}

#[test]
fn a_step_reads_at_most_half_of_the_panes() {
    let candidates = |panes: u64| 3 * panes;
    for (ahead, subtracted, added) in [(1, 1, 1), (50, 50, 1), (51, 0, 50), (99, 0, 2), (101, 0, 0)]
    {
        let mut sketch = full(3, 8);
        let read = estimates(|| assert!(sketch.advance(TABLES + ahead)));
        // Those of panes that expire are removed before the sums are computed.
        let left = candidates((TABLES + 1).saturating_sub(ahead));
        // An item of the list has none of the panes that are in the younger half, which is read twice.
        let closing = 2 * (TABLES / 2 + 1);
        let changed = subtracted * candidates(TABLES + 1) + added * left;
        assert_eq!(read, closing + changed, "{ahead}");
    }
}

/// A read, a write and a load accept the same parameters: the error of each that refuses them.
fn check(k: u64, width: u64, depth: u64, panes: u64, units: u64) -> Result<(), TopKError> {
    let ms = 1000 * units.max(panes);
    let finest = if units == 0 { ms.div_ceil(panes) } else { 1000 };
    let window = Window::new(ms, panes, Some(finest)).unwrap();
    let created = TopKWindow::new(k, width, depth, 0.9, window, SEED, Budget::new(&|_| false));
    let stored = {
        let mut values = saved(&sketch(1, 1, 1, 0.9, 1));
        let numbers = [ms, panes, 0, finest, k, width, depth];
        for (value, number) in values.values.iter_mut().zip(numbers) {
            *value = Value::Integer(number);
        }
        TopKWindow::load(&mut values, TopKWindow::ENCODING_VERSION, &())
    };
    let header = {
        let mut header = sketch(1, 1, 1, 0.9, 1).header().unwrap();
        let numbers = [ms, panes, 0, finest, k, width, depth];
        for (place, number) in header[8..].as_chunks_mut().0.iter_mut().zip(numbers) {
            *place = number.to_le_bytes();
        }
        TopKWindow::from_header(&header, Budget::new(&|_| false))
    };
    match created.unwrap_err() {
        TopKError::OutOfMemory(_) => {
            let rule = "a heap has not k elements";
            assert!(header.is_ok() || header == Err(FormatError::Invalid(rule)));
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
    assert_eq!(check(1, 1, MAX_DEPTH, 100, 0), Ok(()));
    let refused = check(1, 1, MAX_DEPTH + 1, 1, 0);
    assert_eq!(refused, Err(TopKError::TooDeepForWindow));
    // The candidates of all panes, two buckets of half of the panes, whatever the depth.
    let most = MAX_STEP_WORK / (101 * (CANDIDATE_WORK + ESTIMATE_WORK * 50));
    assert_eq!(most, 884);
    let too_many = Err(TopKError::TooManyCandidates);
    for depth in [1, 7, 32] {
        assert_eq!(check(most, 8, depth, 100, 0), Ok(()));
        assert_eq!(check(most + 1, 8, depth, 100, 0), too_many);
    }
    assert_eq!(check(u32::MAX.into(), 8, 32, 100, 0), too_many);
    // A month at one second: 242 panes, of which 27 of level 0 count twice.
    let month = 30 * 86_400;
    let month_most = MAX_STEP_WORK / (269 * (CANDIDATE_WORK + ESTIMATE_WORK * 121));
    assert_eq!(month_most, 164);
    assert_eq!(check(month_most, 8, 7, 12, month), Ok(()));
    assert_eq!(check(month_most + 1, 8, 7, 12, month), too_many);
    // Tables of 512 and of 1 MiB.
    let too_wide = Err(TopKError::TooWideForWindow);
    assert_eq!(check(1, 1 << 26, 1, 1, 0), Ok(()));
    assert_eq!(check(1, (1 << 26) + 1, 1, 1, 0), too_wide);
    assert_eq!(check(1, u32::MAX.into(), 32, 1, 0), too_wide);
    assert_eq!(check(1, 1 << 17, 1, 12, month), Ok(()));
    assert_eq!(check(1, (1 << 17) + 1, 1, 12, month), too_wide);
    let window = Window::new(1, 1, None).unwrap();
    let invalid_first = TopKWindow::new(0, 1, 33, 0.9, window, SEED, Budget::UNLIMITED);
    assert_eq!(invalid_first, Err(TopKError::InvalidK));
}

/// A table of 512 MiB without items, and full tables of 100 panes: the agreement reads a sample of the cells.
#[test]
fn the_agreement_reads_few_cells() {
    let mut large = sketch(5, 1 << 26, 1, 0.9, 1);
    large.add(b"a", 9).unwrap();
    assert_eq!(large.unnamed_above(Panes::ALL, 8), 0);
    let mut sketch = sketch(1, 400, 5, 0.9, TABLES);
    for pane in 0..=TABLES {
        sketch.advance(pane);
        for item in 0..1600u64 {
            (sketch.add(&(item + pane % 2 * 1600).to_le_bytes(), 1)).unwrap();
        }
    }
    // 1,600 items of 50 and 1,600 of 51 panes; some have no heavy cell in some of them.
    let unnamed = sketch.unnamed_above(Panes::ALL, 30);
    assert!((2_000..=3_600).contains(&unnamed), "{unnamed}");
    assert_eq!(sketch.unnamed_above(Panes::ALL, 51), 0);
}

/// A step compares the items of candidates with equal counts.
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
    for loaded in [reloaded(&sketch), from_chunks(&sketch, 100)] {
        assert!(!loaded.has_room(1));
    }
    let copy = sketch.try_clone().unwrap();
    assert!(!copy.has_room(1));
    // Candidates that expire make room.
    sketch.advance(2);
    sketch.add(&item(7), 1).unwrap();
    assert!(!sketch.has_room(1));
    sketch.advance(3);
    assert_eq!(sketch.candidates.len(), 1);
    assert!(sketch.has_room(15 << 20));
    sketch.advance(10);
    assert!(sketch.has_room(16 << 20));
}
