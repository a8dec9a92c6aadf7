//! Counting and asking.
//!
//! A command's items are taken in blocks: first all cells of the block's items are found, and fetched
//! where the sketch is large, then they are read and written item by item, in order.

use super::cell::{Cell, with_cell};
use super::{CountMin, CountMinError, MAX_TOTAL};
use crate::sketch::prefetch::{prefetch, with_wide_vectors};
use crate::sketch::rows::{Columns, LANES, lane_hashes};

/// Items found ahead.
const BLOCK_ITEMS: usize = 16;

/// Cells found ahead, so that a block's places take 1 KiB of stack. Sketches with more rows than this
/// are worked on item by item, a slice of the rows at a time; only absurd probabilities lead there.
const BLOCK_CELLS: usize = 128;

/// Sketches above this size in bytes are fetched ahead of use: they fit in no core's own cache. At 100
/// MB and 5 rows a batch then takes 76 ns an item instead of 120; in the cache, some 2 ns more.
const PREFETCH_BYTES: usize = 1 << 20;

impl CountMin {
    /// The estimate of `item`'s count. Cost: one pass over the item for every eight rows, one cell of
    /// each row.
    #[must_use]
    pub fn query(&self, item: &[u8]) -> u64 {
        let mut estimate = 0;
        self.query_all(std::iter::once(item), |count| estimate = count);
        estimate
    }

    /// Estimates each item's count and hands it to `answer`, in order.
    pub fn query_all<'a>(
        &self,
        items: impl IntoIterator<Item = &'a [u8]>,
        answer: impl FnMut(u64),
    ) {
        let items = items.into_iter().map(|item| (item, ()));
        with_cell!(self.shape.cell_size(), C => self.query_cells::<C>(items, answer));
    }

    /// Adds `by` to `item`'s count; the new estimate. All rows and the total are changed or, with an
    /// error, none. Cost: as [`CountMin::query`].
    ///
    /// # Errors
    /// [`CountMinError::Overflow`], [`CountMinError::Underflow`].
    pub fn increment(&mut self, item: &[u8], by: i64) -> Result<u64, CountMinError> {
        let mut answer = Ok(0);
        self.increment_all(std::iter::once((item, by)), |_, result| answer = result);
        answer
    }

    /// Adds to each item's count and hands what was to be added and [`CountMin::increment`]'s answer to
    /// `answer`, in order. An item that fails does not keep the others from being counted.
    pub fn increment_all<'a>(
        &mut self,
        items: impl IntoIterator<Item = (&'a [u8], i64)>,
        answer: impl FnMut(i64, Result<u64, CountMinError>),
    ) {
        let items = items.into_iter();
        with_cell!(self.shape.cell_size(), C => self.increment_cells::<C>(items, answer));
    }

    fn query_cells<'a, C: Cell>(
        &self,
        mut items: impl Iterator<Item = (&'a [u8], ())>,
        mut answer: impl FnMut(u64),
    ) {
        let rows = self.rows();
        let cells = C::all(&self.cells);
        if rows.depth > BLOCK_CELLS {
            items.for_each(|(item, ())| {
                let mut estimate = u64::MAX;
                rows.for_each_slice(item, |places| {
                    estimate = estimate.min(least::<C>(cells, places));
                });
                answer(estimate);
            });
            return;
        }
        let mut places = [0; BLOCK_CELLS];
        let mut wanted = [(); BLOCK_ITEMS];
        loop {
            let block = self.find_block::<C, _>(rows, &mut items, &mut places, &mut wanted);
            for places in places.chunks_exact(rows.stride()).take(block.items) {
                answer(least::<C>(cells, &places[..rows.depth]));
            }
            if block.last {
                return;
            }
        }
    }

    fn increment_cells<'a, C: Cell>(
        &mut self,
        mut items: impl Iterator<Item = (&'a [u8], i64)>,
        mut answer: impl FnMut(i64, Result<u64, CountMinError>),
    ) {
        let rows = self.rows();
        if rows.depth > BLOCK_CELLS {
            items.for_each(|(item, by)| answer(by, self.increment_deep::<C>(rows, item, by)));
            return;
        }
        let mut places = [0; BLOCK_CELLS];
        let mut wanted = [0; BLOCK_ITEMS];
        loop {
            let block = self.find_block::<C, _>(rows, &mut items, &mut places, &mut wanted);
            let cells = C::all_mut(&mut self.cells);
            let items = places.chunks_exact(rows.stride()).zip(wanted);
            for (places, by) in items.take(block.items) {
                let places = &places[..rows.depth];
                let result = total_with(self.total, by).and_then(|total| {
                    let estimate = add::<C>(cells, places, by).estimate(by);
                    match estimate {
                        Ok(_) => self.total = total,
                        Err(_) => take_back::<C>(cells, places, by),
                    }
                    estimate
                });
                answer(by, result);
            }
            if block.last {
                return;
            }
        }
    }

    /// Finds the places of the next items, at most [`BLOCK_ITEMS`] and as many as `places` has room
    /// for, [`Rows::stride`] places an item; what goes with each item is put in `wanted`.
    fn find_block<'a, C: Cell, T>(
        &self,
        rows: Rows,
        items: &mut impl Iterator<Item = (&'a [u8], T)>,
        places: &mut [usize; BLOCK_CELLS],
        wanted: &mut [T; BLOCK_ITEMS],
    ) -> Block {
        let stride = rows.stride();
        let room = BLOCK_ITEMS.min(BLOCK_CELLS / stride);
        let mut block = [&[][..]; BLOCK_ITEMS];
        let mut found = 0;
        for ((place, wanted), (item, with)) in block.iter_mut().zip(wanted).take(room).zip(items) {
            *place = item;
            *wanted = with;
            found += 1;
        }
        let is_large = self.cells.len() > PREFETCH_BYTES;
        with_wide_vectors(
            #[inline(always)]
            || {
                for (places, item) in places.chunks_exact_mut(stride).zip(&block[..found]) {
                    rows.find(item, 0, places);
                    // While the next item is hashed, the cells of this one are on their way.
                    if is_large {
                        for &place in &places[..rows.depth] {
                            prefetch(&self.cells, place * size_of::<C::Bytes>());
                        }
                    }
                }
            },
        );
        Block {
            items: found,
            last: found < room,
        }
    }

    /// Where the rows lie. The dimensions fit: the cells are in memory.
    #[allow(clippy::cast_possible_truncation)]
    fn rows(&self) -> Rows {
        let width = self.shape.width() as usize;
        Rows {
            width,
            depth: self.shape.depth() as usize,
            lane_starts: std::array::from_fn(|lane| lane * width),
            columns: self.columns,
        }
    }

    /// [`CountMin::increment`] for more rows than there is room for on the stack: finds them anew to
    /// take back what did not fit.
    fn increment_deep<C: Cell>(
        &mut self,
        rows: Rows,
        item: &[u8],
        by: i64,
    ) -> Result<u64, CountMinError> {
        let total = total_with(self.total, by)?;
        let cells = C::all_mut(&mut self.cells);
        let mut added = Added::NOTHING;
        rows.for_each_slice(item, |places| {
            added = added.and(add::<C>(cells, places, by))
        });
        let estimate = added.estimate(by);
        match estimate {
            Ok(_) => self.total = total,
            Err(_) => rows.for_each_slice(item, |places| take_back::<C>(cells, places, by)),
        }
        estimate
    }
}

