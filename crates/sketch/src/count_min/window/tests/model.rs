//! A model with a table of exact counts per pane, and the property that the sketch gives the same results, also after it
//! was saved and loaded.

use super::super::super::MergeSource;
use super::super::super::cell::ALL_SIZES;
use super::*;
use crate::hash::murmur2;
use crate::window::{EXPIRED_BYTES, Panes};
use proptest::prelude::*;
use std::collections::BTreeMap;

/// Integers that do not overflow in these tests.
#[derive(Debug, Clone)]
pub(super) struct Model {
    width: usize,
    depth: usize,
    max: i128,
    window: u64,
    newest: u64,
    /// Total and cells of each pane.
    panes: BTreeMap<u64, (i128, Vec<i128>)>,
}

impl Model {
    pub(super) fn new((width, depth, cell_size): (u64, u64, CellSize), panes: u64) -> Self {
        Self {
            width: width as usize,
            depth: depth as usize,
            max: cell_size.max_count().into(),
            window: panes,
            newest: 0,
            panes: BTreeMap::new(),
        }
    }

    fn cells(&self, item: &[u8]) -> Vec<usize> {
        let rows = 0..self.depth;
        rows.map(|row| row * self.width + murmur2(item, row as u32) as usize % self.width)
            .collect()
    }

    fn live(&self, current: u64) -> impl Iterator<Item = (&u64, &(i128, Vec<i128>))> {
        let oldest = current.max(self.newest).saturating_sub(self.window);
        self.panes.iter().filter(move |(pane, _)| **pane >= oldest)
    }

    pub(super) fn total(&self, current: u64) -> u64 {
        let totals = self.live(current).map(|(_, (total, _))| total);
        totals.sum::<i128>().try_into().unwrap()
    }

    fn counts(&self, item: &[u8], current: u64) -> Vec<i128> {
        let cells = self.cells(item).into_iter();
        let count = |cell: usize| self.live(current).map(|(_, (_, cells))| cells[cell]).sum();
        cells.map(count).collect()
    }

    pub(super) fn query(&self, item: &[u8], current: u64) -> u64 {
        let counts = self.counts(item, current);
        counts.into_iter().min().unwrap().try_into().unwrap()
    }

    pub(super) fn increment(&mut self, item: &[u8], by: i64) -> Result<u64, CountMinError> {
        if by < 0 {
            return Err(CountMinError::WindowDecrement);
        }
        let by = i128::from(by);
        let counts = self.counts(item, self.newest);
        if counts.iter().any(|count| count + by > self.max)
            || i128::from(self.total(self.newest)) + by > i64::MAX.into()
        {
            return Err(CountMinError::Overflow);
        }
        let cells = self.cells(item);
        let empty = || (0, vec![0; self.width * self.depth]);
        let (total, counts) = self.panes.entry(self.newest).or_insert_with(empty);
        *total += by;
        cells.into_iter().for_each(|cell| counts[cell] += by);
        Ok(self.query(item, self.newest))
    }

    pub(super) fn advance(&mut self, pane: u64) -> bool {
        let advances = pane > self.newest;
        self.newest = self.newest.max(pane);
        advances
    }

    /// The merged model; `sources` may contain the destination.
    pub(super) fn merge(&self, sources: &[(&Self, i64)]) -> Option<Self> {
        let mut merged = self.clone();
        merged.panes.clear();
        let newest = sources.iter().map(|(source, _)| source.newest).max();
        merged.advance(newest.unwrap_or(0));
        let oldest = merged.newest.saturating_sub(self.window);
        let no_cells = || (0, vec![0; self.width * self.depth]);
        for pane in oldest..=merged.newest {
            let (mut total, mut cells) = no_cells();
            for (source, weight) in sources {
                let fits = |sum: i128| i64::try_from(sum).ok();
                let Some((its_total, its_cells)) = source.panes.get(&pane) else {
                    continue;
                };
                fits(its_total * i128::from(*weight))?;
                total += its_total * i128::from(*weight);
                fits(total)?;
                for (cell, its) in cells.iter_mut().zip(its_cells) {
                    fits(its * i128::from(*weight))?;
                    *cell += its * i128::from(*weight);
                    fits(*cell)?;
                }
            }
            if total < 0 || cells.iter().any(|&cell| cell < 0 || cell > self.max) {
                return None;
            }
            merged.panes.insert(pane, (total, cells));
        }
        let mut sums = no_cells();
        for (total, cells) in merged.panes.values() {
            sums.0 += total;
            sums.1
                .iter_mut()
                .zip(cells)
                .for_each(|(sum, cell)| *sum += cell);
        }
        let fits = sums.0 <= i64::MAX.into() && sums.1.iter().all(|&sum| sum <= self.max);
        fits.then_some(merged)
    }

