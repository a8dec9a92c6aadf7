//! Count-min sketches.

pub mod window;

use super::allows;
use super::input::Input;
use super::sequence::Model;
use super::stored::{Subject, values};
use roughly_dump::{Value, Values};
use roughly_sketch::count_min::{CellSize, CountMin, CountMinError, MergeSource, NO_LIMIT};
use roughly_sketch::hash::murmur2;
use roughly_sketch::memory::Budget;
use roughly_sketch::stored::Stored;

impl Subject for CountMin {
    const LOAD_OPTIONS: () = ();
    type Results = Vec<u64>;

    fn add(&mut self, item: &[u8], number: i64, _budget: Budget<'_>) {
        let before = self.query(item);
        let result = self.increment(item, number);
        assert_eq!(self.query(item), result.unwrap_or(before));
    }

    fn change(&mut self) {
        let items = (0..40u8).map(|item| ([item / 2], i64::from(item) << 40));
        let items: Vec<_> = items.collect();
        let (mut one_by_one, mut results) = (self.try_clone().expect("enough memory"), Vec::new());
        let slices = items.iter().map(|(item, by)| (&item[..], *by));
        self.increment_all(slices.clone(), NO_LIMIT, |_, result| results.push(result));
        let is_right = (slices.map(|(item, by)| one_by_one.increment(item, by))).eq(results);
        assert!(is_right);
        assert_eq!(*self, one_by_one);
        let copy = one_by_one;
        for weight in [0, 1, -1, 2, 1 << 33, i64::MAX, i64::MIN] {
            let before = self.try_clone().expect("enough memory");
            let sources = [None, Some(&copy)].map(|sketch| MergeSource { sketch, weight });
            let changed = self.merge(&sources);
            assert_eq!(changed.unwrap_or(false), before != *self);
        }
        for item in 0..40u8 {
            let _ = self.increment(&[item], 3);
        }
    }

    fn read(&self, _current: u64) -> Self::Results {
        let items = [&b""[..], b"a", b"bc\0d", b"abcdefgh"];
        let mut estimates = vec![];
        self.query_all(items.into_iter(), |estimate| estimates.push(estimate));
        assert_eq!(estimates, items.map(|item| self.query(item)));
        estimates
    }

    fn old_seeds(&self, latest: &[u8]) -> Vec<Vec<u8>> {
        // Version 1 also stores the cell size, after the total.
        let mut later = latest.to_vec();
        later[0] = 1;
        later.splice(25..25, self.dimensions().cell_size().bytes().to_le_bytes());
        vec![later]
    }
}

/// A number of increments or a weight, some of them at the limits of their ranges.
pub fn amount(input: &mut Input<'_>) -> i64 {
    match input.byte() {
        byte @ 0..=159 => i64::from(byte) % 13 - 3,
        byte @ 160..=199 => {
            let edge = 1i128 << [8, 16, 31, 32, 33, 63][usize::from(byte % 6)];
            let edge = edge + i128::from(byte / 6 % 3) - 1;
            let edge = i64::try_from(edge).unwrap_or(i64::MIN);
            if byte & 1 != 0 {
                edge.wrapping_neg()
            } else {
                edge
            }
        }
        200..=239 => i64::from(input.u16()) - 1000,
        _ => input.u64().cast_signed(),
    }
}

/// Width, depth and cell size.
pub fn shape(input: &mut Input<'_>) -> (u64, u64, CellSize) {
    let depth = match input.byte() {
        byte @ 0..=229 => byte % 20,
        byte => byte,
    };
    let cell_size = CellSize::from_bytes(input.pick(&[1, 2, 4, 8])).expect("a valid cell size");
    let width = input.byte();
    // Some have more cells than a block.
    let width = if width < 200 { width % 40 } else { width };
    (width.into(), depth.into(), cell_size)
}

/// Items from a small set of different lengths, so that they collide, with their increments.
pub fn increments(input: &mut Input<'_>) -> Vec<(&'static [u8], i64)> {
    let len = input.byte() % 40;
    let increment = |_| (&[7; 12][..usize::from(input.byte() % 13)], amount(input));
    (0..len).map(increment).collect()
}

