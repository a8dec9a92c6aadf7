//! Roughly's filters and those of other projects behind one trait, so that one loop measures them all.

use crate::leveldb::LevelDb;
use crate::plain_cuckoo::PlainCuckoo;
use crate::stream::Item;
use fastbloom::BloomFilter;
use roughly_sketch::bloom::batch::Additions;
use roughly_sketch::bloom::{self, Chain};
use roughly_sketch::cuckoo::{self, CuckooFilter};
use roughly_sketch::memory::Budget;
use scalable_cuckoo_filter::{ScalableCuckooFilter, ScalableCuckooFilterBuilder};

/// Items per call of the block functions.
pub const BLOCK_ITEMS: usize = 16;

const UNLIMITED: Budget<'static> = Budget::UNLIMITED;

/// A filter to be measured.
pub trait Competitor {
    /// Adds an item. Returns false if the filter is full.
    fn insert(&mut self, item: &Item) -> bool;

    /// Whether an item may have been added.
    fn contains(&self, item: &Item) -> bool;

    /// Adds a block of items and returns how many were added. By default, one at a time.
    fn insert_block(&mut self, items: &[Item; BLOCK_ITEMS]) -> u32 {
        items.iter().map(|item| u32::from(self.insert(item))).sum()
    }

    /// How many items of a block may have been added. By default, one at a time.
    fn contains_block(&self, items: &[Item; BLOCK_ITEMS]) -> u32 {
        (items.iter())
            .map(|item| u32::from(self.contains(item)))
            .sum()
    }

    /// Memory of the filter's data, in bytes.
    fn bytes(&self) -> u64;
}

/// Roughly's Bloom filter at an error rate of 0.001, one item at a time.
pub struct Bloom(pub Chain);

impl Bloom {
    pub fn new(items: u64) -> Self {
        let parameters = bloom::Parameters {
            capacity: items,
            error_rate: 0.001,
            expansion: 2,
            scaling: false,
        };
        Self(Chain::new(&parameters, UNLIMITED).expect("enough memory for the filter"))
    }
}

impl Competitor for Bloom {
    fn insert(&mut self, item: &Item) -> bool {
        let hash = self.0.hash(item);
        self.0.add(hash, UNLIMITED).is_ok()
    }

    fn contains(&self, item: &Item) -> bool {
        self.0.contains(self.0.hash(item))
    }

    fn bytes(&self) -> u64 {
        self.0.bit_bytes()
    }
}

/// The same filter, used like commands with many items do: in blocks, with prefetching.
pub struct BloomBlocks(pub Bloom);

impl Competitor for BloomBlocks {
    fn insert(&mut self, item: &Item) -> bool {
        self.0.insert(item)
    }

    fn contains(&self, item: &Item) -> bool {
        self.0.contains(item)
    }

    fn insert_block(&mut self, items: &[Item; BLOCK_ITEMS]) -> u32 {
        let chain = &mut self.0.0;
        let mut additions = Additions::new(items.iter().map(Item::as_slice), chain);
        let mut added = 0;
        while let Some(answer) = additions.add_next(UNLIMITED) {
            added += u32::from(answer.is_ok());
        }
        added
    }

    fn contains_block(&self, items: &[Item; BLOCK_ITEMS]) -> u32 {
        let hashes = items.map(|item| self.0.0.hash(&item));
        self.0.0.contains_block(&hashes).count_ones()
    }

    fn bytes(&self) -> u64 {
        self.0.bytes()
    }
}

/// Roughly's cuckoo filter without growth, one item at a time.
pub struct Cuckoo(pub CuckooFilter);

impl Cuckoo {
    pub fn new(slots: u64, bucket_size: u8, max_iterations: u16) -> Self {
        let parameters = cuckoo::Parameters {
            bucket_size,
            max_iterations,
            expansion: 0,
        };
        Self(CuckooFilter::new(slots, parameters, UNLIMITED).expect("enough memory for the filter"))
    }
}

impl Competitor for Cuckoo {
    fn insert(&mut self, item: &Item) -> bool {
        self.0.insert(item, UNLIMITED).is_ok()
    }

    fn contains(&self, item: &Item) -> bool {
        self.0.contains(item)
    }

    fn bytes(&self) -> u64 {
        self.0.num_buckets() * u64::from(self.0.parameters().bucket_size)
    }
}

/// The same filter, used like commands with many items do: in blocks, with prefetching.
pub struct CuckooBlocks(pub Cuckoo);

impl Competitor for CuckooBlocks {
    fn insert(&mut self, item: &Item) -> bool {
        self.0.insert(item)
    }

    fn contains(&self, item: &Item) -> bool {
        self.0.contains(item)
    }

    fn insert_block(&mut self, items: &[Item; BLOCK_ITEMS]) -> u32 {
        let mut stored = 0;
        let each = items.iter().map(|item| &item[..]);
        (self.0.0).insert_each(each, UNLIMITED, |done| stored += u32::from(done.is_ok()));
        stored
    }

    fn contains_block(&self, items: &[Item; BLOCK_ITEMS]) -> u32 {
        let mut found = 0;
        let each = items.iter().map(|item| &item[..]);
        self.0.0.contains_each(each, |is| found += u32::from(is));
        found
    }

    fn bytes(&self) -> u64 {
        self.0.bytes()
    }
}

impl Competitor for LevelDb {
    fn insert(&mut self, item: &Item) -> bool {
        self.insert(item);
        true
    }

    fn contains(&self, item: &Item) -> bool {
        self.contains(item)
    }

    fn bytes(&self) -> u64 {
        self.bytes()
    }
}

impl Competitor for PlainCuckoo {
    fn insert(&mut self, item: &Item) -> bool {
        self.insert(item)
    }

    fn contains(&self, item: &Item) -> bool {
        self.contains(item)
    }

    fn bytes(&self) -> u64 {
        self.bytes()
    }
}

/// The crate fastbloom, with its own hasher.
pub struct FastBloom(BloomFilter);

impl FastBloom {
    pub fn new(bits: u64, items: u64) -> Self {
        let builder = BloomFilter::with_num_bits(bits as usize).seed(&1);
        Self(builder.expected_items(items as usize))
    }
}

impl Competitor for FastBloom {
    fn insert(&mut self, item: &Item) -> bool {
        self.0.insert(item);
        true
    }

    fn contains(&self, item: &Item) -> bool {
        self.0.contains(item)
    }

    fn bytes(&self) -> u64 {
        self.0.num_bits() as u64 / 8
    }
}

/// The crate scalable_cuckoo_filter, with its own hasher. Its error rate is that of one-byte fingerprints in
/// buckets of four slots: 2 · 4 / 256.
pub struct Scalable(ScalableCuckooFilter<Item>);

impl Scalable {
    pub fn new(items: u64) -> Self {
        let builder = ScalableCuckooFilterBuilder::new()
            .initial_capacity(items as usize)
            .false_positive_probability(8.0 / 256.0);
        Self(builder.finish())
    }
}

impl Competitor for Scalable {
    fn insert(&mut self, item: &Item) -> bool {
        self.0.insert(item);
        true
    }

    fn contains(&self, item: &Item) -> bool {
        self.0.contains(item)
    }

    fn bytes(&self) -> u64 {
        self.0.bits() / 8
    }
}
