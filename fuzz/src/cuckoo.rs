//! Cuckoo filters: stored forms, and sequences of operations compared with a multiset.

pub mod window;

use super::input::Input;
use super::stored::{Subject, reloaded, reloads};
use super::{MAX_OPERATIONS, allows};
use roughly_sketch::cuckoo::{CuckooError, CuckooFilter, Parameters};
use roughly_sketch::memory::Budget;
use roughly_sketch::stored::Stored;
use std::collections::HashMap;

/// Parameters of encoding versions below 4, which do not store them.
const DEFAULTS: Parameters = Parameters {
    bucket_size: 2,
    max_iterations: 20,
    expansion: 1,
};

impl Subject for CuckooFilter {
    const DEFAULTS: Parameters = DEFAULTS;

    fn add(&mut self, item: &[u8], _number: i64) {
        let _ = self.insert(item, Budget::new(&allows));
    }

    fn exercise(mut self) {
        for item in 0..20u8 {
            if self.insert(&[item], Budget::new(&allows)).is_ok() {
                assert!(self.contains(&[item]) && self.count(&[item]) > 0);
            }
            let _ = self.insert_unique(&[item], Budget::new(&allows));
            let _ = self.insert(b"the same", Budget::new(&allows));
        }
        let mut answers = Vec::new();
        let items: Vec<[u8; 1]> = (0..40).map(|item| [item]).collect();
        self.contains_each(items.iter().map(|item| &item[..]), |found| {
            answers.push(found)
        });
        assert!((items.iter().zip(answers)).all(|(item, found)| self.contains(item) == found));
        for item in 0..60u8 {
            let found = self.contains(&[item]);
            assert_eq!(self.delete(&[item], Budget::UNLIMITED), found);
        }
        self.compact(Budget::UNLIMITED);
        let _ = (self.nominal_bytes(), self.items(), self.deletes());
        reloads(&self);
    }

    fn old_seeds(&self, latest: &[u8]) -> Vec<Vec<u8>> {
        if self.num_sub_filters() > 1 {
            return Vec::new();
        }
        // Versions below 4 store three numbers and the slots, without the parameters and the size.
        let old = (0..4u8).map(|version| {
            let mut old = latest.to_vec();
            old[0] = version;
            old.drain(25..65);
            old
        });
        old.collect()
    }
}

/// Decodes `bytes` as a sequence of operations, and compares the filter with the count of each item. The
/// sequence only deletes items that it added, so that false negatives are errors.
pub fn commands(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let parameters = Parameters {
        bucket_size: input.pick(&[1, 2, 3, 4, 7, 8, 16, 255]),
        max_iterations: input.pick(&[1, 2, 20, 500]),
        expansion: input.pick(&[0, 1, 2, 4, 32768]),
    };
    let capacity = u64::from(input.byte());
    let Ok(mut filter) = CuckooFilter::new(capacity, parameters, Budget::new(&allows)) else {
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
                match filter.insert(item, Budget::new(&allows)) {
                    Ok(()) => *model.entry(item).or_default() += 1,
                    Err(CuckooError::Parameters(what)) => panic!("{what}"),
                    Err(_) => {}
                }
            }
            120..=149 => {
                let item = input.item();
                let is_present = model.get(item).is_some_and(|&count| count > 0);
                match filter.insert_unique(item, Budget::new(&allows)) {
                    Ok(true) => {
                        assert!(!is_present, "inserted twice");
                        *model.entry(item).or_default() += 1;
                    }
                    _ => assert!(!is_present || filter.contains(item)),
                }
            }
            150..=219 => {
                let item = input.item();
                if let Some(count) = model.get_mut(item).filter(|count| **count > 0) {
                    assert!(filter.delete(item, Budget::UNLIMITED), "false negative");
                    *count -= 1;
                }
            }
            220..=229 => {
                filter.compact(Budget::UNLIMITED);
            }
            230..=239 => filter = filter.try_clone().expect("enough memory"),
            240..=247 => {
                filter = reloaded(&filter);
            }
            _ => reloads(&filter),
        }
        assert_eq!(filter.items(), model.values().sum::<u64>());
        if operation >= 150 {
            for (item, &count) in &model {
                assert!(filter.count(item) >= count, "false negative");
            }
        }
    }
    for (item, count) in model {
        assert!(filter.count(item) >= count, "false negative");
    }
    reloads(&filter);
}
