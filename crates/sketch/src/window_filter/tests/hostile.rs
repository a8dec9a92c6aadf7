//! Invalid and damaged bytes are refused, or load as a filter that is safe to use.

use super::*;
use crate::bloom::Chain;
use crate::cuckoo::CuckooFilter;
use crate::format::FormatError;
use proptest::prelude::*;
use roughly_dump::Value;

/// A filter with two sub-filters, live and expired entries.
fn sample() -> WindowSet {
    let mut filter = set(20, 0.01, 2, 5);
    add_some(&mut filter, 0, 45);
    filter.advance(7);
    add_some(&mut filter, 100, 120);
    filter.advance(9);
    add_some(&mut filter, 110, 130);
    filter
}

fn add_some(filter: &mut WindowSet, from: u64, to: u64) {
    for number in from..to {
        let _ = filter.add(&number.to_le_bytes(), small());
    }
}

fn sample_multiset() -> WindowMultiset {
    let mut filter = multiset(20, 2, 1, 5);
    for number in 0..60u64 {
        filter
            .insert_item(&(number / 3).to_le_bytes(), ANY)
            .unwrap();
        filter.advance(number / 20);
    }
    filter
}

/// Keeps the tests fast.
fn small() -> Budget<'static> {
    Budget::new(&|bytes| bytes <= 1 << 20)
}

#[test]
fn headers_of_a_wrong_length_or_type_are_refused() {
    let (set, multiset) = (
        sample().header().unwrap(),
        sample_multiset().header().unwrap(),
    );
    for len in 0..set.len() {
        assert!(WindowSet::from_header(&set[..len], ANY).is_err());
    }
    let longer = [&set[..], &[0]].concat();
    assert!(WindowSet::from_header(&longer, ANY).is_err());
    assert!(WindowSet::from_header(&set, ANY).is_ok());
    assert!(WindowMultiset::from_header(&multiset, ANY).is_ok());
    assert!(WindowSet::from_header(&multiset, ANY).is_err());
    assert!(WindowMultiset::from_header(&set, ANY).is_err());
    let values = &mut saved(&sample());
    assert_eq!(
        WindowSet::load(&mut values.clone(), 0, &()).err(),
        Some(FormatError::UnknownVersion(0))
    );
    assert_eq!(
        WindowSet::load(values, 2, &()).err(),
        Some(FormatError::UnknownVersion(2))
    );
}

/// A header of a Bloom filter begins with its number of items, at most 2^63 - 1. A header of a cuckoo filter has 38
/// bytes.
#[test]
fn no_header_is_also_one_of_a_filter_without_a_window() {
    assert!(u64::from_le_bytes(WindowSet::HEADER_MARK.try_into().unwrap()) > i64::MAX as u64);
    let (set, multiset) = (
        sample().header().unwrap(),
        sample_multiset().header().unwrap(),
    );
    for len in 0..set.len() {
        assert!(Chain::from_header(&set[..len], small()).is_err());
    }
    assert!(multiset.len() > crate::cuckoo::HEADER_BYTES);
    assert!(WindowMultiset::from_header(&multiset[..crate::cuckoo::HEADER_BYTES], ANY).is_err());
    assert!(CuckooFilter::from_header(&multiset, small()).is_err());
}

#[test]
fn fields_out_of_range_are_refused() {
    // Each case replaces one value of a valid payload: the position and the new value.
    let filter = sample();
    assert_eq!(filter.num_sub_filters(), 2);
    let mut cases: Vec<(usize, Value)> = Vec::new();
    for (position, numbers) in [
        (0, &[0, 1 << 50][..]),
        (1, &[0, 1001, 6]),
        (2, &[8, 1 << 63]),
        (3, &[0]),
        (5, &[0, 3, 5, 256]),
        (6, &[0, 20, 1 << 16]),
        (7, &[32769, 1 << 32]),
        (9, &[0, 1, 4, 1 << 63, u64::MAX]),
        (10, &[0, 2, 5, 1 << 62, u64::MAX]),
        (12, &[3, 2049, u64::MAX]),
        (13, &[0, 1000, u64::MAX]),
        (14, &[0, 1, 13, 26, 1 << 60]),
        (15, &[0, 1, 1 << 40, u64::MAX]),
        (16, &[0, 100, u64::MAX]),
    ] {
        cases.extend(
            numbers
                .iter()
                .map(|&number| (position, Value::Integer(number))),
        );
    }
    for number in [0.0, 1.0, -1.0, f64::NAN, f64::INFINITY] {
        cases.push((4, Value::Double(number)));
    }
    for position in [11, 17, 18, 19] {
        let Value::Bytes(bytes) = &saved(&filter).values[position] else {
            panic!("bytes at {position}");
        };
        cases.push((position, Value::Bytes(bytes[1..].to_vec())));
        cases.push((position, Value::Bytes([&bytes[..], &[0]].concat())));
        if position < 18 {
            cases.push((position, Value::Bytes(vec![0xff; bytes.len()])));
            cases.push((position, Value::Bytes(vec![1; bytes.len()])));
        }
    }
    assert!(WindowSet::load(&mut saved(&filter), 1, &()).is_ok());
    for (position, value) in cases {
        let mut values = saved(&filter);
        values.values[position] = value.clone();
        assert!(
            WindowSet::load(&mut values, 1, &()).is_err(),
            "{position} {value:?}"
        );
    }
}

