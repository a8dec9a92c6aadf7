//! Merges: every cell of a pane becomes a weighted sum of the sources' cells in the pane of the same number.
//!
//! As without a window (see `crate::count_min::merge`), the sums are computed twice, block by block: first to check
//! them, then to write them.

use super::super::cell::with_cell;
use super::super::merge::{Group, products_fit};
use super::super::{MAX_TOTAL, MergeSource};
use super::*;
use crate::merge::check_work;

/// The cells of the largest block.
const BLOCK_CELLS: usize = 1024;

type Source<'a> = MergeSource<'a, CountMinWindow>;

/// What the sketch becomes.
struct Merged<'a> {
    /// No product or partial sum can overflow.
    cannot_overflow: bool,
    /// The timeline, advanced to the newest pane of all operands.
    timeline: Timeline,
    /// The total of each live pane, oldest first.
    totals: Vec<u64>,
    /// The arrays of live panes of the sources, ordered by pane. Only these are read.
    arrays: Vec<SourceArray<'a>>,
}

/// An array of a source.
struct SourceArray<'a> {
    pane: u64,
    source: &'a Source<'a>,
}

impl<'a> Merged<'a> {
    /// The live panes with increments.
    fn panes(&self) -> impl Iterator<Item = u64> + Clone {
        let panes = self.timeline.live().zip(&self.totals);
        panes
            .filter(|&(_, &total)| total != 0)
            .map(|(pane, _)| pane)
    }

    /// The total of a live pane.
    fn total(&self, pane: u64) -> u64 {
        self.totals[(pane - self.timeline.oldest()) as usize]
    }

    /// The live panes of which a source has an array, in order, with these arrays.
    fn stored_panes(&self) -> impl Iterator<Item = (u64, &[SourceArray<'a>])> {
        let panes = self.arrays.chunk_by(|one, other| one.pane == other.pane);
        panes.filter_map(|arrays| Some((arrays.first()?.pane, arrays)))
    }
}

impl CountMinWindow {
    /// Whether `source` may be merged into this sketch.
    ///
    /// # Errors
    /// Those of [`CountMin::check_source`], then [`CountMinError::WindowMismatch`].
    pub fn check_source(&self, source: &Self) -> Result<(), CountMinError> {
        self.sum.check_source(&source.sum)?;
        if self.timeline.window() != source.timeline.window() {
            return Err(CountMinError::WindowMismatch);
        }
        Ok(())
    }

