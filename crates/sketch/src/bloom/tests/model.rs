//! Comparison with a naive model: a set of bits and plain remainders.

use super::*;
use crate::chain::batch::Additions;
use proptest::prelude::*;
use std::collections::HashSet;

struct ModelFilter {
    bits: HashSet<u64>,
    modulus: u64,
    hashes: u64,
    capacity: u64,
    error_rate: f64,
    items: u64,
}

/// A chain as a list of sets of bits (docs/formats.md, "Bloom filters").
struct Model {
    filters: Vec<ModelFilter>,
    expansion: u64,
}

impl Model {
    #[allow(clippy::approx_constant)] // the truncated ln 2 of the spec
    fn filter(capacity: u64, error_rate: f64) -> ModelFilter {
        let bpe = error_rate.ln().abs() / 0.480453013918201;
        let bits = ((capacity as f64 * bpe) as u64).max(1);
        ModelFilter {
            bits: HashSet::new(),
            modulus: bits.div_ceil(64) * 64,
            hashes: (0.693147180559945 * bpe).ceil() as u64,
            capacity,
            error_rate,
            items: 0,
        }
    }

    fn probes(item: &[u8], filter: &ModelFilter) -> Vec<u64> {
        let a = murmurhash64::murmur_hash64a(item, 0xc6a4a7935bd1e995);
        let b = murmurhash64::murmur_hash64a(item, a);
        let probe = |i: u64| a.wrapping_add(i.wrapping_mul(b)) % filter.modulus;
        (0..filter.hashes).map(probe).collect()
    }

    fn contains(&self, item: &[u8]) -> bool {
        self.filters.iter().any(|filter| {
            Self::probes(item, filter)
                .iter()
                .all(|bit| filter.bits.contains(bit))
        })
    }

    fn add(&mut self, item: &[u8]) -> bool {
        if self.contains(item) {
            return false;
        }
        let newest = self.filters.last().unwrap();
        if newest.items >= newest.capacity {
            let next = Self::filter(newest.capacity * self.expansion, newest.error_rate / 2.0);
            self.filters.push(next);
        }
        let newest = self.filters.last_mut().unwrap();
        let probes = Self::probes(item, newest);
        newest.bits.extend(probes);
        newest.items += 1;
        true
    }
}

