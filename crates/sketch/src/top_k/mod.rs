//! Top-k: the k most frequent items of a stream, in memory that does not depend on the length of the stream.
//!
//! This is HeavyKeeper (Gong et al., "HeavyKeeper: An Accurate Algorithm for Finding Top-k Elephant Flows", USENIX ATC
//! 2018). A table of `depth` rows of `width` buckets counts items by fingerprint. An item increments a
//! bucket that holds its own fingerprint. A bucket that holds another fingerprint decays: its count drops with a
//! probability that falls exponentially with the count. Frequent items therefore keep their buckets and rare items lose
//! them. A min-heap keeps the k items with the largest counts seen.
//!
//! - `item_hash`: fingerprints and buckets of an item
//! - `decay` and `random`: decay of a bucket; the random numbers are part of the state
//! - `heap` and `index`: the k items in the heap order of RedisBloom, and their lookup by hash; `item`: an item in its slot
//! - `merge`: the merge of sketches without a window
//! - [`stored`]: the stored forms
//! - [`window`]: the sketch with a sliding window
//!
//! Counts saturate at 2^32 - 1.

mod accuracy;
mod decay;
mod heap;
mod index;
mod item;
mod item_hash;
mod merge;
mod pairs;
mod parameters;
pub(crate) mod random;
mod records;
pub mod stored;
mod table;
#[cfg(test)]
mod tests;
pub mod window;

use super::blocks::{BlockChanges, BlockMover, BlockVisitor, Blocks};
use super::hash::murmur64a;
use super::work_limit::{MAX_ROWS_WITHOUT_LIMIT, hash_work, within_work_limit};
use crate::hash::modulus::Modulus;
use crate::hash::rows::Rows;
use crate::memory::{Budget, OutOfMemory};
use crate::prefetch::prefetch;
use crate::window::Timed;
use decay::Decay;
use heap::Heap;
pub use item_hash::ItemHash;
use item_hash::{Buckets, fingerprint_of};
pub use merge::MergeError;
use pairs::Pairs;
use parameters::Parameters;
pub use parameters::{DEFAULT_DECAY, DEFAULT_DEPTH, DEFAULT_WIDTH, TopKError};
use random::Random;
use std::cmp::Reverse;
use table::Table;
pub use window::{RankingCache, TopKWindow};

/// The largest increment of an item that TOPK.INCRBY accepts.
pub const MAX_INCREMENT: u32 = 100_000;
/// The work of a decrement, as an equivalent number of hashed bytes.
const DECREMENT_WORK: u64 = 32;

/// Items to hash ahead of the first addition ([`TopK::hash`]), so that their buckets are prefetched.
pub const BLOCK_ITEMS: usize = 16;
/// Tables and indexes larger than this many bytes are prefetched: they do not fit in the cache of a core.
const MIN_PREFETCH_BYTES: usize = 1 << 20;

/// A list prefetches items this many places ahead.
const LIST_AHEAD: usize = 8;

/// The result of adding an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Added<'a> {
    /// The item that the new one replaced in the top k.
    pub expelled: Option<&'a [u8]>,
    /// Whether the state of the sketch, its random state included, has changed.
    pub changed: bool,
}

/// A top-k sketch.
///
/// # Example
///
/// ```
/// use roughly_sketch::memory::Budget;
/// use roughly_sketch::top_k::{DEFAULT_DECAY, TopK};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// // TOPK.RESERVE fruit 2 50 4 0.9, TOPK.INCRBY fruit apple 3, TOPK.ADD fruit pear
/// let mut fruit = TopK::new(2, 50, 4, DEFAULT_DECAY, Budget::UNLIMITED)?;
/// fruit.add(b"apple", 3)?;
/// fruit.add(b"pear", 1)?;
/// let list: Vec<_> = fruit.list()?.collect();
/// assert_eq!(list, [(&b"apple"[..], 3), (b"pear", 1)]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
#[repr(C)] // so that the fields that an addition reads are in few cache lines
pub struct TopK {
    width: u32,
    depth: u32,
    /// Computes remainders by the width.
    modulus: Modulus<u32>,
    random: Random,
    table: Table,
    heap: Heap,
    decay: Decay,
}

