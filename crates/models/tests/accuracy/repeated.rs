//! Errors of t-digests of repeated values: one by one, in batches, restored, merged and in windows.

use crate::digests::short;
use crate::repeated_values::{LOADS, quantiles, rank_error, ranks};
use crate::table;
use roughly_sketch::memory::Budget;
use roughly_sketch::stored::Stored;
use roughly_sketch::t_digest::{Compressed, DigestCache, TDigest, TDigestWindow, WindowCache};
use roughly_sketch::window::{Panes, Timed, Window};

const COMPRESSIONS: [i64; 2] = [100, 300];

/// The errors of a digest, as shares of the samples; of the trimmed mean, of itself.
#[derive(Debug, Clone, Copy, Default)]
struct Errors {
    rank: f64,
    cdf: f64,
    trimmed_mean: f64,
}

impl Errors {
    /// Those of 1,001 quantiles, of the ranks of all values, and of a mean.
    fn of(compressed: &Compressed, sorted: &[f64]) -> Self {
        let all = sorted.len() as f64;
        let answers = quantiles().map(|quantile| compressed.quantile(quantile));
        let mut errors = Self {
            rank: rank_error(sorted, answers),
            ..Self::default()
        };
        let mut values = sorted.to_vec();
        values.dedup();
        for value in values {
            let (below, up_to) = ranks(sorted, value);
            let middle = below.midpoint(up_to);
            errors.cdf = errors.cdf.max((compressed.cdf(value) - middle).abs());
            let rank = (middle * all - 0.5).ceil();
            let error = (compressed.rank(value) as f64 - rank).abs() / all;
            // The middle of an odd number of samples is rounded.
            errors.cdf = errors.cdf.max(if error * all <= 1.0 { 0.0 } else { error });
        }
        let (low, high) = ((all * 0.1).floor(), (all * 0.9).ceil());
        let kept = &sorted[low as usize..high as usize];
        let mean = kept.iter().sum::<f64>() / (high - low);
        let trimmed = compressed.trimmed_mean(0.1, 0.9);
        errors.trimmed_mean = (trimmed - mean).abs() / mean.abs().max(1e-300);
        errors
    }
}

fn new(compression: i64) -> TDigest {
    TDigest::new(compression, Budget::UNLIMITED).expect("a digest")
}

fn digest_of(compression: i64, samples: &[f64], batch: usize) -> TDigest {
    let mut digest = new(compression);
    for batch in samples.chunks(batch) {
        digest.add(batch).expect("memory");
    }
    digest
}

fn restored(digest: &TDigest) -> TDigest {
    let header = digest.header().expect("memory");
    TDigest::from_header(&header, Budget::UNLIMITED).expect("a header")
}

/// A digest with a window, of which the samples fill all panes: 12 equal ones, or those that grow with age.
fn of_window(compression: i64, samples: &[f64], finest: Option<u64>) -> TDigestWindow {
    let units = finest.map_or(12, |_| 13 << 6);
    let window = Window::new(units, 12, finest).expect("a window");
    let mut digest = TDigestWindow::new(compression, window, Budget::UNLIMITED).expect("a digest");
    for (unit, added) in (samples.chunks(samples.len().div_ceil(units as usize))).enumerate() {
        digest.advance(unit as u64);
        digest.add_within(added, Budget::UNLIMITED).expect("memory");
    }
    digest
}

/// The ways to a digest.
const WAYS: [&str; 8] = [
    "one by one",
    "in batches",
    "restored",
    "restored half way",
    "merged from four parts",
    "12 panes",
    "panes that grow with age",
    "merged from 50 parts",
];

