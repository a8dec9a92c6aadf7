//! Parameters that only commands and stored values of RedisBloom 2.x have.

use super::*;
use crate::format::FormatError;
use crate::testing::with;
use roughly_dump::Value;

/// The filter is equal after a load of each stored form.
fn assert_loads(chain: &Chain) {
    let loaded = Chain::load(&mut saved(chain), 4, &()).unwrap();
    assert_eq!(saved(&loaded), saved(chain));
    let header = chain.header().unwrap();
    let empty = Chain::from_header(&header, ANY).unwrap();
    assert_eq!(empty.header().unwrap(), header);
    assert!(loaded.has_header() && empty.has_header());
}

#[test]
fn extreme_parameters_are_stored_and_loaded() {
    let largest = i64::MAX as u64;
    let cases = [
        // Capacity, error rate, growth factor, scaling; then bits and hash functions in RedisBloom 2.8.2.
        ((16_000_000_000, 0.9999, 2, false), (3_330_368, 1)),
        ((largest, 0.999_999_999_999_999_9, 2, false), (2176, 1)),
        ((largest, 0.5, 2, true), (64, 3)),
        ((largest, 0.01, 2, true), (64, 8)),
        ((1 << 62, 0.01, 2, true), (64, 8)),
        ((10, 0.9, 40_000, true), (64, 2)),
        ((10, 0.9, u32::MAX, true), (64, 2)),
        ((10, 0.9, 0, true), (64, 2)),
        ((10, 0.9, 2, false), (64, 1)),
        ((10, 0.3, 2, true), (64, 3)),
        ((10, 1e-323, 2, true), (15_552, 1075)),
    ];
    for ((capacity, error_rate, expansion, scaling), (bits, hashes)) in cases {
        let parameters = parameters(capacity, error_rate, expansion, scaling);
        let mut chain = Chain::new_replicated(&parameters, ANY).unwrap();
        let shape = chain.filters()[0].shape();
        assert_eq!((shape.bits, shape.hashes), (bits, hashes), "{parameters:?}");
        assert_loads(&chain);
        assert_eq!(add(&mut chain, b"a"), Ok(true));
        assert!(contains(&chain, b"a"));
        assert_loads(&chain);
    }
}

#[test]
fn a_chain_with_a_growth_factor_of_40000_grows() {
    let parameters = parameters(2, 0.9, 40_000, true);
    let mut chain = Chain::new_replicated(&parameters, ANY).unwrap();
    for item in 0..3u8 {
        assert_eq!(add(&mut chain, &[item]), Ok(true));
    }
    let newest = chain.filters()[1].shape();
    assert_eq!((newest.capacity, newest.bits), (80_000, 248_384));
    assert_loads(&chain);
}

#[test]
fn a_scaling_chain_with_a_growth_factor_of_0_does_not_grow() {
    let mut chain = Chain::new_replicated(&parameters(2, 0.9, 0, true), ANY).unwrap();
    let newest = chain.filters_mut().last_mut().unwrap();
    newest.set_items(2);
    let before = saved(&chain);
    let refuses = |_| panic!("a request for memory");
    // Some items are false positives.
    let added = (0..100u8).map(|item| chain.add(&[item], (), Budget::new(&refuses)));
    let errors: Vec<_> = added.filter_map(Result::err).collect();
    assert!(errors.contains(&Error::Shape), "{errors:?}");
    assert_eq!(saved(&chain), before);
}

/// BF.RESERVE k 1e-323 1, then four items, and a growth factor of 2^32 in RedisBloom 2.8.2.
#[test]
fn a_chain_after_a_failed_growth_contains_every_item() {
    let failed = |expansion: u32| {
        let mut values = saved(&chain(1, 0.01, 2));
        values.values[3] = Value::Integer(expansion.into());
        values.values[1] = Value::Integer(2);
        let filter = [
            Value::Integer(0),
            Value::Double(0.0),
            Value::Integer(0),
            Value::Double(0.0),
            Value::Integer(0),
            Value::Integer(0),
            Value::Bytes(Vec::new()),
            Value::Integer(0),
        ];
        values.values.extend(filter);
        values
    };
    for expansion in [0, 2] {
        let mut values = failed(expansion);
        let mut chain = Chain::load(&mut values.clone(), 4, &()).unwrap();
        assert_eq!(saved(&chain), values);
        let mut grown = Chain::load(&mut values.clone(), 4, &()).unwrap();
        grown.truncate(1);
        grown.fail_growth().unwrap();
        assert_eq!(saved(&grown), values);
        assert!(chain.filters()[1].shape().is_failed_growth());
        assert_loads(&chain);
        assert_loads(&chain.copy().unwrap());
        assert_eq!(add(&mut chain, b"a"), Ok(false));
        assert!(contains(&chain, b"b"));
        let mut found = Vec::new();
        chain.contains_each([&b"c"[..]; 70].into_iter(), |present| found.push(present));
        assert_eq!(found, [true; 70]);
        let mut additions = Additions::new([&b"d"[..]; 70].into_iter(), (), &mut chain);
        while let Some(added) = additions.add_next(ANY) {
            assert_eq!(added, Ok(false));
        }
        // A merge with itself, and into a chain that has not grown.
        let copy = chain.copy().unwrap();
        assert_eq!(chain.merge(&[&copy], ANY), Ok(false));
        assert_eq!(saved(&chain), values);
        values.values.truncate(12);
        values.values[1] = Value::Integer(1);
        let mut short = Chain::load(&mut values, 4, &()).unwrap();
        assert_eq!(short.merge(&[&chain], ANY), Ok(true));
        assert_eq!(saved(&short), saved(&chain));
    }
    // Only the last of several filters, and without items.
    let refused = |values: &mut Values| Chain::load(values, 4, &()).err();
    let misplaced = Some(FormatError::Invalid("a filter without capacity"));
    let mut first = failed(2);
    let tail = first.values.split_off(4);
    (first.values).extend(tail.iter().skip(8).chain(tail.iter().take(8)).cloned());
    assert_eq!(refused(&mut first), misplaced);
    for (at, value) in [
        (12, Value::Integer(1)),
        (14, Value::Integer(1)),
        (16, Value::Integer(1)),
        (18, Value::Bytes(vec![0])),
        (19, Value::Integer(1)),
    ] {
        assert!(refused(&mut with(&failed(2), at, value)).is_some(), "{at}");
    }
}
