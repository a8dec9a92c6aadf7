//! Count-min sketches with a window.

use super::super::allows;
use super::super::input::Input;
use super::super::stored::{Subject, digest, reloads, values};
use super::super::window::WindowedModel;
use super::{amount, increments, limited_increments, shape};
use roughly_dump::Value;
use roughly_sketch::count_min::{
    CellSize, CountMinError, CountMinWindow, Dimensions, MergeSource, NO_LIMIT,
};
use roughly_sketch::memory::Budget;
use roughly_sketch::seed::Seed;
use roughly_sketch::stored::Stored;
use roughly_sketch::window::{Panes, Timed, Window};
use std::collections::BTreeMap;

impl Subject for CountMinWindow {
    const LOAD_OPTIONS: () = ();
    type Results = (u64, Vec<u64>);

    fn add(&mut self, item: &[u8], number: i64, budget: Budget<'_>) {
        let before = self.query(item, Panes::ALL);
        let result = self.increment(item, number, budget);
        assert_eq!(self.query(item, Panes::ALL), result.unwrap_or(before));
    }

    /// Merges the sketch with itself and with a copy of its later state. After an error nothing must have changed.
    fn change(&mut self) {
        let items = (0..40u8).map(|item| ([item / 2], i64::from(item) << 40));
        let items: Vec<_> = items.collect();
        let (mut one_by_one, mut results) = (self.try_clone().expect("enough memory"), Vec::new());
        let (slices, budget) = (
            items.iter().map(|(item, by)| (&item[..], *by)),
            Budget::new(&allows),
        );
        self.increment_all(slices.clone(), NO_LIMIT, budget, |_, result| {
            results.push(result);
        });
        let is_right =
            (slices.map(|(item, by)| one_by_one.increment(item, by, budget))).eq(results);
        assert!(is_right);
        assert!(*self == one_by_one, "single increments give another sketch");
        let mut later = one_by_one;
        later.advance(self.timeline().newest() + 1);
        let _ = later.increment(b"later", 1, budget);
        for weight in [0, 1, -1, 2, 1 << 33, i64::MAX, i64::MIN] {
            let mut merged = self.try_clone().expect("enough memory");
            let sources = [
                source(None, weight),
                source(Some(&later), 1),
                source(Some(self), weight),
            ];
            for sources in [&sources[..], &sources[..2], &sources[1..]] {
                let before = digest(&merged);
                let result = merged.merge_within(sources, u64::MAX, budget);
                assert_eq!(result.unwrap_or(false), digest(&merged) != before);
                reloads(&merged);
            }
        }
    }

    fn read(&self, current: u64) -> Self::Results {
        let panes = self.panes_in(current);
        let (items, mut estimates) = ([&b""[..], b"a", b"abcdefgh"], Vec::new());
        self.query_all(items.into_iter(), panes, |estimate| {
            estimates.push(estimate)
        });
        assert_eq!(estimates, items.map(|item| self.query(item, panes)));
        let ranges = self.timeline().counted_panes(panes).expect("a short list");
        let totals = ranges.iter().map(|pane| self.pane_total(pane.first));
        assert_eq!(self.total(panes), totals.sum());
        (self.total(panes), estimates)
    }
}

fn source(sketch: Option<&CountMinWindow>, weight: i64) -> MergeSource<'_, CountMinWindow> {
    MergeSource { sketch, weight }
}

/// The seed of all sketches. With one seed, the width alone determines the columns of each item.
const SEED: Seed = Seed([7; 16]);

/// The column of an item with this hash, as the specification computes it.
fn column(hash: u64, row: usize, width: usize) -> usize {
    const MODULUS: u128 = 1 << 64;
    let step = 0x9E37_79B9_7F4A_7C15 * (row as u128 + 1);
    let mut z = (u128::from(hash) + step) % MODULUS;
    z = (z ^ (z >> 30)) * 0xBF58_476D_1CE4_E5B9 % MODULUS;
    z = (z ^ (z >> 27)) * 0x94D0_49BB_1331_11EB % MODULUS;
    ((z ^ (z >> 31)) * width as u128 / MODULUS) as usize
}

/// What the increments of a pane left, with numbers that do not overflow.
#[derive(Clone)]
struct Pane {
    total: u128,
    counts: Counts,
}

