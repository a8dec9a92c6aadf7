//! Comparison with a naive model: a direct implementation of the spec.

use super::*;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Model {
    pub bucket_size: usize,
    pub max_iterations: usize,
    pub expansion: usize,
    pub num_buckets: usize,
    pub items: u64,
    pub deletes: u64,
    /// The slots by sub-filter and bucket.
    pub sub_filters: Vec<Vec<Vec<u8>>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    Full,
    Memory,
}

fn spread(bucket: usize, fingerprint: u8) -> usize {
    bucket ^ (usize::from(fingerprint) * 0x5bd1_e995)
}

fn hashes(item: &[u8]) -> (u8, usize, usize) {
    let hash = murmur64a(item, 0);
    let fingerprint = (hash % 255 + 1) as u8;
    let first = hash as usize;
    (fingerprint, first, spread(first, fingerprint))
}

impl Model {
    pub fn new(capacity: usize, parameters: Parameters) -> Self {
        let bucket_size = usize::from(parameters.bucket_size);
        let num_buckets = (capacity / bucket_size).max(1).next_power_of_two();
        let expansion = usize::from(parameters.expansion);
        let mut model = Self {
            bucket_size,
            max_iterations: parameters.max_iterations.into(),
            expansion: if expansion == 0 {
                0
            } else {
                expansion.next_power_of_two()
            },
            num_buckets,
            items: 0,
            deletes: 0,
            sub_filters: Vec::new(),
        };
        model.grow();
        model
    }

    fn grow(&mut self) {
        let growth = self.expansion.pow(self.sub_filters.len() as u32);
        let empty = vec![0; self.bucket_size];
        self.sub_filters
            .push(vec![empty; self.num_buckets * growth]);
    }

    pub fn insert(&mut self, item: &[u8], max_slots: usize) -> Result<(), Refusal> {
        let (fingerprint, first, second) = hashes(item);
        for buckets in self.sub_filters.iter_mut().rev() {
            let n = buckets.len();
            for bucket in [first % n, second % n] {
                if let Some(slot) = buckets[bucket].iter().position(|&slot| slot == 0) {
                    buckets[bucket][slot] = fingerprint;
                    self.items += 1;
                    return Ok(());
                }
            }
        }
        let before = self.sub_filters.clone();
        let newest = self.sub_filters.last_mut().unwrap();
        let n = newest.len();
        let (mut bucket, mut victim, mut hand) = (first % n, 0, fingerprint);
        for _ in 0..self.max_iterations {
            (hand, newest[bucket][victim]) = (newest[bucket][victim], hand);
            bucket = spread(bucket, hand) % n;
            if let Some(slot) = newest[bucket].iter().position(|&slot| slot == 0) {
                newest[bucket][slot] = hand;
                self.items += 1;
                return Ok(());
            }
            victim = (victim + 1) % self.bucket_size;
        }
        self.sub_filters = before;
        if self.expansion == 0 {
            return Err(Refusal::Full);
        }
        if self.sub_filters.last().unwrap().len() * self.expansion * self.bucket_size > max_slots {
            return Err(Refusal::Memory);
        }
        self.grow();
        self.insert(item, max_slots)
    }

    pub fn contains(&self, item: &[u8]) -> bool {
        self.count(item) > 0
    }

    pub fn count(&self, item: &[u8]) -> u64 {
        let (fingerprint, first, second) = hashes(item);
        let mut count = 0;
        for buckets in &self.sub_filters {
            for hash in [first, second] {
                let bucket = &buckets[hash % buckets.len()];
                count += bucket.iter().filter(|&&slot| slot == fingerprint).count();
            }
        }
        count as u64
    }

    pub fn delete(&mut self, item: &[u8]) -> bool {
        let (fingerprint, first, second) = hashes(item);
        for index in (0..self.sub_filters.len()).rev() {
            for hash in [first, second] {
                let n = self.sub_filters[index].len();
                let bucket = &mut self.sub_filters[index][hash % n];
                if let Some(slot) = bucket.iter().position(|&slot| slot == fingerprint) {
                    bucket[slot] = 0;
                    self.items -= 1;
                    self.deletes += 1;
                    if self.sub_filters.len() > 1 && self.deletes as f64 > self.items as f64 * 0.10
                    {
                        self.compact(true);
                    }
                    return true;
                }
            }
        }
        false
    }

    pub fn compact(&mut self, stop_at_first_kept: bool) {
        for source in (1..self.sub_filters.len()).rev() {
            let mut kept = false;
            for bucket in 0..self.sub_filters[source].len() {
                for slot in 0..self.bucket_size {
                    let fingerprint = self.sub_filters[source][bucket][slot];
                    if fingerprint == 0 {
                        continue;
                    }
                    if self.move_before(source, bucket, fingerprint) {
                        self.sub_filters[source][bucket][slot] = 0;
                    } else {
                        kept = true;
                    }
                }
            }
            if !kept && source == self.sub_filters.len() - 1 {
                self.sub_filters.pop();
            }
            if kept && stop_at_first_kept {
                break;
            }
        }
        self.deletes = 0;
    }

