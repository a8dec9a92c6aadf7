//! t-digests with a window: stored forms, and sequences of operations compared with all samples.

use super::super::input::Input;
use super::super::stored::{self, Subject, reloads};
use super::super::window::{self, WindowedSubject, advance};
use super::super::{MAX_OPERATIONS, allows};
use roughly_sketch::memory::Budget;
use roughly_sketch::stored::Stored;
use roughly_sketch::t_digest::{Compressed, TDigest, TDigestWindow, WindowCache};
use roughly_sketch::window::{Panes, Timed, Window};

/// The largest integer up to which doubles represent all integers.
const MAX_EXACT: i64 = 1 << 53;

impl Subject for TDigestWindow {
    const DEFAULTS: () = ();

    fn add(&mut self, item: &[u8], number: i64) {
        let _ = self.add_within(&[number as f64], Budget::new(&allows));
        self.advance(self.timeline().newest() + u64::from(item.len() == 8));
    }

    fn exercise(self) {
        window::exercise(self);
    }

    fn samples() -> Vec<Self> {
        let mut samples = Vec::new();
        for (compression, panes) in [(100, 2), (1, 1), (20, 3), (2, 5), (5, 100)] {
            let window = Window::new(1 << 20, panes).expect("a valid window");
            let mut digest = TDigestWindow::new(compression, window, Budget::UNLIMITED)
                .expect("a valid compression");
            let mut keep = |digest: &TDigestWindow| {
                samples.push(digest.try_clone().expect("enough memory"));
            };
            keep(&digest);
            for pane in 0..=panes.min(4) {
                digest.advance(pane + 50);
                for sample in 0..30u8 {
                    let sample = f64::from(sample).sin() * 10.0 + pane as f64;
                    digest
                        .add_within(&[sample], Budget::UNLIMITED)
                        .expect("a finite sample");
                }
                keep(&digest);
            }
            for step in [1, 1 << 30] {
                digest.advance(digest.timeline().newest() + step);
                keep(&digest);
            }
            digest
                .add_within(&[-0.0, 1e300], Budget::UNLIMITED)
                .expect("finite samples");
            keep(&digest);
        }
        samples
    }
}

impl WindowedSubject for TDigestWindow {
    /// The bits of doubles, so that a nan equals itself, and integers.
    type Results = Vec<u64>;

    fn write(&mut self) {
        for count in [1, 2, 40] {
            let before = self.observations_at(Panes::ALL);
            let added = self.add_within(&vec![0.5; count], Budget::new(&allows));
            let increase = if added.is_ok() { count as i64 } else { 0 };
            assert_eq!(self.observations_at(Panes::ALL), before + increase);
        }
        for sample in [f64::NAN, f64::INFINITY] {
            assert!(self.add_within(&[sample], Budget::new(&allows)).is_err());
        }
    }

    fn read(&self, current: u64) -> Self::Results {
        let (min, max) = (
            self.min_at(self.panes_in(current)),
            self.max_at(self.panes_in(current)),
        );
        let all = self.observations_at(self.panes_in(current));
        let info = self.info_at(self.panes_in(current));
        assert_eq!(info.observations, all);
        let live = self.timeline().counted(self.panes_in(current));
        let totals = live.map(|pane| self.pane_total(pane));
        assert_eq!(totals.sum::<u64>(), all.cast_unsigned());
        let (panes, mut cache) = (self.panes_in(current), WindowCache::default());
        let source = self.digest_at(panes, &mut cache, Budget::UNLIMITED);
        let source = source.expect("enough memory");
        let compressed = self.compressed_at(panes, &mut cache);
        let compressed = compressed.expect("enough memory");
        let weight: i64 = compressed.centroids().map(|node| node.weight).sum();
        assert_eq!(weight, all);
        if all < MAX_EXACT {
            assert_eq!(source.observations(), all);
        }
        if let Ok(merged) = TDigest::merge(3, &[&source, &source], Budget::UNLIMITED) {
            super::check_queries(&merged);
        }
        let mut results = vec![min.to_bits(), max.to_bits(), all.cast_unsigned()];
        results.extend(check_answers(compressed, min, max, all));
        results
    }
}

/// Executes all queries. The results must be in range.
fn check_answers(compressed: &Compressed, min: f64, max: f64, all: i64) -> Vec<u64> {
    let mut results = Vec::new();
    for share in [0.0, 1e-9, 0.1, 0.5, 0.999, 1.0] {
        let quantile = compressed.quantile(share);
        assert_eq!(quantile.is_nan(), all == 0, "{quantile}");
        assert!(all == 0 || (min..=max).contains(&quantile), "{quantile}");
        let mean = compressed.trimmed_mean(share / 3.0, share / 3.0 + 0.5);
        results.extend([quantile, mean].map(f64::to_bits));
    }
    for value in [f64::MIN, -1.0, -0.0, 0.0, 0.5, 5e-324, f64::MAX, min, max] {
        let share = compressed.cdf(value);
        assert!(
            (0.0..=1.0).contains(&share) || all == 0 && share.is_nan(),
            "{share}"
        );
        let ranks = [compressed.rank(value), compressed.revrank(value)];
        assert!(ranks.iter().all(|rank| (-2..=all).contains(rank)));
        results.push(share.to_bits());
        results.extend(ranks.map(i64::cast_unsigned));
    }
    for rank in [0, 1, all / 2, all - 1, all, i64::MAX] {
        let values = [compressed.by_rank(rank), compressed.by_revrank(rank)];
        results.extend(values.map(f64::to_bits));
    }
    results
}

