//! The merge of chains: the result contains the items of all of them.
//!
//! Two filters of the same shape have the same probes for an item. The bitwise OR of their bits is therefore the filter of
//! the items of both (Broder & Mitzenmacher, "Network Applications of Bloom Filters: A Survey", Internet Mathematics 1(4),
//! 2004, section 2). The number of distinct items is not stored: it is estimated from the number of set bits.

use super::shape::Shape;
use super::{Chain, Filter, MAX_ITEMS, options};
use crate::accuracy::any_of;
use crate::math;
use crate::memory::{Budget, OutOfMemory, with_capacity};
use crate::merge::{Difference, Distinct, TooMuchWork, check_equal, check_work};
use crate::prefetch::with_wide_vectors;
use std::ptr;

/// An error of a merge. The destination is then unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// The chains have different parameters.
    #[error(transparent)]
    Differ(#[from] Difference),
    /// Memory for further filters or for the list of operands was refused.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
    /// The merge would read more bytes than its limit.
    #[error(transparent)]
    TooMuchWork(#[from] TooMuchWork),
}

/// A summary of the filters that are merged into one filter, before the merge.
#[derive(Debug, Clone, Copy, Default)]
struct Operands {
    /// The largest number of items in one of them: the lower bound for the result.
    max_items: u64,
    /// The sum of the items of all of them: the upper bound for the result.
    total_items: u64,
    /// The largest number of set bits in one of them.
    max_ones: u64,
}

impl Operands {
    fn add(&mut self, filter: &Filter) {
        self.max_items = self.max_items.max(filter.items());
        self.total_items = self.total_items.saturating_add(filter.items());
        self.max_ones = self.max_ones.max(filter.count_ones());
    }

    /// The number of items of the result, of which `ones` bits are set.
    fn items(self, filter: &Filter, ones: u64) -> u64 {
        if ones == self.max_ones {
            // One operand contains all bits of the others.
            return self.max_items;
        }
        estimated_items(filter, ones).clamp(self.max_items, self.total_items)
    }
}

/// The false positive rates of a merge, before the merge.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct MergeRates {
    /// That of the chain now.
    pub before: f64,
    /// That of the merged chain: the one that [`Accuracy`](crate::accuracy::Accuracy) reports after the merge.
    pub merged: f64,
    /// A limit for that of a chain with the filters of the merged one that has as many items as its capacity: 6 standard
    /// deviations above the mean.
    pub full: f64,
}

impl Chain {
    /// The false positive rates of [`Chain::merge`] with these chains.
    ///
    /// Cost: two passes over the bits of each chain. Allocates the list of operands only.
    ///
    /// # Errors
    /// Those of the merge, except for refused memory of further filters.
    pub fn merge_rates(&self, others: &[&Chain]) -> Result<MergeRates, MergeError> {
        let others = self.operands(others)?;
        let chains = || std::iter::once(self).chain(others.iter().copied());
        let len = chains().map(|chain| chain.filters().len()).max();
        let mut rates = with_capacity(len.unwrap_or(0))?;
        for i in 0..len.unwrap_or(0) {
            let filters = || chains().filter_map(|chain| chain.filters().get(i));
            let Some(filter) = filters().next() else {
                continue;
            };
            let mut operands = Operands::default();
            filters().for_each(|filter| operands.add(filter));
            let ones = ones_of_union(filters);
            let merged = filter
                .false_positive_rate(ones.min(filter.num_bits()), operands.items(filter, ones));
            let own = self.filters().get(i);
            let before = own.map_or(0.0, |filter| filter.ones_and_rate().1);
            rates.push([before, merged, rate_if_full(filter)]);
        }
        let of_chain = |which: usize| any_of(rates.iter().map(|rates: &[f64; 3]| rates[which]));
        Ok(MergeRates {
            before: of_chain(0),
            merged: of_chain(1),
            full: of_chain(2),
        })
    }

