//! A count-min sketch with a sliding window: it forgets increments that are older than the window.
//!
//! A pane with increments of few different items has their exact counts. If these would take a quarter of the bytes of an array,
//! or 64 KiB, it gets an array of cells instead: the smallest in which no count is too low. The estimate of an item is the sum,
//! over the panes that are read, of its exact count or of the smallest count of its cells. A window has no decrements, so an
//! increment raises the item's cells in the newest pane only as far as needed: to their smallest count plus the increment (C. Estan
//! and G. Varghese, "New directions in traffic measurement and accounting", SIGCOMM 2002, section 3.3). Estimates are never too
//! low, exact while the panes are, and else mostly closer to the count than those of one array for all panes.
//!
//! In each pane, a count is at most the total. Increments whose estimate would be above the maximum of a cell are refused; merged
//! counts become the maximum.
//!
//! - `accuracy`: the error of estimates
//! - `count`: increments and queries
//! - `exact`: the exact counts of a pane
//! - `merge`: weighted sums of sketches
//! - `pane`: a pane, and the merge of two
//! - `stored`: the stored forms

mod accuracy;
mod count;
mod exact;
mod merge;
mod pane;
mod stored;

#[cfg(test)]
mod tests;

use super::cell::{Cell, with_cell};
use super::{CellSize, CountMinError, Dimensions};
use crate::blocks::{BlockMover, BlockVisitor, Blocks};
use crate::hash::seeded_rows::SeededRows;
use crate::memory::{Budget, OutOfMemory};
use crate::seed::Seed;
use crate::window::{MAX_SKETCHES, PaneList, Panes, StoredPane, Timed, Timeline, Window};
use exact::Exact;
use pane::{Grid, Pane, PaneCounts};

/// The largest number of rows.
pub const MAX_DEPTH: u64 = 32;

/// The largest array of a pane in bytes, in a uniform window: 512 MiB.
pub const MAX_ARRAY_BYTES: u64 = 512 << 20;

/// The largest array of a pane in bytes, in a window whose panes grow with age: 64 MiB. A step to a new pane adds two arrays.
pub const MAX_MERGED_ARRAY_BYTES: u64 = 64 << 20;

/// A count-min sketch with a window.
///
/// # Example
///
/// ```
/// use roughly_sketch::count_min::{CellSize, CountMinWindow, Dimensions};
/// use roughly_sketch::memory::Budget;
/// use roughly_sketch::seed::Seed;
/// use roughly_sketch::window::{Timed, Window};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let minute = Window::of::<CountMinWindow>(60_000, 6, None)?;
/// let dimensions = Dimensions::new(2000, 5, CellSize::default())?;
/// let mut fruit = CountMinWindow::new(dimensions, minute, Seed([7; 16]), Budget::UNLIMITED)?;
/// let now = 1_700_000_000_000;
/// fruit.advance(minute.pane_at(now));
/// fruit.increment(b"apple", 3, Budget::UNLIMITED)?;
/// assert_eq!(fruit.query(b"apple", fruit.timeline().panes_at(now + 30_000)), 3);
/// assert_eq!(fruit.query(b"apple", fruit.timeline().panes_at(now + 90_000)), 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct CountMinWindow {
    timeline: Timeline,
    dimensions: Dimensions,
    grid: Grid,
    panes: PaneList<Pane>,
    /// The sum of all increments in these panes, at most [`MAX_TOTAL`](super::MAX_TOTAL).
    total: u64,
}

impl CountMinWindow {
    /// An empty sketch of these dimensions, whose newest pane is 0.
    ///
    /// Requests from `budget` what the sketch takes after its first increment. The memory of a pane is allocated, and requested
    /// again, when it is needed.
    ///
    /// # Errors
    /// [`CountMinError::TooDeepForWindow`] above [`MAX_DEPTH`] rows, [`CountMinError::InvalidDimensions`] above
    /// [`MAX_ARRAY_BYTES`], [`CountMinError::Window`], [`CountMinError::OutOfMemory`].
    pub fn new(
        dimensions: Dimensions,
        window: Window,
        seed: Seed,
        budget: Budget<'_>,
    ) -> Result<Self, CountMinError> {
        let timeline = Timeline::new::<Self>(window)?;
        check_array(dimensions, window)?;
        let sketch = Self::empty(timeline, dimensions, seed);
        let first = match sketch.grid.max_entries {
            0 => sketch.grid.array_bytes,
            _ => Exact::bytes_for(1),
        };
        budget.request(first + sketch.panes.growth(1, &timeline))?;
        Ok(sketch)
    }

    /// A sketch without panes. The caller has checked the dimensions.
    fn empty(timeline: Timeline, dimensions: Dimensions, seed: Seed) -> Self {
        Self {
            timeline,
            dimensions,
            grid: Grid::new(dimensions, timeline.window(), seed),
            panes: PaneList::default(),
            total: 0,
        }
    }

    /// Width, depth and cell size.
    #[must_use]
    pub fn dimensions(&self) -> Dimensions {
        self.dimensions
    }

    /// The key of its hash.
    #[must_use]
    pub fn seed(&self) -> Seed {
        self.grid.rows.seed
    }

    /// Its window and newest pane.
    #[must_use]
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// The sum of all increments in these panes. Cost: one step per pane.
    #[must_use]
    pub fn total(&self, panes: Panes) -> u64 {
        let panes = self.panes.counted(panes).iter();
        panes.map(|pane| pane.content.total).sum()
    }
}

/// Checks the limits of the array of a pane.
///
/// # Errors
/// [`CountMinError::TooDeepForWindow`], [`CountMinError::InvalidDimensions`].
fn check_array(dimensions: Dimensions, window: Window) -> Result<(), CountMinError> {
    refuse_if!(dimensions.depth() > MAX_DEPTH => CountMinError::TooDeepForWindow);
    let max = match window.levels() {
        0 => MAX_ARRAY_BYTES,
        _ => MAX_MERGED_ARRAY_BYTES,
    };
    match dimensions.bytes() {
        Some(bytes) if bytes <= max => Ok(()),
        _ => Err(CountMinError::InvalidDimensions),
    }
}

impl Timed for CountMinWindow {
    const MAX_PANES: u64 = MAX_SKETCHES;
    const HAS_LEVELS: bool = true;

    fn timeline(&self) -> Option<&Timeline> {
        Some(&self.timeline)
    }

    /// Frees the memory of expired panes, and of those that are added to an older pane.
    fn advance(&mut self, pane: u64) -> bool {
        let Self {
            timeline,
            total,
            panes,
            dimensions,
            grid,
        } = self;
        let merge = |older: &mut Pane, younger, _: &_| {
            with_cell!(dimensions.cell_size(), C => older.absorb::<C>(younger, *grid));
        };
        let advanced = panes.advance(timeline, pane, merge, |expired| *total -= expired.total);
        if advanced && panes.all().is_empty() {
            panes.clear();
        }
        advanced
    }

    fn pane_total(&self, pane: u64) -> u64 {
        self.panes.get(pane).map_or(0, |pane| pane.total)
    }
}

impl Blocks for CountMinWindow {
    fn for_each_block(&self, visitor: &mut impl BlockVisitor) {
        self.panes.visit(visitor);
        for pane in self.panes.all() {
            pane.content.visit(visitor);
        }
    }

    fn relocate_block(&mut self, index: usize, mover: &mut impl BlockMover) -> bool {
        match index {
            0 => self.panes.relocate(mover),
            _ => match self.panes.contents_mut().nth(index - 1) {
                Some(pane) => pane.relocate(mover),
                None => return false,
            },
        }
        true
    }
}