/// What it takes to find an item's cells.
#[derive(Clone, Copy)]
struct Rows {
    width: usize,
    depth: usize,
    /// Where each of [`LANES`] rows starts, counted in cells from the first of them.
    lane_starts: [usize; LANES],
    columns: Columns,
}

impl Rows {
    /// Places kept of an item: rows are found [`LANES`] at a time.
    fn stride(&self) -> usize {
        self.depth.next_multiple_of(LANES)
    }

    /// The places of `item`'s cells in the rows from `first_row` on, counted in cells, one for each
    /// element of `places`, whose number is a multiple of [`LANES`]. Behind the last row they mean
    /// nothing.
    #[inline(always)]
    fn find(&self, item: &[u8], first_row: usize, places: &mut [usize]) {
        const HALF: usize = LANES / 2;
        let mut row = first_row;
        for group in places.as_chunks_mut::<LANES>().0 {
            match group.split_first_chunk_mut::<HALF>() {
                Some((half, _)) if self.depth - row <= HALF => self.find_lanes(item, row, half),
                _ => self.find_lanes(item, row, group),
            }
            row += LANES;
        }
    }

    /// The places of `item`'s cells in `N` rows, at most [`LANES`], from `first_row` on.
    #[inline(always)]
    fn find_lanes<const N: usize>(&self, item: &[u8], first_row: usize, places: &mut [usize; N]) {
        // Seeds have 32 bits; rows beyond that, in sketches of 4 GiB and more, begin again at 0.
        #[allow(clippy::cast_possible_truncation)]
        let hashes = lane_hashes::<N>(item, first_row as u32);
        let start = first_row * self.width;
        let columns = self.columns.columns(hashes);
        for ((place, lane_start), column) in places.iter_mut().zip(self.lane_starts).zip(columns) {
            // Below the width, which fits.
            #[allow(clippy::cast_possible_truncation)]
            let column = column as usize;
            *place = start + lane_start + column;
        }
    }

