//! Tests of the operations, and helpers of the other test files.

mod golden;
mod hash_limit;
mod hostile;
mod parts;

use super::*;
use crate::chain::batch::Additions;
use crate::format::FormatError;
use crate::stored::Stored;
use crate::testing::{blocks, from_chunks, saved};
use roughly_dump::Values;

/// Allows every allocation.
const ANY: Budget<'_> = Budget::UNLIMITED;
/// No memory limit.
const NO_LIMIT: u64 = u64::MAX;

fn parameters(capacity: u64, error_rate: f64, expansion: u32) -> Parameters {
    Parameters {
        capacity,
        error_rate,
        tightening: 0.5,
        expansion,
        seed: FIXED_SEED,
        seed_is_random: false,
    }
}

fn chain(capacity: u64, error_rate: f64, expansion: u32) -> ValkeyChain {
    ValkeyChain::new(&parameters(capacity, error_rate, expansion), NO_LIMIT, ANY).unwrap()
}

fn add(chain: &mut ValkeyChain, item: &[u8]) -> Result<bool, Error> {
    chain.add(item, NO_LIMIT, ANY)
}

/// Everything that the operations depend on.
fn state(chain: &ValkeyChain) -> (Vec<u8>, Values) {
    (chain.header().unwrap(), saved(chain))
}

#[test]
fn the_hashes_are_those_of_the_spec() {
    let all: Vec<u8> = (0..=255).collect();
    for (item, a, b) in [
        (&b""[..], 0x61ec_3bc3_3753_f4d6, 0x0aa4_a395_4a19_4204),
        (b"abc", 0xb16b_95fe_4ea5_cc49, 0x6de9_1b4b_d8e3_21ca),
        (&all, 0x1519_e04f_93ac_2a48, 0x587a_dfdc_43d6_60ef),
    ] {
        assert_eq!(filter::hash(item, &FIXED_SEED), ItemHash { a, b });
    }
}

#[test]
fn the_default_filter_has_120_bytes_and_7_hashes() {
    let chain = chain(100, 0.01, 2);
    let filter = &chain.filters()[0];
    assert_eq!((filter.bits().len(), filter.hashes()), (120, 7));
    assert_eq!((chain.size(), chain.bit_bytes()), (384, 120));
    assert_eq!(chain.max_scaled_capacity(golden::LIMIT), Ok(26_214_300));
}

#[test]
fn probes_from_number_2_on_are_reduced_by_the_prime() {
    use crate::chain::Probes;
    let prime = u64::MAX - 58;
    for (a, b) in [
        (u64::MAX, u64::MAX - 3),
        (prime - 2, 1),
        (prime - 1, 0),
        (5, prime),
    ] {
        let hash = ItemHash { a, b };
        assert_eq!(ValkeyShape::probe(hash, 0), a);
        assert_eq!(ValkeyShape::probe(hash, 1), b);
        for i in 2..40u32 {
            let sum = a.wrapping_add(b.wrapping_mul(u64::from(i)));
            assert_eq!(ValkeyShape::probe(hash, i), sum % prime);
        }
    }
}

#[test]
fn every_limit_is_exact() {
    let first = parameters(100, 0.01, 2);
    assert!(ValkeyChain::new(&first, 384, ANY).is_ok());
    assert_eq!(ValkeyChain::new(&first, 383, ANY).err(), Some(Error::Size));
    let mut chain = chain(3, 0.001, 2);
    for round in 0..200u32 {
        let slots_before = chain.layout.slots;
        let before = state(&chain);
        let size = chain.size();
        // Without growth, the limit has no effect.
        if chain.remaining_capacity() > 0 {
            chain.add(&round.to_le_bytes(), 0, ANY).unwrap();
            assert_eq!(chain.size(), size);
            continue;
        }
        if chain.contains(&round.to_le_bytes()) {
            continue;
        }
        let index = chain.filters().len();
        let capacity = chain.filters()[index - 1].capacity() * 2;
        let bytes = sizes::bit_array_bytes(capacity, chain.error_rate_of(index));
        let needed = size + 208 + bytes;
        let refused = chain.add(&round.to_le_bytes(), needed - 1, ANY);
        assert_eq!(refused, Err(Error::Size));
        assert_eq!(state(&chain), before);
        assert_eq!(chain.add(&round.to_le_bytes(), needed, ANY), Ok(true));
        let expected = needed + u64::from(chain.layout.slots - slots_before) * 8;
        assert_eq!(chain.size(), expected);
    }
    assert!(chain.filters().len() > 5);
}