#[derive(Clone)]
enum Counts {
    /// The count of each item by its hash.
    Exact(BTreeMap<u64, u128>),
    /// The rows.
    Array(Vec<Vec<u128>>),
}

/// The size of a sketch, which decides how panes are merged.
#[derive(Clone, Copy)]
struct Size {
    width: usize,
    depth: usize,
    cell_size: CellSize,
}

impl Size {
    /// The largest number of items with exact counts in a pane; 0 if there are no such panes.
    fn max_exact(self) -> usize {
        let bytes = self.width * self.depth * self.cell_size.bytes() as usize;
        let entries = (bytes / 4).min(65_536) / 16;
        if entries < 8 { 0 } else { entries }
    }

    fn max_count(self) -> u128 {
        match self.cell_size.bytes() {
            8 => (1 << 63) - 1,
            bytes => (1 << (8 * bytes)) - 1,
        }
    }

    fn columns(self, hash: u64) -> Vec<usize> {
        ((0..self.depth).map(|row| column(hash, row, self.width))).collect()
    }

    /// The array in which each cell is the largest count of the items that share it.
    fn array(self, exact: &BTreeMap<u64, u128>) -> Vec<Vec<u128>> {
        let mut rows = vec![vec![0; self.width]; self.depth];
        for (&hash, &count) in exact {
            for (row, column) in rows.iter_mut().zip(self.columns(hash)) {
                row[column] = row[column].max(count);
            }
        }
        rows
    }

    /// Raises the cells of an item to their smallest count plus `by`.
    fn update(self, rows: &mut [Vec<u128>], hash: u64, by: u128) {
        let columns = self.columns(hash);
        let cells = rows.iter().zip(&columns).map(|(row, &column)| row[column]);
        let raised = cells.min().expect("a row") + by;
        for (row, column) in rows.iter_mut().zip(columns) {
            row[column] = row[column].max(raised);
        }
    }

    fn estimate(self, pane: &Pane, item: &[u8]) -> u128 {
        let hash = SEED.hash(item);
        match &pane.counts {
            Counts::Exact(exact) => exact.get(&hash).copied().unwrap_or(0),
            Counts::Array(rows) => {
                let cells = rows.iter().zip(self.columns(hash));
                cells.map(|(row, column)| row[column]).min().expect("a row")
            }
        }
    }

    fn increment(self, pane: &mut Pane, item: &[u8], by: u128) {
        let hash = SEED.hash(item);
        pane.total += by;
        if let Counts::Exact(exact) = &mut pane.counts {
            if exact.contains_key(&hash) || exact.len() < self.max_exact() {
                *exact.entry(hash).or_default() += by;
                return;
            }
            pane.counts = Counts::Array(self.array(exact));
        }
        if let Counts::Array(rows) = &mut pane.counts {
            self.update(rows, hash, by);
        }
    }

    /// The sum of two panes, the older first. No count is limited.
    fn sum(self, older: &Pane, younger: &Pane) -> Pane {
        let counts = match (&older.counts, &younger.counts) {
            (Counts::Exact(one), Counts::Exact(other)) => {
                let mut sums = one.clone();
                for (&hash, count) in other {
                    *sums.entry(hash).or_default() += count;
                }
                match sums.len() <= self.max_exact() {
                    true => Counts::Exact(sums),
                    false => Counts::Array(self.array(&sums)),
                }
            }
            (Counts::Array(rows), Counts::Exact(exact))
            | (Counts::Exact(exact), Counts::Array(rows)) => {
                let mut rows = rows.clone();
                for (&hash, &count) in exact {
                    self.update(&mut rows, hash, count);
                }
                Counts::Array(rows)
            }
            (Counts::Array(one), Counts::Array(other)) => {
                let mut sums = one.clone();
                for (sum, cell) in sums.iter_mut().flatten().zip(other.iter().flatten()) {
                    *sum += cell;
                }
                Counts::Array(sums)
            }
        };
        let total = older.total + younger.total;
        Pane { total, counts }
    }
}

impl Pane {
    fn cells(&mut self) -> Vec<&mut u128> {
        match &mut self.counts {
            Counts::Exact(exact) => exact.values_mut().collect(),
            Counts::Array(rows) => rows.iter_mut().flatten().collect(),
        }
    }

    fn largest(&mut self) -> u128 {
        (self.cells().into_iter().map(|count| *count).max()).unwrap_or(0)
    }

