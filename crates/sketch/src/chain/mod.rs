//! [`Chain`]: a scalable Bloom filter, that is a chain of Bloom filters, each with a larger capacity and a smaller error
//! rate than the previous one (Almeida, Baquero, Preguiça & Hutchison, "Scalable Bloom Filters", Information Processing
//! Letters 101(6), 2007).
//!
//! Items are added to the newest filter and looked up in all of them. A [`Layout`] determines the stored bits: hashes, sizes
//! and growth. [`bloom`](crate::bloom) and [`valkey_bloom`](crate::valkey_bloom) have one each, with their stored formats.

mod accuracy;
pub mod batch;
mod bits;
mod filter;

pub use bits::{ItemHash, Probes};
pub use filter::{Filter, FilterShape};

use crate::batch::fill;
use crate::blocks::{BlockMover, BlockVisitor, Blocks};
use crate::memory::{Budget, OutOfMemory};
use crate::one_or_many::OneOrMany;
use crate::prefetch::with_wide_vectors;
use crate::window::Timed;
use bits::BLOCK_ITEMS;
use std::fmt::Debug;

/// The parameters of a chain that are not those of each filter, and what depends on its type.
pub trait Layout: Copy + Debug {
    /// The parameters of a filter. Those that all filters of a chain share may be there too.
    type Shape: FilterShape;
    /// The limit on the size of a chain that grows.
    type Limit: Copy + Debug;
    /// An error of an addition.
    type Error;
    /// The largest number of items, where the capacities do not limit it.
    const MAX_ITEMS: u64 = u64::MAX;

    /// The hashes of `item` for all filters of the chain; `newest` is the newest of them. Cost: two passes over the bytes.
    fn hash(newest: &Filter<Self::Shape>, item: &[u8]) -> ItemHash;

    /// Whether the chain, of which `newest` is the newest filter, adds a filter when it is full.
    fn is_scaling(&self, newest: &Filter<Self::Shape>) -> bool;

    /// Updates what the layout stores about the filters, after one with this capacity, these bytes of its bits and hashes was
    /// appended. The chain has `filters` of them now.
    fn count(&mut self, _capacity: u64, _bytes: u64, _hashes: u32, _filters: usize) {}

    /// Appends the next filter to a full chain, with capacity for at least one item.
    ///
    /// # Errors
    /// Why the chain does not grow. It is then unchanged.
    fn grow(
        chain: &mut Chain<Self>,
        limit: Self::Limit,
        budget: Budget<'_>,
    ) -> Result<(), Self::Error>;
}

/// A scalable Bloom filter: at least one filter, oldest first; see the [module documentation](self).
#[derive(Debug)]
pub struct Chain<L: Layout> {
    /// The summary is the items of all filters but the newest, saturating.
    filters: OneOrMany<Filter<L::Shape>, u64>,
    pub(crate) layout: L,
}

impl<L: Layout> Chain<L> {
    /// A chain without filters, to which at least one must be appended.
    pub(crate) fn without_filters(layout: L) -> Self {
        Self {
            filters: OneOrMany::default(),
            layout,
        }
    }

    /// Appends a filter.
    pub(crate) fn push(&mut self, filter: Filter<L::Shape>) -> Result<(), OutOfMemory> {
        let (hashes, capacity) = (filter.hashes(), filter.capacity());
        let bytes = filter.bits().len() as u64;
        let older_items = self.items();
        self.filters.push(filter)?;
        self.filters.set_summary(older_items);
        let filters = self.filters.len();
        self.layout.count(capacity, bytes, hashes, filters);
        Ok(())
    }

    /// A copy.
    pub(crate) fn copy(&self) -> Result<Self, OutOfMemory> {
        Ok(Self {
            filters: self.filters.try_clone()?,
            layout: self.layout,
        })
    }

