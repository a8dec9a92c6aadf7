//! Count-min sketches with a window.

use super::super::allows;
use super::super::input::Input;
use super::super::stored::{Subject, digest, reloads};
use super::super::window::WindowedModel;
use super::{Cells, amount, increments, limited, limited_increments, shape};
use roughly_sketch::count_min::{
    CellSize, CountMinError, CountMinWindow, MergeSource, NO_LIMIT, Shape,
};
use roughly_sketch::memory::Budget;
use roughly_sketch::seed::Seed;
use roughly_sketch::stored::Stored;
use roughly_sketch::window::{Panes, Timed, Window};
use std::collections::BTreeMap;

impl Subject for CountMinWindow {
    const DEFAULTS: () = ();
    type Results = (u64, Vec<u64>);

    fn add(&mut self, item: &[u8], number: i64) {
        let before = self.query(item, Panes::ALL);
        let result = self.increment(item, number, Budget::new(&allows));
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
        assert!(
            slices
                .map(|(item, by)| one_by_one.increment(item, by, budget))
                .eq(results)
        );
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
        let spans = self.timeline().counted_spans(panes).expect("a short list");
        let totals = spans.iter().map(|pane| self.pane_total(pane.first));
        assert_eq!(self.total(panes), totals.sum());
        (self.total(panes), estimates)
    }
}

fn source(sketch: Option<&CountMinWindow>, weight: i64) -> MergeSource<'_, CountMinWindow> {
    MergeSource { sketch, weight }
}

/// The seed of all sketches. With one seed, the width alone determines the columns of each item.
const SEED: Seed = Seed([7; 16]);

/// The item's column, as the specification computes it.
fn column(item: &[u8], row: usize, width: usize) -> usize {
    const MODULUS: u128 = 1 << 64;
    let step = 0x9E37_79B9_7F4A_7C15 * (row as u128 + 1);
    let mut z = (u128::from(SEED.hash(item)) + step) % MODULUS;
    z = (z ^ (z >> 30)) * 0xBF58_476D_1CE4_E5B9 % MODULUS;
    z = (z ^ (z >> 27)) * 0x94D0_49BB_1331_11EB % MODULUS;
    ((z ^ (z >> 31)) * width as u128 / MODULUS) as usize
}

/// The cells of each unit with increments, also of those that have expired. A pane is the sum of its units.
#[derive(Clone)]
struct CellsByUnit {
    shape: (u64, u64, CellSize),
    window: Window,
    newest: u64,
    units: BTreeMap<u64, Cells>,
}

impl CellsByUnit {
    fn empty(&self) -> Cells {
        Cells {
            columns: column,
            ..Cells::new(self.shape)
        }
    }

    /// The first unit of the pane that contains a unit when `newest` is the newest pane; `None` if it has expired. From the rules:
    /// siblings are merged, and panes expire, a fixed number of units after their end.
    fn pane_of(&self, unit: u64, newest: u64) -> Option<u64> {
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
        (first + len + units > newest).then_some(first as u64)
    }

    /// The sum of the units of each pane that is live at a time, oldest first.
    fn panes_at(&self, current: u64) -> Vec<Cells> {
        let current = current.max(self.newest);
        let mut panes = BTreeMap::<u64, Cells>::new();
        for (&unit, cells) in &self.units {
            let pane = self.pane_of(unit, self.newest);
            if let Some(pane) = pane.filter(|_| self.pane_of(unit, current).is_some()) {
                let sum = panes.entry(pane).or_insert_with(|| self.empty());
                sum.total += cells.total;
                for (row, cells) in sum.rows.iter_mut().zip(&cells.rows) {
                    row.iter_mut()
                        .zip(cells)
                        .for_each(|(sum, cell)| *sum += cell);
                }
            }
        }
        panes.into_values().collect()
    }

    /// The sum of the panes that are live at a time.
    fn total(&self, current: u64) -> i128 {
        self.panes_at(current).iter().map(|pane| pane.total).sum()
    }

    fn query(&self, item: &[u8], current: u64) -> u64 {
        let panes = self.panes_at(current);
        panes.iter().map(|pane| pane.query(item)).sum()
    }

    /// Checks the sums of all live panes.
    fn check_range(&self) -> Result<(), CountMinError> {
        let panes = self.panes_at(0);
        let panes: Vec<_> = panes.iter().map(|cells| (cells, 1)).collect();
        self.empty().merge(&panes).map(drop)
    }

