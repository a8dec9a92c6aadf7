//! Corrupt and hostile stored forms are refused, or every operation works on the loaded sketch.

use super::super::TopK;
use super::{digest, listed, saved, sketch, through_chunks};
use crate::format::FormatError;
use crate::memory::Budget;
use crate::stored::Stored;
use proptest::prelude::*;
use roughly_dump::{Value, Values};
use std::collections::HashSet;

/// The budget for loading a header, in bytes.
const BUDGET_BYTES: u64 = 1 << 20;

fn small() -> TopK {
    let mut sketch = sketch(4, 3, 2, 0.9);
    for (item, increment) in [(&b"a"[..], 5), (b"", 7), (b"bc\0d", 100), (b"e", 3)] {
        sketch.add(item, increment).unwrap();
    }
    sketch
}

/// Calls every operation on a loaded sketch.
fn exercise(mut sketch: TopK) {
    let check = |sketch: &TopK| {
        let items: HashSet<_> = listed(sketch).into_iter().map(|(item, _)| item).collect();
        assert_eq!(
            items.len(),
            listed(sketch).len(),
            "an item is listed once only"
        );
        for element in sketch.heap.iter() {
            assert!(sketch.query(element.item));
        }
        assert_eq!(&TopK::load(&mut saved(sketch), 0, &()).unwrap(), sketch);
        let chunked = through_chunks(sketch);
        assert_eq!(&chunked, sketch);
        assert_eq!(digest(&chunked), digest(&sketch.try_clone().unwrap()));
    };
    check(&sketch);
    for increment in [0, 1, 100_000, u32::MAX] {
        for item in [&b""[..], b"a", b"bc\0d", b"new", b"newer"] {
            sketch.add(item, increment).unwrap();
            let least = sketch.heap.root_count();
            assert!(sketch.query(item) || sketch.count(item) < least);
        }
    }
    check(&sketch);
}

fn load(values: &Values) -> Result<TopK, FormatError> {
    TopK::load(&mut values.clone(), 0, &())
}

/// The values with one of them replaced.
fn with(values: &Values, index: usize, value: Value) -> Values {
    let mut values = values.clone();
    values.values[index] = value;
    values
}

const NUMBERS: [u64; 9] = [
    0,
    1,
    5,
    1 << 31,
    u32::MAX as u64,
    1 << 32,
    (1 << 61) + 1,
    (1 << 63) - 1,
    u64::MAX,
];

#[test]
fn replaced_values_are_refused_or_harmless() {
    let values = saved(&small());
    exercise(load(&values).unwrap());
    for index in 0..values.values.len() {
        for number in NUMBERS {
            let replaced = with(&values, index, Value::Integer(number));
            if let Ok(sketch) = load(&replaced) {
                exercise(sketch);
            }
        }
        for double in [
            0.0,
            -0.5,
            1.0,
            f64::from_bits(1),
            f64::NAN,
            f64::INFINITY,
            1.5,
        ] {
            if let Ok(sketch) = load(&with(&values, index, Value::Double(double))) {
                exercise(sketch);
            }
        }
        let Value::Bytes(bytes) = &values.values[index] else {
            continue;
        };
        for len in [
            0,
            1,
            bytes.len().saturating_sub(1),
            bytes.len() + 1,
            bytes.len() + 24,
        ] {
            let mut bytes = bytes.clone();
            bytes.resize(len, 0);
            if let Ok(sketch) = load(&with(&values, index, Value::Bytes(bytes))) {
                exercise(sketch);
            }
        }
        let mut missing = values.clone();
        missing.values.truncate(index);
        assert!(load(&missing).is_err());
    }
}

proptest! {
    #[test]
    fn corrupt_arrays_are_refused_or_harmless(
        index in 4usize..10, changes in prop::collection::vec((any::<usize>(), any::<u8>()), 1..40),
    ) {
        let values = saved(&small());
        let Value::Bytes(mut bytes) = values.values[index].clone() else {
            panic!("buckets, heap and items are strings");
        };
        for (at, byte) in changes {
            let len = bytes.len();
            bytes[at % len] = byte;
        }
        if let Ok(sketch) = load(&with(&values, index, Value::Bytes(bytes))) {
            exercise(sketch);
        }
    }

    #[test]
    fn corrupt_headers_are_refused_or_harmless(
        at: usize, number in prop::sample::select(NUMBERS.to_vec()), len in 0usize..200,
        byte: u8, other: usize,
    ) {
        let header = small().header().unwrap();
        let try_header = |header: &[u8]| {
            if let Ok(sketch) = TopK::from_header(header, Budget::new(&|bytes| bytes <= BUDGET_BYTES)) {
                exercise(sketch);
            }
        };
        let mut field = header.clone();
        let field_at = at % (header.len() / 8) * 8;
        field[field_at..field_at + 8].copy_from_slice(&number.to_le_bytes());
        try_header(&field);
        let mut resized = header.clone();
        resized.resize(len, byte);
        try_header(&resized);
        let mut scribbled = header;
        let len = scribbled.len();
        scribbled[at % len] = byte;
        scribbled[other % len] ^= byte;
        try_header(&scribbled);
    }
}

