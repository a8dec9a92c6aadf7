//! Counting and asking.
//!
//! A command's items are taken in blocks: first all cells of the block's items are found, and fetched
//! where the sketch is large, then they are read and written item by item, in order.

use super::cell::{Cell, with_cell};
use super::{CountMin, CountMinError, MAX_TOTAL};
use crate::modulus::Modulus;
use crate::prefetch::{prefetch, with_wide_vectors};
use crate::rows::{LANES, group_hashes};

/// Items found ahead: their cells are more than the memory of any core serves at a time.
const BLOCK: usize = 8;

/// Rows of which the columns are found at once. Sketches with more are worked on item by item, a slice of
/// so many rows at a time; only probabilities below 2^-16 lead there.
const MOST_ROWS: usize = 2 * LANES;
/// Rows of which half of the lanes are enough.
const HALF: usize = LANES / 2;

/// Sketches above this size in bytes are fetched ahead of use: they fit in no core's own cache. At 80 MB and
/// 5 rows a batch then takes 65 ns an item instead of 73; at 8 MB and 10 rows it is the same.
const PREFETCH_BYTES: usize = 1 << 20;

impl CountMin {
    /// The estimate of `item`'s count. Cost: one pass over the item for every sixteen rows, one cell of
    /// each row.
    #[must_use]
    pub fn query(&self, item: &[u8]) -> u64 {
        with_cell!(self.shape.cell_size(), C => self.query_one::<C>(self.rows(), item))
    }

