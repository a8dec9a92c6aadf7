//! Invalid and damaged bytes are refused, or load as a chain that is safe to use.

use super::golden::golden;
use super::*;
use crate::bloom::shape::hashes_for;
use crate::bloom::stored::MAX_BITS_PER_ENTRY;
use crate::chain::batch::Additions;
use crate::format::{FormatError, Source};
use crate::hash_limit::{MAX_HASHES_PER_FILTER, MAX_TOTAL_HASHES};
use proptest::prelude::*;
use roughly_dump::{Value, Values};

#[test]
fn headers_of_a_wrong_length_are_refused() {
    let header = chain(10, 0.01, 2).header().unwrap();
    for len in 0..header.len() {
        assert!(Chain::from_header(&header[..len], ANY).is_err());
    }
    let longer = [&header[..], &[0]].concat();
    assert!(Chain::from_header(&longer, ANY).is_err());
    assert!(Chain::from_header(&header, ANY).is_ok());
}

/// Every item is looked up in all filters, so their number is limited.
#[test]
fn more_than_2048_filters_are_refused() {
    let header = |filters: u32| {
        let one = chain(1, 0.25, 1).header().unwrap();
        let mut header = one[..20].to_vec();
        header[8..12].copy_from_slice(&filters.to_le_bytes());
        for _ in 0..filters {
            header.extend_from_slice(&one[20..]);
        }
        header
    };
    assert!(Chain::from_header(&header(2049), ANY).is_err());
    let mut full = Chain::from_header(&header(2048), ANY).unwrap();
    let newest = full.filters.last_mut().unwrap();
    newest.set_items(1);
    full.items = 1;
    assert_eq!(add(&mut full, b"x"), Err(Error::Shape));
    assert!(Chain::load(&mut saved(&full), 4, &()).is_ok());
    // The longest chain that can grow: each new filter halves the rate until it is 0.
    let mut longest = chain(1, 0.25, 1);
    let mut item = 0u64;
    while longest.filters().len() < 2000 {
        item += 1;
        if add(&mut longest, &item.to_le_bytes()) == Err(Error::Shape) {
            break;
        }
    }
    assert_eq!(longest.filters().len(), 1072);
    assert!(Chain::load(&mut saved(&longest), 4, &()).is_ok());
}

#[test]
fn a_filter_has_at_most_the_hashes_of_the_smallest_error_rate() {
    let smallest = Shape::new(1, 5e-324, Sizing::Exact).unwrap();
    assert_eq!(u64::from(smallest.hashes), MAX_HASHES_PER_FILTER);
    let largest = u64::from(hashes_for(MAX_BITS_PER_ENTRY));
    assert_eq!(largest, MAX_HASHES_PER_FILTER);
    assert_eq!(MAX_FILTERS * largest, MAX_TOTAL_HASHES);
}

#[test]
fn several_filters_in_a_chain_that_does_not_scale_are_refused() {
    let mut two = chain(1, 0.01, 2);
    for item in 0..2u8 {
        add(&mut two, &[item]).unwrap();
    }
    assert_eq!(two.filters().len(), 2);
    assert!(Chain::from_header(&two.header().unwrap(), ANY).is_ok());
    assert!(Chain::load(&mut saved(&two), 4, &()).is_ok());
    two.layout.options |= options::NONSCALING;
    assert!(Chain::from_header(&two.header().unwrap(), ANY).is_err());
    assert!(Chain::load(&mut saved(&two), 4, &()).is_err());
}

/// A chain with the largest number of items refuses more, so that it can be loaded again.
#[test]
fn the_number_of_items_does_not_exceed_its_limit() {
    let mut values = old_payload(4);
    let end = i64::MAX as u64;
    values.values[0] = Value::Integer(end);
    values.values[4] = Value::Integer(u64::MAX);
    values.values[11] = Value::Integer(end);
    let mut chain = Chain::load(&mut values, 4, &()).unwrap();
    assert_eq!(add(&mut chain, b"one more"), Err(Error::Shape));
    assert_eq!(saved(&chain).values[0], Value::Integer(end));
    assert!(Chain::load(&mut saved(&chain), 4, &()).is_ok());
}

#[test]
fn memory_for_a_header_is_requested_before_it_is_allocated() {
    let header = chain(1 << 20, 0.01, 2).header().unwrap();
    let requested = std::cell::Cell::new(0);
    let refused = Chain::from_header(
        &header,
        Budget::new(&|bytes| {
            requested.set(bytes);
            false
        }),
    );
    assert!(matches!(refused, Err(FormatError::OutOfMemory(_))));
    assert_eq!(requested.get(), chain(1 << 20, 0.01, 2).bit_bytes());
}

