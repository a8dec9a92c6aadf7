//! Counting and asking.
//!
//! A command's items are taken in blocks: first all cells of the block's items are found, and fetched
//! where the sketch is large, then they are read and written item by item, in order.

use super::cell::{Cell, with_cell};
use super::{CountMin, CountMinError, MAX_TOTAL};
use crate::sketch::prefetch::prefetch;
use crate::sketch::rows::{Columns, LANES, row_hashes};

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
        self.increment_all(std::iter::once((item, by)), |result| answer = result);
        answer
    }

    /// Adds to each item's count and hands [`CountMin::increment`]'s answer to `answer`, in order. An
    /// item that fails does not keep the others from being counted.
    pub fn increment_all<'a>(
        &mut self,
        items: impl IntoIterator<Item = (&'a [u8], i64)>,
        answer: impl FnMut(Result<u64, CountMinError>),
    ) {
        let items = items.into_iter();
        with_cell!(self.shape.cell_size(), C => self.increment_cells::<C>(items, answer));
    }

    fn query_cells<'a, C: Cell>(
        &self,
        mut items: impl Iterator<Item = (&'a [u8], ())>,
        mut answer: impl FnMut(u64),
    ) {
        let depth = self.rows().depth;
        if depth > BLOCK_CELLS {
            items.for_each(|(item, ())| answer(self.extremes_of::<C>(item).least));
            return;
        }
        let cells = C::all(&self.cells);
        let mut places = [0; BLOCK_CELLS];
        let mut wanted = [(); BLOCK_ITEMS];
        loop {
            let block = self.find_block::<C, _>(&mut items, &mut places, &mut wanted);
            for places in places.chunks_exact(depth).take(block.items) {
                answer(Extremes::new().with::<C>(cells, places).least);
            }
            if block.last {
                return;
            }
        }
    }

    fn increment_cells<'a, C: Cell>(
        &mut self,
        mut items: impl Iterator<Item = (&'a [u8], i64)>,
        mut answer: impl FnMut(Result<u64, CountMinError>),
    ) {
        let depth = self.rows().depth;
        if depth > BLOCK_CELLS {
            items.for_each(|(item, by)| answer(self.increment_deep::<C>(item, by)));
            return;
        }
        let mut places = [0; BLOCK_CELLS];
        let mut wanted = [0; BLOCK_ITEMS];
        loop {
            let block = self.find_block::<C, _>(&mut items, &mut places, &mut wanted);
            let cells = C::all_mut(&mut self.cells);
            let items = places.chunks_exact(depth).zip(wanted).take(block.items);
            for (places, by) in items {
                let extremes = Extremes::new().with::<C>(cells, places);
                answer(extremes.add::<C>(self.total, by).map(|(estimate, total)| {
                    self.total = total;
                    add_to_cells::<C>(cells, places, by);
                    estimate
                }));
            }
            if block.last {
                return;
            }
        }
    }

    /// Finds the places of the next items, at most [`BLOCK_ITEMS`] and as many as `places` has room
    /// for, `depth` places an item; what goes with each item is put in `wanted`.
    fn find_block<'a, C: Cell, T>(
        &self,
        items: &mut impl Iterator<Item = (&'a [u8], T)>,
        places: &mut [usize; BLOCK_CELLS],
        wanted: &mut [T; BLOCK_ITEMS],
    ) -> Block {
        let rows = self.rows();
        let depth = rows.depth;
        let room = BLOCK_ITEMS.min(BLOCK_CELLS / depth);
        let slots = places.chunks_exact_mut(depth).zip(wanted).take(room);
        let mut found = 0;
        for ((places, wanted), (item, with)) in slots.zip(items) {
            rows.find(item, 0, places);
            if self.cells.len() > PREFETCH_BYTES {
                for &place in &*places {
                    prefetch(&self.cells, place * size_of::<C::Bytes>());
                }
            }
            *wanted = with;
            found += 1;
        }
        Block {
            items: found,
            last: found < room,
        }
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

    fn extremes_of<C: Cell>(&self, item: &[u8]) -> Extremes {
        let mut extremes = Extremes::new();
        self.rows().for_each_slice(item, |places| {
            extremes = extremes.with::<C>(C::all(&self.cells), places);
        });
        extremes
    }

    /// [`CountMin::increment`] for more rows than there is room for on the stack: finds them twice.
    fn increment_deep<C: Cell>(&mut self, item: &[u8], by: i64) -> Result<u64, CountMinError> {
        let rows = self.rows();
        let (estimate, total) = self.extremes_of::<C>(item).add::<C>(self.total, by)?;
        self.total = total;
        let cells = C::all_mut(&mut self.cells);
        rows.for_each_slice(item, |places| add_to_cells::<C>(cells, places, by));
        Ok(estimate)
    }
}