    fn increment(&mut self, item: &[u8], by: i64) -> Result<u64, CountMinError> {
        if by < 0 {
            return Err(CountMinError::WindowDecrement);
        }
        if by > 0 {
            let mut changed = self.clone();
            let empty = self.empty();
            let pane = changed.units.entry(self.newest).or_insert(empty);
            let raised = i128::from(pane.query(item)) + i128::from(by);
            let columns = pane.columns(item);
            for (row, column) in pane.rows.iter_mut().zip(columns) {
                row[column] = row[column].max(raised);
            }
            pane.total += i128::from(by);
            changed.check_range().map_err(|_| CountMinError::Overflow)?;
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
        limited(self.query(item, 0), by, limit, |by| {
            self.increment(item, by)
        })
    }

    fn merge(&self, weight: i64, other: &Self, of_other: i64) -> Result<Self, CountMinError> {
        if weight < 0 || of_other < 0 {
            return Err(CountMinError::WindowDecrement);
        }
        let mut merged = self.clone();
        merged.newest = self.newest.max(other.newest);
        merged.units.clear();
        let empty = self.empty();
        for unit in self.units.keys().chain(other.units.keys()) {
            if self.pane_of(*unit, merged.newest).is_none() {
                continue;
            }
            let sources = [(self, weight), (other, of_other)];
            let sources =
                sources.map(|(of, weight)| (of.units.get(unit).unwrap_or(&empty), weight));
            merged.units.insert(*unit, empty.merge(&sources)?);
        }
        merged.units.retain(|_, cells| cells.total > 0);
        merged.check_range()?;
        Ok(merged)
    }
}

/// A sketch and another one of the same shape and window, which are exchanged.
pub struct WindowModel {
    cells: CellsByUnit,
    other: (CountMinWindow, CellsByUnit),
}

impl WindowedModel for WindowModel {
    type Value = CountMinWindow;

    fn create(window: Window, input: &mut Input<'_>) -> Option<(CountMinWindow, Self)> {
        let shape = shape(input);
        let (width, depth, cell_size) = shape;
        let new = || {
            let shape = Shape::new(width, depth, cell_size)?;
            CountMinWindow::new(shape, window, SEED, Budget::UNLIMITED)
        };
        if depth > 32 || width * depth == 0 {
            assert!(new().is_err());
            return None;
        }
        let cells = CellsByUnit {
            shape,
            window,
            newest: 0,
            units: BTreeMap::new(),
        };
        let new = || new().expect("a valid shape");
        let other = (new(), cells.clone());
        Some((new(), Self { cells, other }))
    }

    fn write(&mut self, sketch: &mut CountMinWindow, input: &mut Input<'_>) {
        let before = digest(sketch);
        match input.byte() {
            0..=129 => {
                let (item, by) = (input.item(), amount(input));
                let result = sketch.increment(item, by, Budget::UNLIMITED);
                assert_eq!(result, self.cells.increment(item, by));
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
                let one_by_one = increments
                    .iter()
                    .map(|(item, by)| self.cells.increment_limited(item, *by, limit));
                assert!(one_by_one.eq(results));
            }
            150..=189 => {
                let (increments, mut results) = (increments(input), Vec::new());
                let items = increments.iter().copied();
                sketch.increment_all(items, NO_LIMIT, Budget::UNLIMITED, |_, result| {
                    results.push(result);
                });
                let one_by_one = increments
                    .iter()
                    .map(|(item, by)| self.cells.increment(item, *by));
                assert!(one_by_one.eq(results));
            }
            190..=219 => {
                std::mem::swap(sketch, &mut self.other.0);
                std::mem::swap(&mut self.cells, &mut self.other.1);
            }
            byte => {
                let [own, others] = [(); 2].map(|()| match byte {
                    220..=244 => i64::from(input.byte() % 4) - i64::from(byte == 220),
                    _ => amount(input),
                });
                let sources = [source(None, own), source(Some(&self.other.0), others)];
                let result = sketch.merge_within(&sources, u64::MAX, Budget::UNLIMITED);
                let merged = self.cells.merge(own, &self.other.1, others);
                let expected = merged.as_ref().map(|_| digest(sketch) != before);
                assert_eq!(result, expected.map_err(|&error| error));
                match merged {
                    Ok(merged) => self.cells = merged,
                    Err(_) => assert!(digest(sketch) == before, "nothing must change"),
                }
            }
        }
    }

    fn advance(&mut self, pane: u64) {
        self.cells.newest = pane;
        let is_live = |unit| self.cells.pane_of(unit, pane).is_some();
        let expired: Vec<_> = (self.cells.units.keys().copied())
            .take_while(|&unit| !is_live(unit))
            .collect();
        for unit in expired {
            self.cells.units.remove(&unit);
        }
    }

    fn check_at(&self, sketch: &CountMinWindow, current: u64) {
        let panes = sketch.panes_in(current);
        assert_eq!(i128::from(sketch.total(panes)), self.cells.total(current));
        let live = self.cells.panes_at(current);
        let count = |item: &[u8]| live.iter().map(|pane| pane.query(item)).sum::<u64>();
        let items: Vec<_> = (0..=40u8).map(|n| vec![n; usize::from(n) % 14]).collect();
        let slices = || items.iter().map(Vec::as_slice);
        let mut estimates = Vec::new();
        sketch.query_all(slices(), panes, |estimate| estimates.push(estimate));
        assert!(slices().map(count).eq(estimates));
        assert!(slices().all(|item| sketch.query(item, panes) == count(item)));
    }

    fn pane_total(&self, first: u64) -> Option<u64> {
        let newest = self.cells.newest;
        let units = self.cells.units.iter();
        let of_pane = units.filter(|(unit, _)| self.cells.pane_of(**unit, newest) == Some(first));
        Some(of_pane.map(|(_, cells)| cells.total as u64).sum())
    }
}
