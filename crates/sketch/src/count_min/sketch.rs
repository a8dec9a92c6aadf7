//! [`Sketch`]: what sketches with and without a window have in common, so that a command is written once for both.

use super::{CountMin, CountMinError, CountMinWindow, MergeSource, Shape};
use crate::memory::Budget;
use crate::stored::Stored;
use crate::window::Panes;

/// A count-min sketch with or without a window. Without a window, `panes` and `budget` have no effect.
pub trait Sketch: Stored {
    /// Width, depth and cell size.
    fn shape(&self) -> Shape;

    /// Whether one command may hash these items; see [`CountMin::within_work_limit`].
    fn within_work_limit<'a>(&self, items: impl Iterator<Item = &'a [u8]>) -> bool;

    /// The sum of all increments in these panes.
    fn total_in(&self, panes: Panes) -> u64;

    /// Calls `answer` with the estimated count of each item in these panes, in order.
    fn query_all_in<'a>(
        &self,
        items: impl ExactSizeIterator<Item = &'a [u8]>,
        panes: Panes,
        answer: impl FnMut(u64),
    );

    /// The bytes that the next increment allocates; 0 without a window.
    fn growth(&self) -> u64;

    /// Whether an increment may allocate or free memory; never without a window.
    fn may_change_memory(&self) -> bool;

    /// [`CountMin::increment`] or [`CountMinWindow::increment`].
    ///
    /// # Errors
    /// Those of these functions.
    fn increment_within(
        &mut self,
        item: &[u8],
        by: i64,
        budget: Budget<'_>,
    ) -> Result<u64, CountMinError>;

    /// [`CountMin::increment_all`] or [`CountMinWindow::increment_all`].
    fn increment_all_within<'a>(
        &mut self,
        items: impl Iterator<Item = (&'a [u8], i64)>,
        budget: Budget<'_>,
        answer: impl FnMut(i64, Result<u64, CountMinError>),
    );

    /// Whether `source` may be merged into this sketch.
    ///
    /// # Errors
    /// Those of [`CountMin::check_source`] or [`CountMinWindow::check_source`].
    fn check_source(&self, source: &Self) -> Result<(), CountMinError>;

    /// [`CountMin::merge_within`] or [`CountMinWindow::merge_within`].
    ///
    /// # Errors
    /// Those of these functions.
    fn merge_within(
        &mut self,
        sources: &[MergeSource<'_, Self>],
        max_bytes: u64,
        budget: Budget<'_>,
    ) -> Result<bool, CountMinError>;
}

impl Sketch for CountMin {
    fn shape(&self) -> Shape {
        self.shape()
    }

    fn within_work_limit<'a>(&self, items: impl Iterator<Item = &'a [u8]>) -> bool {
        self.within_work_limit(items)
    }

    fn total_in(&self, _panes: Panes) -> u64 {
        self.total()
    }

    #[inline]
    fn query_all_in<'a>(
        &self,
        items: impl ExactSizeIterator<Item = &'a [u8]>,
        _panes: Panes,
        answer: impl FnMut(u64),
    ) {
        self.query_all(items, answer);
    }

    #[inline]
    fn growth(&self) -> u64 {
        0
    }

    #[inline]
    fn may_change_memory(&self) -> bool {
        false
    }

    #[inline]
    fn increment_within(
        &mut self,
        item: &[u8],
        by: i64,
        _budget: Budget<'_>,
    ) -> Result<u64, CountMinError> {
        self.increment(item, by)
    }

    #[inline]
    fn increment_all_within<'a>(
        &mut self,
        items: impl Iterator<Item = (&'a [u8], i64)>,
        _budget: Budget<'_>,
        answer: impl FnMut(i64, Result<u64, CountMinError>),
    ) {
        self.increment_all(items, answer);
    }

    fn check_source(&self, source: &Self) -> Result<(), CountMinError> {
        self.check_source(source)
    }

    fn merge_within(
        &mut self,
        sources: &[MergeSource<'_, Self>],
        max_bytes: u64,
        _budget: Budget<'_>,
    ) -> Result<bool, CountMinError> {
        self.merge_within(sources, max_bytes)
    }
}

impl Sketch for CountMinWindow {
    fn shape(&self) -> Shape {
        self.shape()
    }

    /// There is no limit: the depth is at most [`MAX_DEPTH`](super::window::MAX_DEPTH).
    fn within_work_limit<'a>(&self, _items: impl Iterator<Item = &'a [u8]>) -> bool {
        true
    }

    fn total_in(&self, panes: Panes) -> u64 {
        self.total(panes)
    }

    #[inline]
    fn query_all_in<'a>(
        &self,
        items: impl ExactSizeIterator<Item = &'a [u8]>,
        panes: Panes,
        answer: impl FnMut(u64),
    ) {
        self.query_all(items, panes, answer);
    }

    fn growth(&self) -> u64 {
        self.growth()
    }

    fn may_change_memory(&self) -> bool {
        self.may_change_memory()
    }

    #[inline]
    fn increment_within(
        &mut self,
        item: &[u8],
        by: i64,
        budget: Budget<'_>,
    ) -> Result<u64, CountMinError> {
        self.increment(item, by, budget)
    }

    #[inline]
    fn increment_all_within<'a>(
        &mut self,
        items: impl Iterator<Item = (&'a [u8], i64)>,
        budget: Budget<'_>,
        answer: impl FnMut(i64, Result<u64, CountMinError>),
    ) {
        self.increment_all(items, budget, answer);
    }

    fn check_source(&self, source: &Self) -> Result<(), CountMinError> {
        self.check_source(source)
    }

    fn merge_within(
        &mut self,
        sources: &[MergeSource<'_, Self>],
        max_bytes: u64,
        budget: Budget<'_>,
    ) -> Result<bool, CountMinError> {
        self.merge_within(sources, max_bytes, budget)
    }
}