fn bits_of(filter: &Filter) -> HashSet<u64> {
    let bytes = filter.bits().iter().enumerate();
    bytes
        .flat_map(|(index, byte)| {
            let first = index as u64 * 8;
            (0..8)
                .filter(move |bit| byte >> bit & 1 != 0)
                .map(move |bit| first + bit)
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn the_bits_of_a_chain_equal_the_model(
        capacity in 1u64..60,
        error_rate in 1e-6f64..0.25,
        expansion in 1u32..5,
        items in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..24), 0..200),
    ) {
        let mut chain = chain(capacity, error_rate, expansion);
        let mut model = Model {
            filters: vec![Model::filter(capacity, error_rate / 2.0)],
            expansion: u64::from(expansion),
        };
        for item in &items {
            prop_assert_eq!(contains(&chain, item), model.contains(item));
            prop_assert_eq!(add(&mut chain, item), Ok(model.add(item)));
            prop_assert!(contains(&chain, item));
        }
        prop_assert_eq!(chain.filters().len(), model.filters.len());
        for (filter, expected) in chain.filters().iter().zip(&model.filters) {
            prop_assert_eq!(filter.items(), expected.items);
            prop_assert_eq!(filter.shape().capacity, expected.capacity);
            prop_assert_eq!(bits_of(filter), expected.bits.clone());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Items occur twice within a block and in different blocks; the chain grows in the middle of a block or is full;
    /// some chains are larger than the caches.
    #[test]
    fn batches_equal_single_additions(
        capacity in prop_oneof![9 => 1u64..60, 1 => Just(2_000_000u64)],
        error_rate in 1e-6f64..0.25,
        expansion in 0u32..5,
        items in prop::collection::vec(0u8..150, 0..300),
        refusals in 0u32..3,
    ) {
        let allowances = || {
            let calls = std::cell::Cell::new(0);
            move |_: u64| { calls.set(calls.get() + 1); calls.get() != refusals }
        };
        let mut one_by_one = chain(capacity, error_rate, expansion);
        let allows = allowances();
        let expected: Vec<_> = items
            .iter()
            .map(|&item| one_by_one.add(&[item], (), Budget::new(&allows)))
            .collect();
        let mut together = chain(capacity, error_rate, expansion);
        let allows = allowances();
        let bytes: Vec<_> = items.iter().map(|&item| [item]).collect();
        let mut additions = Additions::new(bytes.iter().map(<[u8; 1]>::as_slice), (), &mut together);
        let mut answers = Vec::new();
        while let Some(answer) = additions.add_next(Budget::new(&allows)) {
            answers.push(answer);
        }
        prop_assert_eq!(answers, expected);
        prop_assert_eq!(additions.add_next(Budget::new(&allows)), None);
        let state = |chain: &Chain| {
            let mut bytes = Vec::new();
            chain.digest(&mut |part| bytes.extend_from_slice(part));
            bytes
        };
        prop_assert!(state(&together) == state(&one_by_one));
    }
}

/// Sets the number of items of a filter that is larger than the caches to its capacity, so that the chain grows.
#[test]
fn batches_test_large_older_filters() {
    let grown = || {
        let mut chain = chain(1_000_000, 0.001, 1);
        for item in 0..500u32 {
            add(&mut chain, &item.to_le_bytes()).unwrap();
        }
        chain.filters[0].set_items(1_000_000);
        chain.items = 1_000_000;
        chain
    };
    let items: Vec<_> = (0..300u32)
        .map(|item| (item * 7 % 900).to_le_bytes())
        .collect();
    let mut one_by_one = grown();
    let expected: Vec<_> = items
        .iter()
        .map(|item| add(&mut one_by_one, item))
        .collect();
    assert_eq!(one_by_one.filters().len(), 2);
    let mut together = grown();
    let mut additions = Additions::new(items.iter().map(<[u8; 4]>::as_slice), (), &mut together);
    for answer in expected {
        assert_eq!(additions.add_next(ANY), Some(answer));
    }
    assert_eq!(additions.add_next(ANY), None);
    assert_eq!(together.items(), one_by_one.items());
    assert!(together.filters()[1].bits()[..] == one_by_one.filters()[1].bits()[..]);
}

/// Filters smaller and larger than the caches, with one probe, even and odd numbers of probes, and many.
#[test]
fn contains_each_equals_contains() {
    for (capacity, error_rate, expansion, hashes) in [
        (4, 0.01, 2, 8),
        (40, 0.01, 2, 8),
        (2_000_000, 0.01, 2, 8),
        (40, 0.9, 0, 1),
        (50_000_000, 0.9, 0, 1),
        (40, 0.4, 0, 2),
        (10_000_000, 0.4, 0, 2),
        (40, 0.2, 0, 3),
        (10_000_000, 0.2, 0, 3),
        (70, 1e-300, 0, 997),
        (70_000, 1e-300, 0, 997),
    ] {
        let mut chain = chain(capacity, error_rate, expansion);
        assert_eq!(chain.filters()[0].shape().hashes, hashes, "{error_rate}");
        let items: Vec<_> = (0..200u32).map(u32::to_le_bytes).collect();
        for item in items.iter().step_by(3) {
            // Small filters become full and refuse items.
            let _ = add(&mut chain, item);
        }
        let slices = || items.iter().map(<[u8; 4]>::as_slice);
        let mut found = Vec::new();
        chain.contains_each(slices(), |is_found| found.push(is_found));
        let expected: Vec<_> = slices().map(|item| chain.contains(item)).collect();
        assert_eq!(found, expected);
    }
}