    fn move_before(&mut self, source: usize, bucket: usize, fingerprint: u8) -> bool {
        for buckets in &mut self.sub_filters[..source] {
            let n = buckets.len();
            for place in [bucket % n, spread(bucket, fingerprint) % n] {
                if let Some(slot) = buckets[place].iter().position(|&slot| slot == 0) {
                    buckets[place][slot] = fingerprint;
                    return true;
                }
            }
        }
        false
    }

    /// The RDB values.
    pub fn values(&self) -> Values {
        let mut values = Values::default();
        for number in [
            self.sub_filters.len() as u64,
            self.num_buckets as u64,
            self.items,
            self.deletes,
            self.bucket_size as u64,
            self.max_iterations as u64,
            self.expansion as u64,
        ] {
            values.write_unsigned(number);
        }
        for buckets in &self.sub_filters {
            values.write_unsigned(buckets.len() as u64);
            values.write_bytes(&buckets.concat());
        }
        values
    }
}

/// The RDB values of a filter.
pub fn values_of(filter: &CuckooFilter) -> Values {
    let mut values = Values::default();
    filter.save(&mut values);
    values
}

fn outcome(result: Result<(), CuckooError>) -> Result<(), Refusal> {
    result.map_err(|error| match error {
        CuckooError::Full => Refusal::Full,
        _ => Refusal::Memory,
    })
}

proptest! {
    #[test]
    fn the_bytes_equal_the_model_after_every_step(
        capacity in 0u64..200, parameters in any_parameters(), steps in any_steps(),
    ) {
        let mut filter = filter(capacity, parameters);
        let mut model = Model::new(capacity as usize, parameters);
        for step in steps {
            match step {
                Step::Insert(item) => {
                    let item = item.to_le_bytes();
                    let result = outcome(filter.insert(&item, Budget::new(&allows)));
                    prop_assert_eq!(result, model.insert(&item, MAX_SLOTS));
                }
                Step::InsertUnique(item) => {
                    let item = item.to_le_bytes();
                    let expected = if model.contains(&item) {
                        Ok(false)
                    } else {
                        model.insert(&item, MAX_SLOTS).map(|()| true)
                    };
                    let result = filter.insert_unique(&item, Budget::new(&allows));
                    let added = matches!(result, Ok(true));
                    prop_assert_eq!(outcome(result.map(|_| ())).map(|()| added), expected);
                }
                Step::Delete(item) => {
                    let item = item.to_le_bytes();
                    prop_assert_eq!(filter.delete(&item, Budget::UNLIMITED), model.delete(&item));
                }
                Step::Compact => {
                    let before = values_of(&filter);
                    let changed = filter.compact(Budget::UNLIMITED);
                    model.compact(false);
                    prop_assert_eq!(changed, before != values_of(&filter));
                }
            }
            prop_assert_eq!(values_of(&filter), model.values());
        }
        for item in 0u16..200 {
            let item = item.to_le_bytes();
            prop_assert_eq!(filter.contains(&item), model.contains(&item));
            prop_assert_eq!(filter.count(&item), model.count(&item));
        }
    }

    /// Compares probing, both indexes (the bitmap up to 65 sub-filters, then the other), a change in between, and refused
    /// memory.
    #[test]
    fn all_methods_of_compaction_give_the_same_bytes(
        capacity in 0u64..600, parameters in any_parameters(), seed: u64, sub_filters in 2usize..90,
        automatic: bool, holes in 1u64..100,
    ) {
        let mut probed = random_filter(capacity, parameters, seed, sub_filters, holes);
        let mut model = Model::new(capacity as usize, parameters);
        model.sub_filters = probed
            .sub_filters
            .iter()
            .map(|each| each.slots().chunks(each.bucket_size()).map(<[u8]>::to_vec).collect())
            .collect();
        let mut indexed = probed.try_clone().unwrap();
        let mut mixed = probed.try_clone().unwrap();
        let mut refused = probed.try_clone().unwrap();
        let scope = if automatic { Scope::UntilKept } else { Scope::All };
        let changed = probed.compact_with(scope, FreeSlots::with_index_after(u64::MAX, Budget::UNLIMITED));
        prop_assert_eq!(indexed.compact_with(scope, FreeSlots::with_index_after(0, Budget::UNLIMITED)), changed);
        prop_assert_eq!(mixed.compact_with(scope, FreeSlots::with_index_after(50, Budget::UNLIMITED)), changed);
        prop_assert_eq!(refused.compact_with(scope, FreeSlots::with_index_after(0, Budget::new(&|_| false))), changed);
        model.compact(automatic);
        prop_assert_eq!(values_of(&probed), model.values());
        prop_assert_eq!(&probed, &indexed);
        prop_assert_eq!(&probed, &mixed);
        prop_assert_eq!(&probed, &refused);
    }
}