    fn with_at_most(mut self, max: u128) -> Self {
        (self.cells().into_iter()).for_each(|count| *count = max.min(*count));
        self
    }

    fn times(mut self, weight: i64) -> Self {
        let weight = u128::from(weight.unsigned_abs());
        self.total *= weight;
        self.cells().into_iter().for_each(|count| *count *= weight);
        self
    }
}

/// The live panes with increments, by their first units.
#[derive(Clone)]
struct PanesByUnit {
    dimensions: Size,
    window: Window,
    newest: u64,
    panes: BTreeMap<u64, Pane>,
}

impl PanesByUnit {
    /// The first unit and the length of the pane that contains a unit when `newest` is the newest pane; `None` if it has expired.
    /// From the rules: siblings are merged, and panes expire, a fixed number of units after their end.
    fn pane_of(&self, unit: u64, newest: u64) -> Option<(u64, u64)> {
        let n = u128::from(self.window.panes());
        let units = u128::from(self.window.ms().div_ceil(self.window.pane_ms()));
        let (unit, newest) = (u128::from(unit), u128::from(newest));
        let mut len = 1;
        while (n + 1) * 2 * len <= units
            && newest >= (unit / (2 * len) + 1) * 2 * len + n * 2 * len + len
        {
            len *= 2;
        }
        let first = unit / len * len;
        (first + len + units > newest).then_some((first as u64, len as u64))
    }

    /// The panes that are live at a time.
    fn live_at(&self, current: u64) -> impl Iterator<Item = &Pane> {
        let current = current.max(self.newest);
        let panes = self.panes.iter();
        let live = panes.filter(move |(first, _)| self.pane_of(**first, current).is_some());
        live.map(|(_, pane)| pane)
    }

    fn total(&self, current: u64) -> u128 {
        self.live_at(current).map(|pane| pane.total).sum()
    }

    fn query(&self, item: &[u8], current: u64) -> u64 {
        let panes = self.live_at(current);
        let estimates = panes.map(|pane| self.dimensions.estimate(pane, item));
        estimates.sum::<u128>() as u64
    }

    /// The sum of the halves of these units, made in the same way. A half without increments is no operand.
    fn merged(&self, first: u64, len: u64) -> Option<Pane> {
        let mut panes = self.panes.range(first..first + len);
        let (_, pane) = panes.next()?;
        if panes.next().is_none() {
            return Some(pane.clone());
        }
        let halves = [first, first + len / 2].map(|first| self.merged(first, len / 2));
        match halves {
            [Some(older), Some(younger)] => {
                let sum = self.dimensions.sum(&older, &younger);
                Some(sum.with_at_most(self.dimensions.max_count()))
            }
            [one, other] => one.or(other),
        }
    }

    fn advanced(&self, newest: u64) -> Self {
        let mut advanced = self.clone();
        advanced.newest = newest;
        advanced.panes.clear();
        for &unit in self.panes.keys() {
            if let Some((first, len)) = self.pane_of(unit, newest) {
                let pane = self.merged(first, len).expect("a pane");
                advanced.panes.insert(first, pane);
            }
        }
        advanced
    }

    fn increment(&mut self, item: &[u8], by: i64) -> Result<u64, CountMinError> {
        if by < 0 {
            return Err(CountMinError::WindowDecrement);
        }
        if by > 0 {
            let mut changed = self.clone();
            let pane = changed.panes.entry(self.newest).or_insert_with(|| Pane {
                total: 0,
                counts: match self.dimensions.max_exact() {
                    0 => Counts::Array(self.dimensions.array(&BTreeMap::new())),
                    _ => Counts::Exact(BTreeMap::new()),
                },
            });
            (self.dimensions).increment(pane, item, by.unsigned_abs().into());
            let panes = changed.panes.values();
            let estimates = panes.map(|pane| self.dimensions.estimate(pane, item));
            if estimates.sum::<u128>() > self.dimensions.max_count()
                || changed.total(0) > i64::MAX as u128
            {
                return Err(CountMinError::Overflow);
            }
            *self = changed;
        }
        Ok(self.query(item, 0))
    }

    fn increment_limited(
        &mut self,
        item: &[u8],
        by: i64,
        limit: u64,
    ) -> Result<u64, CountMinError> {
        let mut changed = self.clone();
        match changed.increment(item, by) {
            Ok(estimate) if estimate <= limit => {
                *self = changed;
                Ok(estimate)
            }
            _ => Err(CountMinError::AboveLimit(self.query(item, 0))),
        }
    }

