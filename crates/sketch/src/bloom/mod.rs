//! Scalable Bloom filters: a [chain] of Bloom filters, each with a larger capacity and half the error rate of the previous
//! one. Layout, hashing and growth determine the stored bits (docs/contributing/formats.md, "Bloom filters").

pub mod external;
pub mod merge;
pub mod shape;
mod stored;

use crate::accuracy::{Accuracy, Field};
use crate::buffer::Buffer;
use crate::chain::{self, FilterShape, ItemHash, MAX_FILTERS, Probes};
use crate::hash::{murmur2, murmur64a};
use crate::memory::{Budget, OutOfMemory};
use crate::window::Panes;
use shape::{OfChain, Shape, Sizing};

/// Seed of the first 64-bit hash. The first hash is the seed of the second.
const SEED_64: u64 = 0xc6a4_a793_5bd1_e995;
/// Seed of the first 32-bit hash, which old chains use.
const SEED_32: u32 = 0x9747_b28c;

pub mod options {
    //! The stored option bits of a chain (docs/contributing/formats.md, "Bloom filters").

    /// Bit counts are not rounded to a power of two.
    pub const NO_ROUNDING: u32 = 1;
    /// The stored capacity is the exponent of a power of two (only in old files).
    pub const ENTRIES_IS_BITS: u32 = 2;
    /// Items are hashed to 64 bits; without this bit to 32 (only in old files).
    pub const HASH_64_BITS: u32 = 4;
    /// The chain does not grow.
    pub const NONSCALING: u32 = 8;
    /// All valid bits; a chain with others does not load.
    pub const ALL: u32 = NO_ROUNDING | ENTRIES_IS_BITS | HASH_64_BITS | NONSCALING;
}

/// The largest error rate of new chains. The caller replaces higher rates with it, except for replicated commands.
pub const MAX_ERROR_RATE: f64 = 0.25;

/// The largest capacity that BF.RESERVE accepts.
pub const MAX_CAPACITY: u64 = 1 << 30;
/// The largest [`Parameters::expansion`] that BF.RESERVE accepts.
pub const MAX_EXPANSION: u32 = 32768;

/// The largest number of items of a chain: the largest integer of a reply.
const MAX_ITEMS: u64 = i64::MAX as u64;

/// The ratio of the error rates of two filters of a chain that grows, and of its first filter and the chain.
pub const TIGHTENING: f64 = 0.5;

/// An error of creating a chain or adding an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// No filter has these parameters: the error rate or the capacity is 0, or no process has memory of this size. Or the
    /// chain has [`MAX_FILTERS`] filters.
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
    /// Each further filter has this many times the capacity of the previous one. A scaling chain with 0, which only RedisBloom
    /// 2.x creates, does not grow.
    pub expansion: u32,
    /// Whether the chain adds filters when it is full.
    pub scaling: bool,
}

impl Parameters {
    /// Those of a filter that the server creates without a specification.
    pub const DEFAULT: Self = Self {
        capacity: 100,
        error_rate: 0.01,
        expansion: 2,
        scaling: true,
    };
}

/// The size of a filter in BF.INFO, with this many sub-filters and bytes of their arrays.
#[must_use]
pub fn nominal_bytes(sub_filters: usize, bytes: u64) -> u64 {
    32 + 64 * sub_filters as u64 + bytes
}

/// A scalable Bloom filter.
///
/// # Example
///
/// ```
/// use roughly_sketch::bloom::{Chain, Parameters};
/// use roughly_sketch::memory::Budget;
///
/// # fn main() -> Result<(), roughly_sketch::bloom::Error> {
/// // BF.RESERVE fruit 0.01 1000, BF.ADD fruit apple
/// let parameters = Parameters { capacity: 1000, ..Parameters::DEFAULT };
/// let mut fruit = Chain::new(&parameters, Budget::UNLIMITED)?;
/// assert!(fruit.add(b"apple", (), Budget::UNLIMITED)?);
/// assert!(!fruit.add(b"apple", (), Budget::UNLIMITED)?);
/// assert!(fruit.contains(b"apple") && !fruit.contains(b"pear"));
/// # Ok(())
/// # }
/// ```
pub type Chain = chain::Chain<Layout>;
/// One filter of a chain.
pub type Filter = chain::Filter<Shape>;

