//! The cuckoo filter of the paper (Fan, Andersen, Kaminsky & Mitzenmacher, "Cuckoo Filter: Practically
//! Better Than Bloom", CoNEXT 2014, algorithms 1 and 2), as a reference: buckets of four one-byte slots,
//! partial-key hashing, at most 500 evictions per insertion, no growth.

use roughly_sketch::hash::murmur64a;

const SLOTS: usize = 4;
const MAX_EVICTIONS: u32 = 500;

/// The filter; 0 is an empty slot.
#[derive(Debug)]
pub struct PlainCuckoo {
    buckets: Vec<[u8; SLOTS]>,
    /// State of xorshift64 (Marsaglia 2003), which selects the fingerprint to evict. Fixed seed.
    random: u64,
}

impl PlainCuckoo {
    /// An empty filter; `slots` is a power of two.
    pub fn new(slots: u64) -> Self {
        Self {
            buckets: vec![[0; SLOTS]; slots as usize / SLOTS],
            random: 0x9e37_79b9_7f4a_7c15,
        }
    }

    fn mask(&self) -> usize {
        self.buckets.len() - 1
    }

    /// The fingerprint, 1 to 255, and the index of the first bucket.
    fn place(&self, item: &[u8]) -> (u8, usize) {
        let hash = murmur64a(item, 0);
        ((hash % 255 + 1) as u8, (hash >> 8) as usize & self.mask())
    }

    /// Index of the other bucket of a fingerprint.
    fn other(&self, bucket: usize, fingerprint: u8) -> usize {
        (bucket ^ (usize::from(fingerprint) * 0x5bd1_e995)) & self.mask()
    }

    fn store(&mut self, bucket: usize, fingerprint: u8) -> bool {
        let slot = self.buckets[bucket].iter_mut().find(|slot| **slot == 0);
        slot.map(|slot| *slot = fingerprint).is_some()
    }

    /// Inserts an item. If there is no empty slot after the maximum number of evictions, returns false; the filter
    /// has then lost the last evicted fingerprint.
    pub fn insert(&mut self, item: &[u8]) -> bool {
        let (mut fingerprint, first) = self.place(item);
        let second = self.other(first, fingerprint);
        if self.store(first, fingerprint) || self.store(second, fingerprint) {
            return true;
        }
        let mut bucket = if self.next_random() & 1 == 0 {
            first
        } else {
            second
        };
        for _ in 0..MAX_EVICTIONS {
            let slot = self.next_random() as usize % SLOTS;
            std::mem::swap(&mut self.buckets[bucket][slot], &mut fingerprint);
            bucket = self.other(bucket, fingerprint);
            if self.store(bucket, fingerprint) {
                return true;
            }
        }
        false
    }

    /// Whether an item may have been inserted.
    pub fn contains(&self, item: &[u8]) -> bool {
        let (fingerprint, first) = self.place(item);
        self.buckets[first].contains(&fingerprint)
            || self.buckets[self.other(first, fingerprint)].contains(&fingerprint)
    }

    fn next_random(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random >> 32
    }
}
