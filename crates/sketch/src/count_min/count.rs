//! Increments and queries.
//!
//! The items of a command are processed in batches. The cells of all items of a batch are located first, and prefetched
//! if the sketch is large. Then they are read and written item by item, in order.

use super::cell::{Cell, with_cell};
use super::{CountMin, CountMinError, MAX_TOTAL, NO_LIMIT};
use crate::hash::modulus::Modulus;
use crate::hash::rows::{LANES, MAX_PASS_GROUPS, RowGroups, Rows};
use crate::prefetch::{prefetch, with_wide_vectors};
use std::borrow::Borrow;

/// Items per batch. Their cells exceed the number of memory requests that a core can have in flight.
const BATCH: usize = 8;

/// Rows whose columns are computed for several items at once. Sketches with more rows, which only failure probabilities
/// below 2^-16 require, process items one by one.
const MAX_BATCH_ROWS: usize = 2 * LANES;
/// Rows whose columns are computed in one pass over an item of a sketch with more rows.
const MAX_PASS_ROWS: usize = MAX_PASS_GROUPS * LANES;
/// Sketches with up to this many rows use half of the lanes.
const HALF: usize = LANES / 2;

/// Sketches larger than this many bytes are prefetched: they do not fit in the cache of a core.
const MIN_PREFETCH_BYTES: usize = 1 << 20;

impl CountMin {
    /// The estimated count of `item`. Cost: one pass over the item per 64 rows, one cell per row.
    #[must_use]
    pub fn query(&self, item: &[u8]) -> u64 {
        with_cell!(self.cell_size(), C => {
            let cells = C::all(&self.cells);
            query_one(self.rows(), item, |place| C::count(cells[place]))
        })
    }

