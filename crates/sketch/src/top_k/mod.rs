//! Top-k: the k most frequent items of a stream, in memory that does not depend on the stream.
//!
//! HeavyKeeper (Gong, Yang, Zhang, Li, Uhlig, Chen, Uden, Li: HeavyKeeper: An Accurate Algorithm for
//! Finding Top-k Elephant Flows, USENIX ATC 2018; spec: top-k.md). A table of `depth` rows of `width`
//! buckets counts items by fingerprint: an item's own bucket gains, another's decays with a
//! probability that falls exponentially with its count, so that frequent items hold their buckets and
//! rare ones lose them. A min-heap keeps the k items with the largest counts so met.
//!
//! - `rows`: from items to buckets
//! - `decay` and `random`: what happens in a bucket that is another's; the random numbers are part
//!   of the state
//! - `heap` and `index`: the k items, in the peer's order, found by hash
//! - [`stored`]: the byte formats, and the one way in from them
//!
//! Counts stop at 2^32 - 1.

mod decay;
mod heap;
mod index;
mod pairs;
mod random;
mod records;
mod rows;
pub mod stored;
#[cfg(test)]
mod tests;

use super::blocks::{BlockChanges, BlockMover, BlockVisitor, Blocks};
use super::hash::murmur64a;
use super::prefetch::prefetch;
use super::rows::{SHALLOW_ROWS, is_bearable, item_bytes};
use crate::memory::{Budget, OutOfMemory};
use decay::{Contest, Decay};
use heap::Heap;
use pairs::{PAIR_BYTES, Pairs};
use random::Random;
pub use rows::ItemHash;
use rows::Rows;

/// Width where none is asked for, in buckets a row.
pub const DEFAULT_WIDTH: u64 = 8;
/// Depth where none is asked for, in rows.
pub const DEFAULT_DEPTH: u64 = 7;
/// Decay where none is asked for.
pub const DEFAULT_DECAY: f64 = 0.9;

/// The largest increment of an item.
pub const MOST_INCREMENT: u32 = 100_000;
/// What a decrement costs, in bytes hashed.
const DECREMENT_BYTES: u64 = 16;

/// Items that are best hashed together, ahead of the first one's turn ([`TopK::hash`]).
pub const BLOCK: usize = 16;
/// Bytes of an element of the heap in memory and in the RDB format, see [`TopK::new`].
const ELEMENT_BYTES: u64 = PAIR_BYTES + stored::RECORD_BYTES as u64;
/// Tables larger than this many bytes are prefetched from: they fit in no core's own cache. In a batch an
/// addition to 56 MB then takes 143 ns instead of 408, to 3.4 MB 112 instead of 143.
const PREFETCH_FROM_BYTES: usize = 1 << 20;

/// Why a sketch cannot be made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TopKError {
    /// k is not in [1, 2^32 - 1].
    #[error("k is not in [1, 4294967295]")]
    InvalidK,
    /// The width is not in [1, 2^32 - 1].
    #[error("the width is not in [1, 4294967295]")]
    InvalidWidth,
    /// The depth is not in [1, 2^32 - 1].
    #[error("the depth is not in [1, 4294967295]")]
    InvalidDepth,
    /// The decay is not in (0, 1].
    #[error("the decay is not in (0, 1]")]
    InvalidDecay,
    /// The memory was refused, or its size does not fit 64 bits.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
}

/// What adding an item did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Added<'a> {
    /// The item that had to leave the top k for the new one.
    pub expelled: Option<&'a [u8]>,
    /// Whether the state of the sketch, its random state included, is another than before.
    pub changed: bool,
}

/// What came of an item in its buckets.
#[derive(Debug, Clone, Copy, Default)]
struct Met {
    /// The largest count of those that are its own now.
    largest: u32,
    /// Whether one of them changed.
    changed: bool,
}

/// A top-k sketch.
#[derive(Debug)]
pub struct TopK {
    rows: Rows,
    decay: Decay,
    /// (fingerprint, count), row by row; an empty bucket has count 0.
    buckets: Pairs,
    heap: Heap,
    random: Random,
}

/// The checked parameters of a sketch.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Shape {
    k: u32,
    width: u32,
    depth: u32,
    decay: f64,
}