    /// Estimates each item's count and hands it to `answer`, in order.
    pub fn query_all<'a>(
        &self,
        items: impl ExactSizeIterator<Item = &'a [u8]>,
        answer: impl FnMut(u64),
    ) {
        with_cell!(self.shape.cell_size(), C => self.query_cells::<C>(items, answer));
    }

    /// Adds `by` to `item`'s count; the new estimate. All rows and the total are changed or, with an
    /// error, none. Cost: as [`CountMin::query`], and as much again where a cell overflows.
    ///
    /// # Errors
    /// [`CountMinError::Overflow`], [`CountMinError::Underflow`].
    pub fn increment(&mut self, item: &[u8], by: i64) -> Result<u64, CountMinError> {
        with_cell!(self.shape.cell_size(), C => self.increment_one::<C>(self.rows(), item, by))
    }

    /// Adds to each item's count and hands what was to be added and [`CountMin::increment`]'s answer to
    /// `answer`, in order. An item that fails does not keep the others from being counted.
    pub fn increment_all<'a>(
        &mut self,
        items: impl Iterator<Item = (&'a [u8], i64)>,
        answer: impl FnMut(i64, Result<u64, CountMinError>),
    ) {
        with_cell!(self.shape.cell_size(), C => self.increment_cells::<C>(items, answer));
    }

    fn query_cells<'a, C: Cell>(
        &self,
        items: impl ExactSizeIterator<Item = &'a [u8]>,
        mut answer: impl FnMut(u64),
    ) {
        let rows = self.rows();
        let items = items.map(|item| (item, ()));
        match rows.depth {
            depth if depth > MOST_ROWS || items.len() == 1 => {
                items.for_each(|(item, ())| answer(self.query_one::<C>(rows, item)));
            }
            depth if depth <= HALF => self.query_blocks::<C, HALF, 1>(rows, items, answer),
            depth if depth <= LANES => self.query_blocks::<C, LANES, 1>(rows, items, answer),
            _ => self.query_blocks::<C, LANES, 2>(rows, items, answer),
        }
    }

    fn query_blocks<'a, C: Cell, const L: usize, const G: usize>(
        &self,
        rows: Rows,
        mut items: impl Iterator<Item = (&'a [u8], ())>,
        mut answer: impl FnMut(u64),
    ) {
        let cells = C::all(&self.cells);
        let mut block = Block::<(), L, G>::default();
        while self.find(rows, &mut items, &mut block) {
            for columns in &block.columns[..block.len] {
                answer(least::<C>(cells, rows.places(0, columns.as_flattened())));
            }
        }
    }

    fn query_one<C: Cell>(&self, rows: Rows, item: &[u8]) -> u64 {
        let cells = C::all(&self.cells);
        let mut estimate = u64::MAX;
        rows.for_each_slice(item, |first_row, columns| {
            estimate = estimate.min(least::<C>(cells, rows.places(first_row, columns)));
        });
        estimate
    }

    fn increment_cells<'a, C: Cell>(
        &mut self,
        items: impl Iterator<Item = (&'a [u8], i64)>,
        mut answer: impl FnMut(i64, Result<u64, CountMinError>),
    ) {
        let rows = self.rows();
        match rows.depth {
            depth if depth <= HALF => self.increment_blocks::<C, HALF, 1>(rows, items, answer),
            depth if depth <= LANES => self.increment_blocks::<C, LANES, 1>(rows, items, answer),
            depth if depth <= MOST_ROWS => {
                self.increment_blocks::<C, LANES, 2>(rows, items, answer)
            }
            _ => items.for_each(|(item, by)| answer(by, self.increment_one::<C>(rows, item, by))),
        }
    }

    fn increment_blocks<'a, C: Cell, const L: usize, const G: usize>(
        &mut self,
        rows: Rows,
        mut items: impl Iterator<Item = (&'a [u8], i64)>,
        mut answer: impl FnMut(i64, Result<u64, CountMinError>),
    ) {
        let mut block = Block::<i64, L, G>::default();
        while self.find(rows, &mut items, &mut block) {
            let cells = C::all_mut(&mut self.cells);
            for (columns, &by) in block.columns.iter().zip(&block.with[..block.len]) {
                let result = total_with(self.total, by).and_then(|total| {
                    let places = rows.places(0, columns.as_flattened());
                    let estimate = add::<C>(cells, places.clone(), by).estimate(by);
                    match estimate {
                        Ok(_) => self.total = total,
                        Err(_) => take_back::<C>(cells, places, by),
                    }
                    estimate
                });
                answer(by, result);
            }
        }
    }

    /// [`CountMin::increment`]. Finds the item anew to take back what did not fit.
    fn increment_one<C: Cell>(
        &mut self,
        rows: Rows,
        item: &[u8],
        by: i64,
    ) -> Result<u64, CountMinError> {
        let total = total_with(self.total, by)?;
        let cells = C::all_mut(&mut self.cells);
        let mut added = Added::NOTHING;
        rows.for_each_slice(item, |first_row, columns| {
            added = added.and(add::<C>(cells, rows.places(first_row, columns), by));
        });
        let estimate = added.estimate(by);
        match estimate {
            Ok(_) => self.total = total,
            Err(_) => rows.for_each_slice(item, |first_row, columns| {
                take_back::<C>(cells, rows.places(first_row, columns), by);
            }),
        }
        estimate
    }

    /// Finds the columns of the next items, at most [`BLOCK`]; whether there were any.
    fn find<'a, T: Copy + Default, const L: usize, const G: usize>(
        &self,
        rows: Rows,
        items: &mut impl Iterator<Item = (&'a [u8], T)>,
        block: &mut Block<T, L, G>,
    ) -> bool {
        let mut found = [&[][..]; BLOCK];
        block.len = 0;
        for ((place, with), (item, its)) in found.iter_mut().zip(&mut block.with).zip(items) {
            (*place, *with) = (item, its);
            block.len += 1;
        }
        let cells = &self.cells[..];
        let is_large = cells.len() > PREFETCH_BYTES;
        #[allow(clippy::cast_possible_truncation)] // at most 8
        let cell_bytes = self.shape.cell_size().bytes() as usize;
        with_wide_vectors(
            #[inline(always)]
            || {
                for (columns, item) in block.columns.iter_mut().zip(&found[..block.len]) {
                    *columns = rows.columns(item, 0);
                    // While the next item is hashed, the cells of this one are on their way.
                    if is_large {
                        for place in rows.places(0, columns.as_flattened()) {
                            prefetch(cells, place * cell_bytes);
                        }
                    }
                }
            },
        );
        block.len != 0
    }

    /// Where the rows lie. The dimensions fit: the cells are in memory.
    #[allow(clippy::cast_possible_truncation)]
    fn rows(&self) -> Rows {
        Rows {
            width: self.shape.width() as usize,
            depth: self.shape.depth() as usize,
            columns: self.columns,
        }
    }
}