/// An increment of at least 0, if the estimate stays within a limit.
fn limited(
    estimate: u64,
    by: i64,
    limit: u64,
    increment: impl FnOnce(i64) -> Result<u64, CountMinError>,
) -> Result<u64, CountMinError> {
    let refused = CountMinError::AboveLimit(estimate);
    match u128::from(estimate) + u128::from(by.unsigned_abs()) > limit.into() {
        true => Err(refused),
        false => increment(by).map_err(|_| refused),
    }
}

/// [`increments`] of at least 0, and a limit.
fn limited_increments(input: &mut Input<'_>) -> (Vec<(&'static [u8], i64)>, u64) {
    let items = increments(input).into_iter();
    let items = items.map(|(item, by)| (item, by & i64::MAX)).collect();
    let limit = match input.byte() {
        byte @ 0..200 => u64::from(byte) + 1,
        _ => (amount(input) & i64::MAX).unsigned_abs().max(1),
    };
    (items, limit)
}

/// A sketch with a vector per row, and integers that do not overflow.
#[derive(Debug, Clone)]
struct Cells {
    rows: Vec<Vec<i128>>,
    total: i128,
    max: i128,
}

impl Cells {
    fn new((width, depth, cell_size): (u64, u64, CellSize)) -> Self {
        Self {
            rows: vec![vec![0; width as usize]; depth as usize],
            total: 0,
            max: match cell_size.bytes() {
                8 => i64::MAX.into(),
                bytes => (1 << (8 * bytes)) - 1,
            },
        }
    }

    fn columns(&self, item: &[u8]) -> Vec<usize> {
        let rows = self.rows.iter().enumerate();
        (rows.map(|(number, row)| murmur2(item, number as u32) as usize % row.len())).collect()
    }

    fn query(&self, item: &[u8]) -> u64 {
        let cells = self.rows.iter().zip(self.columns(item));
        cells.map(|(row, column)| row[column]).min().expect("a row") as u64
    }

    fn increment(&mut self, item: &[u8], by: i64) -> Result<u64, CountMinError> {
        let (columns, by) = (self.columns(item), i128::from(by));
        let cells = self.rows.iter().zip(&columns);
        let sums: Vec<_> = cells.map(|(row, &column)| row[column] + by).collect();
        let total = self.total + by;
        if sums.iter().any(|&sum| sum > self.max) || total > i64::MAX.into() {
            return Err(CountMinError::Overflow);
        }
        if sums.iter().any(|&sum| sum < 0) || total < 0 {
            return Err(CountMinError::Underflow);
        }
        self.total = total;
        for ((row, column), sum) in self.rows.iter_mut().zip(columns).zip(sums) {
            row[column] = sum;
        }
        Ok(self.query(item))
    }

    fn increment_limited(
        &mut self,
        item: &[u8],
        by: i64,
        limit: u64,
    ) -> Result<u64, CountMinError> {
        let estimate = self.query(item);
        limited(estimate, by, limit, |by| self.increment(item, by))
    }

    /// The merged sketch; `sources` may contain the destination.
    fn merge(&self, sources: &[(&Self, i64)]) -> Result<Self, CountMinError> {
        let sum = |counts: &dyn Fn(&Self) -> i128, max: i128| {
            let mut sum = 0;
            for (source, weight) in sources {
                let product = counts(source) * i128::from(*weight);
                sum += product;
                if i64::try_from(product).is_err() || i64::try_from(sum).is_err() {
                    return Err(CountMinError::MergeOverflow);
                }
            }
            if (0..=max).contains(&sum) {
                Ok(sum)
            } else {
                Err(CountMinError::MergeOverflow)
            }
        };
        let mut merged = self.clone();
        merged.total = sum(&|source| source.total, i64::MAX.into())?;
        for (i, row) in merged.rows.iter_mut().enumerate() {
            for (j, cell) in row.iter_mut().enumerate() {
                *cell = sum(&|source| source.rows[i][j], self.max)?;
            }
        }
        Ok(merged)
    }

    /// The RDB values.
    fn values(&self, cell_size: CellSize) -> Values {
        let mut bytes = Vec::new();
        for cell in self.rows.iter().flatten() {
            bytes.extend_from_slice(&cell.to_le_bytes()[..cell_size.bytes() as usize]);
        }
        let numbers = [self.rows[0].len(), self.rows.len(), self.total as usize];
        let numbers = numbers.map(|number| Value::Integer(number as u64));
        Values {
            values: numbers.into_iter().chain([Value::Bytes(bytes)]).collect(),
        }
    }
}

