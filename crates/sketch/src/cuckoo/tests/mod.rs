//! Tests of the operations, and helpers of the other test files.

mod accuracy;
mod hostile;

use super::*;
use crate::blocks::Addresses;
use crate::format::{FormatError, Sink};
use crate::memory::{Budget, OutOfMemory};
use crate::stored::Stored;
use crate::testing::{bytes, saved};
use roughly_dump::Values;
use std::cell::Cell;

/// Allows every allocation.
const ANY: Budget<'_> = Budget::UNLIMITED;

const DEFAULTS: Parameters = parameters(2, 20, 1);

const fn parameters(bucket_size: u8, max_iterations: u16, expansion: u16) -> Parameters {
    Parameters {
        bucket_size,
        max_iterations,
        expansion,
    }
}

fn filter(capacity: u64, parameters: Parameters) -> CuckooFilter {
    CuckooFilter::new(capacity, parameters, ANY).unwrap()
}

/// A filter of this capacity with the numbers below `items` inserted.
fn filled(capacity: u64, parameters: Parameters, items: u64) -> CuckooFilter {
    let mut filter = filter(capacity, parameters);
    for item in 0..items {
        filter.insert(&item.to_le_bytes(), ANY).unwrap();
    }
    filter
}

/// The filter is larger than the caches, so that buckets are prefetched.
#[test]
fn batches_in_a_large_filter_equal_single_operations() {
    let mut single = filter(1 << 20, DEFAULTS);
    let mut batch = single.try_clone().unwrap();
    let items: Vec<_> = (0..300u16)
        .map(|item| (item * 7 % 200).to_le_bytes())
        .collect();
    let slices = || items.iter().map(|item| &item[..]);
    let mut answers = Vec::new();
    batch.insert_each(slices(), Duplicates::Skip, ANY, |answer| {
        answers.push(answer)
    });
    assert!((slices().map(|item| single.insert_if(item, Duplicates::Skip, ANY))).eq(answers));
    let mut answers = Vec::new();
    batch.insert_each(slices(), Duplicates::Insert, ANY, |answer| {
        answers.push(answer)
    });
    assert!((slices().map(|item| single.insert(item, ANY).map(|()| true))).eq(answers));
    assert!(single == batch);
    let others: Vec<_> = (100..400u16).map(u16::to_le_bytes).collect();
    let slices = || others.iter().map(|item| &item[..]);
    let mut answers = Vec::new();
    batch.contains_each(slices(), |answer| answers.push(answer));
    assert!((slices().map(|item| single.contains(item))).eq(answers));
}

#[test]
fn impossible_sizes_are_errors() {
    let new = |capacity, bucket_size| {
        CuckooFilter::new(capacity, parameters(bucket_size, 1, 1), ANY).unwrap_err()
    };
    assert!(matches!(new(1 << 55, 255), CuckooError::OutOfMemory(_)));
    assert!(matches!(new(u64::MAX, 1), CuckooError::Parameters(_)));
    assert!(matches!(new(100, 0), CuckooError::Parameters(_)));
    let refusal = CuckooFilter::new(64, DEFAULTS, Budget::new(&|bytes| bytes < 64)).unwrap_err();
    assert_eq!(refusal, OutOfMemory { bytes: 64 }.into());
}

/// Each sub-filter stores 2 * bucket_size copies of an item.
#[test]
fn copies_of_an_item_add_sub_filters_up_to_the_limit() {
    let mut filter = filter(4, parameters(2, 1, 1));
    // An odd fingerprint has two different buckets in a sub-filter.
    let item = ((0u64..).map(u64::to_le_bytes))
        .find(|item| HashedItem::of(item).fingerprint % 2 == 1)
        .unwrap();
    for inserted in 1..=10_000 {
        assert_eq!(filter.insert(&item, ANY), Ok(()));
        assert_eq!(filter.num_sub_filters(), (inserted as usize).div_ceil(4));
        if inserted % 1000 == 0 {
            assert_eq!(filter.count(&item), inserted);
        }
    }
    // Adds the other sub-filters directly: insertions would take minutes.
    while filter.sub_filters.len() < MAX_SUB_FILTERS {
        filter.add_sub_filter(ANY).unwrap();
    }
    for sub_filter in filter.sub_filters.iter_mut() {
        (sub_filter.slots_mut()).fill(HashedItem::of(&item).fingerprint);
    }
    let refused = OutOfMemory { bytes: u64::MAX };
    assert_eq!(filter.insert(&item, ANY), Err(refused.into()));
    assert_eq!(filter.count(&item), 4 * MAX_SUB_FILTERS as u64);
    assert!(!filter.insert_if(&item, Duplicates::Skip, ANY).unwrap());
    // No fingerprint can move. When one sub-filter is empty, those of the newest move there.
    assert!(!filter.compact(ANY));
    assert!(filter.delete(&item, ANY));
    assert_eq!(filter.num_sub_filters(), MAX_SUB_FILTERS);
    filter.sub_filters[0].slots_mut().fill(0);
    assert!(filter.compact(ANY));
    assert_eq!(filter.num_sub_filters(), MAX_SUB_FILTERS - 1);
}

