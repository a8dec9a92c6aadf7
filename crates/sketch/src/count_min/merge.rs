//! Merging: every cell becomes a weighted sum of the sources' cells.
//!
//! Nothing may change if one sum is out of range, and a second set of cells would cost memory and page
//! faults, so the sums are made twice: once to be checked, once to be written. Both passes work on
//! blocks small enough for the first-level cache, source by source, so that the inner loops are over
//! plain arrays, which the compiler vectorises, and the destination may be a source.
//!
//! A source that is named several times is read once, with the sum of its weights, unless partial sums
//! might overflow: then all operands are summed in their order.

use super::cell::{Cell, with_cell};
use super::{CountMin, CountMinError, MAX_TOTAL};
use crate::memory::{OutOfMemory, with_capacity};
use crate::merge::{Distinct, check_work};
use std::ops::Range;
use std::ptr;

/// Cells summed at a time: 4 KiB of sums.
const BLOCK_CELLS: usize = 512;

/// A source of a merge: a sketch and its weight.
#[derive(Debug, Clone, Copy)]
pub struct Weighted<'a> {
    /// The sketch, `None` for the destination itself.
    pub sketch: Option<&'a CountMin>,
    /// What its counts are multiplied by.
    pub weight: i64,
}

impl CountMin {
    /// Whether `source` may be merged into this sketch.
    ///
    /// # Errors
    /// [`CountMinError::OtherDimensions`], then [`CountMinError::OtherCellSize`].
    pub fn check_source(&self, source: &Self) -> Result<(), CountMinError> {
        let (shape, other) = (self.shape, source.shape);
        if (shape.width(), shape.depth()) != (other.width(), other.depth()) {
            return Err(CountMinError::OtherDimensions);
        }
        if shape.cell_size() != other.cell_size() {
            return Err(CountMinError::OtherCellSize);
        }
        Ok(())
    }

    /// As [`CountMin::merge_within`], without a limit of the work.
    ///
    /// # Errors
    /// As [`CountMin::merge_within`].
    pub fn merge(&mut self, sources: &[Weighted]) -> Result<bool, CountMinError> {
        self.merge_within(sources, u64::MAX)
    }

    /// Replaces every cell and the total by Σ weight × source; whether anything changed by it.
    ///
    /// The sums are made from the first source to the last in 64 bits with a sign, none of the products
    /// and partial sums may overflow, and what comes out must be in the range of a cell and of the
    /// total. The sketch's own counts only take part where it is a source. Cost: two passes over all
    /// cells of the distinct sources; a third where a weight or the cells are large. `max_bytes` limits
    /// what is read, see [`check_work`].
    ///
    /// # Errors
    /// Those of [`CountMin::check_source`], [`CountMinError::MergeOverflow`],
    /// [`CountMinError::TooMuchWork`], [`CountMinError::OutOfMemory`] for a list of the sources.
    pub fn merge_within(
        &mut self,
        sources: &[Weighted],
        max_bytes: u64,
    ) -> Result<bool, CountMinError> {
        for sketch in sources.iter().filter_map(|source| source.sketch) {
            self.check_source(sketch)?;
        }
        let total = self
            .merged_total(sources)
            .ok_or(CountMinError::MergeOverflow)?;
        let groups = Group::of(sources)?;
        self.check_work(groups.len(), max_bytes)?;
        let cell_size = self.shape.cell_size();
        let changed = if with_cell!(cell_size, C => self.sums_fit::<C>(&groups, sources.len())) {
            let mut distinct = with_capacity(groups.len())?;
            distinct.extend(groups.iter().map(|group| group.sum));
            with_cell!(cell_size, C => self.merge_cells::<C>(&distinct, true))
        } else {
            self.check_work(sources.len(), max_bytes)?;
            with_cell!(cell_size, C => self.merge_cells::<C>(sources, false))
        };
        let changed = changed.ok_or(CountMinError::MergeOverflow)?;
        let changed = changed || total != self.total;
        self.total = total;
        Ok(changed)
    }

    fn merged_total(&self, sources: &[Weighted]) -> Option<u64> {
        let sum = sources.iter().try_fold(0i64, |sum, source| {
            let total = source.sketch.unwrap_or(self).total;
            let product = i64::try_from(total).ok()?.checked_mul(source.weight)?;
            sum.checked_add(product)
        })?;
        u64::try_from(sum).ok().filter(|&sum| sum <= MAX_TOTAL)
    }

    /// Whether so many sources may be read.
    fn check_work(&self, sources: usize, max_bytes: u64) -> Result<(), CountMinError> {
        let bytes = (self.cells.len() as u64).saturating_mul(sources as u64);
        Ok(check_work(sources, bytes, max_bytes)?)
    }

