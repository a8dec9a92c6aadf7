//! Stored forms: what is written is read, what is wrong is refused, and nothing that was read can do
//! harm later.

use super::model::values_of;
use crate::cuckoo::item::HashedItem;
use crate::cuckoo::{CuckooFilter, HEADER_BYTES, Parameters};
use crate::format::chunks::CHUNK_BYTES;
use crate::format::{FormatError, Sink};
use crate::memory::Budget;
use crate::stored::Stored;
use crate::testing::{golden_bytes, golden_values};
use proptest::prelude::*;
use roughly_dump::{Value, Values};

const DEFAULTS: Parameters = Parameters {
    bucket_size: 2,
    max_iterations: 20,
    expansion: 1,
};
const GOLDEN: [&str; 11] = [
    "cf-auto",
    "cf-bucket1",
    "cf-bucket4",
    "cf-bucket7",
    "cf-deleted",
    "cf-dups",
    "cf-emptied",
    "cf-empty",
    "cf-exp0-full",
    "cf-exp2",
    "cf-grown",
];

fn golden(version: &str, name: &str) -> Values {
    golden_values(version, name, b"MBbloomCF", 4)
}

fn load(values: &Values, version: u16) -> Result<CuckooFilter, FormatError> {
    CuckooFilter::load(&mut values.clone(), version, &DEFAULTS)
}

/// A word of cf.built: bytes other than letters, digits and punctuation are % and two digits.
fn word(text: &str) -> Vec<u8> {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap().as_bytes().to_vec();
    for part in parts {
        bytes.push(u8::from_str_radix(&part[..2], 16).unwrap());
        bytes.extend_from_slice(&part.as_bytes()[2..]);
    }
    bytes
}

/// Runs the commands that made a golden dump.
fn built(version: &str, name: &str) -> CuckooFilter {
    let any = |_| true;
    let mut filter = CuckooFilter::new(1024, DEFAULTS, Budget::new(&any)).unwrap();
    let commands = String::from_utf8(golden_bytes(version, "cf.built")).unwrap();
    for command in commands.lines() {
        let mut words = command.split(' ');
        let (verb, key) = (words.next().unwrap(), words.next().unwrap());
        let words: Vec<_> = words.map(word).collect();
        if key != name {
            continue;
        }
        let number = |word: &[u8]| str::from_utf8(word).unwrap().parse::<u16>().unwrap();
        match verb {
            "CF.RESERVE" => {
                let mut parameters = DEFAULTS;
                for option in words[1..].chunks(2) {
                    let value = number(&option[1]);
                    match &option[0][..] {
                        b"BUCKETSIZE" => parameters.bucket_size = value as u8,
                        b"MAXITERATIONS" => parameters.max_iterations = value,
                        b"EXPANSION" => parameters.expansion = value,
                        _ => panic!("unknown option"),
                    }
                }
                let capacity = number(&words[0]).into();
                filter = CuckooFilter::new(capacity, parameters, Budget::new(&any)).unwrap();
            }
            "CF.INSERT" => {
                let items = words[1..].iter().map(Vec::as_slice);
                filter.insert_each(items, Budget::new(&any), |_| ());
            }
            "CF.ADD" => filter.insert(&words[0], Budget::new(&any)).unwrap(),
            "CF.DEL" => drop(filter.delete(&words[0], Budget::UNLIMITED)),
            _ => panic!("unknown command {verb}"),
        }
    }
    filter
}

#[test]
fn golden_dumps_load_and_are_saved_again_byte_for_byte() {
    for name in GOLDEN {
        for version in ["2.8", "8.10"] {
            let values = golden(version, name);
            let filter = load(&values, CuckooFilter::ENCODING_VERSION).unwrap();
            assert_eq!(values_of(&filter), values, "{version} {name}");
        }
    }
}

#[test]
fn the_commands_of_golden_dumps_make_the_same_bytes() {
    for name in GOLDEN {
        for version in ["2.8", "8.10"] {
            let filter = built(version, name);
            assert_eq!(
                values_of(&filter),
                golden(version, name),
                "{version} {name}"
            );
        }
    }
}

#[test]
fn headers_and_chunks_make_the_same_filter() {
    for name in GOLDEN {
        let filter = built("8.10", name);
        let mut copy =
            CuckooFilter::from_header(&filter.header().unwrap(), Budget::UNLIMITED).unwrap();
        let mut iterator = 1;
        while let Some((next, chunk)) = filter.chunk(iterator, CHUNK_BYTES) {
            copy.load_chunk(next, chunk).unwrap();
            iterator = next;
        }
        assert_eq!(copy, filter, "{name}");
    }
}

