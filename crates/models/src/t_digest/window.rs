//! t-digests with a window.

use super::super::allows;
use super::super::input::Input;
use super::super::panes::PanesModel;
use super::super::stored::{Subject, digest, values};
use super::super::window::WindowedModel;
use super::{Nodes, check_digest, results, samples};
use roughly_sketch::format::Source;
use roughly_sketch::memory::Budget;
use roughly_sketch::stored::Stored;
use roughly_sketch::t_digest::{TDigest, TDigestWindow, WindowCache};
use roughly_sketch::window::{Panes, Timed, Window};
use std::cell::RefCell;

/// The largest integer up to which doubles represent all integers.
const MAX_EXACT: i64 = 1 << 53;

impl Subject for TDigestWindow {
    const LOAD_OPTIONS: () = ();
    type Results = Vec<u64>;

    fn add(&mut self, _item: &[u8], number: i64, budget: Budget<'_>) {
        let before = self.observations_at(Panes::ALL);
        let is_added = self.add_within(&[number as f64; 3], budget).is_ok();
        let added = if is_added { 3 } else { 0 };
        // A compression of the newest pane rounds large weights to doubles.
        let after = self.observations_at(Panes::ALL);
        assert!(before >= MAX_EXACT || after == before + added);
    }

    fn change(&mut self) {
        for sample in [f64::NAN, f64::INFINITY] {
            assert!(self.add_within(&[sample], Budget::new(&allows)).is_err());
        }
    }

    fn read(&self, current: u64) -> Self::Results {
        read_with(self, &mut WindowCache::default(), current)
    }
}

/// Executes all queries with what earlier ones have kept.
fn read_with(digest: &TDigestWindow, cache: &mut WindowCache, current: u64) -> Vec<u64> {
    let panes = digest.panes_in(current);
    let all = digest.observations_at(panes);
    assert_eq!(digest.info_at(panes).observations, all);
    let ranges = digest.timeline().counted_panes(panes);
    let ranges = ranges.expect("enough memory").into_iter();
    let totals = ranges.map(|range| digest.pane_total(range.first));
    assert_eq!(totals.sum::<u64>(), all.cast_unsigned());
    let source = (digest.digest_at(panes, cache, Budget::UNLIMITED)).expect("enough memory");
    assert!(all >= MAX_EXACT || source.observations() == all);
    if let Ok(merged) = TDigest::merge(3, &[&source, &source], Budget::UNLIMITED) {
        check_digest(&merged);
    }
    let compressed = digest.compressed_at(panes, cache).expect("enough memory");
    results(compressed, digest.min_at(panes), digest.max_at(panes), all)
}

/// A closed pane: the first unit, the number of compressions, the extremes, and the nodes.
type ClosedPane = (u64, i64, [f64; 2], Vec<(f64, i64)>);

/// The closed panes of a digest.
fn closed_panes(digest: &TDigestWindow) -> Vec<ClosedPane> {
    let mut values = values(digest);
    let mut number = || values.read_unsigned().expect("a number");
    let [_ms, _panes, _newest, _finest, _compression, len] = std::array::from_fn(|_| number());
    let pane = |_| {
        let first = values.read_unsigned().expect("the first unit");
        let compressions = values.read_signed().expect("a number");
        let extremes = [(); 2].map(|()| values.read_double().expect("an extreme"));
        let mut nodes = Vec::new();
        let len = values.read_unsigned().expect("the number of nodes");
        while (nodes.len() as u64) < len {
            let bytes = values.read_bytes().expect("nodes");
            let (words, _) = bytes.as_chunks::<8>();
            let of_string = words.as_chunks::<2>().0.iter();
            nodes.extend(
                of_string
                    .map(|&[mean, weight]| (f64::from_le_bytes(mean), i64::from_le_bytes(weight))),
            );
        }
        (first, compressions, extremes, nodes)
    };
    (0..len).map(pane).collect()
}

/// The merge of two closed panes.
fn merged(older: &Nodes, younger: &Nodes) -> Nodes {
    let mut merged = Nodes {
        nodes: [&older.nodes[..], &younger.nodes].concat(),
        min: older.min.min(younger.min),
        max: older.max.max(younger.max),
        compressions: older.compressions + younger.compressions,
        ..*older
    };
    merged.compress();
    merged
}

/// All samples with their units, and a digest that gets the writes only, and all steps one by one.
pub struct WindowModel {
    samples: Vec<(u64, f64)>,
    panes: PanesModel<Nodes>,
    compression: i64,
    newest: u64,
    replica: TDigestWindow,
    is_wild: bool,
    /// Of the value, across all operations.
    cache: RefCell<WindowCache>,
}

