//! Increments and queries.

use super::super::{MAX_TOTAL, NO_LIMIT};
use super::pane::estimate_after_conversion;
use super::*;
use crate::buffer::Buffer;
use crate::prefetch::prefetch;
use std::iter;

/// Sketches whose arrays have more bytes than this are prefetched: they do not fit in the cache of a core.
const MIN_PREFETCH_BYTES: u64 = 1 << 20;

/// Cell numbers, one per row, of which the first [`Dimensions::depth`] are used. An array has at most 2^29 cells.
type Places = [u32; MAX_DEPTH as usize];

/// The places of an item in the panes.
struct Located {
    hash: u64,
    /// Its cells in an array.
    places: Places,
    rows: usize,
}

impl Located {
    /// Its cells in an array, one per row.
    #[inline]
    fn places(&self) -> &[u32] {
        &self.places[..self.rows]
    }
}

impl CountMinWindow {
    /// The estimated count of `item` in these panes. Cost: one pass over the item, and one look-up in each exact pane
    /// and one cell per row of each array.
    #[must_use]
    pub fn query(&self, item: &[u8], panes: Panes) -> u64 {
        let mut count = 0;
        self.query_all(iter::once(item), panes, |estimate| count = estimate);
        count
    }

    /// Calls `answer` with the estimated count of each item in these panes, in order. Cost: as [`CountMinWindow::query`].
    pub fn query_all<'a>(
        &self,
        items: impl Iterator<Item = &'a [u8]>,
        panes: Panes,
        answer: impl FnMut(u64),
    ) {
        self.query_hashed(items.map(|item| self.hash(item)), panes, answer);
    }

    /// The hash of an item that is queried several times.
    #[must_use]
    #[inline]
    pub fn hash(&self, item: &[u8]) -> u64 {
        self.grid.rows.hash(item)
    }

    /// [`CountMinWindow::query_all`] for the items with these hashes ([`CountMinWindow::hash`]).
    #[inline]
    pub fn query_hashed(
        &self,
        hashes: impl Iterator<Item = u64>,
        panes: Panes,
        mut answer: impl FnMut(u64),
    ) {
        let panes = self.panes.counted(panes);
        let items = hashes.map(|hash| (hash, 0));
        with_cell!(self.dimensions.cell_size(), C => {
            for_each_item(
                self.grid.rows,
                items,
                &mut (),
                |(), places| self.prefetch::<C>(panes, places),
                |(), item, _| answer(estimate::<C>(panes, item)),
            );
        });
    }

    /// Adds `by` to the count of `item` in the newest pane and returns the new estimate. After an error nothing has
    /// changed; nor after an increment of 0.
    ///
    /// The memory of a new pane, a larger table of exact counts or an array is requested from `budget`. Cost: as
    /// [`CountMinWindow::query`] in all panes. If the newest pane becomes an array, in addition one cell per row and item of
    /// the pane, at most twice.
    ///
    /// # Errors
    /// [`CountMinError::Overflow`] if the new estimate would be above the maximum of a cell, or the total out of range;
    /// [`CountMinError::WindowDecrement`], [`CountMinError::OutOfMemory`].
    pub fn increment(
        &mut self,
        item: &[u8],
        by: i64,
        budget: Budget<'_>,
    ) -> Result<u64, CountMinError> {
        self.increment_limited(item, by, NO_LIMIT, budget)
    }

    /// [`CountMinWindow::increment`], if the new estimate is at most `max`.
    ///
    /// # Errors
    /// Unless `max` is [`NO_LIMIT`], [`CountMinError::AboveLimit`] instead of [`CountMinError::Overflow`].
    pub fn increment_limited(
        &mut self,
        item: &[u8],
        by: i64,
        max: u64,
        budget: Budget<'_>,
    ) -> Result<u64, CountMinError> {
        let mut answer = Err(CountMinError::Overflow);
        let items = iter::once((item, by));
        self.increment_all(items, max, budget, |_, result| answer = result);
        answer
    }

    /// Adds to the count of each item and calls `answer` with the increment and the result of
    /// [`CountMinWindow::increment_limited`], in order. The items after a refused one are counted.
    pub fn increment_all<'a>(
        &mut self,
        items: impl Iterator<Item = (&'a [u8], i64)>,
        max: u64,
        budget: Budget<'_>,
        answer: impl FnMut(i64, Result<u64, CountMinError>),
    ) {
        self.increment_checked(items, (CountedPanes::All, max), budget, answer);
    }

    /// [`CountMinWindow::increment_all`] for increments that another copy of this sketch has accepted: nobody reads the
    /// estimates, so the older panes are not read, and `answer` gets the estimates in the newest pane. The state becomes that
    /// of the other copy. Cost: one pass over the item, and one cell per row, for any number of panes.
    ///
    /// # Errors
    /// As [`CountMinWindow::increment`]; [`CountMinError::Overflow`] only for the newest pane and the total.
    pub fn apply_all<'a>(
        &mut self,
        items: impl Iterator<Item = (&'a [u8], i64)>,
        budget: Budget<'_>,
        answer: impl FnMut(i64, Result<u64, CountMinError>),
    ) {
        self.increment_checked(items, (CountedPanes::Newest, NO_LIMIT), budget, answer);
    }

    /// Adds to the count of each item if the new estimate, in these panes, is at most `max`.
    #[inline]
    fn increment_checked<'a>(
        &mut self,
        items: impl Iterator<Item = (&'a [u8], i64)>,
        (counted, max): (CountedPanes, u64),
        budget: Budget<'_>,
        mut answer: impl FnMut(i64, Result<u64, CountMinError>),
    ) {
        let rows = self.grid.rows;
        let items = items.map(|(item, by)| (rows.hash(item), by));
        with_cell!(self.dimensions.cell_size(), C => {
            for_each_item(
                rows,
                items,
                self,
                |sketch, places| sketch.prefetch::<C>(sketch.counted(counted), places),
                |sketch, item, by| {
                    answer(by, sketch.increment_located::<C>(item, by, (counted, max), budget));
                },
            );
        });
    }

    /// The result of [`CountMinWindow::increment_limited`] after an advance, if these panes are live then. Nothing has
    /// changed. `Ok` does not mean that there is memory for the newest pane; and if panes become one, the estimate after the
    /// advance can be higher. Cost: as [`CountMinWindow::query`].
    ///
    /// # Errors
    /// Those of [`CountMinWindow::increment_limited`], except for [`CountMinError::OutOfMemory`].
    pub fn check_increment(
        &self,
        item: &[u8],
        by: i64,
        max: u64,
        later: Panes,
    ) -> Result<u64, CountMinError> {
        let panes = self.panes.counted(later);
        let total = panes.iter().map(|pane| pane.content.total).sum();
        let mut checked = Err(CountMinError::Overflow);
        with_cell!(self.dimensions.cell_size(), C => {
            for_each_item(
                self.grid.rows,
                iter::once((self.hash(item), by)),
                &mut (),
                |(), _| (),
                |(), item, by| {
                    let sum = self.check::<C>((panes, None), total, item, by, max);
                    checked = sum.map(|sum| sum.estimate);
                },
            );
        });
        checked
    }

    /// [`CountMinWindow::increment_checked`] for a located item.
    #[inline]
    fn increment_located<C: Cell>(
        &mut self,
        item: &Located,
        by: i64,
        (counted, max): (CountedPanes, u64),
        budget: Budget<'_>,
    ) -> Result<u64, CountMinError> {
        let panes = match self.counted(counted) {
            [older @ .., last] if last.first == self.timeline.newest() => {
                (older, Some(&last.content))
            }
            older => (older, None),
        };
        let is_stored = panes.1.is_some();
        let sum = self.check::<C>(panes, self.total, item, by, max)?;
        if by == 0 {
            return Ok(sum.estimate);
        }
        if !is_stored {
            self.push_newest(item.hash, sum.by, budget)?;
        } else if let Some(pane) = self.panes.newest_mut(&self.timeline) {
            if sum.converts {
                pane.convert::<C>(self.grid, budget)?;
            }
            if let PaneCounts::Exact(exact) = &mut pane.counts {
                exact.set(item.hash, sum.raised, budget)?;
            }
            pane.total += sum.by;
        }
        self.total += sum.by;
        if let Some(cells) = self
            .panes
            .newest_mut(&self.timeline)
            .and_then(Pane::array_mut)
        {
            let cells = C::all_mut(cells);
            for &place in item.places() {
                let cell = &mut cells[place as usize];
                *cell = C::with_count(C::count(*cell).max(sum.raised));
            }
        }
        Ok(sum.estimate)
    }

    /// The stored ones of these panes.
    #[inline]
    fn counted(&self, counted: CountedPanes) -> &[StoredPane<Pane>] {
        let panes = self.panes.all();
        match counted {
            CountedPanes::All => panes,
            CountedPanes::Newest => {
                let is_newest = |pane: &StoredPane<Pane>| pane.first == self.timeline.newest();
                &panes[panes.len() - usize::from(panes.last().is_some_and(is_newest))..]
            }
        }
    }

    /// Adds the newest pane to the list, with one item unless it has an array.
    #[cold]
    fn push_newest(&mut self, hash: u64, by: u64, budget: Budget<'_>) -> Result<(), OutOfMemory> {
        let mut pane = Pane {
            total: by,
            ..Pane::default()
        };
        match (&mut pane.counts, self.grid.max_entries) {
            (PaneCounts::Exact(exact), 1..) => exact.set(hash, by, budget)?,
            _ => {
                budget.request(self.grid.array_bytes)?;
                pane.counts = PaneCounts::Array(Buffer::zeroed(self.grid.array_bytes)?);
            }
        }
        let len = self.panes.all().len() + 1;
        self.panes.reserve(len, &self.timeline, budget)?;
        self.panes.push(self.timeline.newest(), pane);
        Ok(())
    }

    /// Checks an increment of an item. The panes are those before the newest one, and the newest one if it is stored; `total` is that of
    /// all panes.
    ///
    /// # Errors
    /// Those of [`CountMinWindow::increment_limited`], except for [`CountMinError::OutOfMemory`].
    #[inline]
    fn check<C: Cell>(
        &self,
        (older, newest): (&[StoredPane<Pane>], Option<&Pane>),
        total: u64,
        item: &Located,
        by: i64,
        max: u64,
    ) -> Result<Increment, CountMinError> {
        let by = u64::try_from(by).map_err(|_| CountMinError::WindowDecrement)?;
        // The sum of the totals has 63 bits, and so has the increment.
        let in_older = estimate::<C>(older, item);
        let mut in_newest = newest.map_or(0, |pane| estimate_in::<C>(pane, item));
        let before = in_older + in_newest;
        let largest = match by {
            0 => max,
            _ => max.min(C::MAX_COUNT),
        };
        let mut converts = false;
        if let Some(pane) = newest
            && let PaneCounts::Exact(exact) = &pane.counts
            && exact.len() >= self.grid.max_entries
            && in_newest == 0
            && by > 0
        {
            converts = true;
            // Otherwise the increment is refused anyway.
            if before + by <= largest {
                in_newest = estimate_after_conversion(exact, self.grid.rows, item.places());
            }
        }
        let increment = Increment {
            by,
            converts,
            raised: in_newest + by,
            estimate: in_older + in_newest + by,
        };
        if by > 0 && total + by > MAX_TOTAL || increment.estimate > largest {
            return Err(match max {
                NO_LIMIT => CountMinError::Overflow,
                _ => CountMinError::AboveLimit(before),
            });
        }
        Ok(increment)
    }

    /// Prefetches the cells of an item in the arrays of these panes if the arrays are large.
    #[inline]
    fn prefetch<C: Cell>(&self, panes: &[StoredPane<Pane>], item: &Located) {
        if self.grid.array_bytes * panes.len() as u64 <= MIN_PREFETCH_BYTES {
            return;
        }
        for cells in panes.iter().filter_map(|pane| pane.content.array()) {
            for &place in item.places() {
                prefetch(cells, place as usize * size_of::<C::Bytes>());
            }
        }
    }
}