/// The work of adding these items with their increments to a table of this many rows, item by item.
fn add_work<'a>(
    items: impl Iterator<Item = (&'a [u8], u32)>,
    rows: u64,
    decay: &Decay,
) -> impl Iterator<Item = u64> {
    items.map(move |(item, increment)| {
        let decrements = decay.max_decrements(increment);
        hash_work(item, rows).saturating_add(rows.saturating_mul(decrements * DECREMENT_WORK))
    })
}

/// The initial random state that is derived from the content: a hash over the chunks that `digest` feeds.
fn seed_from(digest: impl FnOnce(&mut dyn FnMut(&[u8]))) -> Random {
    let mut seed = 0;
    digest(&mut |chunk| seed = murmur64a(chunk, seed));
    Random::from_seed(seed)
}

impl TopK {
    /// An empty sketch of the `k` most frequent items with `depth` rows of `width` buckets (all in
    /// [1, 2^32 - 1]) and a decay in (0, 1].
    ///
    /// Allocates 8 bytes per bucket and 8 per heap element (the operating system provides pages when they are first
    /// used), 24 more per element, for saving, if k is above 43,690, and 384 for a decay other than [`DEFAULT_DECAY`]. Each item that
    /// enters the heap takes 32 bytes for its slot and, if k is above 16, 16 to 32 for its index entry. An item of more than 14 bytes
    /// also takes its bytes and one more. Requests 8 bytes per bucket and 32 per element from `budget` at once.
    ///
    /// # Errors
    /// See [`TopKError`]; its variants are checked in order.
    pub fn new(
        k: u64,
        width: u64,
        depth: u64,
        decay: f64,
        budget: Budget<'_>,
    ) -> Result<Self, TopKError> {
        let parameters = Parameters::new(k, width, depth, decay)?;
        parameters.request_memory(budget)?;
        let table = Table {
            buckets: Pairs::zeroed(parameters.bucket_count())?,
        };
        let heap = Heap::new(parameters.k)?;
        let random = seed_from(|feed| parameters.digest(feed));
        Ok(Self::assemble(parameters, table, heap, random))
    }

    /// Checks the parameters of [`TopK::new`].
    ///
    /// # Errors
    /// As [`TopK::new`], except for [`TopKError::OutOfMemory`].
    pub fn check(k: u64, width: u64, depth: u64, decay: f64) -> Result<(), TopKError> {
        Parameters::new(k, width, depth, decay).map(|_| ())
    }

    fn assemble(parameters: Parameters, table: Table, heap: Heap, random: Random) -> Self {
        Self {
            width: parameters.width,
            depth: parameters.depth,
            modulus: Modulus::<u32>::new(parameters.width.into()),
            decay: Decay::new(parameters.decay),
            table,
            heap,
            random,
        }
    }

    /// k, the maximum number of items in the list.
    #[must_use]
    pub fn k(&self) -> u32 {
        self.parameters().k
    }

