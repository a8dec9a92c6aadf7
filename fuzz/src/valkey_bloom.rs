//! Bloom filters with the format of valkey-bloom: stored forms, and sequences of operations compared with a set.

use super::input::Input;
use super::stored::{self, Subject, from_chunks, reloaded, reloads};
use super::{MAX_OPERATIONS, allows};
use roughly_sketch::chain::batch::Additions;
use roughly_sketch::memory::Budget;
use roughly_sketch::stored::Stored;
use roughly_sketch::valkey_bloom::{
    Error, FIXED_SEED, LoadError, Parameters, ValkeyChain, check_scales_to,
};
use std::collections::HashSet;

/// Bytes by which a chain may grow in [`Subject::exercise`].
const GROWTH: u64 = 10_000;

/// Checks that the payload of BF.LOAD describes the chain, whatever the slots of its list.
fn loads(chain: &ValkeyChain) -> ValkeyChain {
    let payload = chain.load_payload().expect("enough memory");
    assert_eq!(payload.len() as u64, chain.load_payload_bytes());
    let fits = |bytes| bytes <= payload.len() as u64;
    let loaded = ValkeyChain::from_load_payload(&payload, chain.size(), Budget::new(&fits));
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
    const DEFAULTS: () = ();

    fn add(&mut self, item: &[u8], _number: i64) {
        let limit = self.size() + GROWTH;
        let _ = ValkeyChain::add(self, item, limit, Budget::new(&allows));
    }

    fn exercise(mut self) {
        let items: Vec<_> = (0..40u8).map(|item| [item / 2]).collect();
        let slices = || items.iter().map(|item| &item[..]);
        let mut found = Vec::new();
        self.contains_each(slices(), |is_found| found.push(is_found));
        let expected: Vec<_> = slices().map(|item| self.contains(item)).collect();
        assert_eq!(found, expected);
        let limit = self.size() + GROWTH;
        if let Ok(mut one_by_one) = self.try_clone() {
            let mut additions = Additions::new(slices(), limit, &mut self);
            for item in slices() {
                let result = one_by_one.add(item, limit, Budget::new(&allows));
                assert_eq!(additions.add_next(Budget::new(&allows)), Some(result));
                assert!(result.is_err() || one_by_one.contains(item));
            }
            assert_eq!(self.header(), one_by_one.header());
            assert!(stored::digest(&self) == stored::digest(&one_by_one));
        }
        assert!(self.items() <= self.capacity());
        let filters = self.filters();
        let bytes: usize = filters.iter().map(|filter| filter.bits().len()).sum();
        assert_eq!(self.bit_bytes(), bytes as u64);
        simulations_agree(&self, 1 << 18);
        assert_eq!(from_chunks(&self).size(), self.size());
        reloads(&self);
        reloads(&loads(&self));
    }
}

/// Loads the payload of BF.LOAD with one changed byte. The chain stays the same if it is refused.
fn damaged(input: &mut Input<'_>, chain: ValkeyChain) -> ValkeyChain {
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
        Ok(loaded) => loaded.exercise(),
        Err(LoadError::Size | LoadError::OutOfMemory(_)) => panic!("there is no limit"),
        Err(_) => {}
    }
    chain
}

/// Decodes `bytes` as a sequence of operations, and compares the filter with the set of added items.
pub fn commands(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let parameters = Parameters {
        capacity: u64::from(input.byte()).max(1),
        error_rate: input.pick(&[0.1, 0.01, 0.5, 0.9, 1e-9, 1e-300, 1e-307, 1e-320]),
        tightening: input.pick(&[0.5, 0.9, 0.1, 1.0 - 1e-9, 1e-200]),
        expansion: input.pick(&[2, 1, 0, 3, 16, u32::MAX]),
        seed: input.pick(&[FIXED_SEED, [0; 32], [0xa5; 32]]),
        seed_is_random: false,
    };
    let limit = input.pick(&[u64::MAX, 100_000, 2_000]);
    let chain = ValkeyChain::new(&parameters, limit, Budget::new(&allows));
    let Ok(mut chain) = chain else {
        return;
    };
    let (mut model, mut items) = (HashSet::new(), 0);
    for _ in 0..MAX_OPERATIONS {
        if input.is_empty() {
            break;
        }
        match input.byte() {
            0..=199 => {
                let item = input.item();
                let before = (chain.filters().len(), chain.remaining_capacity());
                match chain.add(item, limit, Budget::new(&allows)) {
                    Ok(new) => {
                        assert!(
                            !new || !model.contains(item),
                            "an item was reported as new twice"
                        );
                        items += u64::from(new);
                        model.insert(item);
                        assert!(chain.filters().len() == before.0 || before.1 == 0);
                    }
                    Err(error) => {
                        assert!(!model.contains(item) && before.1 == 0);
                        assert_eq!(before.0, chain.filters().len());
                        assert_eq!(error == Error::Full, !chain.is_scaling());
                    }
                }
            }
            200..=224 => {
                let item = input.item();
                assert!(!model.contains(item) || chain.contains(item));
            }
            225..=229 => chain = chain.try_clone().expect("enough memory"),
            230..=234 => chain = from_chunks(&chain),
            235..=239 => chain = reloaded(&chain),
            240..=244 => chain = loads(&chain),
            245..=249 => chain = damaged(&mut input, chain),
            250..=252 => simulations_agree(&chain, limit.min(1 << 18)),
            _ => reloads(&chain),
        }
        assert_eq!(chain.items(), items);
        // The list may be one filter longer than the limit allows: its slots count afterwards.
        let slots = 8 * 2 * chain.filters().len().max(4) as u64;
        assert!(chain.size() <= limit.saturating_add(slots));
    }
    for item in model {
        assert!(chain.contains(item), "false negative");
    }
    reloads(&chain);
}
