//! The limit on the sum of the hash functions, by load and by growth.

use super::parts::{FilterParts, Parts};
use super::*;
use crate::chain::MAX_TOTAL_HASHES;

/// A chain of full filters of one item and one byte, which all have one bit set, with `hashes` hash functions in total, at
/// most 2048 per filter. Further filters have about the error rate of the first one, 0.9, and one hash function each.
fn parts(mut hashes: u64) -> Parts {
    let mut filters = Vec::new();
    while hashes > 0 {
        let of_filter = hashes.min(2048);
        hashes -= of_filter;
        filters.push(FilterParts {
            capacity: 1,
            items: 1,
            version: 1,
            bytes: 1,
            hashes: of_filter as u32,
            seed: FIXED_SEED,
            bits: vec![1],
        });
    }
    Parts {
        number: filters.len() as u64,
        expansion: 1,
        error_rate: 0.9,
        tightening: 1.0 - 1e-9,
        flag: 1,
        filters,
    }
}

#[test]
fn more_hash_functions_are_refused_by_every_load() {
    let largest = parts(MAX_TOTAL_HASHES);
    assert!(largest.rdb().is_ok());
    assert!(largest.load(ANY).is_ok());
    assert!(ValkeyChain::from_header(&largest.header(), ANY).is_ok());
    let no_request = Budget::new(&|bytes| panic!("{bytes} bytes were requested"));
    let larger = parts(MAX_TOTAL_HASHES + 1);
    assert!(larger.rdb().is_err());
    assert_eq!(larger.load(no_request).err(), Some(LoadError::Invalid));
    assert!(ValkeyChain::from_header(&larger.header(), no_request).is_err());
}

/// A chain with these parts, and the bytes of a new filter: one byte, so six hash functions.
fn growing(hashes: u64) -> ValkeyChain {
    parts(hashes).load(ANY).unwrap()
}

#[test]
fn growth_ends_at_the_limit() {
    let mut chain = growing(MAX_TOTAL_HASHES - 13);
    let filters = chain.filters().len();
    for (item, added) in [("a", Ok(true)), ("b", Ok(true)), ("c", Err(Error::Hashes))] {
        assert_eq!(add(&mut chain, item.as_bytes()), added, "{item}");
    }
    assert_eq!(chain.filters().len(), filters + 2);
    assert_eq!(chain.filters()[filters].hashes(), 6);
    let before = state(&chain);
    assert_eq!(add(&mut chain, b"a"), Ok(false));
    assert_eq!(add(&mut chain, b"c"), Err(Error::Hashes));
    assert_eq!(state(&chain), before);
    // A grown chain can be loaded again and ends at the same filter.
    for mut copy in [
        ValkeyChain::load(&mut saved(&chain), 1, &None).unwrap(),
        from_chunks(&chain, 1000),
        chain.try_clone().unwrap(),
    ] {
        assert_eq!(add(&mut copy, b"c"), Err(Error::Hashes));
    }
    let items = [&b"a"[..], b"c"];
    let mut additions = Additions::new(items.into_iter(), NO_LIMIT, &mut chain);
    assert_eq!(additions.add_next(ANY), Some(Ok(false)));
    assert_eq!(additions.add_next(ANY), Some(Err(Error::Hashes)));
}

#[test]
fn the_simulation_of_growth_ends_at_the_limit() {
    let parameters = growing(100).parameters();
    let filters = MAX_TOTAL_HASHES / 6;
    let chain = ValkeyChain::new(&parameters, NO_LIMIT, ANY).unwrap();
    assert_eq!(chain.max_scaled_capacity(NO_LIMIT), Ok(filters));
    assert_eq!(check_scales_to(&parameters, filters, NO_LIMIT), Ok(()));
    let beyond = check_scales_to(&parameters, filters + 1, NO_LIMIT);
    assert_eq!(beyond, Err(Error::Size));
}
