//! Comparison with a naive model that is written from the spec: bits as booleans, plain remainders, growth filter by
//! filter.

use super::*;
use crate::hash_limit::MAX_TOTAL_HASHES;
use proptest::prelude::*;
use std::f64::consts::LN_2;

/// SipHash-1-3 as its authors describe it.
fn siphash_1_3(key: &[u8], message: &[u8]) -> u64 {
    let word = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
    let (k0, k1) = (word(&key[..8]), word(&key[8..]));
    let mut v = [
        k0 ^ 0x736f_6d65_7073_6575,
        k1 ^ 0x646f_7261_6e64_6f6d,
        k0 ^ 0x6c79_6765_6e65_7261,
        k1 ^ 0x7465_6462_7974_6573,
    ];
    let round = |v: &mut [u64; 4]| {
        v[0] = v[0].wrapping_add(v[1]);
        v[1] = v[1].rotate_left(13) ^ v[0];
        v[0] = v[0].rotate_left(32);
        v[2] = v[2].wrapping_add(v[3]);
        v[3] = v[3].rotate_left(16) ^ v[2];
        v[0] = v[0].wrapping_add(v[3]);
        v[3] = v[3].rotate_left(21) ^ v[0];
        v[2] = v[2].wrapping_add(v[1]);
        v[1] = v[1].rotate_left(17) ^ v[2];
        v[2] = v[2].rotate_left(32);
    };
    let mut padded = message.to_vec();
    padded.resize((message.len() + 8) / 8 * 8, 0);
    *padded.last_mut().unwrap() = message.len() as u8;
    for bytes in padded.chunks(8) {
        v[3] ^= word(bytes);
        round(&mut v);
        v[0] ^= word(bytes);
    }
    v[2] ^= 0xff;
    (0..3).for_each(|_| round(&mut v));
    v[0] ^ v[1] ^ v[2] ^ v[3]
}

struct ModelFilter {
    bits: Vec<bool>,
    hashes: u64,
    capacity: u64,
    items: u64,
}

/// Spec: valkey-bloom.md, "Layout of one filter" and "Memory".
struct Model {
    parameters: Parameters,
    filters: Vec<ModelFilter>,
    slots: u64,
}

fn bytes_of(capacity: u64, error_rate: f64) -> f64 {
    ((capacity as f64 * error_rate.ln()) / (-8.0 * (LN_2 * LN_2))).ceil()
}

fn rate_of(parameters: &Parameters, index: usize) -> f64 {
    parameters.error_rate * parameters.tightening.powi(index as i32)
}

impl ModelFilter {
    fn new(capacity: u64, error_rate: f64) -> Self {
        let bits = bytes_of(capacity, error_rate) as usize * 8;
        let hashes = (bits as f64 / capacity as f64 * LN_2).round().max(1.0);
        Self {
            bits: vec![false; bits],
            hashes: hashes as u64,
            capacity,
            items: 0,
        }
    }

    fn probes(&self, item: &[u8], seed: &Seed) -> Vec<usize> {
        let message = [&(item.len() as u64).to_le_bytes()[..], item].concat();
        let a = siphash_1_3(&seed[..16], &message);
        let b = siphash_1_3(&seed[16..], &message);
        let probe = |i: u64| match i {
            0 => a,
            1 => b,
            _ => a.wrapping_add(i.wrapping_mul(b)) % 18_446_744_073_709_551_557,
        };
        let probes = (0..self.hashes).map(probe);
        probes
            .map(|probe| (probe % self.bits.len() as u64) as usize)
            .collect()
    }
}

impl Model {
    fn new(parameters: &Parameters, limit: u64) -> Result<Self, Error> {
        let bytes = bytes_of(parameters.capacity, parameters.error_rate) as u64;
        if 48 + 8 + 208 + bytes > limit {
            return Err(Error::Size);
        }
        Ok(Self {
            parameters: *parameters,
            filters: vec![ModelFilter::new(parameters.capacity, parameters.error_rate)],
            slots: 1,
        })
    }

    fn size(&self) -> u64 {
        let filters = self
            .filters
            .iter()
            .map(|filter| 208 + filter.bits.len() as u64 / 8);
        48 + 8 * self.slots + filters.sum::<u64>()
    }

    fn contains(&self, item: &[u8]) -> bool {
        self.filters.iter().any(|filter| {
            let probes = filter.probes(item, &self.parameters.seed);
            probes.iter().all(|&bit| filter.bits[bit])
        })
    }

