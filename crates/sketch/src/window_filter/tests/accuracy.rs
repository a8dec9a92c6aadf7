//! Error rates and capacities.
//!
//! The items are fixed, so the tests are deterministic. For random items, a correct filter would fail with a probability
//! below 1e-6 in all tests together. Whatever a filter contains, absent items are found independently of each other, with
//! a probability that is at most the limit. A binomial count of mean m exceeds m + 6·√m + 10 with a probability below
//! 1e-8, and there are fewer than 50 such counts. No item is refused below the capacity or forgotten by any chance.

use super::*;
use crate::window::Panes;

const PROBES: u64 = 200_000;

fn false_positives(filter: &BloomWindow) -> u64 {
    let now = filter.timeline().newest();
    let absent = (0..PROBES).map(|number| (number | 1 << 40).to_le_bytes());
    (absent.filter(|item| filter.contains(item, filter.panes_in(now)))).count() as u64
}

fn bound(rate: f64) -> u64 {
    bound_of(PROBES, rate)
}

fn bound_of(probes: u64, rate: f64) -> u64 {
    let mean = probes as f64 * rate;
    (mean + 6.0 * mean.sqrt() + 10.0) as u64
}

/// Adds `per_pane` items in each of this many panes. Looks up each item at the end of its last pane.
fn churn(filter: &mut BloomWindow, per_pane: u64, panes: u64) {
    let window = filter.timeline().window().panes();
    for pane in 0..panes {
        filter.advance(pane);
        for number in pane * per_pane..(pane + 1) * per_pane {
            filter.add(&number.to_le_bytes(), ANY).unwrap();
        }
        let oldest = pane.saturating_sub(window) * per_pane;
        let end = match pane {
            _ if pane + 1 == panes => panes * per_pane,
            _ => oldest + per_pane,
        };
        assert!(contains_all(filter, oldest, end));
    }
}

/// No item is refused or forgotten. The slots contain expired entries of all ages.
#[test]
fn the_rate_is_within_the_limit_at_capacity() {
    for (error_rate, panes) in [(0.1, 7), (0.01, 12), (0.001, 48)] {
        let mut filter = set(20_000, error_rate, 0, panes);
        churn(&mut filter, 20_000 / panes, 4 * panes);
        assert_eq!(filter.num_sub_filters(), 1);
        let found = false_positives(&filter);
        assert!(found <= bound(error_rate), "{found} at {error_rate}");
    }
}

/// The item that is added as number `number` of the stream: one of ten is an earlier one, which is refreshed or, if it
/// has expired, new.
fn of_stream(number: u64) -> u64 {
    let random = SEED.hash(&(number ^ 1 << 60).to_le_bytes());
    if random.is_multiple_of(10) {
        number.saturating_sub(random >> 32 & 0xfff)
    } else {
        number
    }
}

/// Over 100 windows whose items arrive evenly, in random numbers per pane, or all in one pane of the window, no item is
/// refused or forgotten, and none remains after the window and a pane except for false positives.
#[test]
fn nothing_is_refused_or_forgotten_in_100_windows() {
    const CAPACITY: u64 = 1000;
    const PANES: u64 = 8;
    for arrival in 0..3 {
        let mut filter = set(CAPACITY, 0.01, 0, PANES);
        // The pane of the last addition of each item.
        let mut last = vec![0; (CAPACITY * 101) as usize];
        let (mut next, mut expired, mut kept) = (0, 0, 0);
        for pane in 1..=100 * PANES {
            // The same for two panes.
            let random = SEED.hash(&(pane / 2).to_le_bytes()) % (CAPACITY / 10);
            let additions = match arrival {
                0 => CAPACITY / PANES,
                1 if pane % 2 == 0 => random,
                1 => CAPACITY / 5 - random,
                _ if pane % (PANES + 1) == 1 => CAPACITY,
                _ => 0,
            };
            filter.advance(pane);
            for number in next..next + additions {
                let item = of_stream(number);
                filter.add(&item.to_le_bytes(), ANY).unwrap();
                last[item as usize] = pane;
                assert!(filter.contains(&item.to_le_bytes(), filter.panes_in(pane)));
            }
            next += additions;
            // No more than that are in a window, and earlier ones that were added again.
            let first = next.saturating_sub(CAPACITY * 6);
            if pane % 5 > 0 {
                continue;
            }
            for item in first..next {
                let found = filter.contains(&item.to_le_bytes(), filter.panes_in(pane));
                let last = last[item as usize];
                if last + PANES >= pane {
                    assert!(found || last == 0, "{item} is forgotten in {pane}");
                } else if pane % 100 == 0 {
                    expired += 1;
                    kept += u64::from(found);
                }
            }
        }
        let is_rare = kept <= bound_of(expired, 0.01);
        assert!(is_rare, "{kept} of {expired} at {arrival}");
        let found = false_positives(&filter);
        assert!(found <= bound(0.01), "{found} at {arrival}");
    }
}

