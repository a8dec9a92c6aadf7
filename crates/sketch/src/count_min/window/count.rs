//! Increments and queries.

use super::super::{MAX_TOTAL, NO_LIMIT};
use super::*;
use crate::prefetch::prefetch;
use std::iter;

/// Sketches whose panes have more bytes than this are prefetched: they do not fit in the cache of a core.
const MIN_PREFETCH_BYTES: u64 = 1 << 20;

/// Cell numbers, one per row, of which the first [`Shape::depth`] are used. An array has at most 2^29 cells.
type Places = [u32; MAX_DEPTH as usize];

impl CountMinWindow {
    /// The estimated count of `item` in these panes. Cost: one pass over the item, and one cell per row and pane.
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
        mut answer: impl FnMut(u64),
    ) {
        let panes = self.panes.counted(panes);
        let items = items.map(|item| (item, 0));
        with_cell!(self.shape.cell_size(), C => {
            for_each_item(
                self.rows,
                items,
                &mut (),
                |(), places| self.prefetch::<C>(panes, places),
                |(), places, _| answer(estimate::<C>(panes, places)),
            );
        });
    }

    /// Adds `by` to the count of `item` in the newest pane and returns the new estimate. After an error nothing has
    /// changed; nor after an increment of 0.
    ///
    /// Cost: as [`CountMinWindow::query`] in all panes, or twice that if the total is above the maximum of a cell.
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
        mut answer: impl FnMut(i64, Result<u64, CountMinError>),
    ) {
        with_cell!(self.shape.cell_size(), C => {
            for_each_item(
                self.rows,
                items,
                self,
                |sketch, places| sketch.prefetch::<C>(sketch.panes.all(), places),
                |sketch, places, by| {
                    answer(by, sketch.increment_cells::<C>(places, by, max, budget));
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
        with_cell!(self.shape.cell_size(), C => {
            for_each_item(
                self.rows,
                iter::once((item, by)),
                &mut (),
                |(), _| (),
                |(), places, by| {
                    let panes = (panes, &[][..]);
                    checked = check::<C>(panes, total, places, by, max).map(|sum| sum.estimate);
                },
            );
        });
        checked
    }

    /// [`CountMinWindow::increment_limited`] for the item with these cells.
    #[inline]
    fn increment_cells<C: Cell>(
        &mut self,
        places: &[u32],
        by: i64,
        max: u64,
        budget: Budget<'_>,
    ) -> Result<u64, CountMinError> {
        let is_stored = self.panes.newest(&self.timeline).is_some();
        let panes = self.panes.all();
        let panes = panes.split_at(panes.len() - usize::from(is_stored));
        let sum = check::<C>(panes, self.total, places, by, max)?;
        if by == 0 {
            return Ok(sum.estimate);
        }
        if !is_stored {
            self.push_newest(budget)?;
        }
        let Some(pane) = self.panes.newest_mut(&self.timeline) else {
            return Err(CountMinError::Overflow);
        };
        let cells = C::all_mut(&mut pane.cells);
        for &place in places {
            let cell = &mut cells[place as usize];
            *cell = C::with_count(C::count(*cell).max(sum.raised));
        }
        pane.total += sum.by;
        self.total += sum.by;
        Ok(sum.estimate)
    }

    /// Adds the newest pane to the list.
    #[cold]
    fn push_newest(&mut self, budget: Budget<'_>) -> Result<(), OutOfMemory> {
        let bytes = self.array_bytes();
        budget.request(bytes)?;
        let cells = Buffer::zeroed(bytes)?;
        let len = self.panes.all().len() + 1;
        self.panes.reserve(len, &self.timeline, budget)?;
        self.panes
            .push(self.timeline.newest(), Pane { total: 0, cells });
        Ok(())
    }

    /// Prefetches the cells at these places in these panes if the sketch is large.
    #[inline]
    fn prefetch<C: Cell>(&self, panes: &[StoredPane<Pane>], places: &[u32]) {
        if self.array_bytes() * panes.len() as u64 <= MIN_PREFETCH_BYTES {
            return;
        }
        for pane in panes {
            for &place in places {
                prefetch(&pane.content.cells, place as usize * size_of::<C::Bytes>());
            }
        }
    }
}

/// Calls `visit` with `state`, the places and the value of each item, in order. While one item is visited, the cells of the
/// next one are located and prefetched.
#[inline]
fn for_each_item<'a, S>(
    rows: SeededRows,
    mut items: impl Iterator<Item = (&'a [u8], i64)>,
    state: &mut S,
    prefetch: impl Fn(&S, &[u32]),
    mut visit: impl FnMut(&mut S, &[u32], i64),
) {
    let locate = |item| {
        let mut places = Places::default();
        for (place, cell) in places.iter_mut().zip(rows.cells(rows.hash(item))) {
            *place = cell as u32;
        }
        places
    };
    let mut next = items.next().map(|(item, by)| (locate(item), by));
    while let Some((places, by)) = next {
        next = items.next().map(|(item, by)| (locate(item), by));
        if let Some((places, _)) = &next {
            prefetch(state, &places[..rows.depth]);
        }
        visit(state, &places[..rows.depth], by);
    }
}

/// An increment that is in range.
struct Increment {
    by: u64,
    /// The smallest count that the item's cells in the newest pane will have.
    raised: u64,
    /// The new estimate.
    estimate: u64,
}

/// Checks an increment of the item with these cells. `total` is that of all panes.
///
/// # Errors
/// Those of [`CountMinWindow::increment_limited`], except for [`CountMinError::OutOfMemory`].
#[inline]
fn check<C: Cell>(
    (older, newest): (&[StoredPane<Pane>], &[StoredPane<Pane>]),
    total: u64,
    places: &[u32],
    by: i64,
    max: u64,
) -> Result<Increment, CountMinError> {
    let by = u64::try_from(by).map_err(|_| CountMinError::WindowDecrement)?;
    // The sum of the totals has 63 bits, and so has the increment.
    let in_newest = estimate::<C>(newest, places);
    let before = estimate::<C>(older, places) + in_newest;
    let increment = Increment {
        by,
        raised: in_newest + by,
        estimate: before + by,
    };
    let total = total + by;
    let overflows = by > 0
        && (total > MAX_TOTAL
            || total > C::MAX_COUNT && !sums_fit::<C>(older, newest, places, increment.raised));
    if overflows || increment.estimate > max {
        return Err(match max {
            NO_LIMIT => CountMinError::Overflow,
            _ => CountMinError::AboveLimit(before),
        });
    }
    Ok(increment)
}

/// The sum, over these panes, of the smallest count of the cells at these places.
#[inline]
fn estimate<C: Cell>(panes: &[StoredPane<Pane>], places: &[u32]) -> u64 {
    match places.len() {
        3 => estimate_rows::<C, 3>(panes, places),
        4 => estimate_rows::<C, 4>(panes, places),
        5 => estimate_rows::<C, 5>(panes, places),
        6 => estimate_rows::<C, 6>(panes, places),
        7 => estimate_rows::<C, 7>(panes, places),
        _ => {
            let smallest = panes.iter().map(|pane| {
                let cells = C::all(&pane.content.cells);
                let counts = places.iter().map(|&place| C::count(cells[place as usize]));
                counts.fold(u64::MAX, u64::min)
            });
            smallest.sum()
        }
    }
}

/// [`estimate`] for a number of rows with which the places fit in registers and are checked once for all panes, which
/// halves the instructions. `ROWS` is the number of places.
fn estimate_rows<C: Cell, const ROWS: usize>(panes: &[StoredPane<Pane>], places: &[u32]) -> u64 {
    let (Some(places), Some(first)) = (places.first_chunk::<ROWS>(), panes.first()) else {
        return 0;
    };
    let places = places.map(|place| place as usize);
    let len = C::all(&first.content.cells).len();
    for place in places {
        assert!(place < len);
    }
    let smallest = panes.iter().map(|pane| {
        let cells = &C::all(&pane.content.cells)[..len];
        places
            .map(|place| C::count(cells[place]))
            .into_iter()
            .fold(u64::MAX, u64::min)
    });
    smallest.sum()
}

/// Whether the sums of the cells at each of these places over all panes are at most the maximum of a cell, if those of the
/// newest pane below `raised` become `raised`.
#[cold]
fn sums_fit<C: Cell>(
    older: &[StoredPane<Pane>],
    newest: &[StoredPane<Pane>],
    places: &[u32],
    raised: u64,
) -> bool {
    let count =
        |pane: &StoredPane<Pane>, place| C::count(C::all(&pane.content.cells)[place as usize]);
    places.iter().all(|&place| {
        let in_older: u64 = older.iter().map(|pane| count(pane, place)).sum();
        let in_newest = newest.iter().map(|pane| count(pane, place));
        in_older + in_newest.fold(raised, u64::max) <= C::MAX_COUNT
    })
}