/// The panes whose counts are in the estimate of an increment.
#[derive(Debug, Clone, Copy)]
enum CountedPanes {
    All,
    /// The newest pane.
    Newest,
}

/// Calls `visit` with `state`, the place and the value of each item, which has a hash, in order. While one item is visited, the next one is
/// located and prefetched.
#[inline]
fn for_each_item<S>(
    rows: SeededRows,
    mut items: impl Iterator<Item = (u64, i64)>,
    state: &mut S,
    prefetch: impl Fn(&S, &Located),
    mut visit: impl FnMut(&mut S, &Located, i64),
) {
    let locate = |hash| {
        let mut places = Places::default();
        for (place, cell) in places.iter_mut().zip(rows.cells(hash)) {
            *place = cell as u32;
        }
        Located {
            hash,
            places,
            rows: rows.depth,
        }
    };
    let mut next = items.next().map(|(hash, by)| (locate(hash), by));
    while let Some((item, by)) = next {
        next = items.next().map(|(hash, by)| (locate(hash), by));
        if let Some((item, _)) = &next {
            prefetch(state, item);
        }
        visit(state, &item, by);
    }
}

/// An increment that is in range.
struct Increment {
    by: u64,
    /// Whether the newest pane becomes an array.
    converts: bool,
    /// The smallest count that the item will have in the newest pane.
    raised: u64,
    /// The new estimate.
    estimate: u64,
}

