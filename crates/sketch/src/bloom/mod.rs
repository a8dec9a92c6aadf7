//! Scalable Bloom filters: a chain of Bloom filters, each with a larger capacity and half the error rate of the previous
//! one (Almeida, Baquero, Preguiça & Hutchison, "Scalable Bloom Filters", Information Processing Letters 101(6), 2007).
//!
//! Items are added to the newest filter and looked up in all of them. Layout, hashing and growth determine the stored bits
//! (docs/formats.md, "Bloom filters").

pub mod batch;
pub mod filter;
pub mod merge;
pub mod options;
pub mod shape;
mod stored;

use crate::blocks::{BlockMover, BlockVisitor, Blocks};
use crate::hash::{murmur2, murmur64a};
use crate::hash_limit::MAX_FILTERS;
use crate::memory::{Budget, OutOfMemory, reserve_exact};
use crate::prefetch::with_wide_vectors;
use crate::window::Timed;
use filter::{BLOCK_ITEMS, Filter, ItemHash};
use shape::{Shape, Sizing};

/// Seed of the first 64-bit hash. The first hash is the seed of the second.
const SEED_64: u64 = 0xc6a4_a793_5bd1_e995;
/// Seed of the first 32-bit hash, which old chains use.
const SEED_32: u32 = 0x9747_b28c;

/// The largest error rate of new chains. The caller replaces higher rates with it.
pub const MAX_ERROR_RATE: f64 = 0.25;

/// The largest number of items of a chain: the largest integer of a reply.
const MAX_ITEMS: u64 = i64::MAX as u64;

/// An error of creating a chain or adding an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No filter has these parameters: the error rate is 0, or the size does not fit in 64 bits. Or the chain has
    /// [`MAX_FILTERS`] filters.
    #[error("the parameters make no filter")]
    Shape,
    /// The memory for a filter was refused.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
    /// The newest filter is full and the chain does not grow.
    #[error("the filter is full and does not scale")]
    Full,
}

/// Parameters of a new chain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameters {
    /// Capacity of the first filter in items, at least 1.
    pub capacity: u64,
    /// Upper bound for the false-positive rate of the whole chain, in (0, 1).
    pub error_rate: f64,
    /// Each further filter has this many times the capacity of the previous one: at least 1 in a scaling chain.
    pub expansion: u32,
    /// Whether the chain adds filters when it is full.
    pub scaling: bool,
}

/// A scalable Bloom filter: at least one filter, oldest first; see the [module documentation](self).
#[derive(Debug)]
pub struct Chain {
    filters: Vec<Filter>,
    items: u64,
    options: u32,
    expansion: u32,
}

impl Chain {
    /// An empty chain with one filter. Requests the bytes of its bit array from `budget`. The array is zeroed memory, so
    /// the system provides its pages when they are used.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::OutOfMemory`].
    pub fn new(parameters: &Parameters, budget: Budget<'_>) -> Result<Self, Error> {
        // The rate halves with each filter. Starting at half keeps the sum over all filters below the specified rate
        // (Almeida et al., section 3).
        let error_rate = if parameters.scaling {
            parameters.error_rate / 2.0
        } else {
            parameters.error_rate
        };
        let shape =
            Shape::new(parameters.capacity, error_rate, Sizing::Exact).ok_or(Error::Shape)?;
        let nonscaling = if parameters.scaling {
            0
        } else {
            options::NONSCALING
        };
        let mut chain = Self {
            filters: Vec::new(),
            items: 0,
            options: options::NO_ROUNDING | options::HASH_64_BITS | nonscaling,
            expansion: parameters.expansion,
        };
        chain.push_empty(shape, budget)?;
        Ok(chain)
    }

    /// Requests memory for an empty filter and appends it.
    fn push_empty(&mut self, shape: Shape, budget: Budget<'_>) -> Result<(), Error> {
        budget.request(shape.bytes())?;
        Ok(self.push(Filter::new(shape)?)?)
    }

    /// Appends a filter. The list has no spare capacity, so that a loaded chain uses as much memory as the saved one.
    fn push(&mut self, filter: Filter) -> Result<(), OutOfMemory> {
        reserve_exact(&mut self.filters, 1)?;
        self.filters.push(filter);
        Ok(())
    }

    /// The filters, oldest first.
    #[must_use]
    pub fn filters(&self) -> &[Filter] {
        &self.filters
    }

    /// Items added to the whole chain, at most `i64::MAX`.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// The stored option bits, see [`options`].
    #[must_use]
    pub fn options(&self) -> u32 {
        self.options
    }

    /// The stored expansion. Not used by a chain that does not scale.
    #[must_use]
    pub fn expansion(&self) -> u32 {
        self.expansion
    }

    /// Whether the chain adds a filter when it is full.
    #[must_use]
    pub fn is_scaling(&self) -> bool {
        self.options & options::NONSCALING == 0
    }

    /// Width of the hashes in bits: 64, or 32 in old chains.
    #[must_use]
    pub fn hash_width(&self) -> u32 {
        if self.options & options::HASH_64_BITS == 0 {
            32
        } else {
            64
        }
    }

