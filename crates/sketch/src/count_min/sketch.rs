//! [`Sketch`]: what sketches with and without a window have in common, so that a command is written once for both.

use super::{CountMin, CountMinError, CountMinWindow, Limit, MergeSource, Shape};
use crate::memory::Budget;
use crate::stored::Stored;

/// A count-min sketch with or without a window. Without a window, `current` and `budget` have no effect.
pub trait Sketch: Stored {
    /// Width, depth and cell size.
    fn shape(&self) -> Shape;

    /// Whether one command may hash these items; see [`CountMin::within_work_limit`].
    fn within_work_limit<'a>(&self, items: impl Iterator<Item = &'a [u8]>) -> bool;

    /// The sum of all increments that are live when `current` is the current pane.
    fn total_at(&self, current: u64) -> u64;

    /// Calls `answer` with the estimated count of each item when `current` is the current pane, in order.
    fn query_all_at<'a>(
        &self,
        items: impl ExactSizeIterator<Item = &'a [u8]>,
        current: u64,
        answer: impl FnMut(u64),
    );

    /// The bytes that the next increment allocates; 0 without a window.
    fn growth(&self) -> u64;

    /// Whether an increment may allocate or free memory; never without a window.
    fn may_change_memory(&self) -> bool;

    /// [`CountMin::increment_limited`] or [`CountMinWindow::increment_limited`].
    ///
    /// # Errors
    /// Those of these functions.
    fn increment_within(
        &mut self,
        item: &[u8],
        by: i64,
        limit: impl Limit,
        budget: Budget<'_>,
    ) -> Result<u64, CountMinError>;

    /// [`CountMin::increment_all_limited`] or [`CountMinWindow::increment_all_limited`].
    fn increment_all_within<'a>(
        &mut self,
        items: impl Iterator<Item = (&'a [u8], i64)>,
        limit: impl Limit,
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

    fn total_at(&self, _current: u64) -> u64 {
        self.total()
    }

    #[inline]
    fn query_all_at<'a>(
        &self,
        items: impl ExactSizeIterator<Item = &'a [u8]>,
        _current: u64,
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
        limit: impl Limit,
        _budget: Budget<'_>,
    ) -> Result<u64, CountMinError> {
        self.increment_limited(item, by, limit)
    }

    #[inline]
    fn increment_all_within<'a>(
        &mut self,
        items: impl Iterator<Item = (&'a [u8], i64)>,
        limit: impl Limit,
        _budget: Budget<'_>,
        answer: impl FnMut(i64, Result<u64, CountMinError>),
    ) {
        self.increment_all_limited(items, limit, answer);
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

    fn total_at(&self, current: u64) -> u64 {
        self.total_at(current)
    }

    #[inline]
    fn query_all_at<'a>(
        &self,
        items: impl ExactSizeIterator<Item = &'a [u8]>,
        current: u64,
        answer: impl FnMut(u64),
    ) {
        self.query_all(items, current, answer);
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
        limit: impl Limit,
        budget: Budget<'_>,
    ) -> Result<u64, CountMinError> {
        self.increment_limited(item, by, limit, budget)
    }

    #[inline]
    fn increment_all_within<'a>(
        &mut self,
        items: impl Iterator<Item = (&'a [u8], i64)>,
        limit: impl Limit,
        budget: Budget<'_>,
        answer: impl FnMut(i64, Result<u64, CountMinError>),
    ) {
        self.increment_all_limited(items, limit, budget, answer);
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