/// What it takes to find an item's cells.
#[derive(Clone, Copy)]
struct Rows {
    width: usize,
    depth: usize,
    columns: Columns,
}

impl Rows {
    /// The places of `item`'s cells in the rows from `first_row` on, counted in cells, one for each
    /// element of `places`.
    #[inline]
    fn find(self, item: &[u8], first_row: usize, places: &mut [usize]) {
        let mut row = first_row;
        let mut row_start = first_row * self.width;
        for group in places.chunks_mut(LANES) {
            let mut hashes = [0; LANES];
            let hashes = &mut hashes[..group.len()];
            // Seeds have 32 bits; rows beyond that, in sketches of 4 GiB and more, begin again at 0.
            #[allow(clippy::cast_possible_truncation)]
            row_hashes(item, row as u32, hashes);
            for (place, &mut hash) in group.iter_mut().zip(hashes) {
                // Below the width, which fits.
                #[allow(clippy::cast_possible_truncation)]
                let column = self.columns.column(hash) as usize;
                *place = row_start + column;
                row_start += self.width;
            }
            row += LANES;
        }
    }

    /// Calls `visit` with the places of `item`'s cells, a slice of the rows at a time.
    fn for_each_slice(self, item: &[u8], mut visit: impl FnMut(&[usize])) {
        let mut places = [0; BLOCK_CELLS];
        for first_row in (0..self.depth).step_by(BLOCK_CELLS) {
            let places = &mut places[..BLOCK_CELLS.min(self.depth - first_row)];
            self.find(item, first_row, places);
            visit(places);
        }
    }
}

/// What [`CountMin::find_block`] found.
struct Block {
    items: usize,
    /// Whether there are no items after these.
    last: bool,
}

/// Adds to the cells at `places`, where each sum is known to be in range.
#[inline]
fn add_to_cells<C: Cell>(cells: &mut [C::Bytes], places: &[usize], by: i64) {
    for &place in places {
        let cell = &mut cells[place];
        *cell = C::with_count(C::count(*cell).wrapping_add_signed(by));
    }
}

/// The least and the greatest of an item's cells.
#[derive(Debug, Clone, Copy)]
struct Extremes {
    least: u64,
    most: u64,
}

impl Extremes {
    /// Those of no cells.
    fn new() -> Self {
        Self {
            least: u64::MAX,
            most: 0,
        }
    }

    /// With the cells at `places` as well.
    #[inline]
    fn with<C: Cell>(mut self, cells: &[C::Bytes], places: &[usize]) -> Self {
        for &place in places {
            let count = C::count(cells[place]);
            self.least = self.least.min(count);
            self.most = self.most.max(count);
        }
        self
    }

    /// The estimate and the total after `by` is added to all cells and to `total`.
    ///
    /// # Errors
    /// [`CountMinError::Overflow`] or [`CountMinError::Underflow`] where it cannot be added to all.
    #[inline]
    fn add<C: Cell>(self, total: u64, by: i64) -> Result<(u64, u64), CountMinError> {
        let change = by.unsigned_abs();
        if by >= 0 {
            let fits =
                |count: u64, max: u64| max.checked_sub(count).is_some_and(|room| change <= room);
            if !fits(self.most, C::MAX_COUNT) || !fits(total, MAX_TOTAL) {
                return Err(CountMinError::Overflow);
            }
            Ok((self.least + change, total + change))
        } else {
            let estimate = self.least.checked_sub(change);
            let total = total.checked_sub(change);
            estimate.zip(total).ok_or(CountMinError::Underflow)
        }
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
            sketch.increment_all(items, |answer| answers.push(answer));
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
    fn large_sketches_count_the_same() {
        // Above PREFETCH_BYTES.
        let mut large = sketch(1 << 18, 5, CellSize::Four);
        assert!(large.cells.len() > PREFETCH_BYTES);
        let items: Vec<[u8; 4]> = (0..1000u32).map(u32::to_le_bytes).collect();
        large.increment_all(items.iter().map(|item| (item.as_slice(), 7)), |answer| {
            assert_eq!(answer, Ok(7));
        });
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
        sketch.increment_all(stream, |answer| assert!(answer.is_ok()));
        assert_eq!(
            sketch.total().cast_signed(),
            counts.iter().map(|(_, count)| count).sum()
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