    /// Calls `answer` with the estimated count of each item, in order.
    pub fn query_all<'a>(
        &self,
        items: impl ExactSizeIterator<Item = &'a [u8]>,
        answer: impl FnMut(u64),
    ) {
        self.query_rows(self.rows(), items, answer);
    }

    /// [`CountMin::query_all`] in the first rows, at most all.
    pub(super) fn query_rows<'a>(
        &self,
        rows: Rows,
        items: impl ExactSizeIterator<Item = &'a [u8]>,
        mut answer: impl FnMut(u64),
    ) {
        let items = items.map(|item| (item, ()));
        with_cell!(self.cell_size(), C => {
            let cells = C::all(&self.cells);
            let count = |place| C::count(cells[place]);
            match rows.depth {
                depth if depth > MAX_BATCH_ROWS || items.len() == 1 => {
                    items.for_each(|(item, ())| answer(query_one(rows, item, count)));
                }
                depth if depth <= HALF => self.query_batches::<HALF, 1>(rows, items, count, answer),
                depth if depth <= LANES => {
                    self.query_batches::<LANES, 1>(rows, items, count, answer);
                }
                _ => self.query_batches::<LANES, 2>(rows, items, count, answer),
            }
        });
    }

    /// Adds `by` to the count of `item` and returns the new estimate. After an error nothing has changed. Cost: as
    /// [`CountMin::query`], and twice that if a cell is out of range.
    ///
    /// # Errors
    /// [`CountMinError::Overflow`], [`CountMinError::Underflow`].
    pub fn increment(&mut self, item: &[u8], by: i64) -> Result<u64, CountMinError> {
        self.increment_limited(item, by, NO_LIMIT)
    }

    /// [`CountMin::increment`], if the new estimate is at most `max`. Cost: twice that of [`CountMin::increment`] if it is not.
    ///
    /// # Errors
    /// Unless `max` is [`NO_LIMIT`], [`CountMinError::AboveLimit`] instead of [`CountMinError::Overflow`].
    pub fn increment_limited(
        &mut self,
        item: &[u8],
        by: i64,
        max: u64,
    ) -> Result<u64, CountMinError> {
        let rows = self.rows();
        with_cell!(self.cell_size(), C => {
            if rows.depth > MAX_PASS_ROWS {
                return self.increment_cells::<C>(Hashed { rows, item }, by, max);
            }
            // One group: the item is hashed once, even if its places are visited twice.
            let mut answer = Err(CountMinError::Overflow);
            for_each_group(rows, item, |places| {
                answer = self.increment_cells::<C>(Located(places), by, max);
            });
            answer
        })
    }

    /// Adds `by` to the count of `item`. A cell above its maximum is set to it, and so is the total. RedisBloom up to 8.10
    /// counts like this when an increment overflows. Cost: as [`CountMin::query`].
    pub fn increment_saturating(&mut self, item: &[u8], by: u64) {
        let rows = self.rows();
        with_cell!(self.cell_size(), C => {
            let cells = C::all_mut(&mut self.cells);
            for_each_group(rows, item, |places| {
                for &place in places {
                    let sum = C::count(cells[place]).saturating_add(by);
                    cells[place] = C::with_count(sum.min(C::MAX_COUNT));
                }
            });
        });
        self.total = self.total.saturating_add(by).min(MAX_TOTAL);
    }

    /// Adds to the count of each item and calls `answer` with the increment and the result of
    /// [`CountMin::increment_limited`], in order. The items after a refused one are counted.
    pub fn increment_all<'a>(
        &mut self,
        items: impl Iterator<Item = (&'a [u8], i64)>,
        max: u64,
        mut answer: impl FnMut(i64, Result<u64, CountMinError>),
    ) {
        with_cell!(self.cell_size(), C => match self.rows().depth {
            depth if depth <= HALF => self.increment_batches::<C, HALF, 1>(items, max, answer),
            depth if depth <= LANES => self.increment_batches::<C, LANES, 1>(items, max, answer),
            depth if depth <= MAX_BATCH_ROWS => {
                self.increment_batches::<C, LANES, 2>(items, max, answer);
            }
            _ => items.for_each(|(item, by)| answer(by, self.increment_limited(item, by, max))),
        });
    }

    fn increment_batches<'a, C: Cell, const L: usize, const G: usize>(
        &mut self,
        items: impl Iterator<Item = (&'a [u8], i64)>,
        max: u64,
        mut answer: impl FnMut(i64, Result<u64, CountMinError>),
    ) {
        let pipeline = Pipeline::<L, G>::new(self, self.rows());
        pipeline.run(self, items, |sketch, places, by| {
            answer(by, sketch.increment_cells::<C>(Located(places), by, max));
        });
    }

    fn query_batches<'a, const L: usize, const G: usize>(
        &self,
        rows: Rows,
        items: impl Iterator<Item = (&'a [u8], ())>,
        count: impl Fn(usize) -> u64 + Copy,
        mut answer: impl FnMut(u64),
    ) {
        let pipeline = Pipeline::<L, G>::new(self, rows);
        pipeline.run(&mut &*self, items, |_, places, ()| {
            answer(min_count(places, count));
        });
    }

    /// [`CountMin::increment_limited`] for the item with these cells. Adds first, so that an increment that is not refused
    /// visits the cells once.
    #[inline]
    fn increment_cells<C: Cell>(
        &mut self,
        places: impl Places,
        by: i64,
        max: u64,
    ) -> Result<u64, CountMinError> {
        let total = total_after(self.total, by);
        let cells = C::all_mut(&mut self.cells);
        let mut sums = Sums::NONE;
        places.for_each_group(|places| sums = sums.and(add::<C>(cells, places, by)));
        let result = match total.and(sums.estimate::<C>(by)) {
            Ok(estimate) if estimate <= max => Ok(estimate),
            Err(error) if max == NO_LIMIT || by < 0 => Err(error),
            _ => Err(CountMinError::AboveLimit(
                sums.min.wrapping_sub(by.cast_unsigned()),
            )),
        };
        match (result, total) {
            (Ok(_), Ok(total)) => self.total = total,
            _ => places.for_each_group(|places| undo::<C>(cells, places, by)),
        }
        result
    }

    /// The dimensions of the table. They fit in `usize` if the cells are in memory.
    #[inline]
    pub(super) fn rows(&self) -> Rows {
        let dimensions = self.dimensions();
        Rows {
            width: dimensions.width() as usize,
            depth: dimensions.depth() as usize,
            modulus: Modulus::<u32>::new(dimensions.width()),
        }
    }
}

