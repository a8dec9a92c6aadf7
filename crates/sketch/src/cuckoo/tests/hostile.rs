//! Invalid and damaged bytes are refused, or load as a filter that is safe to use.

use super::golden::{GOLDEN, golden};
use super::*;
use roughly_dump::Value;

#[test]
fn misplaced_chunks_are_refused_and_change_nothing() {
    let mut filter =
        CuckooFilter::from_header(&header([5, 8, 0, 2], [2, 20, 1]), Budget::UNLIMITED).unwrap();
    let before = filter.try_clone().unwrap();
    for (iterator, len) in [
        (17, 0),
        (0, 1),
        (-1, 1),
        (18, 17),
        (20, 8),
        (33, 17),
        (34, 1),
        (i64::MAX, 3),
    ] {
        assert!(
            filter.load_chunk(iterator, &vec![7; len]).is_err(),
            "{iterator} {len}"
        );
        assert_eq!(filter, before);
    }
    assert!(filter.load_chunk(33, &[7; 16]).is_ok());
    assert_ne!(filter, before);
}

#[test]
fn bad_headers_are_refused() {
    let load =
        |long, short| CuckooFilter::from_header(&header(long, short), Budget::UNLIMITED).map(drop);
    assert_eq!(load([0, 8, 0, 1], [2, 20, 1]), Ok(()));
    for (long, short) in [
        ([0, 8, 0, 0], [2, 20, 1]),
        ([0, 8, 0, 65536], [2, 20, 1]),
        ([0, 8, 0, 65537], [2, 20, 1]),
        ([0, 8, 0, u64::MAX], [2, 20, 1]),
        ([0, 8, 0, 1], [0, 20, 1]),
        ([0, 8, 0, 1], [256, 20, 1]),
        ([0, 8, 0, 1], [2, 0, 1]),
        ([0, 8, 0, 1], [2, 20, 32769]),
        ([0, 8, 0, 1], [2, 20, u16::MAX]),
        ([0, 8, 0, 2], [2, 20, 0]),
        ([0, 0, 0, 1], [2, 20, 1]),
        ([0, 7, 0, 1], [2, 20, 1]),
        ([0, 1 << 56, 0, 1], [2, 20, 1]),
        ([0, u64::MAX, 0, 1], [2, 20, 1]),
        ([0, 8, 0, 54], [2, 20, 2]),
        ([0, 8, 0, 65535], [2, 20, 2]),
    ] {
        let error = load(long, short).unwrap_err();
        assert!(
            matches!(error, FormatError::Invalid(_)),
            "{long:?} {short:?} {error}"
        );
    }
    for len in [0, 37, 39] {
        assert_eq!(
            CuckooFilter::from_header(&vec![1; len], Budget::UNLIMITED),
            Err(FormatError::Truncated)
        );
    }
}

#[test]
fn a_header_of_terabytes_is_refused_before_memory_is_allocated() {
    for (long, short) in [
        ([0, 1 << 55, 0, 65535], [255, 20, 1]),
        ([0, 1 << 55, 0, 1], [255, 20, 1]),
        ([0, 1 << 40, 0, 10], [2, 20, 1]),
        ([0, 1, 0, 4], [255, 20, 32768]),
    ] {
        let limit = |bytes| bytes < 1 << 30;
        let error =
            CuckooFilter::from_header(&header(long, short), Budget::new(&limit)).unwrap_err();
        assert!(matches!(error, FormatError::OutOfMemory(_)), "{error}");
    }
}

/// Values at the limits of ranges and types.
fn edge_value() -> impl Strategy<Value = Value> {
    prop_oneof![
        prop::sample::select(vec![
            0u64,
            1,
            2,
            3,
            8,
            255,
            256,
            32768,
            65535,
            65536,
            1 << 31,
            u64::from(u32::MAX),
            1 << 55,
            1 << 56,
            i64::MAX as u64,
            u64::MAX,
        ])
        .prop_map(Value::Integer),
        prop::sample::select(vec![0.0, f64::NAN, f64::INFINITY]).prop_map(Value::Double),
        prop::collection::vec(any::<u8>(), 0..40).prop_map(Value::Bytes),
    ]
}

