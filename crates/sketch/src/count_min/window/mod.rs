//! A count-min sketch with a sliding window: it forgets increments that are older than the window.
//!
//! Each live pane has an array of cells, in a ring of slots, and a classic sketch contains the sums of these arrays. A
//! query without expired cells reads the sums and takes as long as without a window. An increment adds to the sums and to
//! the array of the newest pane. The array of a pane is allocated at its first increment, that of the sums at the first
//! increment of all.
//!
//! When a pane expires, its cells must be subtracted from the sums and set to 0, which takes too long for one command. So
//! this is done block by block. Each block of cells has an age (`ages`): the number of panes that began since it was
//! current. In a block of age `a`, the slots of the last `a` panes still contain the cells of the panes before them in the
//! same slots, which have expired. An increment first makes the blocks of its cells current, and then at least one
//! other stale block, so that soon no block is stale. A query subtracts the expired cells that it reads.
//!
//! In every block of an age below the number of slots, each sum equals the sum of the cells in all slots. A block whose
//! age is the number of slots counts as zero, whatever it contains.
//!
//! - `ages`: the ages of the blocks
//! - `count`: increments and queries
//! - `expiry`: subtraction of expired cells, allocation and release of arrays
//! - `merge`: weighted sums, pane by pane
//! - `stored`: the stored forms
//!
//! ```
//! use roughly_sketch::count_min::{CellSize, CountMinWindow};
//! use roughly_sketch::memory::Budget;
//! use roughly_sketch::window::{Timed, Window};
//!
//! // One hour, in 12 panes of 5 minutes.
//! let window = Window::new(3_600_000, 12)?;
//! let mut sketch = CountMinWindow::new(2000, 7, CellSize::default(), window, Budget::UNLIMITED)?;
//! sketch.advance(100);
//! assert_eq!(sketch.increment(b"apple", 3, Budget::UNLIMITED), Ok(3));
//! sketch.advance(112);
//! assert_eq!(sketch.increment(b"apple", 1, Budget::UNLIMITED), Ok(4));
//! assert_eq!(sketch.query(b"apple", sketch.panes_in(113)), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ages;
mod count;
mod expiry;
mod merge;
mod stored;

#[cfg(test)]
mod tests;

use super::cell::{Cell, with_cell};
use super::{CellSize, CountMin, CountMinError, Shape};
use crate::blocks::{BlockChanges, BlockMover, BlockVisitor, Blocks};
use crate::buffer::Buffer;
use crate::memory::{Budget, OutOfMemory, with_capacity};
use crate::retired::Retired;
use crate::window::{EXPIRED_BYTES, MAX_SKETCHES, Panes, Timed, Timeline, Window};
use crate::work_limit::MAX_ROWS_WITHOUT_LIMIT;
use ages::Ages;
use std::ops::Range;

/// A count-min sketch with a window.
///
/// # Example
///
/// ```
/// use roughly_sketch::count_min::{CellSize, CountMinWindow};
/// use roughly_sketch::memory::Budget;
/// use roughly_sketch::window::{Timed, Window};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let minute = Window::of::<CountMinWindow>(60_000, 6)?;
/// let mut fruit = CountMinWindow::new(2000, 5, CellSize::default(), minute, Budget::UNLIMITED)?;
/// let now = 1_700_000_000_000;
/// fruit.advance(minute.pane_at(now));
/// fruit.increment(b"apple", 3, Budget::UNLIMITED)?;
/// assert_eq!(fruit.query(b"apple", fruit.timeline().panes_at(now + 30_000)), 3);
/// assert_eq!(fruit.query(b"apple", fruit.timeline().panes_at(now + 90_000)), 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct CountMinWindow {
    timeline: Timeline,
    /// The sums of the cells in all slots, and the total of the live panes. Has no cells before the first increment.
    sum: CountMin,
    /// The ring of [`Window::live_panes`] slots.
    panes: Vec<Pane>,
    ages: Ages,
    retired: Retired,
}

/// The maximum depth. When an item is counted, a block of each row is read in all panes to subtract expired cells.
pub const MAX_DEPTH: u64 = MAX_ROWS_WITHOUT_LIMIT;

/// A slot of the ring.
#[derive(Debug, Default, PartialEq, Eq)]
struct Pane {
    /// The sum of all increments in the live pane of this slot.
    total: u64,
    /// Empty, or as many cells as the sketch has. In stale blocks they may belong to an expired pane.
    cells: Buffer,
}

