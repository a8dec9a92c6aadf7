//! The union of chains: one that holds what each of them holds.
//!
//! Two filters of the same shape probe the same bits for an item, so the bits of both together are the
//! very bits of one filter that got the items of both (Broder & Mitzenmacher, "Network Applications of
//! Bloom Filters: A Survey", Internet Mathematics 1(4), 2004, section 2). How many items those were is not
//! in the bits: it is estimated from how many bits are set.

use super::filter::Filter;
use super::{Chain, MAX_ITEMS, options};
use crate::math;
use crate::memory::{Budget, OutOfMemory, with_capacity};
use crate::merge::{Distinct, TooMuchWork, check_work};
use crate::prefetch::with_wide_vectors;
use std::ptr;

/// Why chains have no union.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnionError {
    /// They were made with different parameters.
    #[error("{parameter} differs: {here} and {there}")]
    Differ {
        /// Which parameter.
        parameter: &'static str,
        /// Its value in the chain that takes the others.
        here: String,
        /// Its value in the first chain that has another.
        there: String,
    },
    /// A chain with more filters needs memory that cannot be had.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
    /// The union would read more than its limit.
    #[error(transparent)]
    TooMuchWork(#[from] TooMuchWork),
}

/// One filter's part of the union, before anything is changed.
#[derive(Debug, Clone, Copy, Default)]
struct Operands {
    /// The most items that one operand counts: the union has no fewer.
    most_items: u64,
    /// The items of all operands: the union has no more.
    all_items: u64,
    /// Bits set in the operand that has most of them.
    most_ones: u64,
}

impl Operands {
    fn take(&mut self, filter: &Filter) {
        self.most_items = self.most_items.max(filter.items());
        self.all_items = self.all_items.saturating_add(filter.items());
        self.most_ones = self.most_ones.max(ones(filter.bits()));
    }

    /// The items of the union, of which so many bits are set.
    fn items(self, filter: &Filter, ones: u64) -> u64 {
        if ones == self.most_ones {
            // One operand has all the others' bits.
            return self.most_items;
        }
        estimated_items(filter, ones).clamp(self.most_items, self.all_items)
    }
}

impl Chain {
    /// As [`Chain::unite_within`], without a limit of the work.
    ///
    /// # Errors
    /// As [`Chain::unite_within`].
    pub fn unite(&mut self, others: &[&Chain], budget: Budget<'_>) -> Result<bool, UnionError> {
        self.unite_within(others, budget, u64::MAX)
    }

    /// Adds all items of `others`: afterwards an item is found that was found before or in one of them.
    /// Where the chains have not equally many filters, those that a shorter one lacks count as empty. Says
    /// whether the chain changed. With an error it did not.
    ///
    /// The bits are exact. Each filter's count of items is exact where only one operand has items in it, or
    /// one has all bits of the others (then it is the largest count); else it is estimated from the
    /// fraction of bits that are set (Swamidass & Baldi, "Mathematical Correction for Fingerprint Similarity
    /// Measures to Improve Chemical Retrieval", J. Chem. Inf. Model. 47(3), 2007, section 2.3), and is at
    /// least the largest and at most the sum of the operands' counts. A filter may so count more
    /// items than its capacity: its error rate is then above the one it was made for.
    ///
    /// Cost: three passes over the bits of each operand; of one that is named several times only once.
    /// `max_bytes` limits the bits that are read, see [`check_work`].
    ///
    /// # Errors
    /// [`UnionError`].
    pub fn unite_within(
        &mut self,
        others: &[&Chain],
        budget: Budget<'_>,
        max_bytes: u64,
    ) -> Result<bool, UnionError> {
        let distinct = Distinct::of(others.iter().map(|&other| ptr::from_ref(other)))?;
        let mut distinct_others = with_capacity(distinct.firsts.len())?;
        distinct_others.extend(distinct.firsts.into_iter().map(|first| others[first]));
        let others = distinct_others;
        for other in &others {
            self.check_parameters(other)?;
        }
        let bytes = others.iter().map(|other| other.bit_bytes());
        let bytes = bytes.fold(self.bit_bytes(), u64::saturating_add);
        check_work(1 + others.len(), bytes, max_bytes)?;
        let filters = self.filters.len();
        if let Err(error) = self.lengthen(&others, budget) {
            self.filters.truncate(filters);
            return Err(error.into());
        }
        let mut changed = self.filters.len() > filters;
        let mut items = 0u64;
        for (i, filter) in self.filters.iter_mut().enumerate() {
            let mut operands = Operands::default();
            operands.take(filter);
            let ones_before = operands.most_ones;
            for other in others.iter().filter_map(|other| other.filters.get(i)) {
                operands.take(other);
                or(filter.bits_mut(), other.bits());
            }
            let ones = ones(filter.bits());
            let united = operands.items(filter, ones).min(MAX_ITEMS - items);
            changed |= ones != ones_before || united != filter.items();
            filter.set_items(united);
            items += united;
        }
        self.items = items;
        Ok(changed)
    }