    fn merge(&self, weight: i64, other: &Self, of_other: i64) -> Result<Self, CountMinError> {
        if weight < 0 || of_other < 0 {
            return Err(CountMinError::WindowDecrement);
        }
        let newest = self.newest.max(other.newest);
        let operands = [(self, weight), (other, of_other)];
        let operands = operands.map(|(operand, weight)| (operand.advanced(newest), weight));
        let mut merged = self.advanced(newest);
        merged.panes.clear();
        for first in (operands.iter()).flat_map(|(operand, _)| operand.panes.keys()) {
            let panes = operands.iter().filter(|(_, weight)| *weight > 0);
            let panes = panes.filter_map(|(operand, weight)| {
                Some(operand.panes.get(first)?.clone().times(*weight))
            });
            if let Some(sum) = panes.reduce(|one, other| self.dimensions.sum(&one, &other)) {
                merged.panes.insert(*first, sum);
            }
        }
        let (total, max) = (merged.total(0), self.dimensions.max_count());
        let largest = merged.panes.values_mut().map(Pane::largest).sum::<u128>();
        if total > i64::MAX as u128 || total > max && largest > max {
            return Err(CountMinError::MergeOverflow);
        }
        Ok(merged)
    }

    /// The values of an RDB file.
    fn values(&self) -> Vec<Value> {
        let Size {
            width,
            depth,
            cell_size,
        } = self.dimensions;
        let halves = SEED.0.as_chunks().0.iter();
        let mut values = vec![
            self.window.ms(),
            self.window.panes(),
            self.newest,
            self.window.pane_ms(),
            width as u64,
            depth as u64,
            cell_size.bytes(),
        ];
        values.extend(halves.map(|half| u64::from_le_bytes(*half)));
        values.push(self.panes.len() as u64);
        let mut values: Vec<_> = values.into_iter().map(Value::Integer).collect();
        for (&first, pane) in &self.panes {
            let mut integers = vec![first, pane.total as u64];
            let mut cells = None;
            match &pane.counts {
                Counts::Exact(exact) => {
                    integers.push(exact.len() as u64);
                    let entries = exact.iter();
                    integers.extend(entries.flat_map(|(&hash, &count)| [hash, count as u64]));
                }
                Counts::Array(rows) => {
                    integers.push(0);
                    let bytes = rows.iter().flatten().flat_map(|cell| {
                        (cell.to_le_bytes().into_iter()).take(cell_size.bytes() as usize)
                    });
                    cells = Some(Value::Bytes(bytes.collect()));
                }
            }
            values.extend(integers.into_iter().map(Value::Integer));
            values.extend(cells);
        }
        values
    }
}

/// Some panes of small arrays have exact counts.
fn dimensions(input: &mut Input<'_>) -> Option<Size> {
    let (width, depth, cell_size) = match input.byte() {
        0..=99 => shape(input),
        _ => {
            let depth = u64::from(input.byte() % 7) + 1;
            let cell_size = input.pick(&[1, 2, 4, 8]);
            // From no to twelve entries.
            let bytes = input.pick(&[500, 512, 520, 576, 640, 800]);
            let size = CellSize::from_bytes(cell_size).expect("a valid cell size");
            (u64::div_ceil(bytes, depth * cell_size), depth, size)
        }
    };
    (depth <= 32 && width * depth > 0).then_some(Size {
        width: width as usize,
        depth: depth as usize,
        cell_size,
    })
}

/// A sketch and another one of the same shape and window, which are exchanged.
pub struct WindowModel {
    panes: PanesByUnit,
    other: (CountMinWindow, PanesByUnit),
}

impl WindowedModel for WindowModel {
    type Value = CountMinWindow;

    fn create(window: Window, input: &mut Input<'_>) -> Option<(CountMinWindow, Self)> {
        let dimensions = dimensions(input)?;
        let (width, depth) = (dimensions.width as u64, dimensions.depth as u64);
        let shape = Dimensions::new(width, depth, dimensions.cell_size).expect("a valid shape");
        let new = || {
            let sketch = CountMinWindow::new(shape, window, SEED, Budget::UNLIMITED);
            sketch.expect("a valid shape")
        };
        let panes = PanesByUnit {
            dimensions,
            window,
            newest: 0,
            panes: BTreeMap::new(),
        };
        let other = (new(), panes.clone());
        Some((new(), Self { panes, other }))
    }