#[test]
fn chunks_above_16_mib_are_cut_and_none_crosses_sub_filters() {
    let header = header([5, 1 << 24, 0, 2], [2, 20, 1]);
    let filter = CuckooFilter::from_header(&header, Budget::UNLIMITED).unwrap();
    let mut lengths = Vec::new();
    let mut iterator = 1;
    while let Some((next, chunk)) = filter.chunk(iterator, CHUNK_BYTES) {
        lengths.push(chunk.len());
        iterator = next;
    }
    assert_eq!(lengths, [CHUNK_BYTES; 4]);
    let (next, chunk) = filter.chunk(6 << 20, CHUNK_BYTES).unwrap();
    assert_eq!((chunk.len(), next), (CHUNK_BYTES, 22 << 20));
    assert!(filter.chunk(0, CHUNK_BYTES).is_none() && filter.chunk(-1, CHUNK_BYTES).is_none());
    assert!(
        filter.chunk((64 << 20) + 1, CHUNK_BYTES).is_none()
            && filter.chunk(i64::MAX, CHUNK_BYTES).is_none()
    );
}

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

fn header(long: [u64; 4], short: [u16; 3]) -> Vec<u8> {
    let mut header: Vec<u8> = long.into_iter().flat_map(u64::to_le_bytes).collect();
    header.extend(short.into_iter().flat_map(u16::to_le_bytes));
    header
}

#[test]
fn a_header_is_laid_out_as_the_format_says() {
    let bytes = header([1, 16, 2, 3], [4, 500, 2]);
    let filter = CuckooFilter::from_header(&bytes, Budget::UNLIMITED).unwrap();
    assert_eq!(filter.items(), 1);
    assert_eq!(filter.num_buckets(), 16);
    assert_eq!(filter.deletes(), 2);
    assert_eq!(filter.num_sub_filters(), 3);
    let parameters = filter.parameters();
    assert_eq!(
        (
            parameters.bucket_size,
            parameters.max_iterations,
            parameters.expansion
        ),
        (4, 500, 2)
    );
    assert_eq!(filter.nominal_bytes(), 40 + 3 * 16 + (16 + 32 + 64) * 4);
    assert_eq!(filter.header().unwrap()[..], bytes);
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
fn a_header_of_terabytes_is_refused_before_anything_is_allocated() {
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

/// The RDB form before encoding 4: counts and buffers only.
fn old_form(filters: u64, num_buckets: u64, items: u64, slots: usize) -> Values {
    let mut values = Values::default();
    for number in [filters, num_buckets, items] {
        values.write_unsigned(number);
    }
    for _ in 0..filters {
        values.write_bytes(&vec![9; slots]);
    }
    values
}

#[test]
fn old_encodings_take_the_configured_parameters() {
    for version in 0..4 {
        let filter = load(&old_form(1, 8, 16, 16), version).unwrap();
        assert_eq!((filter.items(), filter.deletes()), (16, 0));
        assert_eq!(filter.parameters(), DEFAULTS);
        let defaults = Parameters {
            bucket_size: 4,
            max_iterations: 7,
            expansion: 3,
        };
        let filter = CuckooFilter::load(&mut old_form(1, 8, 16, 32), version, &defaults).unwrap();
        let expansion = 4;
        assert_eq!(
            filter.parameters(),
            Parameters {
                expansion,
                ..defaults
            }
        );
        // Several sub-filters of one size have an expansion of 1, whatever is configured.
        let filter = CuckooFilter::load(&mut old_form(3, 8, 16, 32), version, &defaults).unwrap();
        let expansion = 1;
        assert_eq!(
            filter.parameters(),
            Parameters {
                expansion,
                ..defaults
            }
        );
        assert_eq!(filter.num_sub_filters(), 3);
        let saved = values_of(&filter);
        assert_eq!(
            load(&saved, CuckooFilter::ENCODING_VERSION).unwrap(),
            filter
        );
        assert!(load(&old_form(1, 8, 16, 15), version).is_err());
    }
    assert!(load(&golden("8.10", "cf-grown"), 5).is_err());
}

/// Values that break things: at the edges of ranges and types.
fn nasty_value() -> impl Strategy<Value = Value> {
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

/// Uses every operation; the filter may be any that loads.
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
    fn mutated_dumps_are_refused_or_harmless(
        name in prop::sample::select(GOLDEN.to_vec()),
        version in 0u16..6,
        mutations in prop::collection::vec((any::<prop::sample::Index>(), 0..5u8, nasty_value()), 0..4),
    ) {
        let mut values = golden("8.10", name);
        for (at, kind, value) in mutations {
            // The numbers in front matter most.
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
    fn mutated_headers_are_refused_or_harmless(
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
    fn any_slots_are_a_filter(
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
