//! Increments and queries.

use super::super::cell::with_cell;
use super::super::count::{
    Places, Sums, Table, add, increment_items, increment_one, total_after, undo,
};
use super::super::limit::{Limit, NoLimit};
use super::expiry::{EXPIRED_BYTES_PER_INCREMENT, TESTED_BLOCKS};
use super::*;
use crate::prefetch::prefetch;
use crate::window::Panes;
use std::iter;

impl CountMinWindow {
    /// The estimated count of `item` in these panes. Cost: as [`CountMinWindow::query_all`].
    #[must_use]
    pub fn query(&self, item: &[u8], panes: Panes) -> u64 {
        let mut count = 0;
        self.query_all(iter::once(item), panes, |estimate| count = estimate);
        count
    }

    /// Calls `answer` with the estimated count of each item in these panes, in order.
    ///
    /// Cost: that of [`CountMin::query_all`] if all panes count and no block is stale;
    /// otherwise at most one more cell per row for every other pane.
    pub fn query_all<'a>(
        &self,
        items: impl ExactSizeIterator<Item = &'a [u8]>,
        panes: Panes,
        mut answer: impl FnMut(u64),
    ) {
        let skipped = self.timeline.skipped_slots(panes);
        if self.is_blank() {
            items.for_each(|_| answer(0));
        } else if skipped == 0 && self.ages.stale() == 0 {
            self.sum.query_all(items, answer);
        } else {
            with_cell!(self.shape().cell_size(), C => {
                let newest = self.newest_slot();
                let count = |cell| self.count_after::<C>(cell, newest, skipped);
                self.sum.query_cells(items, count, answer);
            });
        }
    }

    /// Adds `by`, which is not negative, to the count of `item` in the newest pane and returns the new estimate. After an
    /// error nothing has changed; nor after an increment of 0.
    ///
    /// Cost: as [`CountMin::increment`], and as many cells of the pane. While blocks are stale, the expired cells of one
    /// block per row and of at least one other are subtracted.
    ///
    /// # Errors
    /// [`CountMinError::Overflow`], [`CountMinError::WindowDecrement`], [`CountMinError::OutOfMemory`] for the first
    /// increment of a pane.
    pub fn increment(
        &mut self,
        item: &[u8],
        by: i64,
        budget: Budget<'_>,
    ) -> Result<u64, CountMinError> {
        self.increment_limited(item, by, NoLimit, budget)
    }

    /// [`CountMinWindow::increment`], if the new estimate is within the limit.
    ///
    /// # Errors
    /// With a limit, [`CountMinError::AboveLimit`] instead of [`CountMinError::Overflow`].
    pub fn increment_limited(
        &mut self,
        item: &[u8],
        by: i64,
        limit: impl Limit,
        budget: Budget<'_>,
    ) -> Result<u64, CountMinError> {
        let mut writer = Writer::new(self, budget);
        let cell_size = writer.sketch.shape().cell_size();
        with_cell!(cell_size, C => increment_one::<C>(&mut writer, item, by, limit))
    }

    /// Adds to the count of each item and calls `answer` with the increment and the result of
    /// [`CountMinWindow::increment`], in order. After an item that fails, the next items are still counted.
    pub fn increment_all<'a>(
        &mut self,
        items: impl Iterator<Item = (&'a [u8], i64)>,
        budget: Budget<'_>,
        answer: impl FnMut(i64, Result<u64, CountMinError>),
    ) {
        self.increment_all_limited(items, NoLimit, budget, answer);
    }

    /// [`CountMinWindow::increment_all`] with the results of [`CountMinWindow::increment_limited`].
    pub fn increment_all_limited<'a>(
        &mut self,
        items: impl Iterator<Item = (&'a [u8], i64)>,
        limit: impl Limit,
        budget: Budget<'_>,
        answer: impl FnMut(i64, Result<u64, CountMinError>),
    ) {
        let mut writer = Writer::new(self, budget);
        let cell_size = writer.sketch.shape().cell_size();
        with_cell!(cell_size, C => increment_items::<C>(&mut writer, items, limit, answer));
    }

    /// The estimate of the item with the cells at these places, of which some may be in stale blocks. `newest` is the slot of
    /// the newest pane.
    #[cold]
    fn estimate_stale<C: Cell>(&self, newest: usize, places: &impl Places) -> u64 {
        let mut estimate = u64::MAX;
        places.for_each_group(|places| {
            let counts = places
                .iter()
                .map(|&cell| self.count_after::<C>(cell, newest, 0));
            estimate = counts.fold(estimate, u64::min);
        });
        estimate
    }

    /// The count of a cell in all slots but the first `skipped`. `newest` is that of the newest pane.
    fn count_after<C: Cell>(&self, cell: usize, newest: usize, skipped: u64) -> u64 {
        let age = match self.ages.stale() {
            0 => 0,
            _ => self.ages.get(self.block_of::<C>(cell)),
        };
        let expired = skipped + age;
        let slots = self.panes.len();
        let count = |cells: &[u8]| C::all(cells).get(cell).map_or(0, |&cell| C::count(cell));
        match usize::try_from(expired) {
            Ok(0) => count(&self.sum.cells),
            Ok(expired) if expired <= slots / 2 => {
                let expired = self.ring_from(newest, age).take(expired);
                let expired = expired.map(|pane| count(&pane.cells));
                expired.fold(count(&self.sum.cells), u64::wrapping_sub)
            }
            Ok(expired) if expired < slots => {
                let live = self.ring_from(newest, age).skip(expired);
                live.map(|pane| count(&pane.cells))
                    .fold(0, u64::wrapping_add)
            }
            _ => 0,
        }
    }
}