#[test]
fn sizes_above_64_bits_are_errors_of_size() {
    for (capacity, error_rate) in [
        (i64::MAX as u64, 1e-300),
        (i64::MAX as u64, 0.01),
        (1 << 62, 5e-324),
    ] {
        let refused = ValkeyChain::new(&parameters(capacity, error_rate, 2), NO_LIMIT, ANY);
        assert_eq!(refused.err(), Some(Error::Size));
    }
    // It fits in 64 bits, so the budget decides.
    let asked = std::cell::Cell::new(0);
    let refuse = |bytes| {
        asked.set(bytes);
        false
    };
    let large = parameters(1 << 50, 0.01, 2);
    let refused = ValkeyChain::new(&large, NO_LIMIT, Budget::new(&refuse));
    assert!(matches!(refused, Err(Error::OutOfMemory(_))));
    assert_eq!(asked.get(), sizes::bit_array_bytes(1 << 50, 0.01) + 45);
    let refused = ValkeyChain::new(&large, 1 << 40, ANY);
    assert_eq!(refused.err(), Some(Error::Size));
}

#[test]
fn parameters_out_of_range_are_refused() {
    let refused = |parameters: &Parameters| ValkeyChain::new(parameters, NO_LIMIT, ANY).err();
    for rate in [0.0, -0.0, 1.0, -1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(refused(&parameters(10, rate, 2)), Some(Error::ErrorRate));
        let mut tightening = parameters(10, 0.01, 2);
        tightening.tightening = rate;
        assert_eq!(refused(&tightening), Some(Error::ErrorRate));
    }
    for capacity in [0, 1 << 63, u64::MAX] {
        let error = refused(&parameters(capacity, 0.01, 2));
        assert_eq!(error, Some(Error::Capacity));
    }
}

#[test]
fn a_chain_does_not_grow_to_a_rate_or_capacity_out_of_range() {
    let mut subnormal = chain(1, 1e-320, 2);
    assert_eq!(add(&mut subnormal, b"a"), Ok(true));
    assert_eq!(add(&mut subnormal, b"b"), Err(Error::ErrorRate));
    assert_eq!(subnormal.max_scaled_capacity(NO_LIMIT), Ok(0));
    // The rate of the second filter is the smallest normal double: not above it.
    let mut edge = chain(1, f64::MIN_POSITIVE * 2.0, 1);
    assert_eq!(add(&mut edge, b"a"), Ok(true));
    assert_eq!(add(&mut edge, b"b"), Err(Error::ErrorRate));
    assert_eq!(edge.max_scaled_capacity(NO_LIMIT), Ok(1));
    // A capacity of 2^33 needs few bytes at this rate. The next one exceeds 64 bits.
    let rate = 1.0 - 1e-9;
    let mut large = chain(1 << 33, rate, u32::MAX);
    large.filters_mut()[0].bits_mut().fill(0);
    assert_eq!(large.max_scaled_capacity(NO_LIMIT), Err(Error::Capacity));
    // The sum of equal capacities.
    let equal = parameters(1 << 61, 0.5, 1);
    let reached = scale::simulate(&equal, u64::MAX, u64::MAX);
    assert_eq!(reached, Err(Error::Capacity));
    assert_eq!(large.items(), 0);
}

#[test]
fn the_flag_follows_from_the_seed() {
    for (seed, expected) in [(FIXED_SEED, false), ([0; 32], true), ([7; 32], true)] {
        for seed_is_random in [false, true] {
            let mut parameters = parameters(10, 0.01, 2);
            (parameters.seed, parameters.seed_is_random) = (seed, seed_is_random);
            let chain = ValkeyChain::new(&parameters, NO_LIMIT, ANY).unwrap();
            assert_eq!(chain.parameters().seed_is_random, expected);
            assert_eq!(chain.parameters().seed, seed);
            assert_eq!(chain.filters()[0].header().seed, seed);
        }
    }
}

/// The server's allocator has blocks of 80 bytes.
#[test]
fn a_chain_with_one_filter_takes_one_block_besides_its_bits() {
    assert!(size_of::<ValkeyChain>() <= 104);
    let mut one = chain(100, 0.01, 2);
    let bits = one.filters()[0].block().len() as u64;
    assert_eq!(blocks(&mut one), (1, bits));
    assert_eq!(blocks(&mut one.copy().unwrap()), (1, bits));
}

/// A chain of millions of filters is simulated in runs.
#[test]
fn the_simulation_is_fast_for_chains_that_do_not_expand() {
    for tightening in [1.0 - 1e-16, 1.0 - 1e-9, 1.0 - 1e-6, 0.9999] {
        let mut parameters = parameters(1, 0.5, 1);
        parameters.tightening = tightening;
        let chain = ValkeyChain::new(&parameters, NO_LIMIT, ANY).unwrap();
        // A simulation filter by filter would take hours.
        let total = chain.max_scaled_capacity(128 << 20).unwrap();
        assert!(chain.max_scaled_capacity(1 << 60).unwrap() >= total);
    }
    // Each filter has another size.
    let mut parameters = parameters(10_000_000, 0.999, 1);
    parameters.tightening = 1.0 - 3.9e-7;
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