/// Runs every operation on a loaded filter.
fn exercise(mut filter: CuckooFilter) {
    let allows = |bytes| bytes < 1 << 20;
    for number in 0..40u8 {
        let _ = filter.insert(&[number], Budget::new(&allows));
        let _ = filter.insert_unique(&[number], Budget::new(&allows));
        let _ = filter.insert(b"the same", Budget::new(&allows));
        let _ = filter.count(&[number]);
    }
    filter.contains_each([&b"a"[..]; 20], |_| ());
    for number in 0..60u8 {
        filter.delete(&[number], Budget::UNLIMITED);
    }
    filter.compact(Budget::UNLIMITED);
    let saved = values_of(&filter);
    let again = load(&saved, CuckooFilter::ENCODING_VERSION).unwrap();
    assert_eq!(again, filter);
    let shell = CuckooFilter::from_header(&filter.header().unwrap(), Budget::UNLIMITED).unwrap();
    assert_eq!(shell.nominal_bytes(), filter.nominal_bytes());
    filter.digest(&mut |_| ());
}

proptest! {
    #[test]
    fn damaged_payloads_are_refused_or_safe_to_use(
        name in prop::sample::select(GOLDEN.to_vec()),
        version in 0u16..6,
        mutations in prop::collection::vec((any::<prop::sample::Index>(), 0..5u8, edge_value()), 0..4),
    ) {
        let mut values = golden("8.10", name);
        for (at, kind, value) in mutations {
            // Mostly mutates the integers before the slots.
            let len = if kind == 0 { values.values.len() } else { values.values.len().min(8) };
            if len == 0 {
                break;
            }
            let at = at.index(len);
            match (kind, &mut values.values[at]) {
                (1, Value::Bytes(bytes)) => bytes.truncate(bytes.len() / 2),
                (2, Value::Bytes(bytes)) => bytes.extend([7; 3]),
                (3, Value::Integer(number)) => *number ^= 1,
                (4, _) if at > 5 => values.values.truncate(at),
                (_, place) => *place = value,
            }
        }
        if let Ok(filter) = load(&values, version) {
            exercise(filter);
        }
    }

    #[test]
    fn damaged_headers_are_refused_or_safe_to_use(
        name in prop::sample::select(GOLDEN.to_vec()),
        at in 0usize..HEADER_BYTES,
        bytes in prop::collection::vec(prop::sample::select(vec![0u8, 1, 2, 0x7f, 0x80, 0xff]), 1..9),
        chunk in prop::collection::vec(any::<u8>(), 1..600),
        iterator in 0i64..2000,
    ) {
        let mut header = load(&golden("8.10", name), CuckooFilter::ENCODING_VERSION).unwrap().header().unwrap();
        for (place, byte) in header[at..].iter_mut().zip(bytes) {
            *place = byte;
        }
        if let Ok(mut filter) = CuckooFilter::from_header(&header, Budget::new(&|bytes| bytes < 1 << 20)) {
            let _ = filter.load_chunk(iterator, &chunk);
            exercise(filter);
        }
    }

    #[test]
    fn a_filter_with_any_slots_is_safe_to_use(
        bucket_size in 1u8..20, slots in prop::collection::vec(any::<u8>(), 400),
        items: u64, deletes: u64, max_iterations in prop::sample::select(vec![1u16, 20, 3000]),
        expansion in prop::sample::select(vec![0u16, 1, 2, 32768]),
    ) {
        let num_buckets = 16;
        let len = num_buckets * usize::from(bucket_size);
        let mut values = Values::default();
        for number in [
            1, num_buckets as u64, items, deletes, bucket_size.into(), max_iterations.into(),
            expansion.into(), num_buckets as u64,
        ] {
            values.write_unsigned(number);
        }
        values.write_bytes(&slots[..len]);
        let filter = load(&values, CuckooFilter::ENCODING_VERSION).unwrap();
        prop_assert_eq!(&values_of(&filter), &values);
        let expected = slots[..len].iter().any(|&slot| slot == HashedItem::of(b"x").fingerprint);
        prop_assert!(expected || !filter.contains(b"x"));
        exercise(filter);
    }
}