/// The server's allocator has blocks of 56 bytes.
#[test]
fn a_filter_with_one_sub_filter_takes_one_block_besides_its_slots() {
    assert!(size_of::<CuckooFilter>() <= 48);
    let blocks = |filter: &CuckooFilter| {
        let mut shown = Addresses::default();
        filter.for_each_block(&mut shown);
        (shown.0.len(), bytes(filter))
    };
    let mut filter = filter(64, DEFAULTS);
    let one = (1, filter.slot_bytes());
    assert_eq!(blocks(&filter), one);
    for number in 0..1000u64 {
        filter.insert(&number.to_le_bytes(), ANY).unwrap();
        // The memory is a function of the state.
        let copy = filter.try_clone().unwrap();
        let mut restored = CuckooFilter::from_header(&filter.header_bytes(), ANY).unwrap();
        let loaded = load(&saved(&filter), CuckooFilter::ENCODING_VERSION).unwrap();
        for other in [&copy, &restored, &loaded] {
            assert_eq!(blocks(other), blocks(&filter));
        }
        restored.add_sub_filter(ANY).unwrap();
        assert_eq!(blocks(&restored).0, restored.num_sub_filters() + 1);
    }
    assert!(filter.num_sub_filters() > 3);
    for number in 0..1000u64 {
        assert!(filter.delete(&number.to_le_bytes(), ANY));
    }
    assert_eq!(blocks(&filter), one);
}

/// 64 buckets of two slots in the first sub-filter.
#[test]
fn memory_for_an_index_is_requested_before_it_is_allocated() {
    for (expansion, sub_filters, bytes) in [
        // A mask of eight bits per bucket.
        (1, 8, 64),
        // Two bytes per bucket.
        (1, 80, 2 * 64),
        // A bit per bucket: of 64, 128 and 256 buckets, and of 256 once more.
        (2, 4, (64 + 128 + 2 * 256) / 8),
    ] {
        let mut filter = filter(128, parameters(2, 20, expansion));
        while filter.num_sub_filters() < sub_filters {
            filter.add_sub_filter(ANY).unwrap();
        }
        (filter.sub_filters.iter_mut()).for_each(|each| each.slots_mut().fill(1));
        let requested = Cell::new(Vec::new());
        let allows = |bytes| {
            let mut all = requested.take();
            all.push(bytes);
            requested.set(all);
            false
        };
        let free_slots = FreeSlots::with_index_after(0, Budget::new(&allows));
        filter.compact_with(Scope::All, free_slots);
        assert_eq!(requested.take(), [bytes]);
    }
}

fn load(values: &Values, version: u16) -> Result<CuckooFilter, FormatError> {
    CuckooFilter::load(&mut values.clone(), version, &DEFAULTS)
}

fn header(long: [u64; 4], short: [u16; 3]) -> Vec<u8> {
    let mut header: Vec<u8> = long.into_iter().flat_map(u64::to_le_bytes).collect();
    header.extend(short.into_iter().flat_map(u16::to_le_bytes));
    header
}

#[test]
fn a_header_has_the_specified_fields() {
    let bytes = header([1, 16, 2, 3], [4, 500, 2]);
    let filter = CuckooFilter::from_header(&bytes, ANY).unwrap();
    assert_eq!(filter.items(), 1);
    assert_eq!(filter.num_buckets(), 16);
    assert_eq!(filter.deletes(), 2);
    assert_eq!(filter.num_sub_filters(), 3);
    assert_eq!(filter.parameters(), parameters(4, 500, 2));
    assert_eq!(filter.nominal_bytes(), 40 + 3 * 16 + (16 + 32 + 64) * 4);
    assert_eq!(filter.header().unwrap()[..], bytes);
}

/// The values of encoding versions before 4: counts and slots only.
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
        let defaults = parameters(4, 7, 3);
        let filter = CuckooFilter::load(&mut old_form(1, 8, 16, 32), version, &defaults).unwrap();
        assert_eq!(filter.parameters(), parameters(4, 7, 4));
        // Several sub-filters of the same size have an expansion of 1.
        let filter = CuckooFilter::load(&mut old_form(3, 8, 16, 32), version, &defaults).unwrap();
        assert_eq!(filter.parameters(), parameters(4, 7, 1));
        assert_eq!(filter.num_sub_filters(), 3);
        let saved = saved(&filter);
        let loaded = load(&saved, CuckooFilter::ENCODING_VERSION).unwrap();
        assert_eq!(loaded, filter);
        assert!(load(&old_form(1, 8, 16, 15), version).is_err());
    }
    assert!(load(&saved(&filter(8, DEFAULTS)), 5).is_err());
}