/// Runs every operation on a loaded filter.
fn exercise<K: Kind>(filter: &mut WindowFilter<K>) {
    for pane in [0, 1, 9, 10, 12, 40, u64::MAX] {
        let _ = (
            filter.contains(b"a", filter.panes_in(pane)),
            filter.items(filter.panes_in(pane)),
            filter.pane_total(pane),
        );
    }
    let _ = (
        filter.limit(),
        filter.slot_bytes(),
        filter.num_buckets(),
        filter.payload_bytes(),
    );
    for iterator in [0, 1, 2, i64::MAX, -1] {
        let _ = filter.chunk(iterator, 100);
        let _ = filter.load_chunk(iterator, b"xyz");
    }
    let _ = digest(filter);
    assert!(filter.try_clone().unwrap() == *filter);
    // A filter that loads can be used, saved and loaded again.
    assert!(reloaded(filter) == *filter);
    assert!(from_chunks(filter, 1000) == *filter);
}

fn exercise_set(mut filter: WindowSet) {
    for pane in [0, 10, 11, 30, 31, u64::MAX] {
        filter.advance(pane);
        add_some(&mut filter, 100, 140);
        exercise(&mut filter);
    }
}

fn exercise_multiset(mut filter: WindowMultiset) {
    for pane in [0, 3, 11, 30, 31, u64::MAX] {
        filter.advance(pane);
        for number in 0..30u64 {
            let item = (number / 5).to_le_bytes();
            let _ = filter.insert_item(&item, small());
            let _ = filter.insert_unique(&item, small());
            let _ = (
                filter.count(&item, filter.panes_in(pane)),
                filter.delete(&item),
            );
        }
        filter.compact();
        exercise(&mut filter);
    }
}

const EDGES: [u64; 10] = [
    0,
    1,
    63,
    64,
    1 << 31,
    u32::MAX as u64,
    1 << 32,
    i64::MAX as u64,
    1 << 63,
    u64::MAX,
];

fn damage(values: &mut Values, damage: Vec<(prop::sample::Index, usize, u64)>) {
    for (position, edge, random) in damage {
        let len = values.values.len();
        match &mut values.values[position.index(len)] {
            Value::Integer(value) if random % 3 == 0 => {
                *value = value.wrapping_add(random % 5).wrapping_sub(2);
            }
            Value::Integer(value) => *value = EDGES[edge],
            Value::Double(value) => *value = f64::from_bits(random),
            Value::Bytes(bytes) => match random % 4 {
                0 => bytes.truncate(bytes.len() / 2),
                1 => bytes.fill(random as u8),
                _ if bytes.is_empty() => {}
                _ => {
                    let place = edge * 7 % bytes.len();
                    bytes[place] = random as u8;
                }
            },
        }
    }
}

type Damage = Vec<(prop::sample::Index, usize, u64)>;

fn any_damage() -> impl Strategy<Value = Damage> {
    prop::collection::vec(
        (any::<prop::sample::Index>(), 0usize..10, any::<u64>()),
        1..4,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]
    #[test]
    fn damaged_payloads_are_refused_or_safe_to_use(damages in any_damage()) {
        let mut values = saved(&sample());
        damage(&mut values, damages.clone());
        if let Ok(filter) = WindowSet::load(&mut values, 1, &()) {
            exercise_set(filter);
        }
        let mut values = saved(&sample_multiset());
        damage(&mut values, damages);
        if let Ok(filter) = WindowMultiset::load(&mut values, 1, &()) {
            exercise_multiset(filter);
        }
    }

    #[test]
    fn damaged_headers_are_refused_or_safe_to_use(position in any::<prop::sample::Index>(), edge in 0usize..10, width in 1usize..9) {
        let mut header = sample().header().unwrap();
        let start = position.index(header.len());
        let end = header.len().min(start + width);
        header[start..end].copy_from_slice(&EDGES[edge].to_le_bytes()[..end - start]);
        if let Ok(filter) = WindowSet::from_header(&header, small()) {
            exercise_set(filter);
        }
        let mut header = sample_multiset().header().unwrap();
        let start = position.index(header.len());
        let end = header.len().min(start + width);
        header[start..end].copy_from_slice(&EDGES[edge].to_le_bytes()[..end - start]);
        if let Ok(filter) = WindowMultiset::from_header(&header, small()) {
            exercise_multiset(filter);
        }
    }

    #[test]
    fn random_slots_and_generations_are_safe_to_use(bytes in prop::collection::vec(any::<u8>(), 64)) {
        let mut filter = sample();
        for number in 0.. {
            let Some(array) = filter.array_mut(number) else { break };
            array.iter_mut().zip(bytes.iter().cycle()).for_each(|(place, &byte)| *place = byte);
        }
        exercise_set(filter);
    }

    #[test]
    fn a_source_that_ends_early_is_refused(len in 0usize..20) {
        let mut values = saved(&sample());
        values.values.truncate(len);
        prop_assert_eq!(WindowSet::load(&mut values, 1, &()).err(), Some(FormatError::Truncated));
    }
}
