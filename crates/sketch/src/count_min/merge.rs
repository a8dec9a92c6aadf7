//! Merges: every cell becomes a weighted sum of the sources' cells.
//!
//! A merge must change nothing if one sum is out of range, and a second set of cells would cost memory and page faults.
//! The sums are therefore computed twice: first to check them, then to write them. Both passes work on blocks that fit
//! the first-level cache, source by source. The inner loops then run over plain arrays, which the compiler vectorizes,
//! and the destination may be a source.
//!
//! A source that is given several times is read once, with the sum of its weights. If partial sums might overflow, all
//! sources are summed in their order instead.

use super::cell::{Cell, CellSize, with_cell};
use super::{CountMin, CountMinError, MAX_TOTAL};
use crate::memory::{OutOfMemory, with_capacity};
use crate::merge::{Distinct, check_work};
use std::ops::Range;
use std::ptr;

/// Cells summed at a time: 4 KiB of sums.
const BLOCK_CELLS: usize = 512;

/// A source of a merge, with its weight.
#[derive(Debug)]
pub struct MergeSource<'a, S = CountMin> {
    /// The sketch, `None` for the destination itself.
    pub sketch: Option<&'a S>,
    /// The factor of its counts.
    pub weight: i64,
}

// Derived implementations would require that sketches can be copied.
impl<S> Clone for MergeSource<'_, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for MergeSource<'_, S> {}

impl CountMin {
    /// Whether `source` may be merged into this sketch.
    ///
    /// # Errors
    /// [`CountMinError::DimensionMismatch`], then [`CountMinError::CellSizeMismatch`].
    pub fn check_source(&self, source: &Self) -> Result<(), CountMinError> {
        self.dimensions().check_source(source.dimensions())
    }

    /// [`CountMin::merge_within`] without a work limit.
    ///
    /// # Errors
    /// As [`CountMin::merge_within`].
    pub fn merge(&mut self, sources: &[MergeSource]) -> Result<bool, CountMinError> {
        self.merge_within(sources, u64::MAX)
    }

