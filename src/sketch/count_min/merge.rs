//! Merging: every cell becomes a weighted sum of the sources' cells.
//!
//! Nothing may change if one sum is out of range, and a second set of cells would cost memory and page
//! faults, so the sums are made twice: once to be checked, once to be written. Both passes work on
//! blocks small enough for the first-level cache, source by source, so that the inner loops are over
//! plain arrays, which the compiler vectorises, and the destination may be a source.

use super::cell::{Cell, with_cell};
use super::{CountMin, CountMinError, MAX_TOTAL};
use std::ops::Range;

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

    /// Replaces every cell and the total by Σ weight × source; whether anything changed by it.
    ///
    /// The sums are made from the first source to the last in 64 bits with a sign, none of the products
    /// and partial sums may overflow, and what comes out must be in the range of a cell and of the
    /// total. The sketch's own counts only take part where it is a source. Cost: two passes over all
    /// cells of all sources; nothing is allocated.
    ///
    /// # Errors
    /// Those of [`CountMin::check_source`], [`CountMinError::MergeOverflow`].
    pub fn merge(&mut self, sources: &[Weighted]) -> Result<bool, CountMinError> {
        for sketch in sources.iter().filter_map(|source| source.sketch) {
            self.check_source(sketch)?;
        }
        let total = self
            .merged_total(sources)
            .ok_or(CountMinError::MergeOverflow)?;
        let changed = with_cell!(self.shape.cell_size(), C => self.merge_cells::<C>(sources))
            .ok_or(CountMinError::MergeOverflow)?;
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

    /// Whether a cell changed; `None`, and no change, where a sum is out of range.
    fn merge_cells<C: Cell>(&mut self, sources: &[Weighted]) -> Option<bool> {
        let cell_count = C::all(&self.cells).len();
        let blocks = || {
            (0..cell_count)
                .step_by(BLOCK_CELLS)
                .map(|start| start..cell_count.min(start + BLOCK_CELLS))
        };
        let cannot_overflow = sums_fit(sources, C::MAX_COUNT);
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

/// Whether no product and no partial sum can overflow, whatever the cells hold.
fn sums_fit(sources: &[Weighted], max_count: u64) -> bool {
    sources
        .iter()
        .try_fold(0u64, |sum, source| {
            sum.checked_add(source.weight.unsigned_abs().checked_mul(max_count)?)
        })
        .is_some_and(|sum| sum <= i64::MAX.cast_unsigned())
}

#[cfg(test)]
mod tests {
    use super::super::CellSize;
    use super::super::cell::ALL_SIZES;
    use super::*;

    fn counted(cell_size: CellSize, count: i64) -> CountMin {
        let mut sketch = CountMin::new(300, 4, cell_size, &|_| true).unwrap();
        sketch.increment(b"a", count).unwrap();
        sketch
    }

    fn other(sketch: &CountMin, weight: i64) -> Weighted<'_> {
        Weighted {
            sketch: Some(sketch),
            weight,
        }
    }

    fn own(weight: i64) -> Weighted<'static> {
        Weighted {
            sketch: None,
            weight,
        }
    }

    #[test]
    fn the_old_counts_go_unless_they_are_a_source() {
        for cell_size in ALL_SIZES {
            let source = counted(cell_size, 3);
            let mut sketch = counted(cell_size, 100);
            assert_eq!(
                sketch.merge(&[other(&source, 2), own(1), own(-1)]),
                Ok(true)
            );
            assert_eq!((sketch.query(b"a"), sketch.total()), (6, 6));
            assert_eq!(sketch.merge(&[other(&source, 5), own(1), own(2)]), Ok(true));
            assert_eq!((sketch.query(b"a"), sketch.total()), (33, 33));
            assert_eq!(sketch.merge(&[other(&source, -11), own(2)]), Ok(false));
            assert_eq!((sketch.query(b"a"), sketch.total()), (33, 33));
            assert_eq!(sketch.merge(&[own(0)]), Ok(true));
            assert_eq!((sketch.query(b"a"), sketch.total()), (0, 0));
        }
    }

    #[test]
    fn sums_out_of_range_change_nothing() {
        for cell_size in ALL_SIZES {
            let max = cell_size.max_count().cast_signed();
            let full = counted(cell_size, max);
            let mut sketch = counted(cell_size, 7);
            for sources in [
                &[other(&full, 1), own(1)][..],
                &[other(&full, 2)],
                &[other(&full, i64::MAX)],
                &[other(&full, i64::MIN)],
                &[own(-1)],
                // The end is in range, the way there is not.
                &[other(&full, i64::MAX), other(&full, -i64::MAX), own(1)],
            ] {
                let merged = sketch.merge(sources);
                assert_eq!(merged, Err(CountMinError::MergeOverflow));
                assert_eq!(sketch, counted(cell_size, 7));
            }
            assert_eq!(sketch.merge(&[other(&full, 1)]), Ok(true));
            assert_eq!(sketch, full);
        }
    }

    #[test]
    fn the_last_cell_is_checked_before_the_first_is_written() {
        // 1200 cells are more than two blocks.
        let mut sketch = CountMin::new(1200, 1, CellSize::One, &|_| true).unwrap();
        let last = (0..u32::MAX)
            .map(u32::to_le_bytes)
            .find(|item| {
                let mut sketch = sketch.try_clone().unwrap();
                sketch.increment(item, 1).unwrap();
                sketch.cells.last() == Some(&1)
            })
            .unwrap();
        sketch.increment(&last, 200).unwrap();
        sketch.increment(b"a", 1).unwrap();
        let before = sketch.try_clone().unwrap();
        assert_eq!(sketch.merge(&[own(2)]), Err(CountMinError::MergeOverflow));
        assert_eq!(sketch, before);
    }

    #[test]
    fn the_total_may_overflow_alone() {
        // As 8.10 left sketches behind: a total that has nothing to do with the cells.
        let mut sketch = counted(CellSize::Four, 1);
        sketch.total = MAX_TOTAL;
        let before = sketch.try_clone().unwrap();
        assert_eq!(
            sketch.merge(&[own(1), own(1)]),
            Err(CountMinError::MergeOverflow)
        );
        assert_eq!(sketch, before);
        assert_eq!(sketch.merge(&[own(1)]), Ok(false));
    }

    #[test]
    fn other_shapes_are_refused() {
        let mut sketch = counted(CellSize::Two, 1);
        let new = |width, depth, size| CountMin::new(width, depth, size, &|_| true).unwrap();
        for (source, error) in [
            (new(301, 4, CellSize::Two), CountMinError::OtherDimensions),
            (new(300, 5, CellSize::Two), CountMinError::OtherDimensions),
            (new(400, 3, CellSize::Two), CountMinError::OtherDimensions),
            (new(301, 4, CellSize::One), CountMinError::OtherDimensions),
            (new(300, 4, CellSize::Four), CountMinError::OtherCellSize),
        ] {
            assert_eq!(sketch.merge(&[own(1), other(&source, 1)]), Err(error));
            assert_eq!(sketch, counted(CellSize::Two, 1));
        }
    }
}