    /// Calls `visit` with the places of `item`'s cells, a slice of the rows at a time.
    fn for_each_slice(&self, item: &[u8], mut visit: impl FnMut(&[usize])) {
        let mut places = [0; BLOCK_CELLS];
        for first_row in (0..self.depth).step_by(BLOCK_CELLS) {
            let left = BLOCK_CELLS.min(self.depth - first_row);
            self.find(item, first_row, &mut places[..left.next_multiple_of(LANES)]);
            visit(&places[..left]);
        }
    }
}

/// What [`CountMin::find_block`] found.
struct Block {
    items: usize,
    /// Whether there are no items after these.
    last: bool,
}

/// The least count of the cells at `places`.
#[inline]
fn least<C: Cell>(cells: &[C::Bytes], places: &[usize]) -> u64 {
    let counts = places.iter().map(|&place| C::count(cells[place]));
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

    /// What came of this and of another.
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
fn add<C: Cell>(cells: &mut [C::Bytes], places: &[usize], by: i64) -> Added {
    let mut added = Added::NOTHING;
    for &place in places {
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
fn take_back<C: Cell>(cells: &mut [C::Bytes], places: &[usize], by: i64) {
    for &place in places {
        let cell = &mut cells[place];
        *cell = C::with_count(C::count(*cell).wrapping_sub(by.cast_unsigned()));
    }
}

#[cfg(test)]
mod tests {
    use super::super::cell::ALL_SIZES;
    use super::super::{CellSize, CountMin, dimensions_for};
    use super::*;

    fn sketch(width: u64, depth: u64, cell_size: CellSize) -> CountMin {
        CountMin::new(width, depth, cell_size, &|_| true).unwrap()
    }

    #[test]
    fn cells_count_to_their_maximum_and_no_further() {
        for cell_size in ALL_SIZES {
            for depth in [1, 5, 200] {
                let max = cell_size.max_count();
                let mut sketch = sketch(100, depth, cell_size);
                let by = max.cast_signed();
                assert_eq!(sketch.increment(b"a", by), Ok(max));
                assert_eq!(sketch.increment(b"a", 1), Err(CountMinError::Overflow));
                assert_eq!(
                    sketch.increment(b"a", i64::MAX),
                    Err(CountMinError::Overflow)
                );
                assert_eq!(sketch.increment(b"a", 0), Ok(max));
                assert_eq!((sketch.query(b"a"), sketch.total()), (max, max));
                assert_eq!(
                    sketch.increment(b"a", i64::MIN),
                    Err(CountMinError::Underflow)
                );
                assert_eq!(sketch.increment(b"a", -by), Ok(0));
                assert_eq!(sketch.increment(b"a", -1), Err(CountMinError::Underflow));
                assert_eq!(sketch.total(), 0);
            }
        }
    }

    #[test]
    fn a_failed_item_changes_no_row() {
        // Items that share some rows' cells with `a`, not all of them.
        let mut sketch = sketch(2, 6, CellSize::One);
        assert_eq!(sketch.increment(b"a", 200), Ok(200));
        let before = sketch.try_clone().unwrap();
        let mut failed = 0;
        for item in 0..100u8 {
            match sketch.increment(&[item], 60) {
                Ok(_) => {
                    sketch.increment(&[item], -60).unwrap();
                }
                Err(error) => {
                    assert_eq!(error, CountMinError::Overflow);
                    failed += 1;
                }
            }
            assert_eq!(sketch, before);
            if sketch.query(&[item]) == 0 {
                assert_eq!(sketch.increment(&[item], -1), Err(CountMinError::Underflow));
                assert_eq!(sketch, before);
            }
        }
        assert!(failed > 50);
    }

    #[test]
    fn the_total_has_limits_of_its_own() {
        let mut sketch = sketch(1000, 3, CellSize::Eight);
        assert_eq!(sketch.increment(b"a", i64::MAX - 1), Ok(MAX_TOTAL - 1));
        assert_eq!(sketch.increment(b"b", 2), Err(CountMinError::Overflow));
        assert_eq!(sketch.increment(b"b", 1), Ok(1));
        assert_eq!(sketch.increment(b"b", 1), Err(CountMinError::Overflow));
        assert_eq!((sketch.query(b"b"), sketch.total()), (1, MAX_TOTAL));
    }

    #[test]
    fn items_of_a_block_see_those_before_them() {
        for depth in [1, 7, 8, 9, 100, 128, 129] {
            let mut sketch = sketch(50, depth, CellSize::One);
            let mut answers = Vec::new();
            let items = (0..70).map(|i| (&b"twice"[..], if i % 2 == 0 { 9 } else { -4 }));
            sketch.increment_all(items, |_, answer| answers.push(answer));
            let mut count = 0u64;
            for (i, answer) in answers.iter().enumerate() {
                match (i % 2, count) {
                    (0, 0..=246) => count += 9,
                    (0, _) => {
                        assert_eq!(*answer, Err(CountMinError::Overflow));
                        continue;
                    }
                    _ => count -= 4,
                }
                assert_eq!(*answer, Ok(count));
            }
            assert_eq!(answers.len(), 70);
            let mut estimates = Vec::new();
            sketch.query_all([&b"twice"[..]; 33], |estimate| estimates.push(estimate));
            assert_eq!(estimates, [count; 33]);
        }
    }

    #[test]
    fn wide_vectors_find_the_same_cells() {
        let item: Vec<u8> = (0..40).collect();
        for (width, depth) in [(1, 1), (7, 4), (100, 5), (200_000, 10), (1 << 20, 20)] {
            let rows = sketch(width, depth, CellSize::One).rows();
            for len in 0..item.len() {
                let mut narrow = [0; BLOCK_CELLS];
                let mut wide = [0; BLOCK_CELLS];
                rows.find(&item[..len], 0, &mut narrow[..rows.stride()]);
                with_wide_vectors(
                    #[inline(always)]
                    || rows.find(&item[..len], 0, &mut wide[..rows.stride()]),
                );
                assert_eq!(narrow, wide);
                for (row, &place) in narrow[..rows.depth].iter().enumerate() {
                    let hash = crate::sketch::hash::murmur2(&item[..len], row as u32);
                    assert_eq!(place, row * rows.width + hash as usize % rows.width);
                }
            }
        }
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

    /// The promise of [`dimensions_for`] on a stream as streams are: the n-th item comes in proportion
    /// to 1/n.
    ///
    /// An estimate is too high by more than error × total = 1000 only if an item of some hundred counts
    /// shares each of the 7 rows' cells, or many small ones do. The average load of a cell is 500, so
    /// the promised bound is Markov's, at most 1/2 a row; of 1000 items at most 7.8 are expected beyond
    /// it. In truth only 26 items come more than 500 times, so in a row less than a fifth of the cells
    /// hold that much and all 7 of an item do with a probability below 1.3e-5: more than 10 of 1000
    /// fail with a probability below 1e-20.
    #[test]
    fn estimates_exceed_the_error_as_seldom_as_promised() {
        let (error, probability) = (0.01, 0.01);
        let (width, depth) = dimensions_for(error, probability).unwrap();
        let mut sketch = sketch(width, depth, CellSize::Four);
        let harmonic: f64 = (1..=1000).map(|n| 1.0 / f64::from(n)).sum();
        let counts: Vec<(String, i64)> = (1..=1000)
            .map(|n| {
                (
                    format!("item {n}"),
                    (100_000.0 / (harmonic * f64::from(n))) as i64,
                )
            })
            .collect();
        let stream = counts.iter().map(|(item, count)| (item.as_bytes(), *count));
        sketch.increment_all(stream, |_, answer| assert!(answer.is_ok()));
        assert_eq!(
            sketch.total().cast_signed(),
            counts.iter().map(|(_, count)| count).sum::<i64>()
        );
        let bound = error * sketch.total() as f64;
        let mut beyond = 0;
        for (item, count) in &counts {
            let excess = sketch.query(item.as_bytes()).cast_signed() - count;
            assert!(excess >= 0, "{item}");
            beyond += u32::from(excess as f64 > bound);
        }
        assert!(
            f64::from(beyond) <= probability * 1000.0,
            "{beyond} of 1000"
        );
    }
}