fn errors_of(way: usize, compression: i64, samples: &[f64], sorted: &[f64]) -> Errors {
    let of_digest = |digest: &TDigest| {
        let compressed = digest.compressed().expect("memory");
        Errors::of(&compressed, sorted)
    };
    let of_window = |finest| {
        let digest = of_window(compression, samples, finest);
        let mut cache = WindowCache::default();
        let compressed = digest.compressed_at(Panes::ALL, &mut cache);
        assert_eq!(digest.observations_at(Panes::ALL), samples.len() as i64);
        Errors::of(compressed.expect("memory"), sorted)
    };
    match way {
        0 => {
            let mut digest = new(compression);
            let mut cache = DigestCache::default();
            for (number, sample) in samples.iter().enumerate() {
                digest.add(&[*sample]).expect("memory");
                if number % 97 == 0 {
                    digest.compressed_with(&mut cache).expect("memory");
                }
            }
            Errors::of(digest.compressed_with(&mut cache).expect("memory"), sorted)
        }
        1 => of_digest(&digest_of(compression, samples, 100)),
        2 => of_digest(&restored(&digest_of(compression, samples, 100))),
        3 => {
            let (first, second) = samples.split_at(samples.len() / 2);
            let mut digest = restored(&digest_of(compression, first, 100));
            digest.add(second).expect("memory");
            of_digest(&digest)
        }
        4 | 7 => {
            let parts = samples.chunks(samples.len() / if way == 4 { 4 } else { 50 });
            let parts: Vec<_> = (parts.map(|part| digest_of(compression, part, 100))).collect();
            let operands: Vec<_> = parts.iter().collect();
            let merged = TDigest::merge(compression, &operands, Budget::UNLIMITED);
            of_digest(&merged.expect("memory"))
        }
        5 => of_window(None),
        _ => of_window(Some(1)),
    }
}

/// The largest rank error of the walk of a t-digest (Dunning & Ertl) of these samples, without the rule of equal means: each sample gets a
/// number so small that it only makes it a distinct one, and quantiles are compared as if it had none.
fn plain_error(compression: i64, samples: &[f64], sorted: &[f64]) -> f64 {
    let scale = 2f64.powi(-40);
    let distinct = samples.iter().enumerate();
    let distinct: Vec<_> =
        (distinct.map(|(number, sample)| sample + number as f64 * scale)).collect();
    let digest = digest_of(compression, &distinct, 100);
    let compressed = digest.compressed().expect("memory");
    let all = sorted.len() as f64;
    let width = samples.len() as f64 * scale;
    let errors = quantiles().map(|quantile| {
        let answer = compressed.quantile(quantile);
        let below = sorted.partition_point(|&sample| sample + width < answer) as f64 / all;
        let up_to = sorted.partition_point(|&sample| sample <= answer) as f64 / all;
        (below - quantile).max(quantile - up_to).max(0.0)
    });
    errors.fold(0.0, f64::max)
}

/// The largest rank errors by kind of samples.
pub fn by_load() -> String {
    let ways = [1, 4, 5];
    let rows = LOADS.each_ref().map(|load| {
        let [samples, sorted] = load.samples();
        let mut row = vec![load.name.to_owned()];
        row.extend(ways.map(|way| short(errors_of(way, 100, &samples, &sorted).rank)));
        row.push(short(errors_of(1, 300, &samples, &sorted).rank));
        row.push(short(plain_error(100, &samples, &sorted)));
        row.push(short(load.redisbloom));
        row
    });
    let head = [
        "samples",
        "one digest",
        "merged from 4 parts",
        "`PANES 12`",
        "`COMPRESSION` 300",
        "without the rule",
        "RedisBloom 2.8.2",
    ];
    table(&head, &rows)
}

pub fn repeated_values_are_exact_or_nearly() {
    let mut failures = Vec::new();
    for load in &LOADS {
        let [samples, sorted] = load.samples();
        for (order, samples) in [("random", &samples), ("ascending", &sorted)] {
            for compression in COMPRESSIONS {
                for (way, name) in WAYS.iter().enumerate() {
                    let errors = errors_of(way, compression, samples, &sorted);
                    let factor = if way > 3 || order == "ascending" {
                        1.5
                    } else {
                        1.0
                    };
                    let max = load.max_error * factor;
                    let max_of_mean = if max == 0.0 { 1e-9 } else { f64::INFINITY };
                    let case = format!("{} {order} {compression} {name}", load.name);
                    let line = format!("{case}: {errors:?} {max}");
                    if errors.rank > max
                        || errors.cdf > max.max(1e-12)
                        || errors.trimmed_mean > max_of_mean
                    {
                        failures.push(line);
                    }
                }
            }
        }
    }
    assert!(failures.is_empty(), "{} {failures:#?}", failures.len());
}