    /// The sum of the capacities of all filters in items, saturating.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.filters
            .iter()
            .fold(0, |sum, filter| sum.saturating_add(filter.shape().capacity))
    }

    /// Items that can be added before the newest filter is full.
    #[must_use]
    pub fn remaining_capacity(&self) -> u64 {
        self.filters.last().map_or(0, |newest| {
            newest.shape().capacity.saturating_sub(newest.items())
        })
    }

    /// Bytes of all bit arrays together.
    #[must_use]
    pub fn bit_bytes(&self) -> u64 {
        self.filters
            .iter()
            .map(|filter| filter.bits().len() as u64)
            .sum()
    }

    /// The hashes of an item, for all filters of the chain. Cost: two passes over its bytes.
    #[inline]
    #[must_use]
    pub fn hash(&self, item: &[u8]) -> ItemHash {
        if self.options & options::HASH_64_BITS == 0 {
            let a = murmur2(item, SEED_32);
            let b = murmur2(item, a);
            // The format computes `a + i*b` modulo 2^32 if the modulus is a power of two up to 2^31. The remainder of the
            // 64-bit sum is the same.
            return ItemHash {
                a: u64::from(a),
                b: u64::from(b),
            };
        }
        let a = murmur64a(item, SEED_64);
        ItemHash {
            a,
            b: murmur64a(item, a),
        }
    }

    /// Whether an item may have been added: no false negatives, false positives at most at the specified rate.
    ///
    /// Cost: at most `hashes` probes per filter, from the newest to the oldest.
    #[inline]
    #[must_use]
    pub fn contains(&self, hash: ItemHash) -> bool {
        any_contains(&self.filters, hash)
    }

    /// [`Chain::contains`] for up to [`BLOCK_ITEMS`] items, whose cache misses overlap. Bit n of the result is for item n.
    /// Items beyond the limit are ignored.
    #[must_use]
    pub fn contains_block(&self, hashes: &[ItemHash]) -> u64 {
        any_contains_block(&self.filters, hashes)
    }

    /// Adds an item unless [`Chain::contains`] is true for it. Returns whether it was added. A full scaling chain adds a
    /// filter, whose bytes are requested from `budget`.
    ///
    /// # Errors
    /// [`Error::Full`] if the chain is full and does not scale; [`Error::Shape`] or [`Error::OutOfMemory`] if the next
    /// filter cannot be created. The chain is then unchanged.
    #[inline]
    pub fn add(&mut self, hash: ItemHash, budget: Budget<'_>) -> Result<bool, Error> {
        let Some((_, older)) = self.filters.split_last() else {
            return Err(Error::Shape);
        };
        if any_contains(older, hash) {
            return Ok(false);
        }
        self.add_to_newest(hash, budget)
    }

    /// [`Chain::add`] for an item that is not in an older filter.
    #[inline]
    fn add_to_newest(&mut self, hash: ItemHash, budget: Budget<'_>) -> Result<bool, Error> {
        let newest = self.filters.last_mut().ok_or(Error::Shape)?;
        // Only crafted payloads reach the limit. A chain with more items could not be loaded again.
        if newest.is_full() || self.items >= MAX_ITEMS {
            return self.add_to_full(hash, budget);
        }
        let new = newest.insert(hash);
        self.items += u64::from(new);
        Ok(new)
    }

    #[cold]
    fn add_to_full(&mut self, hash: ItemHash, budget: Budget<'_>) -> Result<bool, Error> {
        if self
            .filters
            .last()
            .is_some_and(|newest| newest.contains(hash))
        {
            return Ok(false);
        }
        if self.items >= MAX_ITEMS {
            return Err(Error::Shape);
        }
        self.grow(budget)?;
        self.add(hash, budget)
    }

    #[cold]
    fn grow(&mut self, budget: Budget<'_>) -> Result<(), Error> {
        if !self.is_scaling() {
            return Err(Error::Full);
        }
        // Only crafted payloads reach the limit.
        if self.filters.len() as u64 >= MAX_FILTERS {
            return Err(Error::Shape);
        }
        let newest = self.filters.last().ok_or(Error::Shape)?.shape();
        let capacity = newest
            .capacity
            .checked_mul(u64::from(self.expansion))
            .ok_or(Error::Shape)?;
        let sizing = if self.options & options::ENTRIES_IS_BITS != 0 {
            Sizing::Exponent
        } else if self.options & options::NO_ROUNDING != 0 {
            Sizing::Exact
        } else {
            Sizing::PowerOfTwo
        };
        let shape = Shape::new(capacity, newest.error_rate / 2.0, sizing).ok_or(Error::Shape)?;
        self.push_empty(shape, budget)
    }
}

/// Whether one of the filters contains the item, from the newest to the oldest.
#[inline]
fn any_contains(filters: &[Filter], hash: ItemHash) -> bool {
    filters.iter().rev().any(|filter| filter.contains(hash))
}

/// [`any_contains`] for up to [`BLOCK_ITEMS`] items. Bit n of the result is for item n.
fn any_contains_block(filters: &[Filter], hashes: &[ItemHash]) -> u64 {
    let hashes = &hashes[..hashes.len().min(BLOCK_ITEMS)];
    with_wide_vectors(
        #[inline(always)]
        || {
            let mut absent = u64::MAX.unbounded_shr((BLOCK_ITEMS - hashes.len()) as u32);
            let mut present = 0;
            for filter in filters.iter().rev() {
                if absent == 0 {
                    break;
                }
                let found = filter.contains_block(hashes, absent);
                present |= found;
                absent &= !found;
            }
            present
        },
    )
}

impl Timed for Chain {}

impl Blocks for Chain {
    fn for_each_block(&self, visitor: &mut impl BlockVisitor) {
        visitor.visit(&self.filters);
        for filter in &self.filters {
            filter.bits().visit(visitor);
        }
    }

    /// Block 0 is the list of filters, block i the bits of filter i - 1.
    fn relocate_block(&mut self, index: usize, mover: &mut impl BlockMover) -> bool {
        let Some(filter) = index.checked_sub(1) else {
            mover.relocate(&mut self.filters);
            return true;
        };
        let Some(filter) = self.filters.get_mut(filter) else {
            return false;
        };
        filter.bits_mut().relocate(mover);
        true
    }
}

#[cfg(test)]
mod tests;