    fn write(&mut self, sketch: &mut CountMinWindow, input: &mut Input<'_>) {
        let before = digest(sketch);
        match input.byte() {
            0..=129 => {
                let (item, by) = (input.item(), amount(input));
                let result = sketch.increment(item, by, Budget::UNLIMITED);
                assert_eq!(result, self.panes.increment(item, by));
                assert_eq!(digest(sketch) != before, result.is_ok() && by > 0);
            }
            130..=149 => {
                let ((increments, limit), mut results) = (limited_increments(input), Vec::new());
                let (first, others) = increments.split_at(increments.len() / 2);
                for &(item, by) in first {
                    results.push(sketch.increment_limited(item, by, limit, Budget::UNLIMITED));
                }
                let others = others.iter().copied();
                sketch.increment_all(others, limit, Budget::UNLIMITED, |_, result| {
                    results.push(result);
                });
                let is_change =
                    |(&(_, by), result): (&(_, i64), &Result<_, _>)| by > 0 && result.is_ok();
                let is_changed = increments.iter().zip(&results).any(is_change);
                assert_eq!(digest(sketch) != before, is_changed);
                let one_by_one = (increments.iter())
                    .map(|(item, by)| self.panes.increment_limited(item, *by, limit));
                assert!(one_by_one.eq(results));
            }
            150..=189 => {
                let (increments, mut results) = (increments(input), Vec::new());
                let items = increments.iter().copied();
                let mut replica = sketch.try_clone().expect("enough memory");
                sketch.increment_all(items.clone(), NO_LIMIT, Budget::UNLIMITED, |_, result| {
                    results.push(result);
                });
                let is_accepted =
                    |(item, result): (_, &Result<_, _>)| result.is_ok().then_some(item);
                let accepted = items.zip(&results).filter_map(is_accepted);
                replica.apply_all(accepted, Budget::UNLIMITED, |_, result| {
                    assert!(result.is_ok(), "{result:?}");
                });
                assert_eq!(values(&replica).values, values(sketch).values);
                let one_by_one =
                    (increments.iter()).map(|(item, by)| self.panes.increment(item, *by));
                assert!(one_by_one.eq(results));
            }
            190..=219 => {
                std::mem::swap(sketch, &mut self.other.0);
                std::mem::swap(&mut self.panes, &mut self.other.1);
            }
            byte => {
                let [own, others] = [(); 2].map(|()| match byte {
                    220..=244 => i64::from(input.byte() % 4) - i64::from(byte == 220),
                    _ => amount(input),
                });
                let sources = [source(None, own), source(Some(&self.other.0), others)];
                let result = sketch.merge_within(&sources, u64::MAX, Budget::UNLIMITED);
                let merged = self.panes.merge(own, &self.other.1, others);
                let expected = merged.as_ref().map(|_| digest(sketch) != before);
                assert_eq!(result, expected.map_err(|&error| error));
                match merged {
                    Ok(merged) => self.panes = merged,
                    Err(_) => assert!(digest(sketch) == before, "nothing must change"),
                }
            }
        }
    }

    fn advance(&mut self, pane: u64) {
        self.panes = self.panes.advanced(pane);
    }

    fn check_at(&self, sketch: &CountMinWindow, current: u64) {
        let panes = sketch.panes_in(current);
        assert_eq!(u128::from(sketch.total(panes)), self.panes.total(current));
        let items: Vec<_> = (0..=40u8).map(|n| vec![n; usize::from(n) % 14]).collect();
        let slices = || items.iter().map(Vec::as_slice);
        let counts: Vec<_> = (slices().map(|item| self.panes.query(item, current))).collect();
        let mut estimates = Vec::new();
        sketch.query_all(slices(), panes, |estimate| estimates.push(estimate));
        assert_eq!(estimates, counts);
        assert!(slices().map(|item| sketch.query(item, panes)).eq(counts));
        assert_eq!(Vec::from(values(sketch).values), self.panes.values());
    }

    fn pane_total(&self, first: u64) -> Option<u64> {
        let pane = self.panes.panes.get(&first);
        Some(pane.map_or(0, |pane| pane.total as u64))
    }
}
