//! Sliding windows: the panes of a sketch that forgets what is older than its window (docs/sliding-windows.md).
//!
//! Five nouns describe a window:
//!
//! - *Unit*: the shortest period of time. All units have the same length and are aligned to the Unix epoch.
//! - *Pane*: one unit, or 2, 4, 8 … units. A sketch keeps the counts of each pane apart. The newest pane is one unit.
//! - *Level*: a pane of level j has 2^j units. In a *uniform* window, all panes have level 0. In another window, the panes grow
//!   with age, so that a read of a part of the window is as exact as a read of a window of that length.
//! - *Tick*: the number of a pane with additions, and *generation*: a number of consecutive ticks. Only the filters have them, see
//!   [`window_filter`](crate::window_filter).
//!
//! Whatever was added at most one window ago counts, and whatever was added more than one window and one pane ago does not.
//!
//! - `length`: the parameters of a window
//! - `levels`: the live panes, a function of the window and the newest pane
//! - `timeline`: a window and its newest pane; the panes that count for a read
//! - `list`: the panes that a sketch stores, and the step to a later pane
//! - `period`: the panes of a period, also in rows
//!
//! The crate has no clock. [`Timed::advance`] moves a sketch to a later pane, and each read takes the [`Panes`] that
//! count, which [`Timeline::panes_at`], [`Timeline::panes_within`] and [`Timeline::panes_of`] compute.

mod length;
mod levels;
mod list;
mod period;
#[cfg(test)]
mod tests;
mod timeline;

use crate::blocks::{BlockChanges, BlockVisitor, Blocks};
pub use length::{Window, WindowError};
pub use levels::UnitRange;
pub use list::{PaneList, StoredPane};
pub use period::{Period, PeriodError, Row};
pub use timeline::{Panes, Timeline};

/// Bytes of cells that a call of [`Timed::expire`] processes.
pub const EXPIRED_BYTES: usize = 4 << 20;

/// Bytes that a call of [`Timed::release_recorded`] frees: 32 pages. To free many megabytes at once takes milliseconds.
pub const RELEASED_BYTES: usize = 1 << 17;

/// The largest number of panes if each pane is a sketch of its own: the time of reads and of expiry depends on the number of
/// panes.
pub const MAX_SKETCHES: u64 = 100;

/// A sketch, which may have a window. By default, it has none.
pub trait Timed: Blocks {
    /// The largest number of panes; 0 without a window.
    const MAX_PANES: u64 = 0;

    /// Whether its panes can grow with age.
    const HAS_LEVELS: bool = false;

    /// Its window and newest pane; `None` without a window.
    #[inline]
    fn timeline(&self) -> Option<&Timeline> {
        None
    }

    /// The panes that are live when `current` is the current pane, see [`Timeline::panes_in`]; all without a window.
    fn panes_in(&self, current: u64) -> Panes {
        self.timeline()
            .map_or(Panes::ALL, |timeline| timeline.panes_in(current))
    }

    /// Makes `pane` the newest pane and drops the panes that expire. Returns false, and changes nothing, if `pane` is
    /// not above the newest pane, and without a window.
    fn advance(&mut self, _pane: u64) -> bool {
        false
    }

    /// As [`Timed::advance`]; `changes` records the blocks that are freed and allocated. Cost: in addition one call per
    /// block, twice, unless the sketch has a cheaper implementation.
    fn advance_recorded(
        &mut self,
        pane: u64,
        changes: &mut BlockChanges<impl BlockVisitor>,
    ) -> bool {
        if self
            .timeline()
            .is_none_or(|timeline| pane <= timeline.newest())
        {
            return false;
        }
        self.for_each_block(&mut changes.freed);
        let advanced = self.advance(pane);
        self.for_each_block(&mut changes.allocated);
        advanced
    }

    /// Removes what expired panes have left, if [`Timed::advance`] leaves that to later writes: processes at least
    /// [`EXPIRED_BYTES`] of cells, or all. Returns whether the state changed. Copies of the sketch stay equal if they do the
    /// same. If no live pane has an increment, the sketch is then empty, and [`Timed::release_recorded`] can free all
    /// that a new sketch does not have.
    fn expire(&mut self) -> bool {
        false
    }

    /// Frees a part, about [`RELEASED_BYTES`], of the memory that is no longer used. It is not part of the state.
    /// `changes` records the blocks that change. Returns false if there is nothing to free. Cost: constant.
    fn release_recorded(&mut self, _changes: &mut BlockChanges<impl BlockVisitor>) -> bool {
        false
    }

    /// Bytes of memory that [`Timed::release_recorded`] will free.
    fn retired_bytes(&self) -> u64 {
        0
    }

    /// The sum of all increments in the pane that begins with this unit, for sketches that count; the number of samples or items
    /// for others. 0 if no live pane begins with it.
    fn pane_total(&self, _pane: u64) -> u64 {
        0
    }
}