    /// Whether the live panes of both have equal counts.
    pub(super) fn counts_equal(&self, other: &Self) -> bool {
        let counts = |model: &Self| {
            let live = model.live(0).map(|(pane, counts)| (*pane, counts.clone()));
            live.filter(|(_, (_, cells))| cells.iter().any(|&cell| cell != 0))
                .collect::<Vec<_>>()
        };
        self.newest == other.newest && counts(self) == counts(other)
    }
}

#[derive(Debug, Clone)]
enum Operation {
    Increment(Vec<(u8, i64)>),
    /// The number of items.
    Many(u16),
    Advance(u64),
    Expire,
    /// A time before or after the newest pane.
    Query(i64),
    /// Saved and loaded: values, chunks of this size, or a clone.
    Reload(usize),
    /// A merge of itself and of a sketch that was saved earlier.
    Merge(i64, i64),
    Keep,
}

fn by() -> impl Strategy<Value = i64> {
    prop_oneof![
        6 => 0i64..20,
        1 => -1i64..300,
        1 => prop::sample::select(vec![i64::MAX, 1 << 62, 1 << 31, 65_000, i64::MIN]),
    ]
}

fn operation(panes: u64) -> impl Strategy<Value = Operation> {
    use Operation::*;
    prop_oneof![
        4 => prop::collection::vec((any::<u8>(), by()), 1..12).prop_map(Increment),
        1 => (0u16..300).prop_map(Many),
        4 => (0u64..3).prop_map(Advance),
        2 => (0..panes + 3).prop_map(Advance),
        1 => prop::sample::select(vec![panes, panes + 1, 1 << 20]).prop_map(Advance),
        1 => Just(Expire),
        3 => (-2i64..panes.cast_signed() + 3).prop_map(Query),
        1 => prop::sample::select(vec![-1000, 1 << 40]).prop_map(Query),
        2 => (0usize..50).prop_map(Reload),
        1 => (-1i64..3, -1i64..3).prop_map(|(own, other)| Merge(own, other)),
        1 => Just(Keep),
    ]
}

fn shape() -> impl Strategy<Value = (u64, u64, CellSize)> {
    let depth = prop_oneof![8 => 1u64..12, 3 => 12u64..20, 1 => 20u64..=MAX_DEPTH];
    let width = prop_oneof![1u64..60, 60u64..500];
    (width, depth, prop::sample::select(&ALL_SIZES[..]))
}

fn case() -> impl Strategy<Value = ((u64, u64, CellSize), u64, Vec<Operation>)> {
    let panes = prop_oneof![4 => 1u64..6, 2 => 6u64..60, 1 => 60u64..=100];
    (shape(), panes).prop_flat_map(|(shape, panes)| {
        let operations = prop::collection::vec(operation(panes), 1..60);
        (Just(shape), Just(panes), operations)
    })
}

/// Two sketches with the same operations, of which one was saved and loaded.
struct Pair {
    original: CountMinWindow,
    loaded: CountMinWindow,
}

