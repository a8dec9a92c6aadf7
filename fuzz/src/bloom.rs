//! Bloom filters: stored forms, and sequences of operations compared with a set.

pub mod window;

use super::input::Input;
use super::stored::{Subject, reloaded, reloads};
use super::{MAX_OPERATIONS, allows};
use roughly_sketch::bloom::{Chain, Error, Parameters};
use roughly_sketch::chain::batch::Additions;
use roughly_sketch::memory::Budget;
use roughly_sketch::stored::Stored;
use std::collections::HashSet;

fn add(chain: &mut Chain, item: &[u8]) -> Result<bool, Error> {
    chain.add(item, (), Budget::new(&allows))
}

impl Subject for Chain {
    const DEFAULTS: () = ();

    fn add(&mut self, item: &[u8], _number: i64) {
        let _ = add(self, item);
    }

    fn exercise(mut self) {
        let items: Vec<_> = (0..40u8).map(|item| [item / 2]).collect();
        let slices = || items.iter().map(|item| &item[..]);
        let mut found = Vec::new();
        self.contains_each(slices(), |is_found| found.push(is_found));
        let expected: Vec<_> = slices().map(|item| self.contains(item)).collect();
        assert_eq!(found, expected);
        if let Ok(mut one_by_one) = self.try_clone() {
            let mut additions = Additions::new(slices(), (), &mut self);
            for item in &items {
                assert_eq!(
                    additions.add_next(Budget::new(&allows)),
                    Some(add(&mut one_by_one, item))
                );
            }
            assert_eq!(self.header_bytes(), one_by_one.header_bytes());
        }
        for item in 0..40u8 {
            if add(&mut self, &[item]).is_ok() {
                assert!(self.contains(&[item]));
            }
        }
        let _ = (self.capacity(), self.bit_bytes(), self.is_scaling());
        reloads(&self);
    }

    fn old_seeds(&self, latest: &[u8]) -> Vec<Vec<u8>> {
        // Encoding versions below 4 lack some of the values of version 4.
        let old = (0..4u8).map(|version| {
            let mut old = latest.to_vec();
            old[0] = version;
            // Versions 2 and 3 lack the growth factor (bytes 25..33). Versions 0 and 1 also lack the options (17..25).
            old.drain(if version < 2 { 17..33 } else { 25..33 });
            old
        });
        old.collect()
    }
}

/// Decodes `bytes` as a sequence of operations, and compares the filter with the set of added items.
pub fn commands(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let expansion = input.pick(&[0, 1, 2, 3, 16, 32768]);
    let parameters = Parameters {
        capacity: u64::from(input.byte()).max(1),
        error_rate: input.pick(&[0.25, 0.1, 0.01, 0.001, 1e-9, 1e-300, 0.9]),
        expansion,
        scaling: expansion > 0,
    };
    let Ok(mut chain) = Chain::new(&parameters, Budget::new(&allows)) else {
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
                let before = chain.filters().len();
                match add(&mut chain, item) {
                    Ok(new) => {
                        assert!(
                            !new || !model.contains(item),
                            "an item was reported as new twice"
                        );
                        items += u64::from(new);
                        model.insert(item);
                    }
                    Err(_) => assert!(!model.contains(item) && before == chain.filters().len()),
                }
            }
            200..=229 => {
                let item = input.item();
                assert!(!model.contains(item) || chain.contains(item));
            }
            230..=239 => chain = chain.try_clone().expect("enough memory"),
            240..=247 => {
                chain = reloaded(&chain);
            }
            _ => reloads(&chain),
        }
        assert_eq!(chain.items(), items);
    }
    for item in model {
        assert!(chain.contains(item), "false negative");
    }
    reloads(&chain);
}
