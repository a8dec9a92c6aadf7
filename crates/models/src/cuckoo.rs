//! Cuckoo filters.

use super::allows;
use super::input::{Input, with_refusal};
use super::sequence::Model;
use super::stored::{Subject, values};
use murmurhash64::murmur_hash64a;
use roughly_dump::Values;
use roughly_sketch::cuckoo::{CuckooError, CuckooFilter, Duplicates, Parameters};
use roughly_sketch::format::Sink;
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
    const LOAD_OPTIONS: Parameters = DEFAULTS;
    type Results = (u64, Vec<u64>);

    fn add(&mut self, item: &[u8], _number: i64, budget: Budget<'_>) {
        let is_full = self.insert(item, budget).is_err();
        assert!(is_full || self.contains(item), "false negative");
    }

    fn change(&mut self) {
        for item in 0..60u8 {
            let _ = self.insert_if(&[item / 2], Duplicates::Skip, Budget::new(&allows));
            let found = self.contains(&[item]);
            assert_eq!(self.delete(&[item], Budget::UNLIMITED), found);
        }
        self.compact(Budget::UNLIMITED);
    }

    fn read(&self, _current: u64) -> Self::Results {
        let items: Vec<_> = (0..40u8).map(|item| [item]).collect();
        let (slices, mut found) = (items.iter().map(<[u8; 1]>::as_slice), Vec::new());
        self.contains_each(slices.clone(), |is_found| found.push(is_found));
        let is_right = (slices.clone().map(|item| self.contains(item))).eq(found.iter().copied());
        assert!(is_right);
        let counts: Vec<_> = slices.map(|item| self.count(item)).collect();
        assert!(counts.iter().map(|count| *count > 0).eq(found));
        (self.nominal_bytes(), counts)
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

/// The slots of each sub-filter (docs/contributing/formats.md, "Cuckoo filters").
pub struct CuckooModel {
    bucket_size: usize,
    max_iterations: usize,
    expansion: usize,
    items: u64,
    deletes: u64,
    sub_filters: Vec<Vec<u8>>,
    /// How often each item is inside, unless another item may have lost its fingerprint.
    counts: Option<HashMap<Vec<u8>, u64>>,
}

/// The other bucket of a fingerprint, before the remainder.
fn other(bucket: usize, fingerprint: u8) -> usize {
    bucket ^ (usize::from(fingerprint) * 0x5bd1_e995)
}

/// Fingerprint and both buckets of an item, before the remainder.
fn hashes(item: &[u8]) -> (u8, [usize; 2]) {
    let hash = murmur_hash64a(item, 0);
    let fingerprint = (hash % 255 + 1) as u8;
    (
        fingerprint,
        [hash as usize, other(hash as usize, fingerprint)],
    )
}

impl CuckooModel {
    /// The slots of a bucket.
    fn bucket(slots: &mut [u8], bucket_size: usize, hash: usize) -> &mut [u8] {
        let bucket = hash % (slots.len() / bucket_size);
        &mut slots[bucket * bucket_size..][..bucket_size]
    }

    /// Replaces the first `old` in the buckets of a sub-filter.
    fn replace(slots: &mut [u8], size: usize, buckets: [usize; 2], old: u8, new: u8) -> bool {
        for hash in buckets {
            let bucket = Self::bucket(slots, size, hash);
            if let Some(slot) = bucket.iter_mut().find(|slot| **slot == old) {
                *slot = new;
                return true;
            }
        }
        false
    }

    /// Adds a sub-filter.
    fn push(&mut self, num_buckets: usize, budget: Budget<'_>) -> Result<(), CuckooError> {
        let slots = num_buckets * self.bucket_size;
        budget.request(slots as u64)?;
        self.sub_filters.push(vec![0; slots]);
        Ok(())
    }

    fn insert(&mut self, item: &[u8], budget: Budget<'_>) -> Result<(), CuckooError> {
        let (fingerprint, buckets) = hashes(item);
        let size = self.bucket_size;
        let mut sub_filters = self.sub_filters.iter_mut().rev();
        let is_stored =
            sub_filters.any(|slots| Self::replace(slots, size, buckets, 0, fingerprint));
        if !is_stored && !self.insert_with_evictions(fingerprint, buckets[0]) {
            if self.expansion == 0 {
                return Err(CuckooError::Full);
            }
            let newest = self.sub_filters.last_mut().expect("a sub-filter");
            let num_buckets = newest.len() / size * self.expansion;
            self.push(num_buckets, budget)?;
            return self.insert(item, budget);
        }
        self.items = self.items.saturating_add(1);
        if let Some(counts) = &mut self.counts {
            *counts.entry(item.to_vec()).or_default() += 1;
        }
        Ok(())
    }

    fn insert_with_evictions(&mut self, mut fingerprint: u8, mut hash: usize) -> bool {
        let newest = self.sub_filters.last_mut().expect("a sub-filter");
        let before = newest.clone();
        let mut victim = 0;
        for _ in 0..self.max_iterations {
            let bucket = Self::bucket(newest, self.bucket_size, hash);
            std::mem::swap(&mut fingerprint, &mut bucket[victim]);
            // The bucket is a remainder before it is used again.
            hash = other(hash % (newest.len() / self.bucket_size), fingerprint);
            if Self::replace(newest, self.bucket_size, [hash; 2], 0, fingerprint) {
                return true;
            }
            victim = (victim + 1) % self.bucket_size;
        }
        *newest = before;
        false
    }

    fn insert_unique(&mut self, item: &[u8], budget: Budget<'_>) -> Result<bool, CuckooError> {
        if self.count(item) > 0 {
            return Ok(false);
        }
        self.insert(item, budget).map(|()| true)
    }

    fn count(&self, item: &[u8]) -> u64 {
        let (fingerprint, buckets) = hashes(item);
        let count = |slots: &Vec<u8>| {
            let of_bucket = |hash| {
                let first = hash % (slots.len() / self.bucket_size) * self.bucket_size;
                let bucket = &slots[first..][..self.bucket_size];
                bucket.iter().filter(|&&slot| slot == fingerprint).count()
            };
            buckets.map(of_bucket).iter().sum::<usize>()
        };
        self.sub_filters.iter().map(count).sum::<usize>() as u64
    }

    fn delete(&mut self, item: &[u8]) -> bool {
        let (fingerprint, buckets) = hashes(item);
        let size = self.bucket_size;
        let mut sub_filters = self.sub_filters.iter_mut().rev();
        if !sub_filters.any(|slots| Self::replace(slots, size, buckets, fingerprint, 0)) {
            return false;
        }
        self.items = self.items.saturating_sub(1);
        self.deletes += 1;
        let count = (self.counts.as_mut()).and_then(|counts| counts.get_mut(item));
        match count {
            Some(count) if *count > 0 => *count -= 1,
            _ => self.counts = None,
        }
        // A loaded count can be smaller than the number of fingerprints, or larger.
        let slots = self.sub_filters.iter().flatten();
        let fingerprints = (slots.filter(|slot| **slot != 0).count() as u64).max(self.items);
        if self.sub_filters.len() > 1 && self.deletes as f64 > fingerprints as f64 * 0.10 {
            self.compact(true);
        }
        true
    }

    fn compact(&mut self, stop_at_first_kept: bool) {
        for source in (1..self.sub_filters.len()).rev() {
            let mut kept = false;
            for slot in 0..self.sub_filters[source].len() {
                let fingerprint = self.sub_filters[source][slot];
                let bucket = slot / self.bucket_size;
                let buckets = [bucket, other(bucket, fingerprint)];
                let move_to = |slots: &mut Vec<u8>| {
                    Self::replace(slots, self.bucket_size, buckets, 0, fingerprint)
                };
                if fingerprint == 0 {
                    continue;
                }
                if self.sub_filters[..source].iter_mut().any(move_to) {
                    self.sub_filters[source][slot] = 0;
                } else {
                    kept = true;
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

    /// Adds sub-filters and fills all slots with random fingerprints, except for some holes: compactions use an index for
    /// many fingerprints and another one for more than 64 older sub-filters.
    fn fill(&mut self, input: &mut Input<'_>) {
        let (target, holes, mut number) =
            (usize::from(input.byte() % 90), input.byte(), input.u64());
        (self.items, self.deletes) = (input.u64() >> (number % 64), input.byte().into());
        self.counts = None;
        while self.sub_filters.len() < target && self.expansion > 0 {
            let newest = self.sub_filters.last().expect("a sub-filter");
            let slots = newest.len() * self.expansion;
            if self.sub_filters.iter().map(Vec::len).sum::<usize>() + slots > 20_000 {
                break;
            }
            self.sub_filters.push(vec![0; slots]);
        }
        for slot in self.sub_filters.iter_mut().flatten() {
            number = murmur_hash64a(&number.to_le_bytes(), 1);
            let is_hole = number >> 32 & 0xff < u64::from(holes);
            *slot = if is_hole { 0 } else { (number % 255 + 1) as u8 };
        }
    }

    /// The RDB values.
    fn values(&self) -> Values {
        let mut values = Values::default();
        let num_buckets = |slots: &[u8]| (slots.len() / self.bucket_size) as u64;
        for number in [
            self.sub_filters.len() as u64,
            num_buckets(&self.sub_filters[0]),
            self.items,
            self.deletes,
            self.bucket_size as u64,
            self.max_iterations as u64,
            self.expansion as u64,
        ] {
            values.write_unsigned(number);
        }
        for slots in &self.sub_filters {
            values.write_unsigned(num_buckets(slots));
            values.write_bytes(slots);
        }
        values
    }
}

impl Model for CuckooModel {
    type Sketch = CuckooFilter;

    fn new(input: &mut Input<'_>) -> Option<(CuckooFilter, Self)> {
        let parameters = Parameters {
            bucket_size: input.pick(&[1, 2, 3, 4, 7, 8, 16, 255]),
            max_iterations: input.pick(&[1, 2, 20, 500]),
            expansion: input.pick(&[0, 1, 2, 3, 4, 32768]),
        };
        let capacity = u64::from(input.byte());
        let budget = Budget::new(&allows);
        let mut model = Self {
            bucket_size: parameters.bucket_size.into(),
            max_iterations: parameters.max_iterations.into(),
            expansion: match usize::from(parameters.expansion) {
                0 => 0,
                expansion => expansion.next_power_of_two(),
            },
            items: 0,
            deletes: 0,
            sub_filters: Vec::new(),
            counts: Some(HashMap::new()),
        };
        let num_buckets = (capacity as usize / model.bucket_size).max(1);
        model.push(num_buckets.next_power_of_two(), budget).ok()?;
        let filter = CuckooFilter::new(capacity, parameters, budget).expect("a small filter");
        Some((filter, model))
    }

    fn step(&mut self, filter: &mut CuckooFilter, input: &mut Input<'_>) {
        let before = values(filter);
        match input.byte() {
            0..=99 => {
                let (item, budget) = (input.item(), Budget::new(&allows));
                assert_eq!(filter.insert(item, budget), self.insert(item, budget));
            }
            100..=119 => {
                let (item, budget) = (input.item(), Budget::new(&allows));
                let result = filter.insert_if(item, Duplicates::Skip, budget);
                assert_eq!(result, self.insert_unique(item, budget));
            }
            120..=154 => {
                let (items, refused) = (input.items(), input.byte() % 4);
                let slices = || items.iter().map(<[u8; 2]>::as_slice);
                let (mut results, mut unique) = (Vec::new(), Vec::new());
                with_refusal(refused, |budget| {
                    filter.insert_each(slices(), Duplicates::Insert, budget, |result| {
                        results.push(result)
                    });
                    filter.insert_each(slices(), Duplicates::Skip, budget, |result| {
                        unique.push(result)
                    });
                });
                with_refusal(refused, |budget| {
                    let insert = |item| self.insert(item, budget).map(|()| true);
                    assert!(slices().map(insert).eq(results));
                    let mut results = slices().map(|item| self.insert_unique(item, budget));
                    assert!(results.by_ref().eq(unique));
                });
            }
            155..=219 => {
                let (any, refuses) = (input.byte() < 60, input.byte() & 1 != 0);
                let (short, long) = (input.item(), input.items());
                let items = long.iter().map(<[u8; 2]>::as_slice).chain([short]);
                for item in items {
                    let is_inside = (self.counts.as_ref())
                        .is_some_and(|counts| counts.get(item).is_some_and(|count| *count > 0));
                    // The memory of a compaction is optional.
                    if any || is_inside {
                        let is_deleted = filter.delete(item, Budget::new(&|_| !refuses));
                        assert_eq!(is_deleted, self.delete(item));
                    }
                }
            }
            220..=239 => {
                let refuses = input.byte() & 1 != 0;
                let changed = filter.compact(Budget::new(&|_| !refuses));
                self.compact(false);
                assert_eq!(changed, values(filter) != before);
            }
            240..=244 => {
                self.fill(input);
                let mut values = self.values();
                *filter = CuckooFilter::load(&mut values, 4, &DEFAULTS).expect("valid values");
            }
            _ => {
                let items = input.items();
                let mut found = Vec::new();
                filter.contains_each(items.iter().map(<[u8; 2]>::as_slice), |is_found| {
                    found.push(is_found);
                });
                assert!(items.iter().map(|item| self.count(item) > 0).eq(found));
            }
        }
        assert_eq!(values(filter), self.values());
    }

    fn check(&self, filter: &CuckooFilter) {
        assert_eq!(filter.items(), self.items);
        for item in 0u16..1024 {
            let item = &item.to_le_bytes()[..if item < 64 { 1 } else { 2 }];
            assert_eq!(filter.contains(item), self.count(item) > 0);
            assert_eq!(filter.count(item), self.count(item));
        }
        for (item, &count) in self.counts.iter().flatten() {
            assert!(filter.count(item) >= count, "false negative");
        }
    }
}