    /// Buckets per row.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.width
    }

    /// Number of rows.
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.depth
    }

    /// The base of the probability with which buckets decay, in (0, 1].
    #[must_use]
    pub fn decay(&self) -> f64 {
        self.decay.base
    }

    /// Number of items in the heap, those with count 0 included.
    #[must_use]
    pub fn item_count(&self) -> usize {
        self.heap.occupied()
    }

    fn parameters(&self) -> Parameters {
        Parameters {
            // The heap was created with a 32-bit k.
            k: self.heap.len() as u32,
            width: self.width,
            depth: self.depth,
            decay: self.decay.base,
        }
    }

    #[inline]
    fn rows(&self) -> Rows {
        Rows {
            width: self.width as usize,
            depth: self.depth as usize,
            modulus: self.modulus,
        }
    }

    /// Whether one command may add these items with their increments. There is no limit for up to 32 rows with a decay
    /// that needs at most 1,000 random numbers per row (up to 0.993); otherwise the limit is the work of hashing 512 MiB.
    /// Cost: one step per item if there is a limit.
    #[must_use]
    pub fn within_work_limit<'a>(&self, items: impl Iterator<Item = (&'a [u8], u32)>) -> bool {
        let rows = u64::from(self.depth);
        rows <= MAX_ROWS_WITHOUT_LIMIT && self.decay.is_fast
            || within_work_limit(
                add_work(items, rows, &self.decay),
                rows,
                self.table.buckets.bytes.len() as u64,
            )
    }

    /// Hashes an item that will be added or counted soon. If the sketch is larger than the caches, prefetches its
    /// buckets and index entry. Cost: one pass over the item.
    #[inline]
    #[must_use]
    pub fn hash(&self, item: &[u8]) -> ItemHash {
        let rows = self.rows();
        let hash = ItemHash::new(item, rows);
        self.table.prefetch(hash.first_buckets(rows));
        if self.heap.index_bytes() > MIN_PREFETCH_BYTES {
            self.heap.prefetch(item, hash.fingerprint);
        }
        hash
    }

    /// The maximum number of bytes by which the sketch grows if the item, with its hash ([`TopK::hash`]), is added.
    /// Cost: at most one hash lookup.
    #[must_use]
    pub fn growth(&self, item: &[u8], hash: &ItemHash) -> u64 {
        match self.heap.growth(item.len()) {
            0 => 0,
            _ if self.heap.find(item, hash.fingerprint).is_some() => 0,
            bytes => bytes,
        }
    }

    /// Adds `increment` occurrences of an item, without a memory budget.
    ///
    /// # Errors
    /// See [`TopK::add_hashed`].
    pub fn add(&mut self, item: &[u8], increment: u32) -> Result<Added<'_>, OutOfMemory> {
        let hash = self.hash(item);
        let mut uncounted = BlockChanges::<()>::default();
        self.add_hashed(item, &hash, increment, Budget::UNLIMITED, &mut uncounted)
    }

    /// Adds `increment` occurrences of an item with its hash ([`TopK::hash`]). `budget` is asked for the bytes of each
    /// block before it is allocated; `changes` records the blocks that are freed and allocated.
    ///
    /// Cost: one bucket per row and, beyond seven rows, one pass over the item per eight rows. If the item is among the
    /// top k: a hash lookup, and a sift through at most log2(k) elements. In a bucket that decays: one random number
    /// per decrement, for any increment.
    ///
    /// # Errors
    /// [`OutOfMemory`] if the memory for an item that might enter the heap is refused; then nothing has changed.
    pub fn add_hashed(
        &mut self,
        item: &[u8],
        hash: &ItemHash,
        increment: u32,
        budget: Budget<'_>,
        changes: &mut BlockChanges<impl BlockVisitor>,
    ) -> Result<Added<'_>, OutOfMemory> {
        // The lookup precedes a reservation, so that an item of the heap reserves no memory.
        let needs_memory = self.heap.needs_memory(item.len());
        let mut position = None;
        if needs_memory {
            position = self.heap.find(item, hash.fingerprint);
            if position.is_none() {
                self.heap.reserve(item.len(), budget, changes)?;
            }
        }
        let random_before = self.random;
        let rows = self.rows();
        let buckets = Buckets { item, hash, rows };
        let counted = (self.table).count(buckets, increment, &self.decay, &mut self.random);
        let mut changed = counted.changed || self.random != random_before;
        let mut expelled = None;
        let heap = &mut self.heap;
        if counted.max_count >= heap.root_count() {
            if !needs_memory {
                position = heap.find(item, hash.fingerprint);
            }
            if let Some(position) = position {
                changed |= heap.set_count(position, counted.max_count);
            } else {
                expelled = heap.replace_root(item, hash.fingerprint, counted.max_count, changes);
                changed = true;
            }
        }
        Ok(Added { expelled, changed })
    }

    /// Whether the item is among the top k. Cost: one pass over the item and a hash lookup.
    #[must_use]
    pub fn query(&self, item: &[u8]) -> bool {
        self.heap.find(item, fingerprint_of(item)).is_some()
    }

    /// The estimated number of occurrences of an item; see [`TopK::count_hashed`].
    #[must_use]
    pub fn count(&self, item: &[u8]) -> u32 {
        self.count_hashed(item, &ItemHash::new(item, self.rows()))
    }

    /// The estimated number of occurrences of an item with its hash ([`TopK::hash`]): the largest count of the buckets
    /// that hold its fingerprint. For an item of the heap, counts below the root's are disregarded. Cost: as
    /// [`TopK::add_hashed`], without the sift.
    #[must_use]
    pub fn count_hashed(&self, item: &[u8], hash: &ItemHash) -> u32 {
        let rows = self.rows();
        let max_count = self.table.estimate(Buckets { item, hash, rows });
        // If the largest count is below the root's, so are the others.
        if max_count < self.heap.root_count() && self.heap.find(item, hash.fingerprint).is_some() {
            return 0;
        }
        max_count
    }

    /// The items of the heap with counts above 0 and their counts, from the largest count to the smallest; equal counts
    /// in heap order. Copies no item. Cost: O(k log k).
    ///
    /// # Errors
    /// [`OutOfMemory`] if the allocator refuses 24 bytes per item.
    pub fn list(&self) -> Result<impl ExactSizeIterator<Item = (&[u8], u32)>, OutOfMemory> {
        let listed = self.heap.by_count()?;
        Ok((0..listed.len()).map(move |index| {
            if let Some((.., later)) = listed.get(index + LIST_AHEAD) {
                prefetch(later, 0);
            }
            let (Reverse(count), _, item) = listed[index];
            (item, count)
        }))
    }

    /// The bucket array, which the chunks of a dump hold. Any contents are valid.
    #[must_use]
    pub fn bucket_bytes(&self) -> &[u8] {
        &self.table.buckets.bytes
    }

    /// [`Stored::digest`](crate::stored::Stored::digest) without the random state.
    fn digest_content(&self, feed: &mut dyn FnMut(&[u8])) {
        self.parameters().digest(feed);
        feed(&self.table.buckets.bytes);
        for element in self.heap.iter() {
            feed(&element.position.to_le_bytes());
            feed(&element.count.to_le_bytes());
            feed(&(element.item.len() as u64).to_le_bytes());
            feed(element.item);
        }
    }
}

impl PartialEq for TopK {
    /// Equality of the logical state, as [`Stored::digest`](crate::stored::Stored::digest) feeds it.
    fn eq(&self, other: &Self) -> bool {
        self.parameters() == other.parameters()
            && self.random == other.random
            && self.table == other.table
            && self.heap.iter().eq(other.heap.iter())
    }
}

impl Timed for TopK {}

/// Block 0 is the bucket array, and block 1 the powers of the decay; the blocks of the heap follow.
impl Blocks for TopK {
    fn for_each_block(&self, visitor: &mut impl BlockVisitor) {
        self.table.buckets.bytes.visit(visitor);
        visitor.visit(&self.decay.powers);
        self.heap.for_each_block(visitor);
    }

    fn relocate_block(&mut self, index: usize, mover: &mut impl BlockMover) -> bool {
        match index {
            0 => self.table.buckets.bytes.relocate(mover),
            1 => mover.relocate(&mut self.decay.powers),
            _ => return self.heap.relocate_block(index - 2, mover),
        }
        true
    }
}
