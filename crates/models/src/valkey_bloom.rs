//! Bloom filters with the format of valkey-bloom.

use super::allows;
use super::input::{Input, bits, with_refusal};
use super::sequence::Model;
use super::stored::{self, Subject, from_chunks, reloads};
use roughly_sketch::chain::MAX_TOTAL_HASHES;
use roughly_sketch::chain::batch::Additions;
use roughly_sketch::memory::Budget;
use roughly_sketch::stored::Stored;
use roughly_sketch::valkey_bloom::{
    Error, FIXED_SEED, LoadError, Parameters, ValkeyChain, check_scales_to,
};
use siphasher::sip::SipHasher13;
use std::f64::consts::LN_2;
use std::hash::Hasher;

/// Bytes by which a chain may grow in [`Subject::change`].
const GROWTH: u64 = 10_000;

const MAX_CAPACITY: u64 = i64::MAX as u64;

/// Checks that the payload of BF.LOAD describes the chain, whatever the slots of its list.
fn loads(chain: &ValkeyChain) -> ValkeyChain {
    let payload = chain.load_payload().expect("enough memory");
    assert_eq!(payload.len() as u64, chain.load_payload_bytes());
    let fits = |bytes| bytes <= payload.len() as u64;
    let size = chain.size().max(chain.restored_size());
    let loaded = ValkeyChain::from_load_payload(&payload, size, Budget::new(&fits));
    let loaded = loaded.expect("a valid payload within the size of the chain");
    assert!(stored::digest(&loaded) == stored::digest(chain));
    assert!(loaded.size() <= chain.size());
    loaded
}

/// Compares the two simulations of growth.
fn simulations_agree(chain: &ValkeyChain, max_size: u64) {
    let Ok(total) = chain.max_scaled_capacity(max_size) else {
        return;
    };
    let parameters = chain.parameters();
    let check = |target| check_scales_to(&parameters, target, max_size);
    assert!(total == 0 || check(total).is_ok());
    assert!(check(total + 1).is_err());
}

impl Subject for ValkeyChain {
    const LOAD_OPTIONS: Option<u64> = None;
    type Results = (u64, u64, Vec<bool>);

    fn add(&mut self, item: &[u8], _number: i64, budget: Budget<'_>) {
        let limit = self.size() + GROWTH;
        let is_full = ValkeyChain::add(self, item, limit, budget).is_err();
        assert!(is_full || self.contains(item), "false negative");
    }

    fn change(&mut self) {
        let items: Vec<_> = (0..40u8).map(|item| [item / 2, 1]).collect();
        let (limit, budget) = (self.size() + GROWTH, Budget::new(&allows));
        let mut one_by_one = self.try_clone().expect("enough memory");
        let mut additions = Additions::new(items.iter().map(<[u8; 2]>::as_slice), limit, self);
        for item in &items {
            let result = ValkeyChain::add(&mut one_by_one, item, limit, budget);
            assert_eq!(additions.add_next(budget), Some(result));
        }
        assert!(stored::digest(self) == stored::digest(&one_by_one));
        assert_eq!(from_chunks(self).size(), self.size());
        reloads(&loads(self));
    }

    fn read(&self, _current: u64) -> Self::Results {
        let items: Vec<_> = (0..80u8).map(|item| [item]).collect();
        let (slices, mut found) = (items.iter().map(<[u8; 1]>::as_slice), Vec::new());
        self.contains_each(slices.clone(), |is_found| found.push(is_found));
        let is_right = (slices.map(|item| self.contains(item))).eq(found.iter().copied());
        assert!(is_right);
        assert!(self.items() <= self.capacity());
        let bytes = (self.filters().iter()).map(|filter| filter.bits().len() as u64);
        assert_eq!(self.bit_bytes(), bytes.sum());
        simulations_agree(self, 1 << 18);
        (self.capacity(), self.bit_bytes(), found)
    }
}

/// Loads the payload of BF.LOAD with one changed byte.
fn damaged(input: &mut Input<'_>, chain: &ValkeyChain) {
    let mut payload = chain.load_payload().expect("enough memory");
    // Every second time in the numbers before the first bit array.
    let range = match input.byte() & 1 {
        0 => payload.len(),
        _ => payload.len().min(83),
    };
    let at = usize::from(input.u16()) % range;
    payload[at] ^= input.byte();
    let fits = |bytes| bytes <= payload.len() as u64;
    match ValkeyChain::from_load_payload(&payload, u64::MAX, Budget::new(&fits)) {
        Ok(loaded) => stored::exercise(loaded),
        Err(LoadError::Size | LoadError::OutOfMemory(_)) => panic!("there is no limit"),
        Err(_) => {}
    }
}

/// The bits, capacity and items of a filter.
struct Filter {
    bits: Vec<bool>,
    hashes: u64,
    capacity: u64,
    items: u64,
}

fn bytes_of(capacity: u64, error_rate: f64) -> f64 {
    ((capacity as f64 * error_rate.ln()) / (-8.0 * (LN_2 * LN_2))).ceil()
}