impl WindowedModel for WindowModel {
    type Value = TDigestWindow;

    fn create(window: Window, input: &mut Input<'_>) -> Option<(TDigestWindow, Self)> {
        let compression = input.pick(&[1, 2, 5, 20, 39, 1000, 10_000]);
        let is_wild = input.byte() < 80;
        let new = || TDigestWindow::new(compression, window, Budget::UNLIMITED).expect("valid");
        let model = Self {
            samples: Vec::new(),
            panes: PanesModel::new(window, 0),
            compression,
            newest: 0,
            replica: new(),
            is_wild,
            cache: RefCell::default(),
        };
        Some((new(), model))
    }

    fn write(&mut self, value: &mut TDigestWindow, input: &mut Input<'_>) {
        if input.byte() < 8 {
            value.reset();
            self.replica.reset();
            self.samples.clear();
            self.panes = PanesModel::new(value.timeline().window(), self.newest);
            assert!(value.is_new() && value.timeline().newest() == self.newest);
        } else {
            let samples = samples(input, self.is_wild);
            let is_finite = samples.iter().all(|sample| sample.is_finite());
            for digest in [&mut *value, &mut self.replica] {
                let result = digest.add_within(&samples, Budget::UNLIMITED);
                assert_eq!(result.is_ok(), is_finite);
            }
            if is_finite {
                (self.samples).extend(samples.iter().map(|&sample| (self.newest, sample)));
                if !samples.is_empty() {
                    let empty = || Nodes::new(self.compression);
                    self.panes.newest().get_or_insert_with(empty).add(&samples);
                }
            }
        }
        assert!(*value == self.replica, "the replica differs");
        assert!(digest(value) == digest(&self.replica));
    }

    fn advance(&mut self, pane: u64) {
        if let Some(newest) = self.panes.newest()
            && pane > self.newest
        {
            newest.of_window = Some(newest.compression);
            newest.compression *= 2;
            newest.compress();
        }
        self.panes.advance(pane, merged);
        if pane - self.newest < 200 {
            (self.newest..pane).for_each(|unit| {
                self.replica.advance(unit);
            });
        }
        self.newest = pane;
        self.replica.advance(pane);
    }

    fn check_at(&self, value: &TDigestWindow, current: u64) {
        let panes = value.panes_in(current);
        let oldest = value.timeline().window().oldest(current.max(self.newest));
        let live = self.samples.iter().filter(|sample| sample.0 >= oldest);
        let live: Vec<f64> = live.map(|sample| sample.1).collect();
        assert_eq!(value.observations_at(panes), live.len() as i64);
        if live.is_empty() {
            assert!(value.min_at(panes).is_nan() && value.max_at(panes).is_nan());
        } else {
            let min = live.iter().copied().fold(f64::INFINITY, f64::min);
            let max = live.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            assert!(value.min_at(panes) == min && value.max_at(panes) == max);
        }
        let fresh = self.replica.try_clone().expect("enough memory");
        assert_eq!(value.info_at(panes), fresh.info_at(panes));
        let found = value.read(current);
        assert_eq!(found, fresh.read(current));
        for _ in 0..2 {
            let kept = read_with(value, &mut self.cache.borrow_mut(), current);
            assert_eq!(found, kept, "the cache is not that of the state");
        }
        // Extreme doubles are merged in another way than in the model.
        if !self.is_wild {
            let live = self.panes.live().split_last().expect("the newest pane").1;
            let stored =
                (live.iter()).filter_map(|pane| Some((pane.first, pane.content.as_ref()?)));
            let stored = stored.map(|(first, nodes)| {
                let first = u64::try_from(first).expect("a unit");
                (
                    first,
                    nodes.compressions,
                    [nodes.min, nodes.max],
                    nodes.nodes.clone(),
                )
            });
            assert_eq!(closed_panes(value), stored.collect::<Vec<_>>());
        }
        // A digest of few samples is exact.
        if live.len() <= value.compression() as usize / 8 {
            let mut exact = TDigest::new(10_000, Budget::UNLIMITED).expect("valid");
            exact.add(&live).expect("finite samples");
            assert_eq!(found, check_digest(&exact));
        }
    }

    fn pane_total(&self, pane: u64) -> Option<u64> {
        let samples = self.samples.iter().filter(|sample| sample.0 == pane);
        Some(samples.count() as u64)
    }
}
