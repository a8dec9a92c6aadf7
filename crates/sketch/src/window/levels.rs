//! The live panes: a function of the window and the newest pane (docs/contributing/formats.md, "Panes that grow with age").
//!
//! A pane of level j covers the units `i · 2^j` to `(i + 1) · 2^j - 1`. The newest pane has level 0. Two sibling panes of level
//! j with the end `e` become one of level j + 1 when the newest pane is `e + n · 2^(j+1) + 2^j`, where `n` is the
//! number of panes of the window. The pane with the end `e` expires when the newest pane is `e` plus the units of the window. So
//! the panes of level j are those between two bounds, which depend on the newest pane only.

use super::Window;

/// The units of a live pane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnitRange {
    /// The first unit.
    pub first: u64,
    /// The unit after the last one.
    pub end: u64,
}

impl UnitRange {
    /// The pane of this level that contains this unit.
    fn of(unit: u64, level: u32) -> Self {
        let first = unit >> level << level;
        let end = first + (1 << level);
        Self { first, end }
    }
}

/// The bounds between the levels of the live panes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Levels {
    /// The panes of level j are before `bounds[j]`, and not before `bounds[j + 1]`. All bounds above the highest level are
    /// that of the window.
    bounds: [u64; Window::MAX_LEVELS as usize + 2],
    highest: usize,
}

impl Levels {
    /// Those of the panes that are live when `newest` is the newest one.
    pub(super) fn of(window: Window, newest: u64) -> Self {
        let mut bounds = [0; Window::MAX_LEVELS as usize + 2];
        // A number of a pane has 63 bits, so that its end may be 2^63.
        bounds[0] = newest + 1;
        for level in 1..=window.levels() {
            let units = newest.cast_signed() - (1 << (level - 1));
            let bound = ((units >> level) - window.panes().cast_signed()) << level;
            bounds[level as usize] = bound.max(0).cast_unsigned();
        }
        let highest = window.levels() as usize;
        bounds[highest + 1] = window.oldest(newest);
        Self { bounds, highest }
    }

    /// The pane that contains this unit, if it is live, and its level.
    pub(super) fn pane_of(&self, unit: u64) -> Option<(UnitRange, u32)> {
        if unit >= self.bounds[0] || unit < self.bounds[self.highest + 1] {
            return None;
        }
        let below = self.bounds[1..=self.highest + 1].iter();
        let level = below.take_while(|&&bound| unit < bound).count();
        Some((UnitRange::of(unit, level as u32), level as u32))
    }

    /// A function that returns what [`Levels::pane_of`] returns, for units in ascending order. Cost of all calls together: one
    /// step per call and per level.
    pub(super) fn ascending(self) -> impl FnMut(u64) -> Option<(UnitRange, u32)> {
        let mut level = self.highest;
        move |unit| {
            while unit >= self.bounds[level] {
                level = level.checked_sub(1)?;
            }
            if unit < self.bounds[level + 1] {
                return self.pane_of(unit);
            }
            Some((UnitRange::of(unit, level as u32), level as u32))
        }
    }

    /// The live panes, oldest first.
    pub(super) fn panes(self) -> impl Iterator<Item = UnitRange> + Clone {
        let mut next = self.bounds[self.highest + 1];
        std::iter::from_fn(move || {
            let (range, _) = self.pane_of(next)?;
            next = range.end;
            Some(range)
        })
    }
}
