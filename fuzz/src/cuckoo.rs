//! Cuckoo filters: stored forms, and sequences against a multiset.

use super::input::{CHUNKED, Input, Output};
use super::{MAX_OPERATIONS, allows};
use roughly_sketch::cuckoo::{CuckooError, CuckooFilter, ENCODING_VERSION, Parameters};
use roughly_sketch::format::dump::Values;
use std::collections::HashMap;

/// Parameters that encodings before 4 do not store.
pub const DEFAULTS: Parameters = Parameters {
    bucket_size: 2,
    max_iterations: 20,
    expansion: 1,
};

/// Bytes for a stored form.
pub fn stored(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let version = input.byte();
    if version < CHUNKED {
        if let Ok(filter) = CuckooFilter::load(&mut input, version.into(), DEFAULTS) {
            exercise(filter);
        }
        return;
    }
    let len = input.u16();
    let Ok(mut filter) = CuckooFilter::from_header(input.bytes(len.into()), &allows) else {
        return;
    };
    while !input.is_empty() {
        let (iterator, chunk) = input.chunk();
        let _ = filter.load_chunk(iterator, chunk);
        let _ = filter.insert(&chunk[..chunk.len().min(16)], &allows);
    }
    exercise(filter);
}

/// All that can be asked of a filter, whatever it holds.
pub fn exercise(mut filter: CuckooFilter) {
    reloads(&filter);
    for item in 0..20u8 {
        if filter.insert(&[item], &allows).is_ok() {
            assert!(filter.contains(&[item]) && filter.count(&[item]) > 0);
        }
        let _ = filter.insert_unique(&[item], &allows);
        let _ = filter.insert(b"the same", &allows);
    }
    let mut answers = Vec::new();
    let items: Vec<[u8; 1]> = (0..40).map(|item| [item]).collect();
    filter.contains_each(items.iter().map(|item| &item[..]), |found| {
        answers.push(found)
    });
    assert!((items.iter().zip(answers)).all(|(item, found)| filter.contains(item) == found));
    for item in 0..60u8 {
        let there = filter.contains(&[item]);
        assert_eq!(filter.delete(&[item], &|_| true), there);
    }
    for iterator in [i64::MIN, -1, 0, 1, 2, 1 << 31, 1 << 32, i64::MAX] {
        let _ = filter.chunk(iterator, 100);
        let _ = filter.load_chunk(iterator, b"xyz");
        let _ = filter.load_chunk(iterator, b"");
    }
    filter.compact(&|_| true);
    filter.digest(&mut |_| ());
    let _ = (filter.nominal_bytes(), filter.items(), filter.deletes());
    reloads(&filter);
}

/// What can be in memory can be saved and loaded, as values and in chunks, and copied.
fn reloads(filter: &CuckooFilter) {
    let mut values = Values::default();
    filter.save(&mut values);
    let again = CuckooFilter::load(&mut values, ENCODING_VERSION, DEFAULTS).expect("saved by us");
    assert_eq!(&again, filter);
    assert_eq!(&filter.try_clone().expect("little memory"), filter);
    let mut copy = CuckooFilter::from_header(&filter.header(), &|_| true).expect("our header");
    let mut iterator = 1;
    while let Some((chunk, next)) = filter.chunk(iterator, 1000) {
        copy.load_chunk(next, chunk).expect("our chunk");
        iterator = next;
    }
    assert_eq!(&copy, filter);
}

/// Bytes for a sequence of operations. The model counts each item; only items that are in are deleted,
/// so that none may be lost.
pub fn commands(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let parameters = Parameters {
        bucket_size: input.pick(&[1, 2, 3, 4, 7, 8, 16, 255]),
        max_iterations: input.pick(&[1, 2, 20, 500]),
        expansion: input.pick(&[0, 1, 2, 4, 32768]),
    };
    let capacity = u64::from(input.byte());
    let Ok(mut filter) = CuckooFilter::new(capacity, parameters, &allows) else {
        return;
    };
    let mut model: HashMap<&[u8], u64> = HashMap::new();
    for _ in 0..MAX_OPERATIONS {
        if input.is_empty() {
            break;
        }
        let operation = input.byte();
        match operation {
            0..=119 => {
                let item = input.item();
                match filter.insert(item, &allows) {
                    Ok(()) => *model.entry(item).or_default() += 1,
                    Err(CuckooError::Parameters(what)) => panic!("{what}"),
                    Err(_) => {}
                }
            }
            120..=149 => {
                let item = input.item();
                let known = model.get(item).is_some_and(|&count| count > 0);
                match filter.insert_unique(item, &allows) {
                    Ok(true) => {
                        assert!(!known, "inserted twice");
                        *model.entry(item).or_default() += 1;
                    }
                    _ => assert!(!known || filter.contains(item)),
                }
            }
            150..=219 => {
                let item = input.item();
                if let Some(count) = model.get_mut(item).filter(|count| **count > 0) {
                    assert!(filter.delete(item, &|_| true), "an item was lost");
                    *count -= 1;
                }
            }
            220..=229 => {
                filter.compact(&|_| true);
            }
            230..=239 => filter = filter.try_clone().expect("little memory"),
            240..=247 => {
                let mut values = Values::default();
                filter.save(&mut values);
                filter = CuckooFilter::load(&mut values, ENCODING_VERSION, DEFAULTS)
                    .expect("saved by us");
            }
            _ => reloads(&filter),
        }
        assert_eq!(filter.items(), model.values().sum::<u64>());
        if operation >= 150 {
            for (item, &count) in &model {
                assert!(filter.count(item) >= count, "an item was lost");
            }
        }
    }
    for (item, count) in model {
        assert!(filter.count(item) >= count, "an item was lost");
    }
    reloads(&filter);
}

/// Seeds for [`stored`] of a payload of the peer.
pub fn seeds(values: &Values) -> Vec<Vec<u8>> {
    let filter = CuckooFilter::load(&mut values.clone(), ENCODING_VERSION, DEFAULTS)
        .expect("a golden payload");
    let mut stream = Output::values(4);
    filter.save(&mut stream);
    let mut chunked = Output::header(&filter.header());
    let mut iterator = 1;
    while let Some((chunk, next)) = filter.chunk(iterator, 1000) {
        chunked.chunk(next, chunk);
        iterator = next;
    }
    let mut seeds = vec![stream.bytes, chunked.bytes];
    if filter.num_sub_filters() == 1 {
        // Before encoding 4: three numbers and the slots. Parameters and the size were not there.
        for version in 0..4u8 {
            let mut old = seeds[0].clone();
            old[0] = version;
            old.drain(25..65);
            seeds.push(old);
        }
    }
    seeds
}