#[test]
fn values_that_the_spec_excludes_are_refused() {
    let values = saved(&small());
    let refused = |index, value| load(&with(&values, index, value)).is_err();
    for index in 0..3 {
        assert!(refused(index, Value::Integer(0)));
        assert!(refused(index, Value::Integer(1 << 32)));
        assert!(refused(index, Value::Integer(u64::MAX)));
    }
    for decay in [0.0, -0.0, -1.0, 1.0 + f64::EPSILON, f64::NAN] {
        assert!(refused(3, Value::Double(decay)));
    }
    // Bucket arrays of a wrong length, and dimensions whose product wraps to the right one.
    assert!(refused(4, Value::Bytes(vec![0; 47])));
    assert!(refused(4, Value::Bytes(vec![0; 56])));
    assert!(refused(1, Value::Integer(1 << 31)));
    // A heap of a wrong length; an item without its NUL.
    assert!(refused(5, Value::Bytes(vec![0; 4 * 24 - 1])));
    assert!(refused(5, Value::Bytes(vec![0; 5 * 24])));
    assert!(refused(6, Value::Bytes(Vec::new())));
    assert!(refused(6, Value::Bytes(b"a".to_vec())));
    assert!(TopK::load(&mut values.clone(), 1, &()).is_err());
}

/// The values of a sketch with k = 3 whose heap holds these (item, fingerprint, count).
fn crafted(elements: [(&[u8], u32, u32); 3]) -> Values {
    let mut values = saved(&sketch(3, 3, 2, 0.9));
    let mut heap = Vec::new();
    for (index, (item, fingerprint, count)) in elements.into_iter().enumerate() {
        heap.extend_from_slice(&fingerprint.to_le_bytes());
        heap.extend_from_slice(&[0; 12]);
        heap.extend_from_slice(&count.to_le_bytes());
        heap.extend_from_slice(&[0; 4]);
        values.values[6 + index] = Value::Bytes([item, b"\0"].concat());
    }
    values.values[5] = Value::Bytes(heap);
    values
}

#[test]
fn the_order_of_a_loaded_heap_is_restored() {
    let sketch = load(&crafted([(b"a", 0, 9), (b"b", 0, 2), (b"c", 0, 5)])).unwrap();
    let counts: Vec<u32> = sketch.heap.iter().map(|element| element.count).collect();
    assert_eq!(counts, [2, 9, 5]);
    exercise(sketch);
}

#[test]
fn an_item_stored_twice_is_kept_once_with_its_larger_count() {
    let sketch = load(&crafted([(b"a", 0, 1), (b"b", 0, 2), (b"a", 0, 5)])).unwrap();
    assert_eq!(listed(&sketch), [(b"a".to_vec(), 5), (b"b".to_vec(), 2)]);
    exercise(sketch);
}

/// RedisBloom cuts items at a NUL, so the stored fingerprint can be that of a longer item.
#[test]
fn items_that_redisbloom_cut_are_found_unless_nothing_is_left() {
    let sketch = load(&crafted([
        (b"", 77, 1),
        (b"nul", 78, 2),
        (b"", 0x4a85_66e0, 3),
    ]))
    .unwrap();
    assert_eq!(listed(&sketch), [(Vec::new(), 3), (b"nul".to_vec(), 2)]);
    assert!(sketch.query(b"nul") && sketch.query(b""));
    exercise(sketch);
}

#[test]
fn memory_is_requested_before_a_header_is_loaded() {
    let header = small().header().unwrap();
    let refused = TopK::from_header(&header, Budget::new(&|_| false));
    assert!(matches!(refused, Err(FormatError::OutOfMemory(_))));
    // The largest dimensions: 2^67 bytes.
    let mut largest = header;
    for field in 2..4 {
        largest[field * 8..field * 8 + 8].copy_from_slice(&u64::from(u32::MAX).to_le_bytes());
    }
    let refused = TopK::from_header(&largest, Budget::UNLIMITED);
    assert!(matches!(refused, Err(FormatError::OutOfMemory(_))));
}