impl CountMinWindow {
    /// An empty sketch of `depth` rows of `width` cells per pane, whose newest pane is 0.
    ///
    /// Requests from `budget` what the sketch takes after its first increment. The arrays are allocated, and requested
    /// again, when a pane is first incremented.
    ///
    /// # Errors
    /// [`CountMinError::InvalidDimensions`], [`CountMinError::TooDeepForWindow`] if `depth` is above [`MAX_DEPTH`],
    /// [`CountMinError::Window`], [`CountMinError::OutOfMemory`].
    pub fn new(
        width: u64,
        depth: u64,
        cell_size: CellSize,
        window: Window,
        budget: Budget<'_>,
    ) -> Result<Self, CountMinError> {
        let shape = shape_of(width, depth, cell_size)?;
        let timeline = Timeline::new::<Self>(window)?;
        let slots = Self::slot_bytes(window);
        budget.request(slots.saturating_add(Self::array_bytes(shape, window, 1)))?;
        Ok(Self::empty(shape, timeline)?)
    }

    /// A sketch without arrays.
    fn empty(shape: Shape, timeline: Timeline) -> Result<Self, OutOfMemory> {
        let slots = timeline.window().live_panes();
        let mut panes = with_capacity(slots)?;
        panes.resize_with(slots, Pane::default);
        Ok(Self {
            timeline,
            sum: CountMin::without_cells(shape),
            panes,
            ages: Ages::default(),
            retired: Retired::default(),
        })
    }

    /// Bytes of the ring of panes.
    fn slot_bytes(window: Window) -> u64 {
        (window.live_panes() * size_of::<Pane>()) as u64
    }

    /// Bytes of the arrays of this many panes, of the sums and of the ages; `u64::MAX` if they do not fit in 64 bits.
    fn array_bytes(shape: Shape, window: Window, panes: u64) -> u64 {
        let bytes = shape.bytes().unwrap_or(u64::MAX);
        let ages = Ages::bytes_for(blocks(bytes, window));
        bytes.saturating_mul(panes + 1).saturating_add(ages)
    }

    /// Width, depth and cell size.
    #[must_use]
    pub fn shape(&self) -> Shape {
        self.sum.shape()
    }

    /// Its window and newest pane.
    #[must_use]
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// The sum of all increments in these panes. Cost: one step per pane unless all count.
    #[must_use]
    pub fn total(&self, panes: Panes) -> u64 {
        if self.timeline.counts_all(panes) {
            return self.sum.total;
        }
        let counted = self.timeline.counted(panes);
        counted
            .map(|pane| self.panes[self.timeline.slot(pane)].total)
            .sum()
    }

    /// The bytes that the next increment of more than 0 allocates: those of the newest pane, if it has no array yet.
    #[must_use]
    pub fn growth(&self) -> u64 {
        let newest = &self.panes[self.timeline.slot(self.timeline.newest())];
        let (shape, window) = (self.shape(), self.timeline.window());
        match (self.is_blank(), newest.cells.is_empty()) {
            (true, _) => Self::array_bytes(shape, window, 1),
            (false, true) => shape.bytes().unwrap_or(u64::MAX),
            (false, false) => 0,
        }
    }

    /// Whether an increment may allocate or free memory. If not, its memory usage stays the same. Cost: constant.
    #[must_use]
    pub fn may_change_memory(&self) -> bool {
        self.growth() != 0 || self.ages.stale() != 0
    }

    /// Whether no increment was ever made, or a merge has removed all: there are no arrays.
    fn is_blank(&self) -> bool {
        self.sum.cells.is_empty()
    }

    /// The bytes of a block; see [`block_bytes`].
    fn block_bytes(&self) -> usize {
        block_bytes(self.timeline.window())
    }

    /// The block of a cell.
    #[inline]
    fn block_of<C: Cell>(&self, cell: usize) -> usize {
        cell / (self.block_bytes() / size_of::<C::Bytes>())
    }

    /// The cells of a block.
    fn block_cells<C: Cell>(&self, block: usize) -> Range<usize> {
        let cells = self.sum.cells.len() / size_of::<C::Bytes>();
        let per_block = self.block_bytes() / size_of::<C::Bytes>();
        let start = block * per_block;
        start..cells.min(start + per_block)
    }