impl Shape {
    fn new(k: u64, width: u64, depth: u64, decay: f64) -> Result<Self, TopKError> {
        let positive = |number: u64| u32::try_from(number).ok().filter(|&number| number > 0);
        Ok(Self {
            k: positive(k).ok_or(TopKError::InvalidK)?,
            width: positive(width).ok_or(TopKError::InvalidWidth)?,
            depth: positive(depth).ok_or(TopKError::InvalidDepth)?,
            decay: Some(decay)
                .filter(|&decay| decay > 0.0 && decay <= 1.0)
                .ok_or(TopKError::InvalidDecay)?,
        })
    }

    fn bucket_count(self) -> u64 {
        u64::from(self.width) * u64::from(self.depth)
    }

    /// Bytes of the bucket array; `None` if 64 bits cannot hold them.
    fn bucket_bytes(self) -> Option<u64> {
        self.bucket_count().checked_mul(PAIR_BYTES)
    }

    /// Asks `budget` for the memory of a sketch without items.
    fn ask_for_memory(self, budget: Budget<'_>) -> Result<(), OutOfMemory> {
        let bytes = self
            .bucket_bytes()
            .and_then(|bytes| bytes.checked_add(u64::from(self.k) * ELEMENT_BYTES));
        budget.request(bytes.unwrap_or(u64::MAX))
    }

    /// Feeds the parameters, as 32 bytes.
    fn digest(self, feed: &mut dyn FnMut(&[u8])) {
        for number in [self.k, self.width, self.depth] {
            feed(&u64::from(number).to_le_bytes());
        }
        feed(&self.decay.to_le_bytes());
    }
}

/// A hash over pieces of content: where a sketch without a random state of its own starts from.
fn seed_from(digest: impl FnOnce(&mut dyn FnMut(&[u8]))) -> Random {
    let mut seed = 0;
    digest(&mut |piece| seed = murmur64a(piece, seed));
    Random::from_seed(seed)
}

impl TopK {
    /// An empty sketch of the `k` most frequent items with `depth` rows of `width` buckets (all in
    /// [1, 2^32 - 1]) and a decay in (0, 1].
    ///
    /// Takes 8 bytes a bucket and 8 an element of the heap at once (untouched pages cost nothing), and 24 more an
    /// element, for saving, where k is above 43,690; and for each item that enters the heap its bytes and one
    /// more, 32 for its slot and 16 to 32 for its index entry. `budget` is asked for 8 bytes a bucket and 32 an
    /// element.
    ///
    /// # Errors
    /// See [`TopKError`], in the order of its variants.
    pub fn new(
        k: u64,
        width: u64,
        depth: u64,
        decay: f64,
        budget: Budget<'_>,
    ) -> Result<Self, TopKError> {
        let shape = Shape::new(k, width, depth, decay)?;
        shape.ask_for_memory(budget)?;
        let buckets = Pairs::zeroed(shape.bucket_count())?;
        let heap = Heap::new(shape.k)?;
        let random = seed_from(|feed| shape.digest(feed));
        Ok(Self::assemble(shape, buckets, heap, random))
    }

    fn assemble(shape: Shape, buckets: Pairs, heap: Heap, random: Random) -> Self {
        Self {
            rows: Rows::new(shape.width, shape.depth),
            decay: Decay::new(shape.decay),
            buckets,
            heap,
            random,
        }
    }

    /// k: how many items are kept.
    #[must_use]
    pub fn k(&self) -> u32 {
        self.shape().k
    }