    /// Advances to the newest pane of this sketch and the sources, and replaces every cell and total of each live pane by
    /// Σ weight × source. Panes of a source that have expired then do not count. Returns whether anything changed.
    ///
    /// In each pane, the sums are computed from the first source to the last in signed 64-bit integers. No product or
    /// partial sum may overflow. The results, and their sums over all panes, must be in the range of a cell and of the
    /// total. The sketch's own counts contribute only if it is a source. `max_bytes` limits the bytes read, see
    /// [`check_work`]. Missing arrays are requested from `budget`. Cost: two passes over all arrays of the distinct
    /// sources; of all sources if a weight or the cells are large.
    ///
    /// # Errors
    /// Those of [`CountMinWindow::check_source`], [`CountMinError::MergeOverflow`], [`CountMinError::TooMuchWork`],
    /// [`CountMinError::OutOfMemory`].
    pub fn merge_within(
        &mut self,
        sources: &[Source<'_>],
        max_bytes: u64,
        budget: Budget<'_>,
    ) -> Result<bool, CountMinError> {
        let mut timeline = self.timeline;
        for sketch in sources.iter().filter_map(|source| source.sketch) {
            self.check_source(sketch)?;
            timeline.advance(sketch.timeline.newest());
        }
        let totals = self.merged_totals(sources, &timeline)?;
        let groups = Group::of(sources)?;
        let mut distinct = with_capacity(groups.len())?;
        distinct.extend(groups.iter().map(|group| group.sum));
        let max_count = self.shape().cell_size().max_count();
        let cannot_overflow = products_fit(&groups, |_| max_count);
        let sources = if cannot_overflow { &distinct } else { sources };
        let bytes = sources.iter().map(|source| {
            let arrays = source.sketch.unwrap_or(self).stored_panes();
            arrays.map(|(_, pane)| pane.cells.len() as u64).sum()
        });
        let bytes = bytes.fold(0, u64::saturating_add);
        check_work(sources.len(), bytes, max_bytes)?;
        let merged = Merged {
            cannot_overflow,
            timeline,
            totals,
            arrays: self.source_arrays(sources, &timeline)?,
        };
        let fits = with_cell!(self.shape().cell_size(), C => self.check_merge::<C>(&merged));
        if !fits {
            return Err(CountMinError::MergeOverflow);
        }
        let slots = merged.panes().map(|pane| timeline.slot(pane));
        self.allocate(slots, budget)?;
        let changed = with_cell!(self.shape().cell_size(), C => self.write_merge::<C>(&merged));
        Ok(self.finish_merge(&merged) | changed)
    }

    /// The weighted sums of the totals of the live panes.
    fn merged_totals(
        &self,
        sources: &[Source<'_>],
        timeline: &Timeline,
    ) -> Result<Vec<u64>, CountMinError> {
        let mut totals = with_capacity(self.panes.len())?;
        let mut sum = 0u64;
        for pane in timeline.live() {
            let total = sources.iter().try_fold(0i64, |sum, source| {
                let total = source.sketch.unwrap_or(self).pane_total(pane);
                sum.checked_add(total.cast_signed().checked_mul(source.weight)?)
            });
            let total = total.and_then(|total| u64::try_from(total).ok());
            let total = total.ok_or(CountMinError::MergeOverflow)?;
            sum += total;
            if sum > MAX_TOTAL {
                return Err(CountMinError::MergeOverflow);
            }
            totals.push(total);
        }
        Ok(totals)
    }

    /// The arrays of the sources in the live panes of `timeline`.
    fn source_arrays<'a>(
        &self,
        sources: &'a [Source<'a>],
        timeline: &Timeline,
    ) -> Result<Vec<SourceArray<'a>>, OutOfMemory> {
        let of = |source: &'a Source<'a>| {
            let panes = source.sketch.unwrap_or(self).stored_panes();
            let live = panes.filter(|(pane, _)| timeline.live().contains(pane));
            live.map(move |(pane, _)| SourceArray { pane, source })
        };
        let mut arrays = with_capacity(sources.iter().map(|source| of(source).count()).sum())?;
        arrays.extend(sources.iter().flat_map(of));
        // Stable: the sums of a pane are computed from the first source to the last.
        arrays.sort_by_key(|array| array.pane);
        Ok(arrays)
    }

    /// The cells of a block in a pane; `None` if all are 0 because the pane is not live, was not incremented, or the
    /// cells are those of an expired pane.
    fn cells_of<C: Cell>(&self, pane: u64, block: usize) -> Option<&[C::Bytes]> {
        let is_live = !self.is_blank()
            && self.timeline.live().contains(&pane)
            && self.has_cells_of(pane, block);
        let cells = is_live.then(|| &self.panes[self.timeline.slot(pane)].cells);
        C::all(cells?).get(self.block_cells::<C>(block))
    }

    /// The number of blocks of this shape. It fits in `usize` if an operand has an array.
    pub(super) fn blocks(&self) -> usize {
        blocks(
            self.shape().bytes().unwrap_or(u64::MAX),
            self.timeline.window(),
        ) as usize
    }