    /// Appends empty filters until there are as many as in the longest of `others`.
    fn lengthen(&mut self, others: &[&Chain], budget: Budget<'_>) -> Result<(), OutOfMemory> {
        let Some(longest) = others.iter().max_by_key(|other| other.filters.len()) else {
            return Ok(());
        };
        for filter in longest.filters.iter().skip(self.filters.len()) {
            let shape = *filter.shape();
            budget.request(filter.bits().len() as u64)?;
            self.push(Filter::new(shape)?)?;
        }
        Ok(())
    }

    /// Whether an item has the same place in both chains, in every filter that both have or will have.
    fn check_parameters(&self, other: &Chain) -> Result<(), UnionError> {
        let scaling = |chain: &Chain| if chain.is_scaling() { "yes" } else { "no" };
        differ("scaling", scaling(self), scaling(other))?;
        differ("hash width", self.hash_width(), other.hash_width())?;
        for (here, there) in self.filters.iter().zip(&other.filters) {
            let (a, b) = (here.shape(), there.shape());
            differ("capacity", a.capacity, b.capacity)?;
            // A scaling chain starts at half the rate that was asked for.
            let asked = if self.is_scaling() { 2.0 } else { 1.0 };
            differ("error rate", a.error_rate * asked, b.error_rate * asked)?;
            differ("number of hashes", a.hashes, b.hashes)?;
            differ("number of bits", a.bits, b.bits)?;
            differ("modulus", a.modulus(), b.modulus())?;
            differ("number of bytes", here.bits().len(), there.bits().len())?;
        }
        if self.is_scaling() {
            differ("expansion", self.expansion, other.expansion)?;
        }
        let rounding = options::NO_ROUNDING | options::ENTRIES_IS_BITS;
        let sizing = |chain: &Chain| chain.options & rounding;
        differ("sizing option", sizing(self), sizing(other))
    }
}

fn differ<T: PartialEq + ToString>(
    parameter: &'static str,
    here: T,
    there: T,
) -> Result<(), UnionError> {
    if here == there {
        return Ok(());
    }
    Err(UnionError::Differ {
        parameter,
        here: here.to_string(),
        there: there.to_string(),
    })
}

/// The most likely number of items that set so many bits of a filter: -m/k ln(1 - ones/m).
#[allow(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss
)]
fn estimated_items(filter: &Filter, ones: u64) -> u64 {
    let bits = filter.shape().modulus() as f64;
    let hashes = f64::from(filter.shape().hashes);
    let fill = (ones as f64 / bits).min(1.0);
    // Infinite for a filter without a clear bit, which becomes the largest number.
    (-bits / hashes * math::ln_1p(-fill)).round() as u64
}