    /// Removes the newest filters until `len` are left, at least one.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.filters.truncate(len);
        self.count_items();
    }

    /// The filters, oldest first, for writing. After their numbers of items have changed, call [`Chain::count_items`].
    pub(crate) fn filters_mut(&mut self) -> &mut [Filter<L::Shape>] {
        &mut self.filters
    }

    /// Adds up the items of the filters.
    pub(crate) fn count_items(&mut self) {
        let older = self.filters.older().iter().map(Filter::items);
        let older_items = older.fold(0, u64::saturating_add);
        self.filters.set_summary(older_items);
    }

    /// The hashes of `item`.
    #[inline(always)]
    fn hash(&self, item: &[u8]) -> ItemHash {
        // A chain always has a filter.
        (self.filters.newest()).map_or(ItemHash::default(), |newest| L::hash(newest, item))
    }

    /// The filters, oldest first.
    #[must_use]
    pub fn filters(&self) -> &[Filter<L::Shape>] {
        &self.filters
    }

    /// Items added to the whole chain, at most `i64::MAX`.
    #[must_use]
    pub fn items(&self) -> u64 {
        let newest = self.filters.newest().map_or(0, Filter::items);
        self.filters.summary().saturating_add(newest)
    }

    /// Whether the chain adds a filter when it is full.
    #[must_use]
    pub fn is_scaling(&self) -> bool {
        (self.filters.newest()).is_some_and(|newest| self.layout.is_scaling(newest))
    }

    /// Items that can be added before the newest filter is full.
    #[must_use]
    pub fn remaining_capacity(&self) -> u64 {
        (self.filters.newest()).map_or(0, |newest| newest.capacity().saturating_sub(newest.items()))
    }

    /// Whether an item may have been added: no false negatives.
    ///
    /// Cost: two passes over the item, and at most `hashes` probes per filter, from the newest to the oldest.
    #[inline]
    #[must_use]
    pub fn contains(&self, item: &[u8]) -> bool {
        any_contains(&self.filters, self.hash(item))
    }

    /// [`Chain::contains`] for a chain whose bits are elsewhere: `byte_at` returns the byte at an offset of the bit array of a
    /// filter, of which the oldest has number 0.
    ///
    /// # Errors
    /// Those of `byte_at`.
    pub(crate) fn contains_by<E>(
        &self,
        item: &[u8],
        mut byte_at: impl FnMut(usize, u64) -> Result<u8, E>,
    ) -> Result<bool, E> {
        let hash = self.hash(item);
        for (number, filter) in self.filters.iter().enumerate().rev() {
            if filter.contains_by(hash, |offset| byte_at(number, offset))? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// [`Chain::contains`] for several items in order. The cache misses of each block of 64 items overlap.
    #[inline]
    pub fn contains_each<'a>(
        &self,
        items: impl Iterator<Item = &'a [u8]>,
        mut on_result: impl FnMut(bool),
    ) {
        let mut hashes = items.map(|item| self.hash(item)).fuse();
        let mut block = [ItemHash::default(); BLOCK_ITEMS];
        while let block @ [_, ..] = fill(&mut block, &mut hashes) {
            let found = any_contains_block(&self.filters, block);
            (0..block.len()).for_each(|n| on_result(found >> n & 1 != 0));
        }
    }

    /// Adds an item unless [`Chain::contains`] is true for it. Returns whether it was added.
    ///
    /// If it does not fit, a scaling chain adds a filter within `limit`, whose bytes are requested from `budget`.
    ///
    /// # Errors
    /// [`Layout::Error`]. The chain is then unchanged.
    #[inline]
    pub fn add(
        &mut self,
        item: &[u8],
        limit: L::Limit,
        budget: Budget<'_>,
    ) -> Result<bool, L::Error> {
        self.add_hashed(self.hash(item), limit, budget)
    }

    /// [`Chain::add`] for the hashes of an item.
    #[inline]
    fn add_hashed(
        &mut self,
        hash: ItemHash,
        limit: L::Limit,
        budget: Budget<'_>,
    ) -> Result<bool, L::Error> {
        if any_contains(self.filters.older(), hash) {
            return Ok(false);
        }
        self.add_to_newest(hash, limit, budget)
    }

    /// [`Chain::add_hashed`] for an item that is not in an older filter.
    #[inline]
    fn add_to_newest(
        &mut self,
        hash: ItemHash,
        limit: L::Limit,
        budget: Budget<'_>,
    ) -> Result<bool, L::Error> {
        let max_items = L::MAX_ITEMS.saturating_sub(self.filters.summary());
        if let Some(newest) = self.filters.newest_mut()
            && !newest.is_full()
            && newest.items() < max_items
        {
            return Ok(newest.insert(hash));
        }
        self.add_to_full(hash, limit, budget)
    }

    #[cold]
    fn add_to_full(
        &mut self,
        hash: ItemHash,
        limit: L::Limit,
        budget: Budget<'_>,
    ) -> Result<bool, L::Error> {
        if (self.filters.newest()).is_some_and(|newest| newest.contains(hash)) {
            return Ok(false);
        }
        L::grow(self, limit, budget)?;
        // The new filter is empty.
        if let Some(newest) = self.filters.newest_mut() {
            newest.insert(hash);
        }
        Ok(true)
    }
}

/// Whether one of the filters contains the item, from the newest to the oldest.
#[inline]
fn any_contains<S: FilterShape>(filters: &[Filter<S>], hash: ItemHash) -> bool {
    filters.iter().rev().any(|filter| filter.contains(hash))
}

/// [`any_contains`] for up to [`BLOCK_ITEMS`] items. Bit n of the result is for item n.
fn any_contains_block<S: FilterShape>(filters: &[Filter<S>], hashes: &[ItemHash]) -> u64 {
    with_wide_vectors(
        #[inline(always)]
        || {
            let mut absent = u64::MAX.unbounded_shr((BLOCK_ITEMS - hashes.len()) as u32);
            let mut present = 0;
            for filter in filters.iter().rev() {
                if absent == 0 {
                    break;
                }
                let found = filter.lookup().contains_block(hashes, absent);
                present |= found;
                absent &= !found;
            }
            present
        },
    )
}

impl<L: Layout> Timed for Chain<L> {}

impl<L: Layout> Blocks for Chain<L> {
    fn for_each_block(&self, visitor: &mut impl BlockVisitor) {
        self.filters.for_each_block(visitor);
    }

    fn relocate_block(&mut self, index: usize, mover: &mut impl BlockMover) -> bool {
        self.filters.relocate_block(index, mover)
    }
}

// The limit on the hash functions of a chain, of RedisBloom's and of valkey-bloom's type. A look-up computes at most all hash
// functions of all filters, so their sum bounds its time. The number of filters alone does not: with a tightening ratio near
// 1, thousands of filters have hundreds of hash functions each. The limit depends on the state only, so a primary and its
// replicas refuse the same growth.

/// The largest number of filters of a chain of RedisBloom's type. RedisBloom's chains have at most about 1,075: the error
/// rate halves with each filter until it is 0.
pub const MAX_FILTERS: u64 = 2048;

/// The hash functions of a filter with the smallest error rate, 2^-1074.
pub const MAX_HASHES_PER_FILTER: u64 = 1075;

/// The largest sum of the hash functions over all filters of a chain.
pub const MAX_TOTAL_HASHES: u64 = MAX_FILTERS * MAX_HASHES_PER_FILTER;

/// Whether a chain whose filters have `total` hash functions may have another filter with `hashes`.
#[must_use]
pub fn allows_hashes(total: u64, hashes: u32) -> bool {
    total.saturating_add(u64::from(hashes)) <= MAX_TOTAL_HASHES
}