    fn add(&mut self, item: &[u8], limit: u64) -> Result<bool, Error> {
        if self.contains(item) {
            return Ok(false);
        }
        let newest = self.filters.last().unwrap();
        if newest.items >= newest.capacity {
            if self.parameters.expansion == 0 {
                return Err(Error::Full);
            }
            let error_rate = rate_of(&self.parameters, self.filters.len());
            if error_rate <= 2.225_073_858_507_201_4e-308 {
                return Err(Error::ErrorRate);
            }
            let capacity = newest.capacity * u64::from(self.parameters.expansion);
            if self.size() + 208 + bytes_of(capacity, error_rate) as u64 > limit {
                return Err(Error::Size);
            }
            self.filters.push(ModelFilter::new(capacity, error_rate));
            if self.filters.len() as u64 > self.slots {
                self.slots = (2 * self.slots).max(4);
            }
        }
        let newest = self.filters.last_mut().unwrap();
        for bit in newest.probes(item, &self.parameters.seed) {
            newest.bits[bit] = true;
        }
        newest.items += 1;
        Ok(true)
    }
}

/// Why the simulation of the spec stops, and the sum of the capacities then.
fn simulate(parameters: &Parameters, target: u64, limit: u64) -> (Result<(), Error>, u64) {
    let (mut capacity, mut total, mut memory, mut hashes) = (parameters.capacity, 0, 0, 0);
    for index in 0usize.. {
        let error_rate = rate_of(parameters, index);
        if error_rate <= 2.225_073_858_507_201_4e-308 {
            return (Err(Error::ErrorRate), total);
        }
        let slots = match index {
            0 => 1,
            _ => (index as u64 + 1).next_power_of_two().max(4),
        };
        let bytes = 208 + bytes_of(capacity, error_rate) as u64;
        if 48 + 8 * slots + memory + bytes > limit {
            return (Err(Error::Size), total);
        }
        let bits = 8.0 * bytes_of(capacity, error_rate);
        hashes += (bits / capacity as f64 * LN_2).round().max(1.0) as u64;
        if hashes > MAX_TOTAL_HASHES {
            return (Err(Error::Size), total);
        }
        memory += bytes;
        total += capacity;
        if total >= target {
            return (Ok(()), total);
        }
        capacity *= u64::from(parameters.expansion);
    }
    unreachable!()
}

fn any_parameters(expansion: std::ops::Range<u32>) -> impl Strategy<Value = Parameters> {
    let error_rate = prop_oneof![
        6 => 1e-6f64..0.9,
        1 => Just(1.0 - 1e-9),
        1 => Just(1e-300),
        1 => Just(1e-307),
        1 => Just(1e-320),
    ];
    let tightening = prop_oneof![6 => 0.05f64..0.99, 1 => Just(1e-100), 2 => Just(1.0 - 1e-16)];
    (1u64..60, error_rate, tightening, expansion, any::<Seed>()).prop_map(
        |(capacity, error_rate, tightening, expansion, seed)| Parameters {
            capacity,
            error_rate,
            tightening,
            expansion,
            seed,
            seed_is_random: true,
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn the_bits_of_a_chain_equal_the_model(
        parameters in any_parameters(0..5),
        limit in prop_oneof![Just(NO_LIMIT), 264u64..1000, 264u64..20_000],
        items in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..24), 0..200),
    ) {
        let chain = ValkeyChain::new(&parameters, limit, ANY);
        let model = Model::new(&parameters, limit);
        prop_assert_eq!(chain.as_ref().err(), model.as_ref().err());
        let (Ok(mut chain), Ok(mut model)) = (chain, model) else {
            return Ok(());
        };
        for item in &items {
            prop_assert_eq!(chain.contains(item), model.contains(item));
            prop_assert_eq!(chain.add(item, limit, ANY), model.add(item, limit));
            prop_assert_eq!(chain.size(), model.size());
        }
        prop_assert_eq!(chain.filters().len(), model.filters.len());
        for (index, (filter, expected)) in chain.filters().iter().zip(&model.filters).enumerate() {
            prop_assert_eq!(filter.items(), expected.items);
            prop_assert_eq!(filter.capacity(), expected.capacity);
            prop_assert_eq!(u64::from(filter.hashes()), expected.hashes);
            prop_assert_eq!(chain.error_rate_of(index), rate_of(&parameters, index));
            let bits = filter.bits().iter().flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1 != 0));
            prop_assert!(bits.eq(expected.bits.iter().copied()));
        }
        prop_assert_eq!(chain.capacity(), model.filters.iter().map(|filter| filter.capacity).sum::<u64>());
        prop_assert_eq!(chain.items(), model.filters.iter().map(|filter| filter.items).sum::<u64>());
        // All stored forms describe the same chain. RDB does not store the slots.
        let loaded = ValkeyChain::load(&mut saved(&chain), 1, &()).unwrap();
        prop_assert_eq!(state(&loaded), state(&chain));
        prop_assert_eq!(state(&from_chunks(&chain)), state(&chain));
        let payload = chain.load_payload().unwrap();
        let loaded = ValkeyChain::from_load_payload(&payload, NO_LIMIT, ANY).unwrap();
        prop_assert_eq!(saved(&loaded), saved(&chain));
        prop_assert_eq!(loaded.size(), chain.size() - (chain.layout.slots - loaded.layout.slots) * 8);
    }

    #[test]
    fn the_largest_capacity_is_that_of_the_simulation(
        parameters in any_parameters(1..5),
        limit in prop_oneof![0u64..2000, 0u64..300_000],
        fraction in 0.0f64..1.2,
    ) {
        let chain = ValkeyChain::new(&parameters, NO_LIMIT, ANY).unwrap();
        let (_, total) = simulate(&parameters, u64::MAX, limit);
        prop_assert_eq!(chain.max_scaled_capacity(limit), Ok(total));
        for target in [1, total, total + 1, (total as f64 * fraction) as u64 + 1] {
            let (expected, _) = simulate(&parameters, target.max(1), limit);
            prop_assert_eq!(check_scales_to(&parameters, target.max(1), limit), expected);
        }
        // A real chain reaches it, and can exceed it by a filter: the limit applies to it before its list grows.
        if total < 300 && total > 0 {
            let mut chain = chain;
            let ended = (0..100_000u64).any(|item| chain.add(&item.to_le_bytes(), limit, ANY).is_err());
            prop_assert!(!ended || chain.capacity() >= total);
        }
    }
}