/// A sketch whose newest pane is incremented.
struct Writer<'a> {
    sketch: &'a mut CountMinWindow,
    /// The slot of the newest pane.
    slot: usize,
    budget: Budget<'a>,
}

impl<'a> Writer<'a> {
    fn new(sketch: &'a mut CountMinWindow, budget: Budget<'a>) -> Self {
        Self {
            slot: sketch.timeline.slot(sketch.timeline.newest()),
            sketch,
            budget,
        }
    }

    /// [`Table::increment_cells`] if blocks are stale or the newest pane has no array. The cells are read first, because
    /// an increment that is refused must not change the blocks.
    #[cold]
    fn increment_stale<C: Cell>(
        &mut self,
        places: impl Places,
        by: i64,
    ) -> Result<u64, CountMinError> {
        let sketch = &mut *self.sketch;
        let total = total_after(sketch.sum.total, by)?;
        let mut sums = Sums::NONE;
        if sketch.is_blank() {
            sums = Sums::one(by.cast_unsigned());
        } else {
            places.for_each_group(|places| {
                for &cell in places {
                    let count = sketch.count_after::<C>(cell, self.slot, 0);
                    sums = sums.and(Sums::one(count.wrapping_add_signed(by)));
                }
            });
        }
        let estimate = sums.estimate::<C>(by)?;
        if by == 0 {
            return Ok(estimate);
        }
        sketch.allocate(iter::once(self.slot), self.budget)?;
        sketch.sum.total = total;
        sketch.panes[self.slot].total += by.cast_unsigned();
        places.for_each_group(|places| {
            for &cell in places {
                sketch.expire_block::<C>(sketch.block_of::<C>(cell));
            }
            add::<C>(C::all_mut(&mut sketch.sum.cells), places, by);
            let pane = &mut sketch.panes[self.slot];
            add::<C>(C::all_mut(&mut pane.cells), places, by);
        });
        sketch.expire_more::<C>(EXPIRED_BYTES_PER_INCREMENT, TESTED_BLOCKS);
        Ok(estimate)
    }
}

impl Table for Writer<'_> {
    #[inline(always)]
    fn sketch(&self) -> &CountMin {
        &self.sketch.sum
    }

    #[inline(always)]
    fn prefetch(&self, byte: usize) {
        prefetch(&self.sketch.sum.cells, byte);
        prefetch(&self.sketch.panes[self.slot].cells, byte);
    }

    #[inline]
    fn estimate<C: Cell>(&self, places: &impl Places) -> u64 {
        if self.sketch.is_blank() {
            0
        } else if self.sketch.ages.stale() == 0 {
            self.sketch.sum.estimate::<C>(places)
        } else {
            self.sketch.estimate_stale::<C>(self.slot, places)
        }
    }

    #[inline]
    fn increment_cells<C: Cell>(
        &mut self,
        places: impl Places,
        by: i64,
    ) -> Result<u64, CountMinError> {
        if by < 0 {
            return Err(CountMinError::WindowDecrement);
        }
        let pane = &mut self.sketch.panes[self.slot];
        if self.sketch.ages.stale() != 0 || pane.cells.is_empty() {
            return self.increment_stale::<C>(places, by);
        }
        let sum = &mut self.sketch.sum;
        let total = total_after(sum.total, by)?;
        let sum_cells = C::all_mut(&mut sum.cells);
        let cells = C::all_mut(&mut pane.cells);
        let mut sums = Sums::NONE;
        places.for_each_group(|places| {
            sums = sums.and(add::<C>(sum_cells, places, by));
            // A cell of the pane is at most its sum.
            add::<C>(cells, places, by);
        });
        let estimate = sums.estimate::<C>(by);
        match estimate {
            Ok(_) => {
                sum.total = total;
                pane.total += by.cast_unsigned();
            }
            Err(_) => places.for_each_group(|places| {
                undo::<C>(sum_cells, places, by);
                undo::<C>(cells, places, by);
            }),
        }
        estimate
    }
}
