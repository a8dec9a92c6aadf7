//! Scalable Bloom filters with the format of valkey-bloom, the Bloom module of Valkey: server type `bloomfltr`.
//!
//! A [chain] with another layout than [`bloom`](crate::bloom) and other hashes (SipHash with a seed per chain). The error
//! rate of the first filter is the one that was specified; each further filter multiplies it by the tightening ratio. Layout, hashing and growth determine the stored bits (docs/contributing/formats.md).
//!
//! The memory limit of valkey-bloom is not measured but computed ([`ValkeyChain::size`]), so that chains grow and are
//! refused at the same sizes.

pub mod filter;
mod load;
mod scale;
pub mod sizes;
mod stored;

use crate::accuracy::{Accuracy, Field};
use crate::chain::{self, ItemHash, allows_hashes};
use crate::memory::{Budget, OutOfMemory};
use crate::window::Panes;
use filter::{BlobHeader, Filter, Seed, ValkeyShape};
use sizes::{
    MAX_BYTES, MAX_CAPACITY, bit_array_bytes, grown_slots, is_rate_allowed, rate_of, restored_size,
    size,
};

pub use load::LoadError;
pub use scale::check_scales_to;

/// The default of the setting `bf.bloom-memory-usage-limit`: the largest [`ValkeyChain::size`] that a command creates.
pub const DEFAULT_MAX_SIZE: u64 = 128 << 20;

/// The seed of chains that are created without a random one.
///
/// Format: docs/contributing/formats.md, "Bloom filters of valkey-bloom".
pub const FIXED_SEED: [u8; 32] = [
    0x59, 0x0f, 0xf5, 0x22, 0xea, 0x78, 0x11, 0xda, 0xa7, 0x14, 0xd8, 0x09, 0x3b, 0x3e, 0x7b, 0xd9,
    0x1d, 0x89, 0x8a, 0x73, 0x3e, 0x98, 0x88, 0x87, 0x30, 0x7f, 0x97, 0xcd, 0x28, 0x07, 0x33, 0x83,
];

/// An error of creating a chain, adding an item, or simulating growth.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The newest filter is full and the chain does not grow.
    #[error("the filter is full and does not scale")]
    Full,
    /// The error rate of the next filter is too small, or a rate is outside (0, 1).
    #[error("the error rate is too small or out of range")]
    ErrorRate,
    /// A capacity is outside 1 to `i64::MAX`, or the sum of the capacities would be.
    #[error("the capacity is out of range")]
    Capacity,
    /// The chain would exceed the memory limit, or a bit array would have more than 2^64 bits.
    #[error("the filter exceeds its memory limit")]
    Size,
    /// The filters would have more than [`chain::MAX_TOTAL_HASHES`] hash functions in total.
    #[error("the filters have the largest number of hash functions")]
    Hashes,
    /// The memory for a filter was refused.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
}

/// Parameters of a chain.
///
/// Format: docs/contributing/formats.md, "Bloom filters of valkey-bloom".
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Parameters {
    /// Capacity of the first filter in items, from 1 to `i64::MAX`.
    pub capacity: u64,
    /// False-positive rate of the first filter, in (0, 1).
    pub error_rate: f64,
    /// Each further filter has the error rate of the previous one times this ratio, in (0, 1).
    pub tightening: f64,
    /// Each further filter has this many times the capacity of the previous one. 0: the chain does not scale.
    pub expansion: u32,
    /// The seed of the hashes of all filters.
    pub seed: Seed,
    /// Whether the seed is not [`FIXED_SEED`]. [`ValkeyChain::new`] derives it from the seed and ignores this field.
    pub seed_is_random: bool,
}

impl Parameters {
    /// Checks the ranges.
    fn check(&self) -> Result<(), Error> {
        let is_ratio = |ratio: f64| ratio > 0.0 && ratio < 1.0;
        refuse_if!(!is_ratio(self.error_rate) || !is_ratio(self.tightening) => Error::ErrorRate);
        refuse_if!(!(1..=MAX_CAPACITY).contains(&self.capacity) => Error::Capacity);
        Ok(())
    }
}