    /// Replaces every cell and the total by Σ weight × source. Returns whether anything changed.
    ///
    /// The sums are computed from the first source to the last in signed 64-bit integers. No product or partial sum
    /// may overflow, and the results must be in the range of a cell and of the total. The sketch's own counts
    /// contribute only if it is a source. `max_bytes` limits the bytes read, see [`check_work`]. Cost: two passes
    /// over all cells of the distinct sources; three if a weight or the cells are large.
    ///
    /// # Errors
    /// Those of [`CountMin::check_source`], [`CountMinError::MergeOverflow`], [`CountMinError::TooMuchWork`],
    /// [`CountMinError::OutOfMemory`] if the allocator refuses a list of the sources.
    pub fn merge_within(
        &mut self,
        sources: &[MergeSource],
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
        let cell_size = self.cell_size();
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

    /// [`CountMin::merge_within`] for a replicated command: sums beyond 32 bits wrap in cells of 4 bytes, as in RedisBloom 2.6. A
    /// total above [`MAX_TOTAL`] counts as [`MAX_TOTAL`], as in a stored sketch.
    ///
    /// # Errors
    /// As [`CountMin::merge_within`].
    pub fn merge_wrapping(
        &mut self,
        sources: &[MergeSource],
        max_bytes: u64,
    ) -> Result<bool, CountMinError> {
        let merged = self.merge_within(sources, max_bytes);
        let is_overflow = matches!(merged, Err(CountMinError::MergeOverflow));
        if !is_overflow || self.cell_size() != CellSize::Four {
            return merged;
        }
        let products = sources.iter().map(|source| {
            let total = source.sketch.unwrap_or(self).total;
            total.wrapping_mul(source.weight.cast_unsigned())
        });
        let total = products.fold(0, u64::wrapping_add).min(MAX_TOTAL);
        let changed = self.write_sums::<u32>(sources) || total != self.total;
        self.total = total;
        Ok(changed)
    }

    /// The weighted sum of the totals; `None` if it is out of range.
    fn merged_total(&self, sources: &[MergeSource]) -> Option<u64> {
        let sum = sources.iter().try_fold(0i64, |sum, source| {
            let total = source.sketch.unwrap_or(self).total;
            let product = i64::try_from(total).ok()?.checked_mul(source.weight)?;
            sum.checked_add(product)
        })?;
        u64::try_from(sum).ok().filter(|&sum| sum <= MAX_TOTAL)
    }

    /// Checks the limit for reading this many sources.
    fn check_work(&self, sources: usize, max_bytes: u64) -> Result<(), CountMinError> {
        let bytes = (self.cells.len() as u64).saturating_mul(sources as u64);
        Ok(check_work(sources, bytes, max_bytes)?)
    }

    /// Whether no product or partial sum of the `operands` sources in these groups can overflow, in any order of
    /// addition. Reads cells only if that may avoid reading a source several times.
    fn sums_fit<C: Cell>(&self, groups: &[Group], operands: usize) -> bool {
        let largest_count = |group: &Group| {
            let cells = C::all(&group.sum.sketch.unwrap_or(self).cells);
            cells.iter().map(|&cell| C::count(cell)).max().unwrap_or(0)
        };
        products_fit(groups, |_| C::MAX_COUNT)
            || groups.len() < operands && products_fit(groups, largest_count)
    }

    /// Writes the sums. Returns whether a cell changed; `None`, and no change, if a sum is out of range.
    fn merge_cells<C: Cell>(
        &mut self,
        sources: &[MergeSource],
        cannot_overflow: bool,
    ) -> Option<bool> {
        let mut sums = [0; BLOCK_CELLS];
        for block in blocks(C::all(&self.cells).len()) {
            let sums = &mut sums[..block.len()];
            if cannot_overflow {
                self.sum::<C>(sources, block, sums);
            } else if !self.sum_checked::<C>(sources, block, sums) {
                return None;
            }
            // The maximum is 2^n - 1: a sum that is negative or above the maximum has bits outside the maximum.
            let out_of_range = sums
                .iter()
                .fold(0, |bits, sum| bits | sum.cast_unsigned() & !C::MAX_COUNT);
            if out_of_range != 0 {
                return None;
            }
        }
        Some(self.write_sums::<C>(sources))
    }

    /// Writes the sums, reduced to the bits of a cell. Returns whether a cell changed.
    fn write_sums<C: Cell>(&mut self, sources: &[MergeSource]) -> bool {
        let mut sums = [0; BLOCK_CELLS];
        let mut changed = false;
        for block in blocks(C::all(&self.cells).len()) {
            let sums = &mut sums[..block.len()];
            self.sum::<C>(sources, block.clone(), sums);
            let mut difference = 0;
            for (cell, sum) in C::all_mut(&mut self.cells)[block].iter_mut().zip(sums) {
                let count = sum.cast_unsigned() & C::MAX_COUNT;
                difference |= C::count(*cell) ^ count;
                *cell = C::with_count(count);
            }
            changed |= difference != 0;
        }
        changed
    }

    /// The weighted sums of the cells of a block, which wrap.
    fn sum<C: Cell>(&self, sources: &[MergeSource], block: Range<usize>, sums: &mut [i64]) {
        sums.fill(0);
        for source in sources {
            let cells = &C::all(&source.sketch.unwrap_or(self).cells)[block.clone()];
            let terms = sums.iter_mut().zip(cells);
            // 1 is the default weight, and 64-bit multiplications are slow.
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

    /// [`CountMin::sum`]; returns whether no product or partial sum overflowed.
    fn sum_checked<C: Cell>(
        &self,
        sources: &[MergeSource],
        block: Range<usize>,
        sums: &mut [i64],
    ) -> bool {
        sums.fill(0);
        let mut overflow = false;
        for source in sources {
            let cells = &C::all(&source.sketch.unwrap_or(self).cells)[block.clone()];
            for (sum, &cell) in sums.iter_mut().zip(cells) {
                let (product, product_overflows) =
                    C::count(cell).cast_signed().overflowing_mul(source.weight);
                let (new_sum, sum_overflows) = sum.overflowing_add(product);
                overflow |= product_overflows | sum_overflows;
                *sum = new_sum;
            }
        }
        !overflow
    }
}

/// The blocks of this many cells.
fn blocks(cells: usize) -> impl Iterator<Item = Range<usize>> {
    let starts = (0..cells).step_by(BLOCK_CELLS);
    starts.map(move |start| start..cells.min(start + BLOCK_CELLS))
}

/// Whether the sum of the absolute weights times the largest counts fits in a signed 64-bit integer.
fn products_fit<S>(groups: &[Group<S>], largest_count: impl Fn(&Group<S>) -> u64) -> bool {
    let products = groups
        .iter()
        .map(|group| group.weights.checked_mul(largest_count(group)));
    let sum = products
        .into_iter()
        .try_fold(0u64, |sum, product| sum.checked_add(product?));
    sum.is_some_and(|sum| sum <= i64::MAX.cast_unsigned())
}

/// All occurrences of a source.
struct Group<'a, S = CountMin> {
    /// The source, with the sum of the weights. The sum may wrap: [`products_fit`] then requires that all counts of the
    /// source are 0.
    sum: MergeSource<'a, S>,
    /// The sum of the absolute weights, saturating.
    weights: u64,
}

impl<'a, S> Group<'a, S> {
    /// The distinct sources, in the order of their first occurrence.
    fn of(sources: &[MergeSource<'a, S>]) -> Result<Vec<Self>, OutOfMemory> {
        let address = |source: &MergeSource<S>| source.sketch.map_or(ptr::null(), ptr::from_ref);
        let distinct = Distinct::of(sources.iter().map(address))?;
        let mut groups = with_capacity(distinct.firsts.len())?;
        groups.extend(distinct.firsts.iter().map(|&first| Self {
            sum: MergeSource {
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