/// A tenth more than the capacity: a filter that grows accepts all items, and one that does not refuses some. Neither
/// forgets an item that it accepted.
#[test]
fn above_the_capacity_nothing_is_forgotten() {
    for expansion in [0, 1, 2] {
        let mut filter = set(1000, 0.01, expansion, 10);
        let mut accepted = Vec::new();
        let mut refused = 0;
        for pane in 0..200 {
            filter.advance(pane);
            for number in pane * 110..(pane + 1) * 110 {
                match filter.add(&number.to_le_bytes(), ANY) {
                    Ok(_) => accepted.push((number, pane)),
                    Err(error) => {
                        assert_eq!((error, expansion), (Error::Full, 0));
                        assert_eq!(filter.items(Panes::ALL), filter.limit());
                        refused += 1;
                    }
                }
            }
            accepted.retain(|&(_, added)| added + 10 >= pane);
            let are_kept =
                (accepted.iter()).all(|&(number, _)| contains_all(&filter, number, number + 1));
            assert!(are_kept);
        }
        assert_eq!(refused > 0, expansion == 0);
        let found = false_positives(&filter);
        assert!(found <= bound(0.01), "{found} at {expansion}");
    }
}

#[test]
fn the_rate_is_within_the_limit_after_six_expansions() {
    for (error_rate, max_sub_filters) in [(0.1, 5), (0.01, 4), (0.001, 3)] {
        let mut filter = set(500, error_rate, 2, 12);
        churn(&mut filter, 500 * 120, 1);
        assert_eq!(filter.num_sub_filters(), 7);
        let found = false_positives(&filter);
        assert!(found <= bound(error_rate), "{found} at {error_rate}");
        // After the window the older sub-filters are removed, and a new one can use their part of the rate. A small one remains
        // while false positives refresh its items.
        churn(&mut filter, 500 * 60, 40);
        let found = false_positives(&filter);
        assert!(found <= bound(error_rate), "{found} at {error_rate}");
        assert!(filter.num_sub_filters() <= max_sub_filters);
    }
}

/// The capacity fits in one sub-filter, in small filters too. (If it did not, a further sub-filter would be added; so
/// this is about memory.)
///
/// In a sub-filter of m buckets with n items, the most probable obstacle is nine items with the same two buckets:
/// C(n, 9) · (4/m²)⁸. With the extra buckets this is at most 1e-8 for any capacity, so a window of this test fails with
/// a probability below 1e-8, and all of its 25 · 3 windows below 1e-6.
#[test]
fn small_capacities_fit_in_one_sub_filter() {
    for capacity in [
        1, 2, 3, 5, 8, 10, 13, 20, 30, 40, 50, 60, 70, 80, 90, 100, 120, 150, 200, 300, 400, 500,
        600, 800, 1000,
    ] {
        let mut filter = set(capacity, EXACT, 0, 3);
        for window in 0..3 {
            filter.advance(window * 4);
            let first = window * 10_000;
            add_all(&mut filter, first, first + capacity);
            assert!(contains_all(&filter, first, first + capacity));
        }
        assert_eq!(filter.num_sub_filters(), 1, "{capacity}");
    }
}

/// A multiset that does not grow has the error rate of its bucket size when it is full, and refuses nothing before.
///
/// With buckets of two slots, the most probable obstacle is five items with the same two buckets, which have one of f
/// fingerprints: C(n, 5) · (2/(f·m))⁴. With f above 200 and n = 500, this is below 3e-7; in larger buckets less.
#[test]
fn a_full_multiset_has_the_rate_of_its_bucket_size() {
    for (bucket_size, panes) in [(2, 5), (2, 20), (4, 9), (8, 13), (30, 7)] {
        let mut filter = multiset(500, bucket_size, 0, panes);
        for number in 0..filter.limit() {
            let item = number.to_le_bytes();
            assert_eq!(filter.insert_item(&item, ANY), Ok(()), "{number}");
        }
        assert_eq!(filter.insert_item(b"more", ANY), Err(Error::Full));
        let found = found_in_multiset(&filter);
        let rate = 2.0 * f64::from(bucket_size) / 255.0;
        assert!(found <= bound(rate), "{found} at {bucket_size}, {panes}");
    }
}