    /// The distinct chains among the operands of a merge.
    ///
    /// # Errors
    /// [`MergeError::Differ`], or [`MergeError::OutOfMemory`] for the list.
    fn operands<'a>(&self, others: &[&'a Chain]) -> Result<Vec<&'a Chain>, MergeError> {
        let distinct = Distinct::of(others.iter().map(|&other| ptr::from_ref(other)))?;
        let mut operands = with_capacity(distinct.firsts.len())?;
        operands.extend(distinct.firsts.into_iter().map(|first| others[first]));
        for other in &operands {
            self.check_parameters(other)?;
        }
        Ok(operands)
    }

    /// [`Chain::merge_within`] without a limit on the bytes.
    ///
    /// # Errors
    /// As [`Chain::merge_within`].
    pub fn merge(&mut self, others: &[&Chain], budget: Budget<'_>) -> Result<bool, MergeError> {
        self.merge_within(others, budget, u64::MAX)
    }

    /// Adds all items of `others`. Afterwards the chain contains every item that it contained before or that one of
    /// `others` contains. Filters that a shorter chain lacks count as empty. Returns whether the chain changed.
    ///
    /// The bits are exact. The number of items of each filter is exact if only one operand has items in it. It is also
    /// exact if one operand contains all bits of the others: it is then the largest number. Otherwise it is estimated
    /// from the fraction of set bits (Swamidass & Baldi, "Mathematical Correction for Fingerprint Similarity Measures
    /// to Improve Chemical Retrieval", J. Chem. Inf. Model. 47(3), 2007, section 2.3), and is at least the largest
    /// number and at most the sum of the operands. It may exceed the capacity of the filter; the error rate is then
    /// higher than specified.
    ///
    /// Cost: three passes over the bits of each operand; an operand that occurs several times is read once. `max_bytes`
    /// limits the bytes that are read, see [`check_work`]. The bytes of new filters are requested from `budget`.
    ///
    /// # Errors
    /// [`MergeError`]; the chain is then unchanged.
    pub fn merge_within(
        &mut self,
        others: &[&Chain],
        budget: Budget<'_>,
        max_bytes: u64,
    ) -> Result<bool, MergeError> {
        let others = self.operands(others)?;
        let bytes = others.iter().map(|other| other.bit_bytes());
        let bytes = bytes.fold(self.bit_bytes(), u64::saturating_add);
        check_work(1 + others.len(), bytes, max_bytes)?;
        let filters = self.filters().len();
        if let Err(error) = self.add_filters(&others, budget) {
            self.truncate(filters);
            return Err(error.into());
        }
        let mut changed = self.filters().len() > filters;
        let mut items = 0u64;
        for (i, filter) in self.filters_mut().iter_mut().enumerate() {
            let mut operands = Operands::default();
            operands.add(filter);
            let ones_before = operands.max_ones;
            for other in others.iter().filter_map(|other| other.filters().get(i)) {
                operands.add(other);
                or(filter.bits_mut(), other.bits());
            }
            let ones = filter.count_ones();
            let merged_items = operands.items(filter, ones).min(MAX_ITEMS - items);
            changed |= ones != ones_before || merged_items != filter.items();
            filter.set_items(merged_items);
            items += merged_items;
        }
        self.count_items();
        Ok(changed)
    }

    /// Appends empty filters until the chain has as many as the longest of `others`.
    fn add_filters(&mut self, others: &[&Chain], budget: Budget<'_>) -> Result<(), OutOfMemory> {
        let Some(longest) = others.iter().max_by_key(|other| other.filters().len()) else {
            return Ok(());
        };
        for filter in longest.filters().iter().skip(self.filters().len()) {
            let shape = *filter.shape();
            budget.request(filter.bits().len() as u64)?;
            let of_chain = self.of_chain();
            self.push(Filter::empty(Shape { of_chain, ..shape })?)?;
        }
        Ok(())
    }

    /// Checks that all filters that the chains have or will have are equal in all parameters.
    fn check_parameters(&self, other: &Chain) -> Result<(), MergeError> {
        let scaling = |chain: &Chain| if chain.is_scaling() { "yes" } else { "no" };
        check_equal("scaling", scaling(self), scaling(other))?;
        check_equal("hash width", self.hash_width(), other.hash_width())?;
        for (filter, operand) in self.filters().iter().zip(other.filters()) {
            let (a, b) = (filter.shape(), operand.shape());
            check_equal("capacity", a.capacity, b.capacity)?;
            // The first filter of a scaling chain has half the specified rate.
            let factor = if self.is_scaling() { 2.0 } else { 1.0 };
            check_equal("error rate", a.error_rate * factor, b.error_rate * factor)?;
            check_equal("number of hashes", a.hashes, b.hashes)?;
            check_equal("number of bits", a.bits, b.bits)?;
            check_equal("modulus", a.modulus(), b.modulus())?;
            check_equal("number of bytes", filter.bits().len(), operand.bits().len())?;
        }
        if self.is_scaling() {
            check_equal("expansion", self.expansion(), other.expansion())?;
        }
        let rounding = options::NO_ROUNDING | options::ENTRIES_IS_BITS;
        let sizing = |chain: &Chain| chain.options() & rounding;
        check_equal("sizing option", sizing(self), sizing(other))?;
        Ok(())
    }
}

