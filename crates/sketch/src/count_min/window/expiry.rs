//! Subtraction of expired cells, and allocation and release of the arrays.

use super::*;
use std::mem;

/// Expired bytes that an increment subtracts besides those in the blocks of its own cells.
pub(super) const EXPIRED_BYTES_PER_INCREMENT: usize = 2048;
/// Blocks of which an increment reads the age, besides those of its own cells.
pub(super) const TESTED_BLOCKS: usize = 64;

impl CountMinWindow {
    /// The slots in the order of their panes when a block of this age was current, oldest first. `newest` is that of the
    /// newest pane.
    pub(super) fn ring_from(&self, newest: usize, age: u64) -> impl Iterator<Item = &Pane> {
        let (before, after) = self.panes.split_at(self.ring_start(newest, age));
        after.iter().chain(before)
    }

    /// The slot after that of the newest pane when a block of this age was current; at least 1, at most the number of slots.
    /// `newest` is the slot of the newest pane.
    fn ring_start(&self, newest: usize, age: u64) -> usize {
        // An age is at most the number of slots.
        let slots = self.panes.len();
        let start = newest + 1 + slots - age as usize;
        if start > slots { start - slots } else { start }
    }

    /// Makes a block current: subtracts the cells of expired panes from the sums and sets them to 0.
    pub(super) fn expire_block<C: Cell>(&mut self, block: usize) {
        let age = self.ages.get(block);
        if age == 0 {
            return;
        }
        let slots = self.panes.len();
        let cells = self.block_cells::<C>(block);
        let start = self.ring_start(self.newest_slot(), age);
        let sums = &mut C::all_mut(&mut self.sum.cells)[cells.clone()];
        if age >= slots as u64 {
            sums.fill(C::with_count(0));
            for pane in &mut self.panes {
                if let Some(expired) = C::all_mut(&mut pane.cells).get_mut(cells.clone()) {
                    expired.fill(C::with_count(0));
                }
            }
        } else {
            let (before, after) = self.panes.split_at_mut(start);
            for pane in after.iter_mut().chain(before).take(age as usize) {
                let Some(expired) = C::all_mut(&mut pane.cells).get_mut(cells.clone()) else {
                    continue;
                };
                for (sum, cell) in sums.iter_mut().zip(expired) {
                    *sum = C::with_count(C::count(*sum).wrapping_sub(C::count(*cell)));
                    *cell = C::with_count(0);
                }
            }
        }
        self.ages.set_current(block);
    }

    /// Makes further blocks current, from the cursor on, until this many bytes are subtracted or this many blocks are
    /// tested. When the last block is current, retires the arrays of panes without increments.
    pub(super) fn expire_more<C: Cell>(&mut self, max_bytes: usize, max_blocks: usize) {
        let mut bytes = 0;
        for _ in 0..max_blocks {
            if self.ages.stale() == 0 || bytes >= max_bytes {
                break;
            }
            let block = self.ages.next();
            bytes += self.ages.get(block) as usize * self.block_bytes();
            self.expire_block::<C>(block);
        }
        if self.ages.stale() == 0 {
            self.retire_empty();
        }
    }

    /// Retires the arrays of panes without increments, and returns whether there are any. No block is stale, so the cells
    /// of these panes are 0.
    pub(super) fn retire_empty(&mut self) -> bool {
        let mut retired = false;
        for pane in &mut self.panes {
            if pane.total == 0 && !pane.cells.is_empty() {
                self.retired.add(mem::take(&mut pane.cells));
                retired = true;
            }
        }
        retired
    }

    /// Retires all arrays except one, which becomes that of the newest pane. All cells have expired.
    pub(super) fn retire_all_but_one(&mut self) {
        let newest = self.timeline.slot(self.timeline.newest());
        let mut kept = mem::take(&mut self.panes[newest].cells);
        for pane in &mut self.panes {
            let cells = mem::take(&mut pane.cells);
            if kept.is_empty() {
                kept = cells;
            } else if !cells.is_empty() {
                self.retired.add(cells);
            }
        }
        self.panes[newest].cells = kept;
    }

    /// Allocates the arrays of slots that have none, and those of the sums and ages if the sketch is blank. Requests their
    /// bytes from `budget`. After an error nothing has changed. No slot is named twice.
    ///
    /// Expired arrays are freed at once if the sketch would otherwise have more arrays than a full window has.
    pub(super) fn allocate(
        &mut self,
        slots: impl Iterator<Item = usize> + Clone,
        budget: Budget<'_>,
    ) -> Result<(), OutOfMemory> {
        let missing = slots.filter(|&slot| self.panes[slot].cells.is_empty());
        let count = missing.clone().count();
        if count == 0 {
            return Ok(());
        }
        let (shape, window) = (self.shape(), self.timeline.window());
        let bytes = shape.bytes().unwrap_or(u64::MAX);
        if self.is_blank() {
            budget.request(Self::array_bytes(shape, window, count as u64))?;
        } else {
            budget.request(bytes.saturating_mul(count as u64))?;
        }
        let mut arrays = with_capacity(count)?;
        for slot in missing {
            arrays.push((slot, Buffer::zeroed(bytes)?));
        }
        if self.is_blank() {
            let ages = Ages::current(blocks(bytes, window))?;
            self.sum.cells = Buffer::zeroed(bytes)?;
            self.ages = ages;
        }
        for (slot, cells) in arrays {
            self.panes[slot].cells = cells;
        }
        let arrays = self.panes.iter().filter(|pane| !pane.cells.is_empty());
        let spare = self.panes.len() - arrays.count();
        self.retired.truncate(spare);
        Ok(())
    }

    /// Replaces a sketch without increments by a blank one. Its arrays are retired.
    pub(super) fn make_blank(&mut self) {
        self.retire_empty();
        self.ages = Ages::default();
        if !self.is_blank() {
            self.retired.add(mem::take(&mut self.sum.cells));
        }
    }
}