/// A sketch and another one of the same shape, which are exchanged.
pub struct CountMinModel {
    cells: Cells,
    cell_size: CellSize,
    other: (CountMin, Cells),
}

impl Model for CountMinModel {
    type Sketch = CountMin;

    fn new(input: &mut Input<'_>) -> Option<(CountMin, Self)> {
        let shape = shape(input);
        let (width, depth, cell_size) = shape;
        let new = || CountMin::new(width, depth, cell_size, Budget::new(&allows));
        if width * depth * cell_size.bytes() > super::MEMORY_LIMIT || width * depth == 0 {
            assert!(new().is_err());
            return None;
        }
        let new = || new().expect("a small sketch");
        let model = Self {
            cells: Cells::new(shape),
            cell_size,
            other: (new(), Cells::new(shape)),
        };
        Some((new(), model))
    }

    fn step(&mut self, sketch: &mut CountMin, input: &mut Input<'_>) {
        match input.byte() {
            0..=119 => {
                let (item, by) = (input.item(), amount(input));
                assert_eq!(sketch.increment(item, by), self.cells.increment(item, by));
            }
            120..=139 => {
                let ((increments, limit), mut results) = (limited_increments(input), Vec::new());
                let (first, others) = increments.split_at(increments.len() / 2);
                for &(item, by) in first {
                    results.push(sketch.increment_limited(item, by, limit));
                }
                let others = others.iter().copied();
                sketch.increment_all(others, limit, |_, result| results.push(result));
                let one_by_one = (increments.iter())
                    .map(|(item, by)| self.cells.increment_limited(item, *by, limit));
                assert!(one_by_one.eq(results));
            }
            140..=179 => {
                let (increments, mut results) = (increments(input), Vec::new());
                let items = increments.iter().copied();
                sketch.increment_all(items, NO_LIMIT, |_, result| results.push(result));
                let one_by_one =
                    (increments.iter()).map(|(item, by)| self.cells.increment(item, *by));
                assert!(one_by_one.eq(results));
            }
            180..=209 => {
                std::mem::swap(sketch, &mut self.other.0);
                std::mem::swap(&mut self.cells, &mut self.other.1);
            }
            byte => {
                // Nearly all merges with arbitrary weights overflow.
                let weight = |input: &mut Input<'_>| match byte {
                    210..=239 => i64::from(input.byte() % 5) - 1,
                    _ => amount(input),
                };
                let len = input.byte() % 12;
                let sources: Vec<_> =
                    ((0..len).map(|_| (input.byte() & 1 == 0, weight(input)))).collect();
                let with_models: Vec<_> = (sources.iter())
                    .map(|&(own, weight)| (if own { &self.cells } else { &self.other.1 }, weight))
                    .collect();
                let merged = self.cells.merge(&with_models);
                let with_sketches: Vec<_> = (sources.iter())
                    .map(|&(own, weight)| MergeSource {
                        sketch: (!own).then_some(&self.other.0),
                        weight,
                    })
                    .collect();
                let expected = (merged.as_ref()).map(|merged| {
                    (&merged.rows, merged.total) != (&self.cells.rows, self.cells.total)
                });
                let changed = sketch.merge(&with_sketches);
                assert_eq!(
                    changed,
                    expected.map_err(|&error| error),
                    "{sources:?}: {:?}, before: {:?}",
                    values(sketch),
                    self.cells.values(self.cell_size)
                );
                self.cells = merged.unwrap_or_else(|_| self.cells.clone());
            }
        }
        assert_eq!(i128::from(sketch.total()), self.cells.total);
    }

    fn check(&self, sketch: &CountMin) {
        assert_eq!(values(sketch), self.cells.values(self.cell_size));
        let items: Vec<Vec<u8>> = (0u8..40).map(|n| vec![n; usize::from(n)]).collect();
        let mut estimates = Vec::new();
        let slices = || items.iter().map(Vec::as_slice);
        sketch.query_all(slices(), |estimate| estimates.push(estimate));
        assert!(slices().map(|item| self.cells.query(item)).eq(estimates));
        assert!(slices().all(|item| sketch.query(item) == self.cells.query(item)));
    }
}