/// The cell numbers of one item in all rows, which can be visited several times.
trait Places {
    /// Calls `visit` for each group of up to [`MAX_PASS_ROWS`] rows.
    fn for_each_group(&self, visit: impl FnMut(&[usize]));
}

/// The cell numbers of one item of a batch.
struct Located<'a>(&'a [usize]);

impl Places for Located<'_> {
    #[inline(always)]
    fn for_each_group(&self, mut visit: impl FnMut(&[usize])) {
        visit(self.0);
    }
}

/// The cell numbers of one item, which is hashed for each visit.
struct Hashed<'a> {
    rows: Rows,
    item: &'a [u8],
}

impl Places for Hashed<'_> {
    #[inline(always)]
    fn for_each_group(&self, visit: impl FnMut(&[usize])) {
        for_each_group(self.rows, self.item, visit);
    }
}

/// The smallest count of the cells of an item.
fn query_one(rows: Rows, item: &[u8], count: impl Fn(usize) -> u64 + Copy) -> u64 {
    let mut estimate = u64::MAX;
    for_each_group(rows, item, |places| {
        estimate = estimate.min(min_count(places, count));
    });
    estimate
}

/// Locates the cells of items batch by batch, in a sketch of up to `L * G` rows.
struct Pipeline<const L: usize, const G: usize> {
    rows: Rows,
    groups: RowGroups<L, G>,
    /// The size of a cell if the sketch is prefetched.
    prefetched_cell_bytes: Option<usize>,
}

impl<const L: usize, const G: usize> Pipeline<L, G> {
    #[inline]
    fn new(sketch: &CountMin, rows: Rows) -> Self {
        let is_large = sketch.cells.len() > MIN_PREFETCH_BYTES;
        Self {
            rows,
            groups: rows.groups(0),
            prefetched_cell_bytes: is_large.then(|| sketch.cell_size().bytes() as usize),
        }
    }

    /// Calls `visit` with `sketch`, the places and the value of each item, in order.
    ///
    /// While the items of one batch are visited, the cells of the next batch are prefetched: as many per item as it
    /// visits, so that the memory requests are spread over the time that `visit` takes.
    #[inline(always)]
    fn run<'a, S: Borrow<CountMin>, T: Copy + Default>(
        &self,
        sketch: &mut S,
        mut items: impl Iterator<Item = (&'a [u8], T)>,
        mut visit: impl FnMut(&mut S, &[usize], T),
    ) {
        let mut batches = [Batch::new(), Batch::new()];
        let [mut current, mut next] = batches.each_mut();
        self.locate(&mut items, current);
        for n in 0..current.len {
            self.prefetch_item(S::borrow(sketch), current, n);
        }
        while current.len > 0 {
            self.locate(&mut items, next);
            for n in 0..current.len {
                if n < next.len {
                    self.prefetch_item(S::borrow(sketch), next, n);
                }
                let places = &current.places[n].as_flattened()[..self.rows.depth];
                visit(sketch, places, current.values[n]);
            }
            std::mem::swap(&mut current, &mut next);
        }
    }

    /// Fills the batch with the next items, at most [`BATCH`].
    fn locate<'a, T>(
        &self,
        items: &mut impl Iterator<Item = (&'a [u8], T)>,
        batch: &mut Batch<T, L, G>,
    ) {
        let mut located = [&[][..]; BATCH];
        batch.len = 0;
        for ((place, value), (item, its)) in located.iter_mut().zip(&mut batch.values).zip(items) {
            (*place, *value) = (item, its);
            batch.len += 1;
        }
        let places = &mut batch.places[..batch.len];
        with_wide_vectors(
            #[inline(always)]
            || self.groups.cells_of(&located, places),
        );
    }