/// Bits that are set.
fn ones(bits: &[u8]) -> u64 {
    with_wide_vectors(
        #[inline(always)]
        || {
            let (words, rest) = bits.as_chunks::<8>();
            let in_words = words
                .iter()
                .map(|word| u64::from(u64::from_le_bytes(*word).count_ones()));
            let in_rest = rest.iter().map(|byte| u64::from(byte.count_ones()));
            in_words.sum::<u64>() + in_rest.sum::<u64>()
        },
    )
}

/// Sets in `bits` what is set in `others`, which are equally many.
fn or(bits: &mut [u8], others: &[u8]) {
    for (byte, other) in bits.iter_mut().zip(others) {
        *byte |= other;
    }
}

#[cfg(test)]
mod tests {
    use super::super::Parameters;
    use super::*;
    use crate::stored::Stored;
    use proptest::prelude::*;

    fn chain(parameters: &Parameters) -> Chain {
        Chain::new(parameters, Budget::UNLIMITED).unwrap()
    }

    const SMALL: Parameters = Parameters {
        capacity: 20,
        error_rate: 0.01,
        expansion: 2,
        scaling: true,
    };

    fn with_items(parameters: &Parameters, items: impl Iterator<Item = u32>) -> Chain {
        let mut chain = chain(parameters);
        for item in items {
            let hash = chain.hash(&item.to_le_bytes());
            let _ = chain.add(hash, Budget::UNLIMITED);
        }
        chain
    }

    fn holds(chain: &Chain, item: u32) -> bool {
        chain.contains(chain.hash(&item.to_le_bytes()))
    }

    #[test]
    fn the_union_of_single_filters_is_the_filter_of_all_items() {
        let parameters = Parameters {
            capacity: 1000,
            scaling: false,
            ..SMALL
        };
        let mut first = with_items(&parameters, 0..300);
        let second = with_items(&parameters, 200..500);
        let all = with_items(&parameters, 0..500);
        assert_eq!(first.unite(&[&second], Budget::UNLIMITED), Ok(true));
        assert_eq!(first.filters()[0].bits(), all.filters()[0].bits());
        // The items are fixed, and so is the estimate; among all sets of 500 it deviates by 4.
        let items = first.items();
        assert!((490..=510).contains(&items), "{items}");
        assert_eq!(first.filters()[0].items(), items);
        assert_eq!(first.unite(&[&second], Budget::UNLIMITED), Ok(false));
        assert_eq!(first.items(), items);
    }

    #[test]
    fn counts_are_exact_where_nothing_is_to_be_estimated() {
        let some = with_items(&SMALL, 0..100);
        let mut empty = chain(&SMALL);
        assert_eq!(empty.unite(&[&some, &some], Budget::UNLIMITED), Ok(true));
        assert_eq!(parts_of(&empty), parts_of(&some));
        let mut part = with_items(&SMALL, 0..10);
        assert_eq!(part.unite(&[&some], Budget::UNLIMITED), Ok(true));
        assert_eq!(parts_of(&part), parts_of(&some));
        let mut all = some.try_clone().unwrap();
        assert_eq!(
            all.unite(&[&part, &chain(&SMALL)], Budget::UNLIMITED),
            Ok(false)
        );
        assert_eq!(all.unite(&[], Budget::UNLIMITED), Ok(false));
        assert_eq!(parts_of(&all), parts_of(&some));
    }

    fn parts_of(chain: &Chain) -> Vec<u8> {
        let mut bytes = Vec::new();
        chain.digest(&mut |piece| bytes.extend_from_slice(piece));
        bytes
    }