    /// Computes the weighted sums of a block in the pane of these arrays. Returns the number of cells: 0 if no source
    /// has cells.
    ///
    /// # Errors
    /// [`CountMinError::MergeOverflow`] if a product or partial sum overflows.
    fn merged_cells<C: Cell>(
        &self,
        merged: &Merged<'_>,
        arrays: &[SourceArray<'_>],
        block: usize,
        sums: &mut [i64; BLOCK_CELLS],
    ) -> Result<usize, CountMinError> {
        let mut len = 0;
        let mut overflow = false;
        for &SourceArray { pane, source } in arrays {
            #[cfg(test)]
            crate::testing::MERGED_BLOCKS.with(crate::testing::Work::count);
            let Some(cells) = source.sketch.unwrap_or(self).cells_of::<C>(pane, block) else {
                continue;
            };
            if len == 0 {
                len = cells.len();
                sums[..len].fill(0);
            }
            let terms = sums.iter_mut().zip(cells);
            // 64-bit multiplications are slow, and so are tests for overflow.
            if merged.cannot_overflow && source.weight == 1 {
                for (sum, &cell) in terms {
                    *sum = sum.wrapping_add(C::count(cell).cast_signed());
                }
            } else if merged.cannot_overflow {
                for (sum, &cell) in terms {
                    let product = C::count(cell).cast_signed().wrapping_mul(source.weight);
                    *sum = sum.wrapping_add(product);
                }
            } else {
                for (sum, &cell) in terms {
                    let (product, product_overflows) =
                        C::count(cell).cast_signed().overflowing_mul(source.weight);
                    let (new_sum, sum_overflows) = sum.overflowing_add(product);
                    overflow |= product_overflows | sum_overflows;
                    *sum = new_sum;
                }
            }
        }
        if overflow {
            Err(CountMinError::MergeOverflow)
        } else {
            Ok(len)
        }
    }

    /// Whether all merged cells, and their sums over the panes, are in range.
    fn check_merge<C: Cell>(&self, merged: &Merged<'_>) -> bool {
        if merged.arrays.is_empty() {
            return true;
        }
        let (mut cells, mut sums) = ([0; BLOCK_CELLS], [0; BLOCK_CELLS]);
        for block in 0..self.blocks() {
            sums.fill(0);
            for (pane, arrays) in merged.stored_panes() {
                let Ok(len) = self.merged_cells::<C>(merged, arrays, block, &mut cells) else {
                    return false;
                };
                let (mut bits, mut out_of_range) = (0, 0);
                for (sum, cell) in sums.iter_mut().zip(&cells[..len]) {
                    let cell = cell.cast_unsigned();
                    bits |= cell;
                    // Neither operand exceeds the maximum, or this is noticed here.
                    *sum = u64::wrapping_add(*sum, cell);
                    out_of_range |= (cell | *sum) & !C::MAX_COUNT;
                }
                // A pane without increments has no array. Its cells are 0, unless stored totals did not match the cells.
                if out_of_range != 0 || merged.total(pane) == 0 && bits != 0 {
                    return false;
                }
            }
        }
        true
    }

    /// Writes the merged cells and their sums. Returns whether a cell changed in a pane whose total is not 0.
    fn write_merge<C: Cell>(&mut self, merged: &Merged<'_>) -> bool {
        if merged.panes().next().is_none() {
            return false;
        }
        let (mut cells, mut sums) = ([0; BLOCK_CELLS], [0; BLOCK_CELLS]);
        let mut difference = 0;
        for block in 0..self.blocks() {
            sums.fill(0);
            let range = self.block_cells::<C>(block);
            // A pane with increments has an array in a source.
            let panes = merged.stored_panes();
            for (pane, arrays) in panes.filter(|&(pane, _)| merged.total(pane) != 0) {
                let len = self.merged_cells::<C>(merged, arrays, block, &mut cells);
                // Errors occur only in the first pass.
                cells[len.unwrap_or_default()..range.len()].fill(0);
                let is_own = self.cells_of::<C>(pane, block).is_some();
                let slot = merged.timeline.slot(pane);
                let own = &mut C::all_mut(&mut self.panes[slot].cells)[range.clone()];
                for ((own, sum), cell) in own.iter_mut().zip(&mut sums).zip(&cells) {
                    let cell = cell.cast_unsigned();
                    difference |= cell ^ if is_own { C::count(*own) } else { 0 };
                    *own = C::with_count(cell);
                    *sum = u64::wrapping_add(*sum, cell);
                }
            }
            let all = &mut C::all_mut(&mut self.sum.cells)[range];
            for (cell, &sum) in all.iter_mut().zip(&sums) {
                *cell = C::with_count(sum);
            }
        }
        difference != 0
    }

    /// Replaces the timeline and the totals, after the cells. Returns whether anything changed.
    fn finish_merge(&mut self, merged: &Merged<'_>) -> bool {
        let mut changed = self.timeline != merged.timeline || self.ages.stale() != 0;
        let expired = self.timeline.advance(merged.timeline.newest());
        for pane in expired.into_iter().flatten() {
            self.panes[self.timeline.slot(pane)].total = 0;
        }
        for (pane, &total) in self.timeline.live().zip(&merged.totals) {
            let pane = &mut self.panes[self.timeline.slot(pane)];
            changed |= pane.total != total;
            pane.total = total;
        }
        self.sum.total = merged.totals.iter().sum();
        self.ages.set_all_current();
        if self.sum.total == 0 {
            changed |= !self.is_blank();
            self.make_blank();
        } else {
            changed |= self.retire_empty();
        }
        changed
    }
}