    /// Prefetches the cells of item `n` of the batch if the sketch is large.
    #[inline(always)]
    fn prefetch_item<T>(&self, sketch: &CountMin, batch: &Batch<T, L, G>, n: usize) {
        if let Some(cell_bytes) = self.prefetched_cell_bytes {
            for cell in &batch.places[n].as_flattened()[..self.rows.depth] {
                prefetch(&sketch.cells, cell * cell_bytes);
            }
        }
    }
}

/// The located items of a batch, at most [`BATCH`].
struct Batch<T, const L: usize, const G: usize> {
    /// The cell of each item in each row. Those beyond the last row are not used.
    places: [[[usize; L]; G]; BATCH],
    /// A value that the caller passes per item: the increment.
    values: [T; BATCH],
    len: usize,
}

impl<T: Copy + Default, const L: usize, const G: usize> Batch<T, L, G> {
    /// An empty batch.
    fn new() -> Self {
        Self {
            places: [[[0; L]; G]; BATCH],
            values: [T::default(); BATCH],
            len: 0,
        }
    }
}

/// Calls `visit` with the places of `item` in each group of up to [`MAX_PASS_ROWS`] rows.
#[inline(always)]
fn for_each_group(rows: Rows, item: &[u8], mut visit: impl FnMut(&[usize])) {
    match rows.depth {
        depth if depth <= HALF => {
            visit(&wide_places::<HALF, 1>(rows, item, 0).as_flattened()[..depth]);
        }
        depth if depth <= LANES => {
            visit(&wide_places::<LANES, 1>(rows, item, 0).as_flattened()[..depth]);
        }
        depth => {
            for first_row in (0..depth).step_by(MAX_PASS_ROWS) {
                let len = MAX_PASS_ROWS.min(depth - first_row);
                if len <= MAX_BATCH_ROWS {
                    let places = wide_places::<LANES, 2>(rows, item, first_row);
                    visit(&places.as_flattened()[..len]);
                } else {
                    let places = wide_places::<LANES, MAX_PASS_GROUPS>(rows, item, first_row);
                    visit(&places.as_flattened()[..len]);
                }
            }
        }
    }
}

/// The cell numbers of `item` from `first_row` on, computed with wide vectors.
fn wide_places<const L: usize, const G: usize>(
    rows: Rows,
    item: &[u8],
    first_row: usize,
) -> [[usize; L]; G] {
    let groups = rows.groups::<L, G>(first_row);
    let mut places = [[0; L]; G];
    with_wide_vectors(
        #[inline(always)]
        || groups.cells_of(&[item], std::slice::from_mut(&mut places)),
    );
    places
}

/// The smallest count of the cells at `places`.
#[inline]
fn min_count(places: &[usize], count: impl Fn(usize) -> u64) -> u64 {
    places
        .iter()
        .fold(u64::MAX, |min, &place| min.min(count(place)))
}

/// The total after an increment.
///
/// # Errors
/// [`CountMinError::Overflow`], [`CountMinError::Underflow`].
#[inline]
fn total_after(total: u64, by: i64) -> Result<u64, CountMinError> {
    let sum = total.checked_add_signed(by);
    sum.filter(|&sum| sum <= MAX_TOTAL).ok_or(out_of_range(by))
}

/// The error of an increment that leaves the range.
fn out_of_range(by: i64) -> CountMinError {
    if by < 0 {
        CountMinError::Underflow
    } else {
        CountMinError::Overflow
    }
}

/// A summary of the new counts of an item's cells.
#[derive(Debug, Clone, Copy)]
struct Sums {
    /// The smallest sum.
    min: u64,
    /// The bits that are set in any sum.
    bits: u64,
}