/// All samples with their panes.
type Samples = Vec<(u64, f64)>;

/// Decodes `bytes` as a sequence of operations, and compares the digest with all samples. A replica that receives the
/// same writes, and executes no reads, must stay identical.
pub fn commands(bytes: &[u8]) {
    let mut input = Input::new(bytes);
    let window = window::window(&mut input);
    let compression = input.pick(&[1, 2, 5, 20, 39, 100]);
    let new = || TDigestWindow::new(compression, window, Budget::new(&allows));
    let (Ok(mut digest), Ok(mut replica)) = (new(), new()) else {
        return;
    };
    let mut model = Samples::new();
    for _ in 0..MAX_OPERATIONS {
        if input.is_empty() {
            break;
        }
        let newest = digest.timeline().newest();
        match input.byte() {
            0..=89 => add([&mut digest, &mut replica], &mut model, &[input.double()]),
            90..=129 => {
                let (value, step) = (input.double(), input.double());
                let values: Vec<_> = (0..input.byte())
                    .map(|number| value + step * f64::from(number))
                    .collect();
                add([&mut digest, &mut replica], &mut model, &values);
            }
            130..=174 => {
                let pane = newest.saturating_add(window::step(&mut input, window));
                advance(&mut digest, pane);
                advance(&mut replica, pane);
            }
            175..=178 => {
                digest.reset();
                replica.reset();
                model.clear();
                assert!(digest.is_new() && digest.timeline().newest() == newest);
            }
            179..=199 => digest = window::copied(&mut input, &digest),
            200..=239 => {
                let current = window::current(&mut input, &digest);
                check(&digest, &model, current);
                let fresh = replica.try_clone().expect("enough memory");
                assert_eq!(digest.read(current), fresh.read(current));
            }
            _ => reloads(&digest),
        }
        assert!(digest == replica, "a replica differs");
        assert!(stored::digest(&digest) == stored::digest(&replica));
        check_extent(&digest, &model, 0);
    }
    check(&digest, &model, 0);
    reloads(&digest);
}

/// Adds samples to both digests, unless one is not finite.
fn add(digests: [&mut TDigestWindow; 2], model: &mut Samples, values: &[f64]) {
    let newest = digests[0].timeline().newest();
    let is_finite = values.iter().all(|value| value.is_finite());
    for digest in digests {
        assert_eq!(
            digest.add_within(values, Budget::UNLIMITED).is_ok(),
            is_finite
        );
    }
    if is_finite {
        model.extend(values.iter().map(|&value| (newest, value)));
    }
}

/// The samples that are live at a time.
fn live(digest: &TDigestWindow, model: &Samples, current: u64) -> Vec<f64> {
    let oldest = *digest.timeline().counted(digest.panes_in(current)).start();
    let live = model.iter().filter(|sample| sample.0 >= oldest);
    live.map(|sample| sample.1).collect()
}

/// Number, minimum and maximum of the samples are exact.
fn check_extent(digest: &TDigestWindow, model: &Samples, current: u64) {
    let live = live(digest, model, current);
    assert_eq!(
        digest.observations_at(digest.panes_in(current)),
        live.len() as i64
    );
    if live.is_empty() {
        assert!(
            digest.min_at(digest.panes_in(current)).is_nan()
                && digest.max_at(digest.panes_in(current)).is_nan()
        );
    } else {
        let min = live.iter().copied().fold(f64::INFINITY, f64::min);
        let max = live.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        assert!(
            digest.min_at(digest.panes_in(current)) == min
                && digest.max_at(digest.panes_in(current)) == max
        );
    }
}

/// All results are in range. A digest of few samples is exact.
fn check(digest: &TDigestWindow, model: &Samples, current: u64) {
    check_extent(digest, model, current);
    digest.read(current);
    for pane in digest.timeline().live() {
        let samples = model.iter().filter(|sample| sample.0 == pane);
        assert_eq!(digest.pane_total(pane), samples.count() as u64);
    }
    let live = live(digest, model, current);
    if live.len() <= digest.compression() as usize / 8 {
        let mut exact = TDigest::new(1000, Budget::UNLIMITED).expect("a valid compression");
        exact.add(&live).expect("finite samples");
        let exact = exact.compressed().expect("enough memory");
        let mut cache = WindowCache::default();
        let compressed = digest
            .compressed_at(digest.panes_in(current), &mut cache)
            .expect("enough memory");
        let nodes = |compressed: &Compressed| {
            let nodes = compressed.centroids();
            nodes
                .map(|node| (node.mean, node.weight))
                .collect::<Vec<_>>()
        };
        assert_eq!(nodes(compressed), nodes(&exact));
    }
}