#[test]
fn fields_that_the_spec_forbids_are_refused() {
    // Each case replaces one value of a valid payload: the position and the new value.
    let cases: &[(usize, Value)] = &[
        (0, Value::Integer(1)),
        (1, Value::Integer(0)),
        (1, Value::Integer(2)),
        (2, Value::Integer(16)),
        (3, Value::Integer(0)),
        (3, Value::Integer(32769)),
        (4, Value::Integer(0)),
        (5, Value::Double(0.0)),
        (5, Value::Double(1.0)),
        (5, Value::Double(f64::NAN)),
        (6, Value::Integer(8)),
        (7, Value::Double(0.0)),
        (7, Value::Double(f64::INFINITY)),
        (7, Value::Double(1e9)),
        (8, Value::Integer(0)),
        (8, Value::Integer(1025)),
        (8, Value::Integer(u64::MAX)),
        (9, Value::Integer(10)),
        (9, Value::Integer(64)),
        (10, Value::Bytes(vec![0; 119])),
        (11, Value::Integer(1)),
    ];
    assert!(Chain::load(&mut old_payload(4), 4, &()).is_ok());
    for (position, value) in cases {
        let mut values = old_payload(4);
        values.values[*position] = value.clone();
        assert!(
            Chain::load(&mut values, 4, &()).is_err(),
            "{position} {value:?}"
        );
    }
}

/// Runs every operation on a loaded chain.
fn exercise(mut chain: Chain) {
    for i in 0..40u8 {
        let _ = add(&mut chain, &[i]);
        let _ = contains(&chain, &[i, i]);
    }
    let items = [&b"a"[..], b"b", b"a"].into_iter();
    let mut additions = Additions::new(items, (), &mut chain);
    while additions.add_next(ANY).is_some() {}
    chain.contains_each([&b"a"[..], b"b"].into_iter(), |_| ());
    let _ = (chain.capacity(), chain.bit_bytes(), chain.header().unwrap());
    for iterator in [0, 1, 2, i64::MAX, -1] {
        let _ = chain.chunk(iterator, 100);
        let _ = chain.load_chunk(iterator, b"xyz");
    }
    // A chain that loads can be used, saved and loaded again.
    assert!(Chain::load(&mut saved(&chain), 4, &()).is_ok());
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

const DOUBLES: [f64; 9] = [
    0.0,
    -0.0,
    1.0,
    0.5,
    5e-324,
    1e300,
    f64::NAN,
    f64::INFINITY,
    -1.0,
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn damaged_payloads_are_refused_or_safe_to_use(
        which in 0usize..64,
        damage in prop::collection::vec((any::<prop::sample::Index>(), 0usize..10, any::<u64>()), 1..4),
        version in 0u16..5,
    ) {
        thread_local! { static GOLDEN: Vec<(String, Values)> = golden(); }
        let mut values = GOLDEN.with(|golden| {
            let small: Vec<_> = golden.iter().filter(|(name, _)| !name.contains("large")).collect();
            small[which % small.len()].1.clone()
        });
        for (position, edge, random) in damage {
            let len = values.values.len();
            match &mut values.values[position.index(len)] {
                Value::Integer(value) => {
                    *value = if random % 3 == 0 { value.wrapping_add(random % 5).wrapping_sub(2) } else { EDGES[edge] };
                }
                Value::Double(value) => *value = DOUBLES[edge % DOUBLES.len()],
                Value::Bytes(bytes) => match random % 3 {
                    0 => bytes.truncate(bytes.len() / 2),
                    1 => bytes.extend_from_slice(&[0xff; 9]),
                    _ => bytes.fill(0xff),
                },
            }
        }
        if let Ok(chain) = Chain::load(&mut values, version, &()) {
            exercise(chain);
        }
    }

    #[test]
    fn damaged_headers_are_refused_or_safe_to_use(position in any::<prop::sample::Index>(), edge in 0usize..10, width in 1usize..9) {
        let mut header = chain(10, 0.01, 2).header().unwrap();
        let start = position.index(header.len());
        let end = header.len().min(start + width);
        header[start..end].copy_from_slice(&EDGES[edge].to_le_bytes()[..end - start]);
        // The budget of one mebibyte keeps the test fast.
        if let Ok(chain) = Chain::from_header(&header, Budget::new(&|bytes| bytes <= 1 << 20)) {
            exercise(chain);
        }
    }

    #[test]
    fn a_source_that_ends_early_is_refused(len in 0usize..12) {
        let mut values = old_payload(4);
        values.values.truncate(len);
        prop_assert_eq!(Chain::load(&mut values, 4, &()).err(), Some(FormatError::Truncated));
        prop_assert!(values.read_unsigned().is_err());
    }
}