/// Items that were found in sketches of up to `L * G` rows, at most [`BLOCK`].
struct Block<T, const L: usize, const G: usize> {
    /// Their column in each row. Behind the last row they mean nothing.
    columns: [[[u32; L]; G]; BLOCK],
    /// What goes with each.
    with: [T; BLOCK],
    len: usize,
}

impl<T: Copy + Default, const L: usize, const G: usize> Default for Block<T, L, G> {
    fn default() -> Self {
        Self {
            columns: [[[0; L]; G]; BLOCK],
            with: [T::default(); BLOCK],
            len: 0,
        }
    }
}

/// What it takes to find an item's cells.
#[derive(Clone, Copy)]
struct Rows {
    width: usize,
    depth: usize,
    columns: Modulus<u32>,
}

impl Rows {
    /// The columns of `item` in `G` groups of `L` rows from `first_row` on.
    #[inline(always)]
    fn columns<const L: usize, const G: usize>(
        &self,
        item: &[u8],
        first_row: usize,
    ) -> [[u32; L]; G] {
        // Seeds have 32 bits; rows beyond that, in sketches of 4 GiB and more, begin again at 0.
        #[allow(clippy::cast_possible_truncation)]
        let mut columns = group_hashes::<L, G>(item, first_row as u32);
        self.columns.replace(columns.as_flattened_mut());
        columns
    }

    /// The places of cells, counted in cells, given their columns in the rows from `first_row` on; columns
    /// behind the last row have none.
    #[inline(always)]
    fn places(&self, first_row: usize, columns: &[u32]) -> impl Iterator<Item = usize> + Clone {
        let width = self.width;
        let mut row_start = first_row * width;
        columns
            .iter()
            .take(self.depth - first_row)
            .map(move |&column| {
                let place = row_start + column as usize;
                row_start += width;
                place
            })
    }

    /// Calls `visit` with the columns of `item` and the row that the first of them is in, a slice of the rows
    /// at a time.
    #[inline(always)]
    fn for_each_slice(&self, item: &[u8], mut visit: impl FnMut(usize, &[u32])) {
        match self.depth {
            depth if depth <= HALF => {
                visit(0, self.wide_columns::<HALF, 1>(item, 0).as_flattened())
            }
            depth if depth <= LANES => {
                visit(0, self.wide_columns::<LANES, 1>(item, 0).as_flattened())
            }
            _ => {
                for first_row in (0..self.depth).step_by(MOST_ROWS) {
                    let columns = self.wide_columns::<LANES, 2>(item, first_row);
                    visit(first_row, columns.as_flattened());
                }
            }
        }
    }

    fn wide_columns<const L: usize, const G: usize>(
        &self,
        item: &[u8],
        first_row: usize,
    ) -> [[u32; L]; G] {
        with_wide_vectors(
            #[inline(always)]
            || self.columns(item, first_row),
        )
    }
}

/// The least count of the cells at `places`.
#[inline]
fn least<C: Cell>(cells: &[C::Bytes], places: impl Iterator<Item = usize>) -> u64 {
    let counts = places.map(|place| C::count(cells[place]));
    counts.fold(u64::MAX, u64::min)
}

/// The total with `by` added to it.
///
/// # Errors
/// [`CountMinError::Overflow`], [`CountMinError::Underflow`].
#[inline]
fn total_with(total: u64, by: i64) -> Result<u64, CountMinError> {
    let sum = total.checked_add_signed(by);
    sum.filter(|&sum| sum <= MAX_TOTAL).ok_or(out_of_range(by))
}

/// Why `by` could not be added.
fn out_of_range(by: i64) -> CountMinError {
    if by < 0 {
        CountMinError::Underflow
    } else {
        CountMinError::Overflow
    }
}

/// What came of adding to some of an item's cells.
#[derive(Debug, Clone, Copy)]
struct Added {
    /// The least of the sums.
    least: u64,
    /// Not 0 where a sum is out of a cell's range.
    outside: u64,
}

impl Added {
    /// What comes of adding to no cell.
    const NOTHING: Self = Self {
        least: u64::MAX,
        outside: 0,
    };

    /// Combines the results of two groups of cells.
    #[inline]
    fn and(self, other: Self) -> Self {
        Self {
            least: self.least.min(other.least),
            outside: self.outside | other.outside,
        }
    }