/// The number of absent items that a multiset finds.
fn found_in_multiset(filter: &CuckooWindow) -> u64 {
    let absent = (0..PROBES).map(|number| (number | 1 << 40).to_le_bytes());
    (absent.filter(|item| filter.contains(item, Panes::ALL))).count() as u64
}

/// A multiset with an error rate of its own, when it is full, and after growth: by other items, and by one item with many
/// occurrences. The rate is that of the whole filter: the rates of the sub-filters do not exceed it in sum.
#[test]
fn a_multiset_has_the_specified_rate_at_capacity_and_after_growth() {
    for error_rate in [0.05, 0.001, 0.0001] {
        for bucket_size in [1, 4, 30] {
            let parameters = CuckooWindowParameters {
                error_rate: Some(error_rate),
                ..of_multiset(2000, bucket_size, 2)
            };
            let mut filter = CuckooWindow::new(window(12), &parameters, ANY).unwrap();
            assert_eq!(filter.error_rate(), Some(error_rate));
            let sum = |filter: &CuckooWindow| -> f64 {
                (filter.sub_filters(Panes::ALL).map(|each| each.error_rate)).sum()
            };
            for number in 0..filter.limit() {
                let item = number.to_le_bytes();
                assert_eq!(filter.insert_item(&item, ANY), Ok(()), "{number}");
            }
            let found = found_in_multiset(&filter);
            let is_rare = found <= bound(error_rate);
            assert!(is_rare, "{found} at {error_rate}, {bucket_size}");
            for number in 0..10_000u64 {
                filter.insert_item(&number.to_le_bytes(), ANY).unwrap();
            }
            for _ in 0..100 {
                filter.insert_item(b"one", ANY).unwrap();
            }
            assert!(filter.num_sub_filters() > 3);
            assert!(sum(&filter) <= error_rate, "{error_rate}, {bucket_size}");
            let found = found_in_multiset(&filter);
            let is_rare = found <= bound(error_rate);
            assert!(is_rare, "{found} at {error_rate}, {bucket_size}");
            assert!(filter.count(b"one", Panes::ALL) >= 100);
        }
    }
}

/// The default rate is that of each sub-filter, and a filter with the same rate as a parameter is the same one.
#[test]
fn the_default_rate_of_a_multiset_is_that_of_each_sub_filter() {
    let [default, specified] = [None, Some(8.0 / 255.0)].map(|error_rate| {
        let parameters = CuckooWindowParameters {
            error_rate,
            ..of_multiset(500, 4, 2)
        };
        let mut filter = CuckooWindow::new(window(12), &parameters, ANY).unwrap();
        for number in 0..5000u64 {
            filter.insert_item(&number.to_le_bytes(), ANY).unwrap();
        }
        filter
    });
    assert_eq!(default, specified);
    assert_eq!(specified.error_rate(), None);
    let rates = default.sub_filters(Panes::ALL).map(|each| each.error_rate);
    assert!(rates.filter(|&rate| rate > 4.0 / 255.0).count() > 1);
}

/// The error rate of a cuckoo filter with the same bucket size.
#[test]
fn a_multiset_has_the_rate_of_its_bucket_size() {
    for bucket_size in [1, 2, 4, 8, 16] {
        let mut filter = multiset(20_000, bucket_size, 1, 12);
        for pane in 0..50 {
            filter.advance(pane);
            for number in pane * 1500..(pane + 1) * 1500 {
                filter.insert_item(&number.to_le_bytes(), ANY).unwrap();
            }
        }
        let found = found_in_multiset(&filter);
        let rate = 2.0 * f64::from(bucket_size) / 255.0;
        assert!(filter.num_sub_filters() <= 2);
        assert!(found <= bound(rate), "{found} at {bucket_size}");
        assert!(
            ((35 * 1500..50 * 1500u64).filter(|number| *number >= 37 * 1500))
                .all(|number| filter.contains(&number.to_le_bytes(), Panes::ALL))
        );
    }
}