    /// Whether no product and no partial sum of the `operands` sources in these groups can overflow, in
    /// whatever order they are added. Reads cells only where that may save reading some again.
    fn sums_fit<C: Cell>(&self, groups: &[Group], operands: usize) -> bool {
        let fit = |largest_count: &dyn Fn(&Group) -> u64| {
            let products = groups
                .iter()
                .map(|group| group.weights.checked_mul(largest_count(group)));
            let sum = products
                .into_iter()
                .try_fold(0u64, |sum, product| sum.checked_add(product?));
            sum.is_some_and(|sum| sum <= i64::MAX.cast_unsigned())
        };
        let largest_count = |group: &Group| {
            let cells = C::all(&group.sum.sketch.unwrap_or(self).cells);
            cells.iter().map(|&cell| C::count(cell)).max().unwrap_or(0)
        };
        fit(&|_| C::MAX_COUNT) || groups.len() < operands && fit(&largest_count)
    }

    /// Whether a cell changed; `None`, and no change, where a sum is out of range.
    fn merge_cells<C: Cell>(
        &mut self,
        sources: &[Weighted],
        cannot_overflow: bool,
    ) -> Option<bool> {
        let cell_count = C::all(&self.cells).len();
        let blocks = || {
            (0..cell_count)
                .step_by(BLOCK_CELLS)
                .map(|start| start..cell_count.min(start + BLOCK_CELLS))
        };
        let mut sums = [0; BLOCK_CELLS];
        for block in blocks() {
            let sums = &mut sums[..block.len()];
            if cannot_overflow {
                self.sum::<C>(sources, block, sums);
            } else if !self.sum_checked::<C>(sources, block, sums) {
                return None;
            }
            // The maximum is all ones up to some bit: a sum below 0 or above it has others.
            let outside = sums
                .iter()
                .fold(0, |bits, sum| bits | sum.cast_unsigned() & !C::MAX_COUNT);
            if outside != 0 {
                return None;
            }
        }
        let mut changed = false;
        for block in blocks() {
            let sums = &mut sums[..block.len()];
            self.sum::<C>(sources, block.clone(), sums);
            let mut difference = 0;
            for (cell, sum) in C::all_mut(&mut self.cells)[block].iter_mut().zip(sums) {
                difference |= C::count(*cell) ^ sum.cast_unsigned();
                *cell = C::with_count(sum.cast_unsigned());
            }
            changed |= difference != 0;
        }
        Some(changed)
    }

    /// The weighted sums of a block's cells, which wrap.
    fn sum<C: Cell>(&self, sources: &[Weighted], block: Range<usize>, sums: &mut [i64]) {
        sums.fill(0);
        for source in sources {
            let cells = &C::all(&source.sketch.unwrap_or(self).cells)[block.clone()];
            let terms = sums.iter_mut().zip(cells);
            // The weight where none is given; and 64-bit products are dear.
            if source.weight == 1 {
                for (sum, &cell) in terms {
                    *sum = sum.wrapping_add(C::count(cell).cast_signed());
                }
            } else {
                for (sum, &cell) in terms {
                    let product = C::count(cell).cast_signed().wrapping_mul(source.weight);
                    *sum = sum.wrapping_add(product);
                }
            }
        }
    }

    /// As [`CountMin::sum`]; whether no product and no partial sum overflowed.
    fn sum_checked<C: Cell>(
        &self,
        sources: &[Weighted],
        block: Range<usize>,
        sums: &mut [i64],
    ) -> bool {
        sums.fill(0);
        let mut overflow = false;
        for source in sources {
            let cells = &C::all(&source.sketch.unwrap_or(self).cells)[block.clone()];
            for (sum, &cell) in sums.iter_mut().zip(cells) {
                let (product, too_large) =
                    C::count(cell).cast_signed().overflowing_mul(source.weight);
                let (new_sum, too_far) = sum.overflowing_add(product);
                overflow |= too_large | too_far;
                *sum = new_sum;
            }
        }
        !overflow
    }
}

/// All occurrences of a source.
struct Group<'a> {
    /// The source, with the sum of the weights. The sum wraps, which [`CountMin::sums_fit`] allows for
    /// sources whose counts are all 0 only.
    sum: Weighted<'a>,
    /// The sum of the weights' magnitudes, saturating.
    weights: u64,
}

impl<'a> Group<'a> {
    fn of(sources: &[Weighted<'a>]) -> Result<Vec<Self>, OutOfMemory> {
        let address = |source: &Weighted| source.sketch.map_or(ptr::null(), ptr::from_ref);
        let distinct = Distinct::of(sources.iter().map(address))?;
        let mut groups = with_capacity(distinct.firsts.len())?;
        groups.extend(distinct.firsts.iter().map(|&first| Self {
            sum: Weighted {
                weight: 0,
                ..sources[first]
            },
            weights: 0,
        }));
        for (source, number) in sources.iter().zip(distinct.numbers) {
            let Self { sum, weights } = &mut groups[number];
            sum.weight = sum.weight.wrapping_add(source.weight);
            *weights = weights.saturating_add(source.weight.unsigned_abs());
        }
        Ok(groups)
    }
}
