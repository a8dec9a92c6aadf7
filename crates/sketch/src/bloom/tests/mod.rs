//! Tests of the operations, and helpers of the other test files.

mod hostile;
mod merge;
mod replicated;

use super::*;
use crate::chain::batch::Additions;
use crate::format::Sink;
use crate::memory::Budget;
use crate::stored::Stored;
use crate::testing::{blocks, fed, reloaded, saved};
use roughly_dump::Values;

/// Allows every allocation.
const ANY: Budget<'_> = Budget::UNLIMITED;

const fn parameters(capacity: u64, error_rate: f64, expansion: u32, scaling: bool) -> Parameters {
    Parameters {
        capacity,
        error_rate,
        expansion,
        scaling,
    }
}

fn chain(capacity: u64, error_rate: f64, expansion: u32) -> Chain {
    let parameters = parameters(capacity, error_rate, expansion, expansion != 0);
    Chain::new(&parameters, ANY).unwrap()
}

fn add(chain: &mut Chain, item: &[u8]) -> Result<bool, Error> {
    chain.add(item, (), ANY)
}

fn contains(chain: &Chain, item: &[u8]) -> bool {
    chain.contains(item)
}

/// Sets an option of the chain.
fn set_option(chain: &mut Chain, option: u32) {
    for filter in chain.filters_mut() {
        filter.shape_mut().of_chain.options |= option as u8;
    }
}

/// An empty chain of one filter as an encoding version stores it: capacity 100, error rate 1 %.
fn old_payload(version: u16) -> Values {
    let bits_per_entry = 9.585_058_387_441_68;
    let mut values = Values::default();
    values.write_unsigned(0);
    values.write_unsigned(1);
    if version >= 2 {
        values.write_unsigned(u64::from(options::HASH_64_BITS | options::NO_ROUNDING));
    }
    if version >= 4 {
        values.write_unsigned(2);
    }
    values.write_unsigned(100);
    values.write_double(0.01);
    values.write_unsigned(7);
    values.write_double(bits_per_entry);
    if version >= 1 {
        values.write_unsigned(if version >= 2 { 960 } else { 1024 });
        values.write_unsigned(if version >= 2 { 0 } else { 10 });
    }
    values.write_bytes(&[0; 128]);
    values.write_unsigned(0);
    values
}

#[test]
fn the_remaining_capacity_is_that_of_the_newest_filter() {
    let mut chain = chain(3, 0.01, 2);
    for item in 0..4u8 {
        assert!(add(&mut chain, &[item]).unwrap());
    }
    // The first filter has 3 of 3 items, the second 1 of 6.
    assert_eq!((chain.filters().len(), chain.remaining_capacity()), (2, 5));
    set_option(&mut chain, options::NONSCALING);
    let remaining = chain.remaining_capacity();
    for item in 0..remaining {
        assert_eq!(add(&mut chain, &item.to_be_bytes()), Ok(true));
    }
    assert_eq!(chain.remaining_capacity(), 0);
    assert_eq!(add(&mut chain, b"one more"), Err(Error::Full));
}

#[test]
fn every_block_is_visited_and_can_be_moved() {
    let mut chain = chain(1, 0.01, 1);
    for i in 0..5u8 {
        add(&mut chain, &[i]).unwrap();
        let filters = chain.filters().len();
        let list = usize::from(filters > 1);
        assert_eq!(blocks(&mut chain).0, filters + list);
        assert!((0..=i).all(|i| chain.contains(&[i])));
    }
    assert!(chain.filters().len() > 1);
}

/// The server's allocator has blocks of 80 bytes.
#[test]
fn a_chain_with_one_filter_takes_one_block_besides_its_bits() {
    assert!(size_of::<Chain>() <= 72);
    let mut one = chain(100, 0.01, 2);
    let bits = one.filters()[0].block().len() as u64;
    assert_eq!(blocks(&mut one), (1, bits));
    assert_eq!(blocks(&mut one.copy().unwrap()), (1, bits));
}

#[test]
fn old_encoding_versions_keep_their_hash_width_and_modulus() {
    for (version, width, modulus) in [(0, 32, 958), (1, 32, 1024), (2, 64, 960), (3, 64, 960)] {
        let mut chain = Chain::load(&mut old_payload(version), version, &()).unwrap();
        assert_eq!(chain.hash_width(), width);
        assert_eq!(chain.expansion(), 2);
        assert_eq!(chain.filters()[0].shape().modulus(), modulus);
        for item in 0..120u8 {
            add(&mut chain, &[item]).unwrap();
            assert!(contains(&chain, &[item]));
        }
        assert!(chain.filters().len() >= 2);
        // It is saved in version 4, which loads again.
        assert_eq!(saved(&reloaded(&chain)), saved(&chain));
    }
    assert!(Chain::load(&mut old_payload(4), 5, &()).is_err());
}

#[test]
fn the_32_bit_hashes_are_taken_modulo_two_to_the_32() {
    let chain = Chain::load(&mut old_payload(1), 1, &()).unwrap();
    for item in 0..50u32 {
        let item = item.to_le_bytes();
        let a = murmur2(&item, 0x9747_b28c);
        let b = murmur2(&item, a);
        let hash = <Layout as chain::Layout>::hash(&chain.filters()[0], &item);
        for i in 0..7u32 {
            let expected = a.wrapping_add(i.wrapping_mul(b)) % 1024;
            assert_eq!(hash.sum(i) % 1024, u64::from(expected));
        }
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
        chain.filters_mut()[0].set_items(1_000_000);
        chain
    };
    let items: Vec<_> = ((0..300u32).map(|item| (item * 7 % 900).to_le_bytes())).collect();
    let mut one_by_one = grown();
    let expected: Vec<_> = (items.iter().map(|item| add(&mut one_by_one, item))).collect();
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