fn hashes_of(capacity: u64, bytes: f64) -> u64 {
    (8.0 * bytes / capacity as f64 * LN_2).round().max(1.0) as u64
}

/// The slots of a list that grew filter by filter.
fn slots_of(filters: usize) -> u64 {
    match filters as u64 {
        0..2 => 1,
        filters => filters.next_power_of_two().max(4),
    }
}

fn rate_of(parameters: &Parameters, index: usize) -> f64 {
    parameters.error_rate * parameters.tightening.powi(index as i32)
}

impl Filter {
    fn probes(&self, item: &[u8], seed: &[u8; 32]) -> impl Iterator<Item = usize> + use<> {
        let (hashes, bits) = (self.hashes, self.bits.len() as u64);
        let hash = |key: &[u8]| {
            let key = key.try_into().expect("half of the seed");
            let mut hasher = SipHasher13::new_with_key(key);
            hasher.write(&(item.len() as u64).to_le_bytes());
            hasher.write(item);
            hasher.finish()
        };
        let (a, b) = (hash(&seed[..16]), hash(&seed[16..]));
        let probe = move |i: u64| match i {
            0 => a,
            1 => b,
            _ => a.wrapping_add(i.wrapping_mul(b)) % 18_446_744_073_709_551_557,
        };
        (0..hashes).map(move |i| (probe(i) % bits) as usize)
    }
}

/// A chain that grows filter by filter (docs/contributing/formats.md, "Bloom filters of valkey-bloom").
pub struct ValkeyModel {
    parameters: Parameters,
    limit: u64,
    filters: Vec<Filter>,
    slots: u64,
}

impl ValkeyModel {
    fn size(&self) -> u64 {
        let bytes = (self.filters.iter()).map(|filter| filter.bits.len() as u64 / 8);
        48 + 8 * self.slots + 208 * self.filters.len() as u64 + bytes.sum::<u64>()
    }

    fn push(&mut self, capacity: u64, error_rate: f64, budget: Budget<'_>) -> Result<(), Error> {
        let bytes = bytes_of(capacity, error_rate);
        // RESTORE counts the list of a chain that grew one by one; a chain of BF.LOAD has a shorter one.
        let slots = slots_of(self.filters.len()).saturating_sub(self.slots);
        if self.size() + 8 * slots + 208 + bytes as u64 > self.limit {
            return Err(Error::Size);
        }
        // The header of the stored form.
        budget.request(bytes as u64 + 45)?;
        self.filters.push(Filter {
            bits: vec![false; bytes as usize * 8],
            hashes: hashes_of(capacity, bytes),
            capacity,
            items: 0,
        });
        if self.filters.len() as u64 > self.slots {
            self.slots = (2 * self.slots).max(4);
        }
        Ok(())
    }

    fn contains(&self, item: &[u8]) -> bool {
        self.filters.iter().any(|filter| {
            let mut probes = filter.probes(item, &self.parameters.seed);
            probes.all(|bit| filter.bits[bit])
        })
    }

    fn add(&mut self, item: &[u8], budget: Budget<'_>) -> Result<bool, Error> {
        if self.contains(item) {
            return Ok(false);
        }
        let newest = self.filters.last().expect("a filter");
        if newest.items >= newest.capacity {
            if self.parameters.expansion == 0 {
                return Err(Error::Full);
            }
            let error_rate = rate_of(&self.parameters, self.filters.len());
            if error_rate <= f64::MIN_POSITIVE {
                return Err(Error::ErrorRate);
            }
            let capacity = newest.capacity * u64::from(self.parameters.expansion);
            self.push(capacity, error_rate, budget)?;
        }
        let newest = self.filters.last_mut().expect("a filter");
        for bit in newest.probes(item, &self.parameters.seed) {
            newest.bits[bit] = true;
        }
        newest.items += 1;
        Ok(true)
    }
}

/// Why the growth of a chain to `target` items stops, and the sum of the capacities then.
fn simulate(parameters: &Parameters, target: u64, limit: u64) -> (Result<(), Error>, u64) {
    let (mut capacity, mut total, mut memory, mut hashes) = (parameters.capacity, 0, 0, 0);
    for index in 0usize.. {
        let error_rate = rate_of(parameters, index);
        if error_rate <= f64::MIN_POSITIVE {
            return (Err(Error::ErrorRate), total);
        }
        if capacity > MAX_CAPACITY - total {
            return (Err(Error::Capacity), total);
        }
        let bytes = bytes_of(capacity, error_rate);
        memory += 208 + bytes as u64;
        hashes += hashes_of(capacity, bytes);
        if 48 + 8 * slots_of(index + 1) + memory > limit || hashes > MAX_TOTAL_HASHES {
            return (Err(Error::Size), total);
        }
        total += capacity;
        if total >= target {
            return (Ok(()), total);
        }
        capacity = capacity.saturating_mul(parameters.expansion.into());
    }
    unreachable!()
}