/// The most likely number of items for a number of set bits: -m/k ln(1 - ones/m).
fn estimated_items(filter: &Filter, ones: u64) -> u64 {
    let bits = filter.shape().modulus() as f64;
    let hashes = f64::from(filter.shape().hashes);
    let fill = (ones as f64 / bits).min(1.0);
    // If all bits are set, this is infinite, which the cast converts to u64::MAX.
    (-bits / hashes * math::ln_1p(-fill)).round() as u64
}

/// A limit for the false positive rate of the filter with as many items as its capacity: 6 standard deviations above the mean.
fn rate_if_full(filter: &Filter) -> f64 {
    let bits = filter.num_bits() as f64;
    let probes_per_bit = filter.capacity() as f64 * f64::from(filter.hashes()) / bits;
    let zeros = 1.0 + math::expm1(-probes_per_bit);
    let variance = bits * zeros * (1.0 - (1.0 + probes_per_bit) * zeros);
    let ones = bits * (1.0 - zeros) + 6.0 * variance.max(0.0).sqrt();
    let ones = (ones.ceil() as u64).min(filter.num_bits());
    let items = estimated_items(filter, ones).max(filter.capacity());
    filter.false_positive_rate(ones, items)
}

/// Bytes of a part of the bits whose union is in memory.
const UNION_BYTES: usize = 4096;

/// The number of bits that are set in any of some filters of the same length.
fn ones_of_union<'a, I: Iterator<Item = &'a Filter>>(filters: impl Fn() -> I) -> u64 {
    let len = filters().map(|filter| filter.bits().len()).max();
    with_wide_vectors(
        #[inline(always)]
        || {
            let mut ones = 0;
            for start in (0..len.unwrap_or(0)).step_by(UNION_BYTES) {
                let mut part = [0; UNION_BYTES];
                for filter in filters() {
                    let bits = filter.bits().get(start..).unwrap_or_default();
                    or(&mut part, &bits[..bits.len().min(UNION_BYTES)]);
                }
                let words = part.as_chunks().0.iter();
                ones += words
                    .map(|&word| u64::from(u64::from_ne_bytes(word).count_ones()))
                    .sum::<u64>();
            }
            ones
        },
    )
}

/// Sets the bits in `bits` that are set in `others`, which is at most as long.
#[inline]
fn or(bits: &mut [u8], others: &[u8]) {
    for (byte, other) in bits.iter_mut().zip(others) {
        *byte |= other;
    }
}