    #[test]
    fn what_differs_is_named_and_nothing_changes() {
        let mut first = with_items(&SMALL, 0..10);
        let before = parts_of(&first);
        let good = with_items(&SMALL, 50..150);
        for (other, wanted) in [
            (
                Parameters {
                    capacity: 21,
                    ..SMALL
                },
                "capacity differs: 20 and 21",
            ),
            (
                Parameters {
                    error_rate: 0.02,
                    ..SMALL
                },
                "error rate differs: 0.01 and 0.02",
            ),
            (
                Parameters {
                    expansion: 4,
                    ..SMALL
                },
                "expansion differs: 2 and 4",
            ),
            (
                Parameters {
                    scaling: false,
                    ..SMALL
                },
                "scaling differs: yes and no",
            ),
        ] {
            let error = first
                .unite(&[&good, &chain(&other)], Budget::UNLIMITED)
                .unwrap_err();
            assert_eq!(error.to_string(), wanted);
            assert_eq!(parts_of(&first), before);
        }
        let refused = first.unite(&[&good], Budget::new(&|_| false));
        assert!(matches!(refused, Err(UnionError::OutOfMemory(_))));
        assert_eq!(parts_of(&first), before);
    }

    #[test]
    fn a_chain_that_is_named_often_is_read_once() {
        let [first, second] = [0..30, 20..90].map(|items| with_items(&SMALL, items));
        let mut union = with_items(&SMALL, 80..100);
        let mut often = union.try_clone().unwrap();
        union.unite(&[&first, &second], Budget::UNLIMITED).unwrap();
        let bytes = often.bit_bytes() + first.bit_bytes() + second.bit_bytes();
        let before = parts_of(&often);
        let others = [&first, &second, &second].repeat(10);
        let refused = often.unite_within(&others, Budget::UNLIMITED, bytes - 1);
        assert!(matches!(refused, Err(UnionError::TooMuchWork(_))));
        assert_eq!(parts_of(&often), before);
        assert_eq!(
            often.unite_within(&others, Budget::UNLIMITED, bytes),
            Ok(true)
        );
        assert_eq!(parts_of(&often), parts_of(&union));
        // Two chains may always be united.
        assert_eq!(
            often.unite_within(&[&first; 10], Budget::UNLIMITED, 0),
            Ok(false)
        );
    }

    #[test]
    fn a_full_filter_counts_no_more_than_went_in() {
        let parameters = Parameters {
            capacity: 5,
            scaling: false,
            ..SMALL
        };
        let mut first = with_items(&parameters, 0..5);
        let others: Vec<_> = (1..40u32)
            .map(|n| with_items(&parameters, n * 5..n * 5 + 5))
            .collect();
        let sum = 5 + others.iter().map(Chain::items).sum::<u64>();
        let others: Vec<_> = others.iter().collect();
        assert_eq!(first.unite(&others, Budget::UNLIMITED), Ok(true));
        assert_eq!(first.items(), sum);
    }

    proptest! {
        #[test]
        fn every_item_of_an_operand_is_in_the_union(
            sizes in prop::collection::vec(0u32..300, 1..5),
            expansion in 1u32..4,
        ) {
            let parameters = Parameters { expansion, ..SMALL };
            let chains: Vec<_> = sizes
                .iter()
                .zip((0u32..).step_by(150))
                .map(|(&size, start)| with_items(&parameters, start..start + size))
                .collect();
            let mut union = chains[0].try_clone().unwrap();
            let others: Vec<_> = chains[1..].iter().collect();
            union.unite(&others, Budget::UNLIMITED).unwrap();
            for (&size, start) in sizes.iter().zip((0u32..).step_by(150)) {
                prop_assert!((start..start + size).all(|item| holds(&union, item)));
            }
            let of_filters: u64 = union.filters().iter().map(Filter::items).sum();
            prop_assert_eq!(union.items(), of_filters);
            let most = chains.iter().map(Chain::items).max().unwrap();
            let sum: u64 = chains.iter().map(Chain::items).sum();
            prop_assert!((most..=sum).contains(&union.items()));
            // It goes on as any other chain.
            let hash = union.hash(b"new");
            union.add(hash, Budget::UNLIMITED).unwrap();
            prop_assert!(union.contains(hash));
        }
    }
}
