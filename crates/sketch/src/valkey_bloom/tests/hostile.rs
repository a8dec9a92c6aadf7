//! Validation rules and limits of stored forms.

use super::parts::Parts;
use super::*;
use crate::testing::check_rules;
use roughly_dump::Value;
use std::cell::Cell;

/// A change of [`Parts::valid`], with its name.
type Change = (&'static str, fn(&mut Parts));

/// Changes that every stored form refuses. valkey-bloom aborts on many of them.
const INVALID: &[Change] = &[
    ("no filters", |parts| {
        parts.number = 0;
        parts.filters.clear();
    }),
    ("no filters, but bytes", |parts| parts.number = 0),
    ("more filters than present", |parts| parts.number = 3),
    ("2^31 filters", |parts| parts.number = 1 << 31),
    ("rate 0", |parts| parts.error_rate = 0.0),
    ("rate -0", |parts| parts.error_rate = -0.0),
    ("rate 1", |parts| parts.error_rate = 1.0),
    ("rate above 1", |parts| parts.error_rate = 1.5),
    ("negative rate", |parts| parts.error_rate = -0.1),
    ("rate nan", |parts| parts.error_rate = f64::NAN),
    ("rate inf", |parts| parts.error_rate = f64::INFINITY),
    ("tightening 0", |parts| parts.tightening = 0.0),
    ("tightening 1", |parts| parts.tightening = 1.0),
    ("tightening above 1", |parts| parts.tightening = 2.0),
    ("negative tightening", |parts| parts.tightening = -0.5),
    ("tightening nan", |parts| parts.tightening = f64::NAN),
    ("tightening inf", |parts| parts.tightening = f64::INFINITY),
    ("version 0", |parts| parts.filters[0].version = 0),
    ("version 2", |parts| parts.newest().version = 2),
    ("no bits", |parts| {
        parts.newest().bytes = 0;
        parts.newest().bits.clear();
    }),
    ("2^61 bytes", |parts| parts.newest().bytes = 1 << 61),
    ("2^64 - 1 bytes", |parts| parts.newest().bytes = u64::MAX),
    ("no hashes", |parts| parts.filters[0].hashes = 0),
    ("2049 hashes", |parts| parts.newest().hashes = 2049),
    ("2^32 - 1 hashes", |parts| parts.newest().hashes = u32::MAX),
    ("capacity 0", |parts| {
        parts.newest().capacity = 0;
        parts.newest().items = 0;
    }),
    ("older capacity 0", |parts| parts.filters[0].capacity = 0),
    ("capacity 2^63", |parts| parts.newest().capacity = 1 << 63),
    ("capacity -1", |parts| parts.filters[0].capacity = u64::MAX),
    ("more items than the capacity", |parts| {
        parts.newest().items = 21
    }),
    ("negative items", |parts| parts.newest().items = u64::MAX),
    ("capacities above 2^63 - 1", |parts| {
        parts.newest().capacity = i64::MAX as u64 - 9
    }),
    ("first seed differs", |parts| parts.filters[0].seed[0] ^= 1),
    ("newest seed differs", |parts| parts.newest().seed[31] ^= 1),
];

/// Changes that only forms with bits refuse.
const INVALID_BITS: &[Change] = &[
    ("fewer bits", |parts| parts.newest().bits.truncate(26)),
    ("more bits", |parts| parts.filters[0].bits.push(0)),
    ("fewer bytes", |parts| parts.newest().bytes -= 1),
    ("more bytes", |parts| parts.newest().bytes += 1),
    ("2^40 bytes", |parts| parts.newest().bytes = 1 << 40),
];

/// Changes that every stored form accepts.
const VALID: &[Change] = &[
    ("nothing", |_| ()),
    ("does not scale", |parts| parts.expansion = 0),
    ("largest expansion", |parts| {
        parts.expansion = u32::MAX.into()
    }),
    ("subnormal rate", |parts| parts.error_rate = 5e-324),
    ("largest rate", |parts| {
        parts.error_rate = 1.0 - f64::EPSILON / 2.0
    }),
    ("smallest tightening", |parts| parts.tightening = 5e-324),
    ("fixed seed", |parts| parts.flag = 0),
    ("another seed", |parts| {
        (parts.filters.iter_mut()).for_each(|filter| filter.seed = [9; 32])
    }),
    ("1 hash", |parts| parts.newest().hashes = 1),
    ("2048 hashes", |parts| parts.newest().hashes = 2048),
    ("1 byte", |parts| {
        parts.newest().bytes = 1;
        parts.newest().bits.truncate(1);
    }),
    ("full", |parts| parts.newest().items = 20),
    ("largest capacity", |parts| {
        parts.newest().capacity = i64::MAX as u64 - 10
    }),
    // Older filters are full, whatever is stored.
    ("older items", |parts| parts.filters[0].items = 3),
    ("negative older items", |parts| {
        parts.filters[0].items = u64::MAX
    }),
];

#[test]
fn every_rule_is_checked_before_memory_is_requested() {
    let no_request = Budget::new(&|bytes| panic!("{bytes} bytes were requested"));
    for (name, change) in INVALID {
        let mut parts = Parts::valid();
        change(&mut parts);
        assert!(parts.rdb().is_err(), "{name}");
        assert!(parts.load(no_request).is_err(), "{name}");
        let is_refused = ValkeyChain::from_header(&parts.header(), no_request).is_err();
        assert!(is_refused, "{name}");
    }
    for (name, change) in INVALID_BITS {
        let mut parts = Parts::valid();
        change(&mut parts);
        let is_refused = matches!(parts.rdb(), Err(FormatError::Invalid(_)));
        assert!(is_refused, "{name}");
        let refused = parts.load(no_request).err();
        assert_eq!(refused, Some(LoadError::Invalid), "{name}");
    }
}

#[test]
fn everything_else_is_accepted() {
    for (name, change) in VALID {
        let mut parts = Parts::valid();
        change(&mut parts);
        let loaded = (parts.rdb()).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(saved(&loaded), parts.values(), "{name}");
        let from_payload = (parts.load(ANY)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(saved(&from_payload), parts.values(), "{name}");
        let from_header = ValkeyChain::from_header(&parts.header(), ANY);
        let from_header = from_header.unwrap_or_else(|error| panic!("{name}: {error}"));
        let expected = loaded.header().unwrap();
        assert_eq!(from_header.header().unwrap(), expected, "{name}");
    }
}

#[test]
fn only_rdb_has_an_expansion_above_32_bits_and_other_flags() {
    let mut parts = Parts::valid();
    parts.expansion = 1 << 32;
    assert!(matches!(parts.rdb(), Err(FormatError::Invalid(_))));
    for flag in [2, 255, u64::MAX] {
        let mut parts = Parts::valid();
        parts.flag = flag;
        assert!(!parts.rdb().unwrap().parameters().seed_is_random);
    }
    let mut parts = Parts::valid();
    parts.flag = 2;
    assert_eq!(parts.load(ANY).err(), Some(LoadError::Invalid));
    assert!(ValkeyChain::from_header(&parts.header(), ANY).is_err());
}

/// valkey-bloom could not load such an RDB file, but it accepts the payload.
#[test]
fn the_fixed_seed_is_required_where_the_flag_specifies_it() {
    let mut parts = Parts::valid();
    parts.flag = 0;
    for filter in &mut parts.filters {
        filter.seed[31] ^= 1;
    }
    assert!(matches!(parts.rdb(), Err(FormatError::Invalid(_))));
    assert!(ValkeyChain::from_header(&parts.header(), ANY).is_err());
    let loaded = parts.load(ANY).unwrap();
    assert!(loaded.parameters().seed_is_random);
    parts.flag = 1;
    assert_eq!(saved(&loaded), parts.values());
}

#[test]
fn truncated_values_and_payloads_are_refused_at_every_byte() {
    let parts = Parts::valid();
    let payload = parts.payload();
    for len in 0..payload.len() {
        let refused = ValkeyChain::from_load_payload(&payload[..len], NO_LIMIT, ANY);
        assert_eq!(refused.err(), Some(LoadError::Invalid), "{len}");
    }
    let values = parts.values();
    check_rules(&values, |values| ValkeyChain::load(values, 1, &None), &[]);
    let blob = parts.filters[1].blob();
    for len in 0..blob.len() {
        let mut values = values.clone();
        *values.values.back_mut().unwrap() = Value::Bytes(blob[..len].to_vec());
        assert!(ValkeyChain::load(&mut values, 1, &None).is_err(), "{len}");
    }
    // Bytes after the end are ignored, as in valkey-bloom.
    let longer = [&payload[..], &[0; 9]].concat();
    assert!(ValkeyChain::from_load_payload(&longer, NO_LIMIT, ANY).is_ok());
}

#[test]
fn memory_for_a_header_is_requested_before_it_is_allocated() {
    let mut parts = Parts::valid();
    parts.filters[0].bytes = 1 << 50;
    parts.newest().bytes = 1 << 51;
    let requested = Cell::new(0);
    let refuse = |bytes| {
        requested.set(bytes);
        false
    };
    let refused = ValkeyChain::from_header(&parts.header(), Budget::new(&refuse));
    assert!(matches!(refused, Err(FormatError::OutOfMemory(_))));
    assert_eq!(requested.get(), (1 << 50) + (1 << 51) + 2 * 45);
    // The sum does not fit in 61 bits.
    parts.filters[0].bytes = 1 << 60;
    parts.newest().bytes = 1 << 60;
    let refused = ValkeyChain::from_header(&parts.header(), ANY);
    assert!(matches!(refused, Err(FormatError::OutOfMemory(_))));
}

#[test]
fn slots_of_a_header_must_fit_the_filters() {
    for (slots, is_valid) in [
        (0, false),
        (1, false),
        (2, true),
        (4, true),
        (5, false),
        (u64::MAX, false),
    ] {
        let mut header = Parts::valid().header();
        header[29..37].copy_from_slice(&u64::to_le_bytes(slots));
        let loaded = ValkeyChain::from_header(&header, ANY);
        assert_eq!(loaded.is_ok(), is_valid, "{slots}");
    }
}

/// The capacities of such a chain could not be stored.
#[test]
fn a_chain_does_not_grow_above_the_largest_sum_of_capacities() {
    let mut parts = Parts::valid();
    parts.expansion = 1;
    for (capacity, expected) in [(1 << 62, Err(Error::Capacity)), (1 << 20, Ok(true))] {
        parts.newest().capacity = capacity;
        parts.newest().items = capacity;
        let mut chain = parts.rdb().unwrap();
        let item = (0..u64::MAX).map(u64::to_le_bytes);
        let item = item.into_iter().find(|item| !chain.contains(item)).unwrap();
        assert_eq!(add(&mut chain, &item), expected);
    }
}

/// The bytes that a crafted filter has count, not those of the formula for its capacity.
#[test]
fn limits_of_rdb_use_the_bytes_that_are_present() {
    let within =
        |parts: &Parts, limit| ValkeyChain::load(&mut parts.values(), 1, &Some(limit)).is_ok();
    let mut parts = Parts::valid();
    let bytes: u64 = parts.filters.iter().map(|filter| filter.bytes).sum();
    let size = 48 + 8 + 2 * 208 + bytes;
    assert!(within(&parts, size) && !within(&parts, size - 1));
    parts.newest().bits.resize(100, 0);
    parts.newest().bytes = 100;
    parts.newest().capacity = 1 << 40;
    let bytes: u64 = parts.filters.iter().map(|filter| filter.bytes).sum();
    let size = 48 + 8 + 2 * 208 + bytes;
    assert!(within(&parts, size) && !within(&parts, size - 1));
}
