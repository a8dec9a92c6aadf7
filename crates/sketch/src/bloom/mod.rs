//! Scalable Bloom filters: a chain of filters, each larger and stricter than the one before.
//!
//! Almeida, Baquero, Preguiça & Hutchison, "Scalable Bloom Filters", Information Processing Letters
//! 101(6), 2007. Layout, hashing and growth are those of spec/bloom.md and decide the stored bits.

pub mod batch;
pub mod filter;
pub mod options;
pub mod shape;
mod stored;
pub mod union;

use crate::blocks::{BlockMover, BlockVisitor, Blocks};
use crate::buffer::Buffer;
use crate::hash::{murmur2, murmur64a};
use crate::memory::{Budget, OutOfMemory};
use crate::prefetch::with_wide_vectors;
use filter::{BLOCK, Filter, ItemHash};
use shape::{Shape, Sizing};

/// First seed of the 64-bit hashing; the second is the first hash.
const SEED_64: u64 = 0xc6a4_a793_5bd1_e995;
/// First seed of the old 32-bit hashing.
const SEED_32: u32 = 0x9747_b28c;

/// Error rates above this one are taken as this one.
pub const MAX_ERROR_RATE: f64 = 0.25;

/// Most items that a chain counts: more would not fit a reply.
const MAX_ITEMS: u64 = i64::MAX as u64;

/// Why a chain could not be made or an item not be added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The parameters make no filter (a rate that became 0, a capacity that cannot be counted).
    #[error("the parameters make no filter")]
    Shape,
    /// The memory for a filter was refused.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
    /// The newest filter is full and the chain does not grow.
    #[error("the filter is full and does not scale")]
    Full,
}

/// How to make a chain.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameters {
    /// Items the first filter takes, at least 1.
    pub capacity: u64,
    /// Promised rate of false positives over the whole chain, in (0, 1).
    pub error_rate: f64,
    /// How many times larger each further filter is, at least 1 for a scaling chain.
    pub expansion: u32,
    /// Whether the chain grows.
    pub scaling: bool,
}

/// A chain of Bloom filters. It has at least one.
#[derive(Debug)]
pub struct Chain {
    filters: Vec<Filter>,
    items: u64,
    options: u32,
    expansion: u32,
}

impl Chain {
    /// An empty chain of one filter.
    ///
    /// # Errors
    /// [`Error::Shape`] if the parameters make no filter, [`Error::OutOfMemory`] if its memory is not
    /// allowed or cannot be had.
    pub fn new(parameters: &Parameters, budget: Budget<'_>) -> Result<Self, Error> {
        // A scaling chain halves the rate with each filter, so it starts at half: the sum of all stays
        // below the promise (Almeida et al., section 3).
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

    /// Appends an empty filter.
    fn push_empty(&mut self, shape: Shape, budget: Budget<'_>) -> Result<(), Error> {
        budget.request(shape.bytes())?;
        Ok(self.push(Filter::new(shape)?)?)
    }

    /// Appends a filter. The list has no room to spare, so that a loaded chain takes what the saved one took.
    fn push(&mut self, filter: Filter) -> Result<(), OutOfMemory> {
        self.filters.try_reserve_exact(1).map_err(|_| OutOfMemory {
            bytes: ((self.filters.len() + 1) * size_of::<Filter>()) as u64,
        })?;
        self.filters.push(filter);
        Ok(())
    }

    /// The filters, oldest first.
    #[must_use]
    pub fn filters(&self) -> &[Filter] {
        &self.filters
    }

    /// Items added to the whole chain.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// The stored option bits, see [`options`].
    #[must_use]
    pub fn options(&self) -> u32 {
        self.options
    }

    /// The stored growth factor. Without meaning for a chain that does not scale.
    #[must_use]
    pub fn expansion(&self) -> u32 {
        self.expansion
    }

    /// Whether it grows when it is full.
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

    /// Items that all filters take together, saturating.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.filters
            .iter()
            .fold(0, |sum, filter| sum.saturating_add(filter.shape().capacity))
    }

    /// Items that the newest filter takes before it is full.
    #[must_use]
    pub fn room(&self) -> u64 {
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

    /// The hashes of an item, which serve all filters of the chain.
    #[inline]
    #[must_use]
    pub fn hash(&self, item: &[u8]) -> ItemHash {
        if self.options & options::HASH_64_BITS == 0 {
            let a = murmur2(item, SEED_32);
            let b = murmur2(item, a);
            // The formats take the sum modulo 2^32 where the modulus is a power of two up to 2^31;
            // the remainder is the same without that.
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

    /// Whether an item may have been added: never false for one that was.
    ///
    /// Cost: `hashes` probes a filter at most, from the newest to the oldest.
    #[inline]
    #[must_use]
    pub fn contains(&self, hash: ItemHash) -> bool {
        is_in_any(&self.filters, hash)
    }

    /// [`Chain::contains`] for up to [`BLOCK`] items, their memory fetched side by side. Bit n of the
    /// answer is for item n; items beyond the block are not looked at.
    #[must_use]
    pub fn contains_block(&self, hashes: &[ItemHash]) -> u64 {
        are_in_any(&self.filters, hashes)
    }

    /// Adds an item and says whether it is new. Nothing changes for one that seems to be in.
    ///
    /// A full scaling chain grows by one filter, which may be large: its memory is zeroed when it is
    /// touched, not here.
    ///
    /// # Errors
    /// [`Error::Full`] for a full chain that does not scale; [`Error::Shape`] and
    /// [`Error::OutOfMemory`] if the next filter cannot be made. The chain is then as before.
    #[inline]
    pub fn add(&mut self, hash: ItemHash, budget: Budget<'_>) -> Result<bool, Error> {
        let Some((_, older)) = self.filters.split_last() else {
            return Err(Error::Shape);
        };
        if is_in_any(older, hash) {
            return Ok(false);
        }
        self.add_unseen(hash, budget)
    }

    /// [`Chain::add`] for an item that is in no filter but perhaps the newest.
    #[inline]
    fn add_unseen(&mut self, hash: ItemHash, budget: Budget<'_>) -> Result<bool, Error> {
        let newest = self.filters.last_mut().ok_or(Error::Shape)?;
        // The count's end is found only in crafted payloads: beyond it, what is saved could not be
        // loaded.
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

/// Whether the bits of an item are all set in one of the filters, from the newest to the oldest.
#[inline]
fn is_in_any(filters: &[Filter], hash: ItemHash) -> bool {
    filters.iter().rev().any(|filter| filter.contains(hash))
}

/// [`is_in_any`] for up to [`BLOCK`] items, bit n of the answer for item n.
fn are_in_any(filters: &[Filter], hashes: &[ItemHash]) -> u64 {
    let hashes = &hashes[..hashes.len().min(BLOCK)];
    with_wide_vectors(
        #[inline(always)]
        || {
            let mut absent = u64::MAX.unbounded_shr((BLOCK - hashes.len()) as u32);
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

impl Blocks for Chain {
    fn for_each_block(&self, visitor: &mut impl BlockVisitor) {
        visitor.visit(&self.filters);
        for filter in &self.filters {
            filter.bits().visit(visitor);
        }
    }

    fn relocate_block(&mut self, index: usize, mover: &mut impl BlockMover) -> bool {
        let Some(filter) = index.checked_sub(1) else {
            mover.relocate(&mut self.filters);
            return true;
        };
        match self.filters.get_mut(filter) {
            Some(filter) => Buffer::relocate(filter.bits_mut(), mover),
            None => return false,
        }
        true
    }
}

#[cfg(test)]
mod tests;
