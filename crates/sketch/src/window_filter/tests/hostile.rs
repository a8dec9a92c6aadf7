//! Validation rules of stored forms.

use super::*;
use crate::format::FormatError;
use crate::testing::{check_rules, with};
use crate::window_filter::evict::{MAX_SLOTS, searches};
use roughly_dump::Value::{self, Bytes, Double, Integer};

/// A filter with two sub-filters, live and expired entries.
fn sample() -> BloomWindow {
    let mut filter = set(20, 0.01, 2, 5);
    add_some(&mut filter, 0, 45);
    filter.advance(7);
    add_some(&mut filter, 100, 120);
    filter.advance(9);
    add_some(&mut filter, 110, 130);
    filter
}

fn add_some(filter: &mut BloomWindow, from: u64, to: u64) {
    for number in from..to {
        let _ = filter.add(&number.to_le_bytes(), small());
    }
}

fn sample_multiset() -> CuckooWindow {
    let mut filter = multiset(20, 2, 1, 5);
    for number in 0..60u64 {
        (filter.insert_item(&(number / 3).to_le_bytes(), ANY)).unwrap();
        filter.advance(number / 20);
    }
    filter
}

/// Keeps the tests fast.
fn small() -> Budget<'static> {
    Budget::new(&|bytes| bytes <= 1 << 20)
}

#[test]
fn every_rule_of_the_values_is_checked() {
    let (filter, load) = (sample(), |values: &mut Values| {
        BloomWindow::load(values, 2, &())
    });
    assert_eq!(filter.num_sub_filters(), 2);
    let values = saved(&filter);
    let ticks = "the live ticks are not those of live panes";
    let shape = "the shape of a sub-filter is out of range";
    let arrays = "the arrays of a sub-filter contradict its shape";
    check_rules(
        &values,
        load,
        &[
            (0, Integer(0), "the window is out of range"),
            (0, Integer(1 << 50), "the window is out of range"),
            (1, Integer(0), "the window is out of range"),
            (1, Integer(1001), "the window is out of range"),
            (1, Integer(6), "the window is out of range"),
            (2, Integer(8), ticks),
            (2, Integer(1 << 63), "the newest pane is out of range"),
            (4, Integer(0), "parameters out of range"),
            (6, Integer(0), "parameters out of range"),
            (6, Integer(3), "parameters out of range"),
            (6, Integer(5), "parameters out of range"),
            (6, Integer(256), "bucket size out of range"),
            (7, Integer(0), "parameters out of range"),
            (7, Integer(20), "parameters out of range"),
            (7, Integer(1 << 16), "maximum of iterations out of range"),
            (8, Integer(32769), "parameters out of range"),
            (8, Integer(1 << 32), "expansion out of range"),
            (10, Integer(0), ticks),
            (10, Integer(1), ticks),
            (10, Integer(4), ticks),
            (10, Integer(1 << 63), ticks),
            (10, Integer(u64::MAX), ticks),
            (11, Integer(0), ticks),
            (11, Integer(2), ticks),
            (11, Integer(5), ticks),
            (11, Integer(1 << 62), ticks),
            (11, Integer(u64::MAX), ticks),
            (13, Integer(2049), "number of sub-filters out of range"),
            (13, Integer(u64::MAX), "number of sub-filters out of range"),
            (14, Integer(0), shape),
            (14, Integer(1000), shape),
            (14, Integer(u64::MAX), shape),
            (15, Integer(0), shape),
            (15, Integer(1), shape),
            (15, Integer(13), shape),
            (15, Integer(26), arrays),
            (15, Integer(1 << 60), shape),
            (16, Integer(0), shape),
            (16, Integer(1), arrays),
            (16, Integer(1 << 40), arrays),
            (16, Integer(u64::MAX), shape),
            (17, Integer(0), shape),
            (17, Integer(100), shape),
            (17, Integer(u64::MAX), shape),
            (5, Double(0.0), "parameters out of range"),
            (5, Double(1.0), "parameters out of range"),
            (5, Double(-1.0), "parameters out of range"),
            (5, Double(f64::NAN), "parameters out of range"),
            (5, Double(f64::INFINITY), "parameters out of range"),
        ],
    );
    let refused = load(&mut with(&values, 13, Integer(3))).err();
    assert_eq!(refused, Some(FormatError::Truncated));
    let mut reversed = values.clone();
    reversed.values.make_contiguous()[14..].rotate_left(7);
    let order = FormatError::Invalid("the sub-filters are not in order");
    assert_eq!(load(&mut reversed).err(), Some(order));
    for position in [3, 12, 18, 19, 20] {
        let Value::Bytes(bytes) = &values.values[position] else {
            panic!("bytes at {position}");
        };
        let mut changed = vec![bytes[1..].to_vec(), [&bytes[..], &[0]].concat()];
        if [12, 18].contains(&position) {
            changed.extend([0xff, 1].map(|byte| vec![byte; bytes.len()]));
        }
        for bytes in changed {
            assert!(load(&mut with(&values, position, Bytes(bytes))).is_err());
        }
    }
}