    /// The slot of the newest pane.
    fn newest_slot(&self) -> usize {
        self.timeline.slot(self.timeline.newest())
    }

    /// The live panes with an array, in order, and their slots.
    fn stored_panes(&self) -> impl Iterator<Item = (u64, &Pane)> {
        let panes = self.timeline.live();
        panes
            .map(|pane| (pane, &self.panes[self.timeline.slot(pane)]))
            .filter(|(_, slot)| !slot.cells.is_empty())
    }
}

/// The shape of a sketch with a window.
fn shape_of(width: u64, depth: u64, cell_size: CellSize) -> Result<Shape, CountMinError> {
    if depth > MAX_DEPTH {
        return Err(CountMinError::TooDeepForWindow);
    }
    Shape::new(width, depth, cell_size)
}

/// The bytes of a block of cells: in all slots together at most 64 KiB, so that it takes a few microseconds to make it
/// current. The size is part of the format.
fn block_bytes(window: Window) -> usize {
    match window.live_panes() {
        0..=64 => 1024,
        _ => 512,
    }
}

/// The number of blocks in this many bytes.
fn blocks(bytes: u64, window: Window) -> u64 {
    bytes.div_ceil(block_bytes(window) as u64)
}

/// Equal states: equal stored forms.
impl PartialEq for CountMinWindow {
    fn eq(&self, other: &Self) -> bool {
        self.timeline == other.timeline
            && self.shape() == other.shape()
            && self.panes == other.panes
            && self.ages == other.ages
    }
}

impl Eq for CountMinWindow {}

impl Timed for CountMinWindow {
    const MAX_PANES: u64 = MAX_SKETCHES;

    fn timeline(&self) -> Option<&Timeline> {
        Some(&self.timeline)
    }

    /// Cost: one step per block and per expired pane.
    fn advance(&mut self, pane: u64) -> bool {
        let before = self.timeline.newest();
        let Some(expired) = self.timeline.advance(pane) else {
            return false;
        };
        let mut is_stale = self.ages.stale() != 0;
        for pane in expired {
            let pane = &mut self.panes[self.timeline.slot(pane)];
            self.sum.total -= pane.total;
            pane.total = 0;
            is_stale |= !pane.cells.is_empty();
        }
        if !is_stale {
            return true;
        }
        let passed = self.timeline.newest() - before;
        self.ages.add(passed, self.panes.len() as u16);
        if passed >= self.panes.len() as u64 {
            self.retire_all_but_one();
        }
        true
    }

    /// Subtracts expired cells from the sums, and retires the arrays of expired panes when all are subtracted. If no live
    /// pane has an increment, retires all arrays.
    fn expire(&mut self) -> bool {
        if self.is_blank() {
            return false;
        }
        if self.sum.total == 0 {
            self.make_blank();
            return true;
        }
        let is_stale = self.ages.stale() != 0;
        with_cell!(self.shape().cell_size(), C => {
            self.expire_more::<C>(EXPIRED_BYTES, usize::MAX);
        });
        is_stale
    }

    fn release_recorded(&mut self, changes: &mut BlockChanges<impl BlockVisitor>) -> bool {
        self.retired.release(changes)
    }

    fn retired_bytes(&self) -> u64 {
        self.retired.bytes()
    }

    fn pane_total(&self, pane: u64) -> u64 {
        if self.timeline.live().contains(&pane) {
            self.panes[self.timeline.slot(pane)].total
        } else {
            0
        }
    }
}

impl Blocks for CountMinWindow {
    fn for_each_block(&self, visitor: &mut impl BlockVisitor) {
        visitor.visit(&self.panes);
        self.sum.for_each_block(visitor);
        self.ages.buffer().visit(visitor);
        for pane in &self.panes {
            pane.cells.visit(visitor);
        }
        self.retired.visit(visitor);
    }

    fn relocate_block(&mut self, index: usize, mover: &mut impl BlockMover) -> bool {
        let slots = self.panes.len();
        match index {
            0 => mover.relocate(&mut self.panes),
            1 => self.sum.cells.relocate(mover),
            2 => self.ages.buffer_mut().relocate(mover),
            _ if index - 3 < slots => self.panes[index - 3].cells.relocate(mover),
            _ => return self.retired.relocate_block(index - 3 - slots, mover),
        }
        true
    }
}