/// A scalable Bloom filter.
///
/// # Example
///
/// ```
/// use roughly_sketch::memory::Budget;
/// use roughly_sketch::valkey_bloom::{DEFAULT_MAX_SIZE, FIXED_SEED, Parameters, ValkeyChain};
///
/// # fn main() -> Result<(), roughly_sketch::valkey_bloom::Error> {
/// let parameters = Parameters {
///     capacity: 1000,
///     error_rate: 0.01,
///     tightening: 0.5,
///     expansion: 2,
///     seed: FIXED_SEED,
///     seed_is_random: false,
/// };
/// let mut fruit = ValkeyChain::new(&parameters, DEFAULT_MAX_SIZE, Budget::UNLIMITED)?;
/// fruit.add(b"apple", DEFAULT_MAX_SIZE, Budget::UNLIMITED)?;
/// assert!(fruit.contains(b"apple") && !fruit.contains(b"pear"));
/// # Ok(())
/// # }
/// ```
pub type ValkeyChain = chain::Chain<Layout>;

/// The parameters of a chain, and the sums over its filters. The seed is in the stored form of each filter.
#[derive(Debug, Clone, Copy)]
pub struct Layout {
    /// The sum of the capacities, at most `i64::MAX`.
    capacity: u64,
    bit_bytes: u64,
    error_rate: f64,
    tightening: f64,
    /// The slots of valkey-bloom's list of filters, which [`ValkeyChain::size`] counts: at most four, or twice
    /// [`chain::MAX_TOTAL_HASHES`].
    slots: u32,
    /// The sum of the hash functions of the filters, at most [`chain::MAX_TOTAL_HASHES`].
    hashes: u32,
    expansion: u32,
    seed_is_random: bool,
}

impl chain::Layout for Layout {
    type Shape = ValkeyShape;
    /// The largest [`ValkeyChain::size`] in bytes.
    type Limit = u64;
    type Error = Error;

    #[inline]
    fn hash(newest: &Filter, item: &[u8]) -> ItemHash {
        filter::hash(item, newest.seed())
    }

    fn is_scaling(&self, _: &Filter) -> bool {
        self.expansion != 0
    }

    /// The sum of the capacities must not exceed [`MAX_CAPACITY`], that of the hash functions [`chain::MAX_TOTAL_HASHES`].
    fn count(&mut self, capacity: u64, bytes: u64, hashes: u32, filters: usize) {
        self.slots = grown_slots(self.slots.into(), filters as u64) as u32;
        self.capacity += capacity;
        self.bit_bytes += bytes;
        self.hashes += hashes;
    }

    /// The size with the new filter must not exceed `max_size`.
    ///
    /// Format: docs/contributing/formats.md, "Bloom filters of valkey-bloom".
    #[cold]
    fn grow(chain: &mut ValkeyChain, max_size: u64, budget: Budget<'_>) -> Result<(), Error> {
        refuse_if!(!chain.is_scaling() => Error::Full);
        let error_rate = chain.error_rate_of(chain.filters().len());
        refuse_if!(!is_rate_allowed(error_rate) => Error::ErrorRate);
        let newest = chain.filters().last().map_or(1, Filter::capacity);
        let capacity = (newest.checked_mul(u64::from(chain.layout.expansion)))
            .filter(|&capacity| capacity <= MAX_CAPACITY - chain.layout.capacity)
            .ok_or(Error::Capacity)?;
        chain.push_empty(capacity, error_rate, chain.seed(), max_size, budget)
    }
}

impl Accuracy for ValkeyChain {
    fn accuracy(&self, _: Panes, (): &mut ()) -> Result<Vec<Field>, OutOfMemory> {
        Ok(self.accuracy_fields(self.layout.error_rate))
    }
}

impl ValkeyChain {
    /// An empty chain with one filter. Its size must not exceed `max_size` bytes (see [`ValkeyChain::size`]). Then the bytes
    /// of its stored form are requested from `budget`. The bit array is zeroed memory, so the system provides its pages
    /// when they are used. The error rate may be subnormal.
    ///
    /// Format: docs/contributing/formats.md, "Bloom filters of valkey-bloom".
    ///
    /// # Errors
    /// [`Error::ErrorRate`] or [`Error::Capacity`] if a parameter is out of range; [`Error::Size`], also for more than 2^64
    /// bits whatever the limit; [`Error::OutOfMemory`].
    pub fn new(parameters: &Parameters, max_size: u64, budget: Budget<'_>) -> Result<Self, Error> {
        parameters.check()?;
        let Parameters {
            capacity,
            error_rate,
            seed,
            ..
        } = *parameters;
        let mut chain = Self::of(parameters);
        chain.push_empty(capacity, error_rate, seed, max_size, budget)?;
        Ok(chain)
    }