/// Compares the simulations of growth with the simple one.
fn check_simulation(chain: &ValkeyChain, input: &mut Input<'_>) {
    let parameters = chain.parameters();
    let limit = u64::from(input.u32()) % 300_000;
    let (end, total) = simulate(&parameters, u64::MAX, limit);
    let expected = match end {
        Err(Error::Capacity) => Err(Error::Capacity),
        _ => Ok(total),
    };
    assert_eq!(chain.max_scaled_capacity(limit), expected);
    let part = (total * u64::from(input.byte()) / 200).max(1);
    for target in [1, total.max(1), total + 1, part] {
        let (expected, _) = simulate(&parameters, target, limit);
        assert_eq!(check_scales_to(&parameters, target, limit), expected);
    }
    // A real chain reaches it, and can exceed it by a filter: the limit applies to it before its list grows.
    if (1..300).contains(&total) {
        let mut chain = ValkeyChain::new(&parameters, limit, Budget::UNLIMITED).expect("a filter");
        let mut results = (0..2_000u64).map(|item| {
            ValkeyChain::add(&mut chain, &item.to_le_bytes(), limit, Budget::UNLIMITED)
        });
        let has_ended = results.any(|result| result.is_err());
        assert!(!has_ended || chain.capacity() >= total);
    }
}

impl Model for ValkeyModel {
    type Sketch = ValkeyChain;

    fn new(input: &mut Input<'_>) -> Option<(ValkeyChain, Self)> {
        let parameters = Parameters {
            capacity: u64::from(input.byte()).max(1),
            error_rate: input.pick(&[
                0.1,
                0.01,
                0.5,
                0.9,
                1e-9,
                1e-300,
                1e-307,
                1e-320,
                1.0 - 1e-9,
            ]),
            tightening: input.pick(&[0.5, 0.9, 0.1, 1.0 - 1e-9, 1e-200, 1.0 - 1e-16]),
            expansion: input.pick(&[2, 1, 0, 3, 16, u32::MAX]),
            seed: input.pick(&[FIXED_SEED, [0; 32], [0xa5; 32]]),
            seed_is_random: false,
        };
        let limit = input.pick(&[u64::MAX, 100_000, 2_000, 400]);
        let budget = Budget::new(&allows);
        let chain = ValkeyChain::new(&parameters, limit, budget);
        let mut model = Self {
            parameters,
            limit,
            filters: Vec::new(),
            slots: 1,
        };
        let first = model.push(parameters.capacity, parameters.error_rate, budget);
        assert_eq!(chain.as_ref().err(), first.as_ref().err());
        Some((chain.ok()?, model))
    }

    fn step(&mut self, chain: &mut ValkeyChain, input: &mut Input<'_>) {
        let limit = self.limit;
        match input.byte() {
            0..=139 => {
                let (item, budget) = (input.item(), Budget::new(&allows));
                let result = ValkeyChain::add(chain, item, limit, budget);
                assert_eq!(result, self.add(item, budget));
            }
            140..=199 => {
                let (items, refused) = (input.items(), input.byte() % 4);
                let results = with_refusal(refused, |budget| {
                    let slices = items.iter().map(<[u8; 2]>::as_slice);
                    let mut additions = Additions::new(slices, limit, chain);
                    std::iter::from_fn(|| additions.add_next(budget)).collect::<Vec<_>>()
                });
                let expected = with_refusal(refused, |budget| {
                    (items.iter().map(|item| self.add(item, budget))).collect::<Vec<_>>()
                });
                assert_eq!(results, expected);
            }
            200..=234 => {
                let (items, mut found) = (input.items(), Vec::new());
                let slices = items.iter().map(<[u8; 2]>::as_slice);
                chain.contains_each(slices, |is_found| found.push(is_found));
                let expected: Vec<_> = items.iter().map(|item| self.contains(item)).collect();
                assert_eq!(found, expected);
                let one_by_one: Vec<_> = items.iter().map(|item| chain.contains(item)).collect();
                assert_eq!(one_by_one, expected);
            }
            235..=241 => {
                *chain = loads(chain);
                self.slots = self.filters.len() as u64;
            }
            242..=249 => damaged(input, chain),
            _ if self.parameters.expansion > 0 => check_simulation(chain, input),
            _ => {}
        }
        if chain.size() != self.size() {
            // RDB does not store the slots.
            self.slots = slots_of(self.filters.len());
            assert_eq!(chain.size(), self.size());
        }
        let items = self.filters.iter().map(|filter| filter.items).sum::<u64>();
        assert_eq!(chain.items(), items);
    }

    fn check(&self, chain: &ValkeyChain) {
        assert_eq!(chain.filters().len(), self.filters.len());
        let capacity = (self.filters.iter().map(|filter| filter.capacity)).sum::<u64>();
        assert_eq!(chain.capacity(), capacity);
        for (index, (filter, expected)) in chain.filters().iter().zip(&self.filters).enumerate() {
            assert_eq!(filter.items(), expected.items);
            assert_eq!(filter.capacity(), expected.capacity);
            assert_eq!(u64::from(filter.hashes()), expected.hashes);
            assert_eq!(chain.error_rate_of(index), rate_of(&self.parameters, index));
            assert!(bits(filter.bits()).eq(expected.bits.iter().copied()));
        }
    }
}