impl Sums {
    /// The summary of no cells.
    const NONE: Self = Self {
        min: u64::MAX,
        bits: 0,
    };

    /// The summary of one cell with this sum.
    #[inline]
    fn one(sum: u64) -> Self {
        Self {
            min: sum,
            bits: sum,
        }
    }

    /// The summary of two groups of cells. Inlined, so that the sums stay in registers in the loop over the cells.
    #[inline]
    fn and(self, other: Self) -> Self {
        Self {
            min: self.min.min(other.min),
            bits: self.bits | other.bits,
        }
    }

    /// The estimate of the item after its cells of type `C` were incremented.
    ///
    /// # Errors
    /// [`CountMinError::Overflow`] or [`CountMinError::Underflow`] if a cell is out of range.
    #[inline]
    fn estimate<C: Cell>(self, by: i64) -> Result<u64, CountMinError> {
        // The operands of a sum do not exceed 2^63 and the maximum is 2^n - 1: a sum that is negative or above the
        // maximum has bits outside the maximum.
        if self.bits & !C::MAX_COUNT == 0 {
            Ok(self.min)
        } else {
            Err(out_of_range(by))
        }
    }
}

/// Adds to the cells at `places`. If a sum is out of the range of a cell, its lower bits are stored, and the caller
/// must call [`undo`].
///
/// Most increments fit, so adding first and checking afterwards usually needs one pass instead of two.
#[inline]
fn add<C: Cell>(cells: &mut [C::Bytes], places: &[usize], by: i64) -> Sums {
    let mut sums = Sums::NONE;
    for &place in places {
        let cell = &mut cells[place];
        let sum = C::count(*cell).wrapping_add_signed(by);
        *cell = C::with_count(sum);
        sums = sums.and(Sums::one(sum));
    }
    sums
}

/// Undoes [`add`]. The lower bits suffice: subtraction reverses addition modulo a power of two.
#[cold]
fn undo<C: Cell>(cells: &mut [C::Bytes], places: &[usize], by: i64) {
    for &place in places {
        let cell = &mut cells[place];
        *cell = C::with_count(C::count(*cell).wrapping_sub(by.cast_unsigned()));
    }
}

#[cfg(test)]
mod tests {
    use super::super::CellSize;
    use super::super::tests::sketch;
    use super::*;

    #[test]
    fn saturating_increments_count_in_every_row() {
        for (depth, size) in [
            (5, CellSize::One),
            (100, CellSize::Four),
            (3, CellSize::Eight),
        ] {
            let mut sketch = sketch(1 << 10, depth, size);
            let max = size.max_count();
            sketch.increment_saturating(b"a", max - 1);
            assert_eq!(sketch.query(b"a"), max - 1);
            assert_eq!(sketch.increment(b"a", 5), Err(CountMinError::Overflow));
            sketch.increment_saturating(b"a", 5);
            assert_eq!(sketch.query(b"a"), max);
            assert_eq!(sketch.total(), (max + 4).min(MAX_TOTAL));
            sketch.increment_saturating(b"a", u64::MAX);
            assert_eq!((sketch.query(b"a"), sketch.total()), (max, MAX_TOTAL));
        }
    }

    #[test]
    fn large_sketches_count_the_same() {
        // Above MIN_PREFETCH_BYTES.
        let mut large = sketch(1 << 18, 5, CellSize::Four);
        assert!(large.cells.len() > MIN_PREFETCH_BYTES);
        let items: Vec<[u8; 4]> = (0..1000u32).map(u32::to_le_bytes).collect();
        large.increment_all(
            items.iter().map(|item| (item.as_slice(), 7)),
            NO_LIMIT,
            |_, answer| {
                assert_eq!(answer, Ok(7));
            },
        );
        large.query_all(items.iter().map(<[u8; 4]>::as_slice), |estimate| {
            assert_eq!(estimate, 7)
        });
    }
}