/// A multiset can have the error rates of a set, whatever its bucket size.
#[test]
fn a_multiset_has_any_error_rate_between_0_and_1() {
    let values = saved(&sample_multiset());
    let load = |rate: f64| {
        let mut values = with(&values, 5, Double(rate));
        CuckooWindow::load(&mut values, CuckooWindow::ENCODING_VERSION, &())
    };
    for rate in [f64::MIN_POSITIVE, 1e-9, 0.01, 0.25, 0.999] {
        let filter = load(rate).unwrap();
        assert_eq!(filter.error_rate(), Some(rate));
        assert_eq!(reloaded(&filter), filter);
        assert_eq!(from_chunks(&filter, 100), filter);
    }
    assert_eq!(load(4.0 / 255.0).unwrap().error_rate(), None);
    for rate in [0.0, 1.0, -1.0, f64::NAN, f64::INFINITY] {
        let refused = FormatError::Invalid("parameters out of range");
        assert_eq!(load(rate).err(), Some(refused), "{rate}");
    }
}

/// Sub-filters whose counts say "one live item" while all slots contain live entries.
fn with_false_counts<K: Kind>(filter: &mut WindowFilter<K>, sub_filters: usize) {
    let live = filter.ticks.live();
    let mut fill = filter.sub_filters.pop().expect("one");
    let (ticks, count) = (fill.stored_ticks(live), fill.counts.0.to_vec());
    for slot in 0..fill.size().slots(filter.parameters.bucket_size) {
        let fingerprint = SEED.hash(&slot.to_le_bytes()) % fill.size().fingerprints;
        fill.store(&ticks, slot, fingerprint, live.newest);
    }
    fill.counts.0.copy_from_slice(&count);
    for _ in 0..sub_filters {
        filter.sub_filters.push(fill.try_clone().expect("memory"));
    }
}

/// The searches of one item share a budget, so stored counts that contradict the slots multiply nothing.
#[test]
fn an_insertion_reads_a_limited_number_of_slots_whatever_the_counts() {
    fn check<K: Kind>(mut filter: WindowFilter<K>, add: impl Fn(&mut WindowFilter<K>, u64)) {
        add(&mut filter, 0);
        with_false_counts(&mut filter, MAX_SUB_FILTERS - 1);
        let mut filter = reloaded(&filter);
        assert_eq!(filter.items(Panes::ALL), MAX_SUB_FILTERS as u64 - 1);
        let bucket_size = u64::from(filter.parameters.bucket_size);
        searches::take();
        let mut largest = 0;
        for number in 1..20 {
            add(&mut filter, number);
            largest = searches::take().1.max(largest);
        }
        // Some searches used the whole budget.
        assert_eq!(largest, MAX_SLOTS / bucket_size, "{bucket_size}");
    }
    check(set(100, 0.01, 2, 5), |filter, number| {
        let _ = filter.add(&number.to_le_bytes(), ANY);
    });
    for bucket_size in [1, 2, 4, 255] {
        check(multiset(100, bucket_size, 2, 5), |filter, number| {
            let _ = filter.insert_item(&number.to_le_bytes(), ANY);
        });
    }
}

/// A search that visited all buckets which it can reach is not repeated with a higher limit, so equal items take one search of each
/// sub-filter.
#[test]
fn a_complete_search_is_not_repeated() {
    let mut filter = multiset(2, 1, 1, 5);
    for _ in 0..100 {
        let sub_filters = filter.sub_filters.len() as u64;
        searches::take();
        filter.insert_item(b"same", ANY).expect("a sub-filter");
        assert!(searches::take().0 <= sub_filters, "{sub_filters}");
    }
    assert!(filter.sub_filters.len() >= 50);
}