    /// A chain without filters, to which at least one must be appended. Its list has one slot, as the list of a chain that
    /// valkey-bloom creates.
    fn of(parameters: &Parameters) -> Self {
        Self::without_filters(Layout {
            capacity: 0,
            bit_bytes: 0,
            error_rate: parameters.error_rate,
            tightening: parameters.tightening,
            slots: 1,
            hashes: 0,
            expansion: parameters.expansion,
            seed_is_random: parameters.seed != FIXED_SEED,
        })
    }

    /// Checks the limits, requests memory for an empty filter and appends it.
    fn push_empty(
        &mut self,
        capacity: u64,
        error_rate: f64,
        seed: Seed,
        max_size: u64,
        budget: Budget<'_>,
    ) -> Result<(), Error> {
        let bytes = bit_array_bytes(capacity, error_rate);
        refuse_if!(bytes > MAX_BYTES || self.size_with(bytes) > max_size => Error::Size);
        let header = BlobHeader::new(capacity, bytes, seed);
        refuse_if!(!allows_hashes(self.layout.hashes.into(), header.hashes) => Error::Hashes);
        budget.request(header.blob_bytes())?;
        Ok(self.push(Filter::empty(capacity, &header)?)?)
    }

    /// The size with another filter whose bit array has `bytes` bytes, before the list grows.
    fn size_with(&self, bytes: u64) -> u64 {
        let filters = self.filters().len() as u64 + 1;
        let bit_bytes = self.layout.bit_bytes.saturating_add(bytes);
        size(self.layout.slots.into(), filters, bit_bytes).max(restored_size(filters, bit_bytes))
    }

    /// The parameters. The capacity is that of the first filter.
    #[must_use]
    pub fn parameters(&self) -> Parameters {
        Parameters {
            capacity: self.filters().first().map_or(0, Filter::capacity),
            error_rate: self.layout.error_rate,
            tightening: self.layout.tightening,
            expansion: self.layout.expansion,
            seed: self.seed(),
            seed_is_random: self.layout.seed_is_random,
        }
    }

    /// The seed of the hashes.
    fn seed(&self) -> Seed {
        // A chain always has a filter.
        self.filters()
            .last()
            .map_or(FIXED_SEED, |newest| *newest.seed())
    }

    /// The error rate of filter number `index`, from 0, by the formula. It is not stored.
    #[must_use]
    pub fn error_rate_of(&self, index: usize) -> f64 {
        rate_of(self.layout.error_rate, self.layout.tightening, index as u64)
    }

    /// The sum of the capacities of all filters in items, at most `i64::MAX`.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.layout.capacity
    }

    /// Bytes of all bit arrays together.
    #[must_use]
    pub fn bit_bytes(&self) -> u64 {
        self.layout.bit_bytes
    }

    /// `Size` of BF.INFO in bytes: the memory that valkey-bloom counts and compares with its limit. It is not the memory
    /// that the chain occupies here.
    #[must_use]
    pub fn size(&self) -> u64 {
        size(
            self.layout.slots.into(),
            self.filters().len() as u64,
            self.layout.bit_bytes,
        )
    }

    /// The size in bytes that the memory limit applies to when a stored chain is loaded, as by RESTORE: its list has the slots
    /// of before the last filter. At most [`ValkeyChain::size`] of a chain that grew.
    #[must_use]
    pub fn restored_size(&self) -> u64 {
        restored_size(self.filters().len() as u64, self.layout.bit_bytes)
    }

    /// The capacity in items that a chain with these parameters can reach within `max_size` bytes, computed from the
    /// first capacity: MAXSCALEDCAPACITY. A chain that does not scale has at most one filter.
    ///
    /// For limits above 8 GiB, the result may be too small for chains that would have more than 2^17 filters of
    /// different sizes. Cost: at most 2^17 steps, and at most 64 if the expansion is not 1.
    ///
    /// # Errors
    /// [`Error::Capacity`] if the capacity of a filter or of the chain would exceed `i64::MAX`.
    pub fn max_scaled_capacity(&self, max_size: u64) -> Result<u64, Error> {
        let (_, total) = scale::simulate(&self.parameters(), u64::MAX, max_size)?;
        Ok(total)
    }
}

#[cfg(test)]
mod tests;
