//! Count-min sketches with a window.

use super::super::allows;
use super::super::input::Input;
use super::super::stored::{Subject, digest, reloads};
use super::super::window::WindowedModel;
use super::{Cells, amount, increments, limited, limited_increments, shape};
use roughly_sketch::count_min::{CellSize, CountMinError, CountMinWindow, MergeSource};
use roughly_sketch::memory::Budget;
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
        self.increment_all(slices.clone(), budget, |_, result| results.push(result));
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
        let totals = self
            .timeline()
            .counted(panes)
            .map(|pane| self.pane_total(pane));
        assert_eq!(self.total(panes), totals.sum());
        (self.total(panes), estimates)
    }
}

fn source(sketch: Option<&CountMinWindow>, weight: i64) -> MergeSource<'_, CountMinWindow> {
    MergeSource { sketch, weight }
}

/// The cells of each pane with increments, also of those that have expired.
#[derive(Clone)]
struct CellsByPane {
    shape: (u64, u64, CellSize),
    window: Window,
    newest: u64,
    panes: BTreeMap<u64, Cells>,
}

impl CellsByPane {
    /// The sum of all cells in the panes that are live at a time.
    fn all_at(&self, current: u64) -> Result<Cells, CountMinError> {
        let oldest = self.window.oldest(current.max(self.newest));
        let live: Vec<_> = self
            .panes
            .range(oldest..)
            .map(|(_, cells)| (cells, 1))
            .collect();
        Cells::new(self.shape).merge(&live)
    }

    fn increment(&mut self, item: &[u8], by: i64) -> Result<u64, CountMinError> {
        if by < 0 {
            return Err(CountMinError::WindowDecrement);
        }
        let estimate = self.all_at(0)?.increment(item, by)?;
        let empty = || Cells::new(self.shape);
        let pane = self.panes.entry(self.newest).or_insert_with(empty);
        pane.increment(item, by)
            .expect("at most the count of all panes");
        Ok(estimate)
    }

    fn increment_limited(
        &mut self,
        item: &[u8],
        by: i64,
        limit: u64,
    ) -> Result<u64, CountMinError> {
        let estimate = self.all_at(0)?.query(item);
        limited(estimate, by, limit, |by| self.increment(item, by))
    }

    fn merge(&self, weight: i64, other: &Self, of_other: i64) -> Result<Self, CountMinError> {
        let mut merged = self.clone();
        merged.newest = self.newest.max(other.newest);
        merged.panes.clear();
        let empty = Cells::new(self.shape);
        for pane in merged.window.oldest(merged.newest)..=merged.newest {
            let (own, others) = (self.panes.get(&pane), other.panes.get(&pane));
            if own.is_some() || others.is_some() {
                let sources = [(own, weight), (others, of_other)];
                let sources = sources.map(|(cells, weight)| (cells.unwrap_or(&empty), weight));
                merged.panes.insert(pane, empty.merge(&sources)?);
            }
        }
        merged.all_at(0)?;
        Ok(merged)
    }
}

/// A sketch and another one of the same shape and window, which are exchanged.
pub struct WindowModel {
    cells: CellsByPane,
    other: (CountMinWindow, CellsByPane),
}

impl WindowedModel for WindowModel {
    type Value = CountMinWindow;

    fn create(window: Window, input: &mut Input<'_>) -> Option<(CountMinWindow, Self)> {
        let shape = shape(input);
        let (width, depth, cell_size) = shape;
        let new = || CountMinWindow::new(width, depth, cell_size, window, Budget::UNLIMITED);
        if depth > 32 || width * depth == 0 {
            assert!(new().is_err());
            return None;
        }
        let cells = CellsByPane {
            shape,
            window,
            newest: 0,
            panes: BTreeMap::new(),
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
                sketch.increment_all_limited(others, limit, Budget::UNLIMITED, |_, result| {
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
                sketch.increment_all(items, Budget::UNLIMITED, |_, result| results.push(result));
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
    }

    fn check_at(&self, sketch: &CountMinWindow, current: u64) {
        let all = self
            .cells
            .all_at(current)
            .expect("at most the sums of all panes");
        let panes = sketch.panes_in(current);
        assert_eq!(i128::from(sketch.total(panes)), all.total);
        let items: Vec<_> = (0..=40u8).map(|n| vec![n; usize::from(n) % 14]).collect();
        let slices = || items.iter().map(Vec::as_slice);
        let mut estimates = Vec::new();
        sketch.query_all(slices(), panes, |estimate| estimates.push(estimate));
        assert!(slices().map(|item| all.query(item)).eq(estimates));
        assert!(slices().all(|item| sketch.query(item, panes) == all.query(item)));
    }

    fn pane_total(&self, pane: u64) -> Option<u64> {
        let cells = self.cells.panes.get(&pane);
        Some(cells.map_or(0, |cells| cells.total as u64))
    }
}