impl Pair {
    /// The result of an operation on both.
    fn both<R: PartialEq + std::fmt::Debug>(
        &mut self,
        mut operation: impl FnMut(&mut CountMinWindow) -> R,
    ) -> R {
        let result = operation(&mut self.original);
        assert_eq!(operation(&mut self.loaded), result);
        assert_eq!(values(&self.original), values(&self.loaded));
        assert_eq!(self.original, self.loaded);
        result
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn results_equal_those_of_the_model((shape, panes, operations) in case()) {
        let mut model = Model::new(shape, panes);
        let new = || sketch(shape, panes);
        let mut pair = Pair { original: new(), loaded: new() };
        let (mut kept_model, mut kept) = (model.clone(), new());
        for operation in operations {
            let before = values(&pair.original);
            match operation {
                Operation::Increment(items) => {
                    let expected: Vec<_> = items
                        .iter()
                        .map(|&(item, by)| (by, model.increment(&[item], by)))
                        .collect();
                    let answers = pair.both(|sketch| {
                        let mut answers = Vec::new();
                        let items: Vec<_> = items.iter().map(|&(item, by)| ([item], by)).collect();
                        let items = items.iter().map(|(item, by)| (item.as_slice(), *by));
                        sketch.increment_all(items, Budget::UNLIMITED, |by, answer| {
                            answers.push((by, answer));
                        });
                        answers
                    });
                    let is_change = |&(by, answer): &(i64, Result<u64, _>)| by != 0 && answer.is_ok();
                    prop_assert_eq!(values(&pair.original) != before, answers.iter().any(is_change));
                    prop_assert_eq!(answers, expected);
                }
                Operation::Many(items) => for item in 0..items {
                    let item = item.to_le_bytes();
                    let expected = model.increment(&item, 1);
                    prop_assert_eq!(increment(&mut pair.original, &item, 1), expected);
                    prop_assert_eq!(increment(&mut pair.loaded, &item, 1), expected);
                }
                Operation::Advance(by) => {
                    let pane = model.newest + by;
                    let expected = model.advance(pane);
                    prop_assert_eq!(pair.both(|sketch| sketch.advance(pane)), expected);
                }
                Operation::Expire => {
                    let changed = pair.both(Timed::expire);
                    prop_assert_eq!(values(&pair.original) != before, changed);
                    // More cells take more calls.
                    let cells = pair.original.shape().bytes().unwrap() * pair.original.panes.len() as u64;
                    if cells <= EXPIRED_BYTES as u64 {
                        prop_assert!(pair.original.ages.stale() == 0 && !pair.original.expire());
                    }
                }
                Operation::Query(behind) => {
                    let current = model.newest.saturating_add_signed(behind);
                    let expected: Vec<_> = (0..=255).map(|item| model.query(&[item], current)).collect();
                    let items: Vec<_> = (0..=255u8).map(|item| [item]).collect();
                    let estimates = pair.both(|sketch| {
                        let mut estimates = Vec::new();
                        let items = items.iter().map(<[u8; 1]>::as_slice);
                        sketch.query_all(items, sketch.panes_in(current), |estimate| estimates.push(estimate));
                        estimates
                    });
                    prop_assert_eq!(estimates, expected);
                    let total = pair.both(|sketch| sketch.total(sketch.panes_in(current)));
                    prop_assert_eq!(total, model.total(current));
                    prop_assert_eq!(values(&pair.original), before);
                }
                Operation::Reload(how) => {
                    pair.loaded = match how {
                        0 => pair.original.try_clone().unwrap(),
                        1..10 => load(before.clone()).unwrap(),
                        chunk_bytes => from_chunks(&pair.original, chunk_bytes * 7),
                    };
                    prop_assert_eq!(values(&pair.loaded), before);
                }
                Operation::Merge(own, other) => {
                    let merged = model.merge(&[(&model, own), (&kept_model, other)]);
                    let result = pair.both(|sketch| {
                        let own = MergeSource { sketch: None, weight: own };
                        let other = MergeSource { sketch: Some(&kept), weight: other };
                        sketch.merge_within(&[own, other], u64::MAX, Budget::UNLIMITED)
                    });
                    if let Some(merged) = merged {
                        // A merge also changes a state whose counts stay the same, if it has stale blocks.
                        prop_assert_eq!(result, Ok(values(&pair.original) != before));
                        prop_assert!(result == Ok(true) || model.counts_equal(&merged));
                        prop_assert_eq!(pair.original.ages.stale(), 0);
                        model = merged;
                    } else {
                        prop_assert_eq!(result, Err(CountMinError::MergeOverflow));
                        prop_assert_eq!(values(&pair.original), before);
                    }
                }
                Operation::Keep => {
                    (kept_model, kept) = (model.clone(), pair.original.try_clone().unwrap());
                }
            }
            check_invariants(&pair.original);
            check_invariants(&pair.loaded);
            prop_assert_eq!(pair.original.total(Panes::ALL), model.total(0));
        }
    }
}
