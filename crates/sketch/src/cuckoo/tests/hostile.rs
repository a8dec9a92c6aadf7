//! Validation rules and limits of stored forms.

use super::*;
use crate::format::chunks::ChunkError;
use crate::testing::{check_header_rules, check_rules};
use roughly_dump::Value::{Bytes, Integer};

#[test]
fn empty_chunks_are_refused() {
    let mut filter = filter(8, DEFAULTS);
    assert_eq!(filter.load_chunk(3, &[]), Err(ChunkError::NoArray));
}

#[test]
fn every_rule_of_the_values_is_checked() {
    let load = |values: &mut Values| CuckooFilter::load(values, 4, &DEFAULTS);
    let mut values = old_form(1, 8, 0, 16);
    for (position, number) in [(3, 0), (4, 2), (5, 20), (6, 1), (7, 8)] {
        values.values.insert(position, Integer(number));
    }
    let buckets = "number of buckets out of range or not a power of two";
    let size = "a sub-filter's size does not follow from the header";
    let slots = "a sub-filter's slots are not of its size";
    let rules = [
        (0, Integer(0), "number of sub-filters out of range"),
        (1, Integer(7), buckets),
        (4, Integer(256), "bucket size out of range"),
        (5, Integer(65536), "maximum of iterations out of range"),
        (6, Integer(65536), "expansion out of range"),
        (7, Integer(16), size),
        (8, Bytes(vec![0; 15]), slots),
    ];
    check_rules(&values, load, &rules);
}

#[test]
fn every_rule_of_a_header_is_checked() {
    let filters = "number of sub-filters out of range";
    let buckets = "number of buckets out of range or not a power of two";
    let beyond = "sub-filters beyond what the expansion allows";
    let iterations = "maximum of iterations out of range";
    for (long, short, rule) in [
        ([0, 8, 0, 0], [2, 20, 1], filters),
        ([0, 8, 0, 65536], [2, 20, 1], filters),
        ([0, 8, 0, u64::MAX], [2, 20, 1], filters),
        ([0, 8, 0, 1], [0, 20, 1], "bucket size out of range"),
        ([0, 8, 0, 1], [256, 20, 1], "bucket size out of range"),
        ([0, 8, 0, 1], [2, 0, 1], iterations),
        ([0, 8, 0, 1], [2, 20, 32769], "expansion out of range"),
        ([0, 8, 0, 2], [2, 20, 0], beyond),
        ([0, 8, 0, 54], [2, 20, 2], beyond),
        ([0, 8, 0, 65535], [2, 20, 2], beyond),
        ([0, 0, 0, 1], [2, 20, 1], buckets),
        ([0, 7, 0, 1], [2, 20, 1], buckets),
        ([0, 1 << 56, 0, 1], [2, 20, 1], buckets),
        ([0, u64::MAX, 0, 1], [2, 20, 1], buckets),
    ] {
        let changed = header(long, short);
        check_header_rules::<CuckooFilter>(
            &header([0, 8, 0, 1], [2, 20, 1]),
            &[(0, &changed, rule)],
        );
    }
}

/// The count of items of a full filter is 0, so every deletion seems to remove more than a tenth of them.
#[test]
fn a_false_count_of_items_does_not_repeat_compactions() {
    const CAPACITY: u64 = 1 << 16;
    let mut filter = filled(CAPACITY, Parameters::DEFAULT, 2 * CAPACITY);
    assert!(filter.num_sub_filters() > 1);
    let (items, deleted) = (filter.items(), 1000u64);
    let mut values = saved(&filter);
    values.values[2] = Integer(0);
    let mut restored = CuckooFilter::load(&mut values, 4, &DEFAULTS).unwrap();
    let mut chunked = {
        let mut header = filter.header_bytes();
        header[..8].fill(0);
        CuckooFilter::from_header(&header, ANY).unwrap()
    };
    let mut iterator = 1;
    while let Some((next, chunk)) = filter.chunk(iterator, 1 << 20) {
        chunked.load_chunk(next, chunk).unwrap();
        iterator = next;
    }
    assert_eq!(chunked, restored);
    for number in 0..deleted {
        for each in [&mut filter, &mut restored, &mut chunked] {
            assert!(each.delete(&number.to_le_bytes(), ANY));
            // A compaction would set it to 0.
            assert_eq!(each.deletes(), number + 1);
        }
    }
    // A compaction is due when a tenth of the fingerprints is deleted, as without the false count.
    let due = (deleted..items).find(|number| {
        let item = number.to_le_bytes();
        let deletes = [&mut filter, &mut restored, &mut chunked].map(|each| {
            assert!(each.delete(&item, ANY));
            each.deletes()
        });
        assert!(deletes.iter().all(|&count| count == deletes[0]));
        deletes[0] == 0
    });
    assert_eq!(due, Some(items / 11));
    assert!(filter.arrays().eq(restored.arrays()));
    assert!(filter.arrays().eq(chunked.arrays()));
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
