//! Tests of the operations, and helpers of the other test files.

mod accuracy;
mod generations;
mod golden;
mod hostile;
mod memory;

use super::*;
use crate::cuckoo;
use crate::stored::Stored;
use crate::testing::{fed, from_chunks, reloaded, saved};
use crate::window::Panes;
use roughly_dump::Values;
use std::ops::ControlFlow;

/// Allows every allocation.
const ANY: Budget<'_> = Budget::UNLIMITED;
/// An error rate at which the small filters of the tests have no false positives.
const EXACT: f64 = 1.0 / (1u64 << 30) as f64;
const SEED: Seed = Seed(*b"0123456789abcdef");

/// A window of panes of one millisecond.
fn window(panes: u64) -> Window {
    Window::new(panes, panes, None).unwrap()
}

/// The parameters of [`set`].
fn of_set(capacity: u64, error_rate: f64, expansion: u32) -> BloomWindowParameters {
    BloomWindowParameters {
        seed: SEED,
        capacity,
        error_rate,
        expansion,
    }
}

fn set(capacity: u64, error_rate: f64, expansion: u32, panes: u64) -> BloomWindow {
    let parameters = of_set(capacity, error_rate, expansion);
    BloomWindow::new(window(panes), &parameters, ANY).unwrap()
}

/// The parameters of [`multiset`].
fn of_multiset(capacity: u64, bucket_size: u8, expansion: u32) -> CuckooWindowParameters {
    CuckooWindowParameters {
        seed: SEED,
        capacity,
        error_rate: None,
        bucket_size,
        max_iterations: 20,
        expansion,
    }
}

fn multiset(capacity: u64, bucket_size: u8, expansion: u32, panes: u64) -> CuckooWindow {
    let parameters = of_multiset(capacity, bucket_size, expansion);
    CuckooWindow::new(window(panes), &parameters, ANY).unwrap()
}

/// The seed is part of the value: filters with the same items and different seeds differ in each stored form, and each copy
/// has the seed of its original.
#[test]
fn the_seed_is_part_of_the_value() {
    let [mut one, mut other] = [SEED, Seed([7; 16])].map(|seed| {
        let mut parameters = of_set(100, 0.01, 2);
        parameters.seed = seed;
        BloomWindow::new(window(4), &parameters, ANY).unwrap()
    });
    assert!(one != other && fed(&one) != fed(&other));
    assert_ne!(one.header().unwrap(), other.header().unwrap());
    for filter in [&mut one, &mut other] {
        add_all(filter, 0, 100);
        for copy in [
            reloaded(filter),
            from_chunks(filter, 100),
            filter.try_clone().unwrap(),
        ] {
            assert_eq!(copy.seed(), filter.seed());
            assert!(contains_all(&copy, 0, 100));
        }
    }
    assert_ne!(one.sub_filters[0].slots, other.sub_filters[0].slots);
}

/// Adds the items with the numbers `from..to`.
fn add_all(filter: &mut BloomWindow, from: u64, to: u64) {
    for number in from..to {
        assert_eq!(filter.add(&number.to_le_bytes(), ANY), Ok(Addition::New));
    }
}

fn contains_all(filter: &BloomWindow, from: u64, to: u64) -> bool {
    let now = filter.timeline().newest();
    (from..to).all(|number| filter.contains(&number.to_le_bytes(), filter.panes_in(now)))
}

#[test]
fn parameters_out_of_range_are_refused() {
    let set = |capacity, error_rate, expansion| {
        let parameters = of_set(capacity, error_rate, expansion);
        let small = Budget::new(&|bytes| bytes < 1 << 20);
        BloomWindow::new(window(5), &parameters, small)
    };
    assert!(set(1, 0.5, 0).is_ok());
    for (capacity, error_rate, expansion) in [
        (0, 0.1, 2),
        (10, 0.0, 2),
        (10, 1.0, 2),
        (10, f64::NAN, 2),
        (10, 1e-17, 2),
        (10, 5e-324, 2),
        (10, 0.1, MAX_EXPANSION + 1),
        (u64::MAX, 0.1, 2),
    ] {
        assert_eq!(set(capacity, error_rate, expansion), Err(Error::Parameters));
    }
    assert!(matches!(set(1 << 40, 0.1, 2), Err(Error::OutOfMemory(_))));
}

#[test]
fn a_set_that_grows_keeps_all_items_and_shrinks_to_the_largest_sub_filter() {
    let mut filter = set(100, EXACT, 2, 4);
    add_all(&mut filter, 0, 5000);
    assert_eq!(filter.num_sub_filters(), 6);
    assert!(contains_all(&filter, 0, 5000));
    filter.advance(4);
    add_all(&mut filter, 5000, 7000);
    // An item of an older sub-filter stays in it.
    let added = filter.add(&0u64.to_le_bytes(), ANY);
    assert_eq!(added, Ok(Addition::Refreshed));
    filter.advance(5);
    assert_eq!(filter.items(filter.panes_in(5)), 2001);
    assert_eq!(filter.num_sub_filters(), 2);
    assert!(contains_all(&filter, 5000, 7000) && contains_all(&filter, 0, 1));
    filter.advance(9);
    let counts = (filter.items(filter.panes_in(9)), filter.num_sub_filters());
    assert_eq!(counts, (0, 0));
    assert!(!filter.contains(b"a", filter.panes_in(9)));
    add_all(&mut filter, 0, 10);
    assert_eq!((filter.num_sub_filters(), filter.limit()), (1, 125));
}