/// The count of an item in a pane.
#[inline]
fn estimate_in<C: Cell>(pane: &Pane, item: &Located) -> u64 {
    match &pane.counts {
        PaneCounts::Exact(exact) => exact.count(item.hash),
        PaneCounts::Array(cells) => {
            let cells = C::all(cells);
            let counts = (item.places().iter()).map(|&place| C::count(cells[place as usize]));
            counts.fold(u64::MAX, u64::min)
        }
    }
}

/// The sum of the counts of an item in these panes.
#[inline]
fn estimate<C: Cell>(panes: &[StoredPane<Pane>], item: &Located) -> u64 {
    match panes.iter().find_map(|pane| pane.content.array()) {
        None => {
            let counts = panes.iter().map(|pane| match &pane.content.counts {
                PaneCounts::Exact(exact) => exact.count(item.hash),
                PaneCounts::Array(_) => 0,
            });
            counts.sum()
        }
        Some(array) => match item.rows {
            3 => estimate_rows::<C, 3>(panes, item, array),
            4 => estimate_rows::<C, 4>(panes, item, array),
            5 => estimate_rows::<C, 5>(panes, item, array),
            6 => estimate_rows::<C, 6>(panes, item, array),
            7 => estimate_rows::<C, 7>(panes, item, array),
            _ => {
                let panes = panes.iter();
                panes
                    .map(|pane| estimate_in::<C>(&pane.content, item))
                    .sum()
            }
        },
    }
}

/// [`estimate`] for a number of rows with which the places fit in registers and are checked once for all arrays, of which one
/// is given. This halves the instructions. `ROWS` is the number of places.
fn estimate_rows<C: Cell, const ROWS: usize>(
    panes: &[StoredPane<Pane>],
    item: &Located,
    array: &[u8],
) -> u64 {
    let Some(places) = item.places().first_chunk::<ROWS>() else {
        return 0;
    };
    let places = places.map(|place| place as usize);
    let len = C::all(array).len();
    for place in places {
        assert!(place < len);
    }
    let counts = panes.iter().map(|pane| match &pane.content.counts {
        PaneCounts::Exact(exact) => exact.count(item.hash),
        PaneCounts::Array(cells) => {
            let cells = &C::all(cells)[..len];
            places
                .map(|place| C::count(cells[place]))
                .into_iter()
                .fold(u64::MAX, u64::min)
        }
    });
    counts.sum()
}