    /// The item's estimate after all of its cells were added to.
    ///
    /// # Errors
    /// [`CountMinError::Overflow`] or [`CountMinError::Underflow`] where one is out of its range.
    #[inline]
    fn estimate(self, by: i64) -> Result<u64, CountMinError> {
        if self.outside == 0 {
            Ok(self.least)
        } else {
            Err(out_of_range(by))
        }
    }
}

/// Adds to the cells at `places`, also where a sum is out of a cell's range, of which the lower bits
/// are kept: then [`take_back`] has to follow.
///
/// Most additions fit, so they are made first and looked at afterwards: one pass instead of two.
#[inline]
fn add<C: Cell>(cells: &mut [C::Bytes], places: impl Iterator<Item = usize>, by: i64) -> Added {
    let mut added = Added::NOTHING;
    for place in places {
        let cell = &mut cells[place];
        // Neither addend is above 2^63, so a sum that is negative or above the maximum, which is all
        // ones up to some bit, has others.
        let sum = C::count(*cell).wrapping_add_signed(by);
        *cell = C::with_count(sum);
        added = added.and(Added {
            least: sum,
            outside: sum & !C::MAX_COUNT,
        });
    }
    added
}

/// Undoes [`add`]: adding to the lower bits of a number is undone in them.
#[cold]
fn take_back<C: Cell>(cells: &mut [C::Bytes], places: impl Iterator<Item = usize>, by: i64) {
    for place in places {
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
    fn wide_vectors_find_the_same_cells() {
        fn check<const L: usize, const G: usize>(rows: Rows, item: &[u8], first_row: usize) {
            let narrow = rows.columns::<L, G>(item, first_row);
            let wide = with_wide_vectors(
                #[inline(always)]
                || rows.columns::<L, G>(item, first_row),
            );
            assert_eq!(narrow, wide);
            let places: Vec<_> = rows.places(first_row, narrow.as_flattened()).collect();
            let expected = (first_row..rows.depth).take(L * G).map(|row| {
                let hash = crate::hash::murmur2(item, row as u32);
                row * rows.width + hash as usize % rows.width
            });
            assert!(expected.eq(places));
        }
        let item: Vec<u8> = (0..40).collect();
        for (width, depth) in [(1, 1), (7, 4), (100, 5), (200_000, 10), (1 << 20, 20)] {
            let rows = sketch(width, depth, CellSize::One).rows();
            for len in 0..item.len() {
                check::<4, 1>(rows, &item[..len], 0);
                check::<LANES, 1>(rows, &item[..len], 0);
                check::<LANES, 2>(rows, &item[..len], 0);
                check::<LANES, 2>(rows, &item[..len], rows.depth / 2);
            }
        }
    }

    /// More rows, and wider ones, than any memory holds: the arithmetic is all there is to them.
    #[test]
    fn rows_beyond_every_memory_have_their_places() {
        let rows = Rows {
            width: 1 << 33,
            depth: 1 << 33,
            columns: Modulus::<u32>::new(1 << 33),
        };
        let first_row = (1 << 32) - 8;
        let columns = rows.columns::<LANES, 2>(b"item", first_row);
        for (row, &column) in (first_row as u64..).zip(columns.as_flattened()) {
            let seed = (row % (1 << 32)) as u32;
            assert_eq!(column, crate::hash::murmur2(b"item", seed));
        }
        let places: Vec<_> = rows.places(1, &[u32::MAX, 1]).collect();
        assert_eq!(places, [(1 << 33) + u32::MAX as usize, (2 << 33) + 1]);
    }

    #[test]
    fn large_sketches_count_the_same() {
        // Above PREFETCH_BYTES.
        let mut large = sketch(1 << 18, 5, CellSize::Four);
        assert!(large.cells.len() > PREFETCH_BYTES);
        let items: Vec<[u8; 4]> = (0..1000u32).map(u32::to_le_bytes).collect();
        large.increment_all(
            items.iter().map(|item| (item.as_slice(), 7)),
            |_, answer| {
                assert_eq!(answer, Ok(7));
            },
        );
        large.query_all(items.iter().map(<[u8; 4]>::as_slice), |estimate| {
            assert_eq!(estimate, 7)
        });
    }
}