/// A chain of millions of filters is simulated in runs.
#[test]
fn the_simulation_is_fast_for_chains_that_do_not_expand() {
    for tightening in [1.0 - 1e-16, 1.0 - 1e-9, 1.0 - 1e-6, 0.9999] {
        let parameters = Parameters {
            tightening,
            ..parameters(1, 0.5, 1)
        };
        let chain = ValkeyChain::new(&parameters, NO_LIMIT, ANY).unwrap();
        let (_, total) = simulate(&parameters, u64::MAX, 128 << 20);
        assert_eq!(chain.max_scaled_capacity(128 << 20), Ok(total));
        // The naive simulation would take hours.
        assert!(chain.max_scaled_capacity(1 << 60).unwrap() >= total);
    }
    // Each filter has another size.
    let parameters = Parameters {
        tightening: 1.0 - 3.9e-7,
        ..parameters(10_000_000, 0.999, 1)
    };
    assert!(check_scales_to(&parameters, i64::MAX as u64, i64::MAX as u64).is_err());
}

#[test]
fn a_chain_that_does_not_scale_has_the_capacity_of_its_filter() {
    let chain = chain(100, 0.01, 0);
    assert_eq!(chain.max_scaled_capacity(384), Ok(100));
    assert_eq!(chain.max_scaled_capacity(383), Ok(0));
    let parameters = chain.parameters();
    assert_eq!(check_scales_to(&parameters, 100, 384), Ok(()));
    assert_eq!(check_scales_to(&parameters, 101, 384), Err(Error::Full));
    assert_eq!(check_scales_to(&parameters, 100, 383), Err(Error::Size));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Items occur twice within a block and in different blocks; the chain grows in the middle of a block or is full;
    /// some chains are larger than the caches.
    #[test]
    fn batches_equal_single_additions_and_lookups(
        parameters in any_parameters(0..5),
        capacity in prop_oneof![9 => 1u64..60, 1 => Just(2_000_000u64)],
        items in prop::collection::vec(0u8..150, 0..300),
        limit in prop_oneof![Just(NO_LIMIT), 500u64..20_000],
        refusals in 0u32..3,
    ) {
        let error_rate = parameters.error_rate.clamp(1e-6, 0.5);
        let parameters = Parameters { capacity, error_rate, ..parameters };
        let mut single = ValkeyChain::new(&parameters, NO_LIMIT, ANY).unwrap();
        let mut batch = single.try_clone().unwrap();
        let items: Vec<_> = items.into_iter().map(|item| vec![item; usize::from(item) / 8]).collect();
        let slices = || items.iter().map(Vec::as_slice);
        let asked = std::cell::Cell::new(0);
        let allows = |_| {
            asked.set(asked.get() + 1);
            asked.get() > refusals
        };
        let expected: Vec<_> = slices().map(|item| single.add(item, limit, Budget::new(&allows))).collect();
        asked.set(0);
        let mut results = Vec::new();
        let mut additions = Additions::new(slices(), limit, &mut batch);
        while let Some(result) = additions.add_next(Budget::new(&allows)) {
            results.push(result);
        }
        prop_assert_eq!(results, expected);
        prop_assert!(state(&batch) == state(&single));
        let absent: Vec<_> = (150..250u8).map(|item| vec![item; usize::from(item) / 8]).collect();
        let all = || slices().chain(absent.iter().map(Vec::as_slice));
        let mut found = Vec::new();
        single.contains_each(all(), |is_found| found.push(is_found));
        prop_assert_eq!(found, all().map(|item| single.contains(item)).collect::<Vec<_>>());
    }
}