    /// Buckets a row.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.rows.width
    }

    /// Rows.
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.rows.depth
    }

    /// Whether adding these items, with their increments, takes a bearable time: always up to 32 rows
    /// with a decay that needs no more than 1,000 random numbers a row (up to 0.993), else so much that it
    /// costs what hashing 4 GiB does. Cost: a step an item there, none in other sketches.
    #[must_use]
    pub fn is_bearable<'a>(&self, items: impl Iterator<Item = (&'a [u8], u32)>) -> bool {
        let rows = u64::from(self.rows.depth);
        let costs = items.map(|(item, increment)| {
            let numbers = self.decay.most_decrements(increment);
            item_bytes(item, rows).saturating_add(rows.saturating_mul(numbers * DECREMENT_BYTES))
        });
        rows <= SHALLOW_ROWS && self.decay.is_quick || is_bearable(costs)
    }

    /// The base of the probability with which buckets decay.
    #[must_use]
    pub fn decay(&self) -> f64 {
        self.decay.base
    }

    /// How many items the heap holds now, those with count 0 included.
    #[must_use]
    pub fn items_held(&self) -> usize {
        self.heap.occupied()
    }

    fn shape(&self) -> Shape {
        // The heap was made with a 32-bit k.
        #[allow(clippy::cast_possible_truncation)]
        let k = self.heap.len() as u32;
        Shape {
            k,
            width: self.rows.width,
            depth: self.rows.depth,
            decay: self.decay.base,
        }
    }

    /// Hashes an item whose turn comes soon, and asks for the memory that it will need where the sketch
    /// exceeds the caches. Cost: one pass over the item.
    #[inline]
    #[must_use]
    pub fn hash(&self, item: &[u8]) -> ItemHash {
        let hash = self.rows.hash(item);
        let bytes = self.buckets.bytes();
        if bytes.len() > PREFETCH_FROM_BYTES {
            for bucket in self.rows.first_buckets(&hash) {
                prefetch(bytes, bucket * PAIR_BYTES as usize);
            }
        }
        if self.heap.index_bytes() > PREFETCH_FROM_BYTES {
            self.heap.prefetch(item, hash.fingerprint);
        }
        hash
    }

    /// Bytes that the sketch would take more to add an item with its hash ([`TopK::hash`]); none where it has
    /// taken them before. Cost: a hash look-up at most.
    #[must_use]
    pub fn growth(&self, item: &[u8], hash: &ItemHash) -> u64 {
        if self.heap.has_vacant_root() && self.heap.find(item, hash.fingerprint).is_some() {
            return 0;
        }
        self.heap.growth(item.len())
    }

    /// Adds `increment` occurrences of an item, with all the memory that the allocator gives.
    ///
    /// # Errors
    /// See [`TopK::add_hashed`].
    pub fn add(&mut self, item: &[u8], increment: u32) -> Result<Added<'_>, OutOfMemory> {
        let hash = self.hash(item);
        let mut uncounted = BlockChanges::<()>::default();
        self.add_hashed(item, &hash, increment, Budget::UNLIMITED, &mut uncounted)
    }

    /// Adds `increment` occurrences of an item with its hash ([`TopK::hash`]). `budget` is asked before
    /// each block of memory that is taken (by its bytes); `changes` is shown the blocks that go and come.
    ///
    /// Cost: one bucket a row and, beyond seven rows, a pass over the item for every eight; a hash
    /// look-up and a sift through at most log2(k) elements if the item is among the top k; in a bucket
    /// that decays, one random number a decrement, whatever the increment.
    ///
    /// # Errors
    /// [`OutOfMemory`] if there is none for an item that might enter the heap; nothing has changed then.
    pub fn add_hashed(
        &mut self,
        item: &[u8],
        hash: &ItemHash,
        increment: u32,
        budget: Budget<'_>,
        changes: &mut BlockChanges<impl BlockVisitor>,
    ) -> Result<Added<'_>, OutOfMemory> {
        // Looked up before the memory is reserved while every item that is not in the heap enters it, so that the others
        // take none.
        let has_vacant_root = self.heap.has_vacant_root();
        let mut place = None;
        if has_vacant_root {
            place = self.heap.find(item, hash.fingerprint);
        }
        if place.is_none() {
            self.heap.reserve(item.len(), budget, changes)?;
        }
        let random_before = self.random;
        let met = match increment {
            1 if self.decay.is_chance() => self.count_once(item, hash),
            _ => self.count_several(item, hash, increment),
        };
        let mut changed = met.changed || self.random != random_before;
        let mut expelled = None;
        let heap = &mut self.heap;
        if met.largest >= heap.root_count() {
            if !has_vacant_root {
                place = heap.find(item, hash.fingerprint);
            }
            if let Some(place) = place {
                changed |= heap.set_count(place, met.largest);
            } else {
                expelled = heap.replace_root(item, hash.fingerprint, met.largest, changes);
                changed = true;
            }
        }
        Ok(Added { expelled, changed })
    }

    /// Counts one occurrence of an item in its bucket of each row.
    #[inline]
    fn count_once(&mut self, item: &[u8], hash: &ItemHash) -> Met {
        let (decay, buckets, fingerprint) = (&self.decay, &mut self.buckets, hash.fingerprint);
        let mut random = self.random;
        let mut met = Met::default();
        self.rows.for_each_bucket(
            item,
            hash,
            #[inline(always)]
            |bucket| {
                let before = buckets.get(bucket);
                let after = decay.one_more(before, fingerprint, &mut random);
                // Written also where it stays as it is, for which the server may copy a page while it saves in
                // the background: a branch on that makes an addition take half as long again.
                buckets.set(bucket, after);
                met.changed |= after != before;
                let (owner, count) = after;
                met.largest = met
                    .largest
                    .max(if owner == fingerprint { count } else { 0 });
            },
        );
        self.random = random;
        met
    }

    /// Counts so many occurrences of an item in its bucket of each row.
    fn count_several(&mut self, item: &[u8], hash: &ItemHash, increment: u32) -> Met {
        let (decay, buckets, fingerprint) = (&self.decay, &mut self.buckets, hash.fingerprint);
        let mut met = Met::default();
        self.rows.for_each_bucket(item, hash, |bucket| {
            let before = buckets.get(bucket);
            let (owner, count) = before;
            let after = if count == 0 {
                (fingerprint, increment)
            } else if owner == fingerprint {
                (fingerprint, count.saturating_add(increment))
            } else {
                match decay.contest(count, increment, &mut self.random) {
                    Contest::Kept(count) => (owner, count),
                    Contest::Taken(count) => (fingerprint, count),
                }
            };
            if after.0 == fingerprint {
                met.largest = met.largest.max(after.1);
            }
            if after != before {
                buckets.set(bucket, after);
                met.changed = true;
            }
        });
        met
    }

    /// Whether the item is among the top k. Cost: one pass over the item and a hash look-up.
    #[must_use]
    pub fn query(&self, item: &[u8]) -> bool {
        self.heap.find(item, rows::fingerprint_of(item)).is_some()
    }

    /// The estimated number of occurrences of an item ([`TopK::count_hashed`]).
    #[must_use]
    pub fn count(&self, item: &[u8]) -> u32 {
        self.count_hashed(item, &self.rows.hash(item))
    }

    /// The estimated number of occurrences of an item with its hash ([`TopK::hash`]): the largest count
    /// among its own buckets, of which an item of the heap disregards those below the count of the
    /// heap's root. Cost: as for [`TopK::add_hashed`], without the sift.
    #[must_use]
    pub fn count_hashed(&self, item: &[u8], hash: &ItemHash) -> u32 {
        let mut largest = 0;
        self.rows.for_each_bucket(item, hash, |bucket| {
            let (owner, count) = self.buckets.get(bucket);
            if owner == hash.fingerprint {
                largest = largest.max(count);
            }
        });
        // Of counts below the root's none counts if the largest does not.
        if largest < self.heap.root_count() && self.heap.find(item, hash.fingerprint).is_some() {
            return 0;
        }
        largest
    }

    /// The items of the heap whose counts are not 0, with their counts, from the largest count;
    /// equal counts in heap order. Sorts numbers and copies no item. Cost: O(k log k).
    ///
    /// # Errors
    /// [`OutOfMemory`] if there is none for four bytes an item.
    pub fn list(&self) -> Result<impl ExactSizeIterator<Item = (&[u8], u32)>, OutOfMemory> {
        let places = self.heap.by_count()?;
        Ok(places
            .into_iter()
            .map(|place| self.heap.item_at(place as usize)))
    }

    /// The bucket array: what the chunks of a dump hold. Every content is a valid one.
    #[must_use]
    pub fn bucket_bytes(&self) -> &[u8] {
        self.buckets.bytes()
    }

    /// [`TopK::digest`] without the random state.
    fn digest_content(&self, feed: &mut dyn FnMut(&[u8])) {
        self.shape().digest(feed);
        feed(self.buckets.bytes());
        for element in self.heap.iter() {
            feed(&element.place.to_le_bytes());
            feed(&element.count.to_le_bytes());
            feed(&(element.item.len() as u64).to_le_bytes());
            feed(element.item);
        }
    }
}

impl PartialEq for TopK {
    /// Equality of the logical state, as [`TopK::digest`] feeds it.
    fn eq(&self, other: &Self) -> bool {
        self.shape() == other.shape()
            && self.random == other.random
            && self.buckets == other.buckets
            && self.heap.iter().eq(other.heap.iter())
    }
}

/// Block 0 is the bucket array; the heap's follow.
impl Blocks for TopK {
    fn for_each_block(&self, visitor: &mut impl BlockVisitor) {
        self.buckets.visit(visitor);
        self.heap.for_each_block(visitor);
    }

    fn relocate_block(&mut self, index: usize, mover: &mut impl BlockMover) -> bool {
        match index.checked_sub(1) {
            None => {
                self.buckets.relocate(mover);
                true
            }
            Some(index) => self.heap.relocate_block(index, mover),
        }
    }
}