/// What is specific to RedisBloom's type. The parameters of a chain are in the shapes of its filters.
#[derive(Debug, Clone, Copy)]
pub struct Layout;

impl Probes for Shape {
    #[inline(always)]
    fn probe_of_sum(sum: u64) -> u64 {
        sum
    }
}

impl FilterShape for Shape {
    #[inline(always)]
    fn capacity(&self) -> u64 {
        self.capacity
    }

    #[inline(always)]
    fn hashes(&self) -> u32 {
        self.hashes.into()
    }

    #[inline(always)]
    fn num_bits(&self, _: usize) -> u64 {
        self.modulus()
    }

    /// No spare capacity.
    fn capacity_for(len: usize) -> usize {
        len
    }
}

impl chain::Layout for Layout {
    type Shape = Shape;
    type Limit = ();
    type Error = Error;
    /// Only crafted payloads reach the limit. A chain with more items could not be loaded again.
    const MAX_ITEMS: u64 = MAX_ITEMS;

    #[inline]
    fn hash(newest: &Filter, item: &[u8]) -> ItemHash {
        if !newest.shape().has_option(options::HASH_64_BITS) {
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

    fn is_scaling(&self, newest: &Filter) -> bool {
        !newest.shape().has_option(options::NONSCALING)
    }

    #[cold]
    fn grow(chain: &mut Chain, (): (), budget: Budget<'_>) -> Result<(), Error> {
        // Only crafted payloads reach the limits.
        refuse_if!(chain.items() >= MAX_ITEMS => Error::Shape);
        refuse_if!(!chain.is_scaling() => Error::Full);
        refuse_if!(chain.filters().len() as u64 >= MAX_FILTERS => Error::Shape);
        let newest = chain.filters().last().ok_or(Error::Shape)?.shape();
        let capacity = newest
            .capacity
            .checked_mul(u64::from(newest.of_chain.expansion))
            .ok_or(Error::Shape)?;
        let sizing = if newest.has_option(options::ENTRIES_IS_BITS) {
            Sizing::Exponent
        } else if newest.has_option(options::NO_ROUNDING) {
            Sizing::Exact
        } else {
            Sizing::PowerOfTwo
        };
        let of_chain = newest.of_chain;
        let shape =
            Shape::new(capacity, newest.error_rate * TIGHTENING, sizing).ok_or(Error::Shape)?;
        chain.push_empty(Shape { of_chain, ..shape }, budget)
    }
}

impl Filter {
    /// An empty filter.
    fn empty(shape: Shape) -> Result<Self, OutOfMemory> {
        Ok(Self::new(shape, 0, Buffer::zeroed(shape.bytes())?))
    }
}

impl Accuracy for Chain {
    fn accuracy(&self, _: Panes, (): &mut ()) -> Result<Vec<Field>, OutOfMemory> {
        Ok(self.accuracy_fields(self.error_rate()))
    }
}

impl Chain {
    /// An empty chain with one filter. Requests the bytes of its bit array from `budget`. The array is zeroed memory, so
    /// the system provides its pages when they are used.
    ///
    /// # Errors
    /// [`Error::Shape`] or [`Error::OutOfMemory`].
    pub fn new(parameters: &Parameters, budget: Budget<'_>) -> Result<Self, Error> {
        Self::with_shape_of(parameters, budget, |capacity, error_rate| {
            Shape::new(capacity, error_rate, Sizing::Exact)
        })
    }

    /// The error rate for which the chain was created. 0 if a damaged one has no filter.
    #[must_use]
    pub fn error_rate(&self) -> f64 {
        let first = (self.filters().first()).map_or(0.0, |first| first.shape().error_rate);
        match self.is_scaling() {
            true => first / TIGHTENING,
            false => first,
        }
    }

    /// [`Chain::new`] for a replicated command: if the number of bits does not fit in 64 bits, the filter is that of RedisBloom
    /// 2.8 ([`Shape::new_wrapping`]).
    ///
    /// # Errors
    /// As [`Chain::new`].
    pub fn new_replicated(parameters: &Parameters, budget: Budget<'_>) -> Result<Self, Error> {
        Self::with_shape_of(parameters, budget, Shape::new_wrapping)
    }

    fn with_shape_of(
        parameters: &Parameters,
        budget: Budget<'_>,
        shape: fn(u64, f64) -> Option<Shape>,
    ) -> Result<Self, Error> {
        // The rate halves with each filter. Starting at half keeps the sum over all filters below the specified rate
        // (Almeida et al., section 3).
        let error_rate = if parameters.scaling {
            parameters.error_rate * TIGHTENING
        } else {
            parameters.error_rate
        };
        let shape = shape(parameters.capacity, error_rate).ok_or(Error::Shape)?;
        let nonscaling = match parameters.scaling {
            true => 0,
            false => options::NONSCALING,
        };
        let of_chain = OfChain {
            options: (options::NO_ROUNDING | options::HASH_64_BITS | nonscaling) as u8,
            expansion: parameters.expansion,
        };
        let mut chain = Self::without_filters(Layout);
        chain.push_empty(Shape { of_chain, ..shape }, budget)?;
        Ok(chain)
    }

    /// What RedisBloom does if the chain fails to grow, for a replicated command: appends [`Shape::FAILED_GROWTH`]. Does nothing
    /// if the chain could then not be loaded, which only crafted payloads cause.
    ///
    /// # Errors
    /// [`OutOfMemory`] if the allocator refuses.
    pub fn fail_growth(&mut self) -> Result<(), OutOfMemory> {
        if !self.is_scaling() || self.filters().len() as u64 >= MAX_FILTERS {
            return Ok(());
        }
        let failed = Shape {
            of_chain: self.of_chain(),
            ..Shape::FAILED_GROWTH
        };
        self.push(Filter::empty(failed)?)
    }

    /// Requests memory for an empty filter and appends it.
    fn push_empty(&mut self, shape: Shape, budget: Budget<'_>) -> Result<(), Error> {
        budget.request(shape.bytes())?;
        Ok(self.push(Filter::empty(shape)?)?)
    }

    /// The parameters that all filters share.
    fn of_chain(&self) -> OfChain {
        // A chain always has a filter.
        (self.filters().last()).map_or(OfChain::default(), |newest| newest.shape().of_chain)
    }

    /// The stored option bits, see [`options`].
    #[must_use]
    pub fn options(&self) -> u32 {
        self.of_chain().options.into()
    }

    /// The stored expansion. Not used by a chain that does not scale.
    #[must_use]
    pub fn expansion(&self) -> u32 {
        self.of_chain().expansion
    }

    /// Width of the hashes in bits: 64, or 32 in old chains.
    #[must_use]
    pub fn hash_width(&self) -> u32 {
        match self.options() & options::HASH_64_BITS {
            0 => 32,
            _ => 64,
        }
    }

    /// The sum of the capacities of all filters in items, saturating.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.filters()
            .iter()
            .fold(0, |sum, filter| sum.saturating_add(filter.shape().capacity))
    }

    /// Bytes of all bit arrays together.
    #[must_use]
    pub fn bit_bytes(&self) -> u64 {
        self.filters()
            .iter()
            .map(|filter| filter.bits().len() as u64)
            .sum()
    }
}

#[cfg(test)]
mod tests;