/// The sub-filter for the capacity remains while a small one still has items.
#[test]
fn the_capacity_is_kept_while_items_are_in_a_small_sub_filter() {
    let mut filter = set(1000, EXACT, 0, 4);
    // Items with equal buckets and different fingerprints.
    let sub_filter = &filter.sub_filters[0];
    let bucket_of = |number: u64| sub_filter.place(SEED.hash(&number.to_le_bytes())).buckets;
    let crowded: Vec<u64> = (0..4_000_000u64)
        .filter(|&number| bucket_of(number).iter().all(|&bucket| bucket < 4))
        .collect();
    assert!(crowded.len() > 30);
    for number in &crowded {
        assert_eq!(filter.add(&number.to_le_bytes(), ANY), Ok(Addition::New));
    }
    assert!(filter.num_sub_filters() > 1);
    let are_found = (crowded.iter()).all(|&number| contains_all(&filter, number, number + 1));
    assert!(are_found);
    let last = crowded[crowded.len() - 1];
    filter.advance(2);
    let added = filter.add(&last.to_le_bytes(), ANY);
    assert_eq!(added, Ok(Addition::Refreshed));
    filter.advance(5);
    assert_eq!(filter.items(filter.panes_in(5)), 1);
    assert!(filter.limit() >= 1250);
    add_all(&mut filter, 10_000_000, 10_001_249);
    assert!(contains_all(&filter, last, last + 1));
}

#[test]
fn a_compaction_in_a_later_generation_is_a_change() {
    let mut filter = multiset(1000, 1, 1, 1);
    let mut changes = 0;
    for pane in 1..=20 {
        filter.advance(pane);
        // In a new generation, it sweeps its own group. In the other groups, which are empty, only the generation changes.
        filter.insert_item(b"a", ANY).unwrap();
        let before = fed(&filter);
        let changed = filter.compact();
        assert_eq!(changed, fed(&filter) != before, "{pane}");
        assert!(!filter.compact());
        changes += u32::from(changed);
    }
    assert!(changes > 0);
}

#[test]
fn many_occurrences_of_an_item_use_small_sub_filters() {
    let mut filter = multiset(10_000, 4, 2, 10);
    let before = filter.slot_bytes();
    for _ in 0..100 {
        filter.insert_item(b"a", ANY).unwrap();
    }
    let counts = (filter.count(b"a", Panes::ALL), filter.items(Panes::ALL));
    assert_eq!(counts, (100, 100));
    assert_eq!(filter.num_sub_filters(), 13);
    // A further sub-filter has 28 buckets of 4 slots.
    assert!(filter.slot_bytes() < before + 12 * 250);
    while filter.delete(b"a") {}
    assert_eq!((filter.items(Panes::ALL), filter.num_sub_filters()), (0, 1));
    let mut filter = multiset(10_000, 4, 0, 10);
    (0..8).for_each(|_| filter.insert_item(b"a", ANY).unwrap());
    let before = saved(&filter);
    assert_eq!(filter.insert_item(b"a", ANY), Err(Error::Full));
    assert_eq!(saved(&filter), before);
    filter.insert_item(b"b", ANY).unwrap();
}

/// Each of 100 items 39 times: there are many more occurrences than the capacity, but a sub-filter takes at most four of an
/// item, so the largest is never full.
#[test]
fn several_occurrences_of_many_items_use_few_sub_filters() {
    let mut filter = multiset(500, 2, 1, 12);
    for _ in 0..39 {
        for item in 0..100u64 {
            filter.insert_item(&item.to_le_bytes(), ANY).unwrap();
        }
    }
    assert_eq!(filter.items(Panes::ALL), 3900);
    let count = filter.num_sub_filters();
    assert!((10..=24).contains(&count), "{count}");
    assert!((0..100u64).all(|item| filter.count(&item.to_le_bytes(), Panes::ALL) >= 39));
}

/// The filters are larger than the caches, so that blocks are prefetched.
#[test]
fn several_items_in_large_filters_have_the_results_of_single_ones() {
    let (mut one, mut many) = (set(600_000, 0.01, 2, 10), set(600_000, 0.01, 2, 10));
    let (mut ones, mut manys) = (multiset(600_000, 2, 1, 10), multiset(600_000, 2, 1, 10));
    for length in [0u64, 1, 15, 16, 17, 100] {
        let items: Vec<_> = ((0..length).map(|n| (n / 2 + length).to_le_bytes())).collect();
        let slices = || items.iter().map(|item| &item[..]);
        let mut results = Vec::new();
        many.add_each(slices(), IfPresent::Refresh, ANY, |result| {
            results.push(result);
            ControlFlow::Continue(())
        });
        assert!(slices().map(|item| one.add(item, ANY)).eq(results));
        let (mut inserted, mut unique, mut found) = (Vec::new(), Vec::new(), Vec::new());
        manys.insert_each(slices(), cuckoo::Duplicates::Insert, ANY, |result| {
            inserted.push(result)
        });
        manys.insert_each(slices(), cuckoo::Duplicates::Skip, ANY, |result| {
            unique.push(result)
        });
        assert!((slices().map(|item| ones.insert_item(item, ANY).map(|()| true))).eq(inserted));
        assert!(
            (slices().map(|item| ones.insert_if(item, cuckoo::Duplicates::Skip, ANY))).eq(unique)
        );
        let others: Vec<_> = (0..100u64).map(u64::to_le_bytes).collect();
        let slices = || others.iter().map(|item| &item[..]);
        many.contains_each(slices(), Panes::ALL, |is_found| found.push(is_found));
        assert!((slices().map(|item| one.contains(item, Panes::ALL))).eq(found));
    }
    assert!(one == many && ones == manys);
}
