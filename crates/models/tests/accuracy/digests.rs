//! Rank errors of t-digests by kind of samples.

use crate::streams::{self, LOGNORMAL, REALS, Random, TWO_MODES, with_second_mode};
use crate::table;
use roughly_sketch::memory::Budget;
use roughly_sketch::t_digest::{Compressed, TDigest};
use std::sync::LazyLock;

/// Samples per stream.
pub const SAMPLES: usize = 500_000;
/// Streams per row.
pub const STREAMS: u64 = 10;
/// Compressions that are measured.
pub const COMPRESSIONS: [i64; 5] = [50, 100, 200, 500, 1000];
/// Quantiles that are measured.
pub const QUANTILES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];

/// The distance between the requested rank and the ranks of the samples that equal the answer, or that of the first larger one.
fn rank_error(compressed: &Compressed, sorted: &[f64], quantile: f64) -> f64 {
    let answer = compressed.quantile(quantile);
    let first = sorted.partition_point(|&sample| sample < answer);
    let equal = sorted[first..].partition_point(|&sample| sample <= answer);
    let last = first + equal.saturating_sub(1);
    let share = |rank: usize| rank as f64 / sorted.len() as f64;
    (quantile - quantile.clamp(share(first), share(last))).abs()
}

/// The errors at p50 and p99, and the largest one of 999 quantiles.
fn errors_of(compressed: &Compressed, sorted: &[f64]) -> [f64; 3] {
    let error = |quantile| rank_error(compressed, sorted, quantile);
    let quantiles = (1..1000).map(|step| f64::from(step) / 1000.0);
    [
        error(0.5),
        error(0.99),
        quantiles.map(error).fold(0.0, f64::max),
    ]
}

fn digest_of(compression: i64, samples: &[f64]) -> TDigest {
    let mut digest = TDigest::new(compression, Budget::UNLIMITED).expect("a digest");
    for chunk in samples.chunks(100) {
        digest.add(chunk).expect("memory");
    }
    digest
}

/// Per cent with two significant digits, at most four after the point.
pub fn short(share: f64) -> String {
    let per_cent = share * 100.0;
    let digits = (1.0 - per_cent.max(1e-4).log10().floor()).clamp(0.0, 4.0) as usize;
    match format!("{per_cent:.digits$}").as_str() {
        "0.0000" => "0".to_owned(),
        text => text.to_owned(),
    }
}

/// Errors of the digests of a kind with a compression.
#[derive(Debug, Clone, Copy, Default)]
pub struct Errors {
    /// At each of `QUANTILES`: mean and maximum of the streams.
    pub at: [(f64, f64); QUANTILES.len()],
    /// The largest of 999 quantiles: mean of the streams.
    pub largest: f64,
}

/// A kind of samples, and its errors with each of `COMPRESSIONS`.
type Measured = (String, [Errors; COMPRESSIONS.len()]);

fn measure(samples: impl Fn(u64) -> Vec<f64>) -> [Errors; COMPRESSIONS.len()] {
    let mut errors = [Errors::default(); COMPRESSIONS.len()];
    for stream in 0..STREAMS {
        let samples = samples(500 + stream);
        let mut sorted = samples.clone();
        sorted.sort_by(f64::total_cmp);
        for (&compression, errors) in COMPRESSIONS.iter().zip(&mut errors) {
            let digest = digest_of(compression, &samples);
            let compressed = digest.compressed().expect("memory");
            for (quantile, (mean, max)) in QUANTILES.iter().zip(&mut errors.at) {
                let error = rank_error(&compressed, &sorted, *quantile);
                *mean += error / STREAMS as f64;
                *max = max.max(error);
            }
            let [.., largest] = errors_of(&compressed, &sorted);
            errors.largest += largest / STREAMS as f64;
        }
    }
    errors
}

/// The samples that are no whole numbers, and the stream of the collection with the largest error of a quantile.
pub static MEASURED: LazyLock<Vec<Measured>> = LazyLock::new(|| {
    let of_stream = |stream: &streams::Stream| {
        let errors = measure(|seed| stream.samples(SAMPLES, seed));
        (
            format!("whole numbers, the worst stream: {}", stream.name),
            errors,
        )
    };
    let streams = streams::STREAMS.iter().filter(|stream| stream.has_samples);
    let worst = ((streams.map(of_stream)).max_by(|a, b| a.1[1].largest.total_cmp(&b.1[1].largest)))
        .expect("a stream");
    let reals = REALS.iter().map(|kind| {
        let errors = measure(|seed| kind.samples(SAMPLES, seed));
        (kind.name.to_owned(), errors)
    });
    reals.chain([worst]).collect()
});

/// Errors at p50 and p99, and the largest one of all quantiles: the mean of several streams.
pub fn by_kind() -> String {
    let row_of = |(name, errors): &Measured| {
        let mut row = vec![name.clone()];
        row.extend([1, 2, 4].map(|at| {
            let Errors {
                at: [p50, _, p99, _],
                largest,
            } = errors[at];
            [p50.0, p99.0, largest].map(short).join(", ")
        }));
        row
    };
    let head = ["samples", "`COMPRESSION` 100", "200", "1000"];
    table(&head, &MEASURED.iter().map(row_of).collect::<Vec<_>>())
}

/// Errors at p50 of lognormal samples, by their number: mean and maximum of several streams.
pub fn by_number() -> String {
    let mut head = vec!["`COMPRESSION`"];
    let mut rows = vec![
        vec!["100".to_owned()],
        vec!["200".to_owned()],
        vec!["1000".to_owned()],
    ];
    for (name, number, streams) in [
        ("10,000 samples", 10_000, 20),
        ("100,000", 100_000, 10),
        ("1 million", 1_000_000, 4),
        ("4 million", 4_000_000, 2),
    ] {
        head.push(name);
        let mut errors = vec![(0.0, 0.0); rows.len()];
        for stream in 0..streams {
            let samples = LOGNORMAL.samples(number, 800 + stream);
            let mut sorted = samples.clone();
            sorted.sort_by(f64::total_cmp);
            for ((mean, max), row) in errors.iter_mut().zip(&rows) {
                let compression = row[0].parse().expect("a compression");
                let digest = digest_of(compression, &samples);
                let error = rank_error(&digest.compressed().expect("memory"), &sorted, 0.5);
                *mean += error / streams as f64;
                *max = f64::max(*max, error);
            }
        }
        for (row, (mean, max)) in rows.iter_mut().zip(errors) {
            row.push(format!("{} ({})", short(mean), short(max)));
        }
    }
    table(&head, &rows)
}

/// Errors of the value of p99, by the share of the samples that are in the second of two modes: mean and maximum of the streams.
pub fn second_modes() -> String {
    let rows = [0.5, 1.1, 1.5, 2.0, 5.0].map(|per_cent| {
        let mut row = vec![format!("{per_cent} %")];
        let streams: Vec<_> = (0..STREAMS)
            .map(|stream| {
                let mut random = Random(600 + stream);
                let samples: Vec<_> = (0..SAMPLES / 5)
                    .map(|_| with_second_mode(&mut random, per_cent / 100.0))
                    .collect();
                let mut sorted = samples.clone();
                sorted.sort_by(f64::total_cmp);
                (sorted[sorted.len() / 100 * 99], samples)
            })
            .collect();
        row.extend(COMPRESSIONS[1..].iter().map(|&compression| {
            let errors = streams.iter().map(|(exact, samples)| {
                let digest = digest_of(compression, samples);
                let answer = digest.compressed().expect("memory").quantile(0.99);
                (answer / exact - 1.0).abs()
            });
            let errors: Vec<_> = errors.collect();
            let mean = errors.iter().sum::<f64>() / errors.len() as f64;
            let most = errors.iter().copied().fold(0.0, f64::max);
            format!("{} ({})", short(mean), short(most))
        }));
        row
    });
    let head = [
        "samples in the second mode",
        "`COMPRESSION` 100",
        "200",
        "500",
        "1000",
    ];
    table(&head, &rows)
}

/// Errors of a merge of 1,000 digests, and of one digest of the same samples: mean and maximum of several streams.
pub fn merges() -> String {
    const MERGES: usize = 5;
    const PARTS: usize = 1000;
    const OF_PART: usize = 200;
    let mut rows = Vec::new();
    for kind in [LOGNORMAL, TWO_MODES] {
        for compression in [100, 1000] {
            // Of the merge and of one digest: at p50, at p99, and the largest.
            let mut errors = [[[0.0; MERGES]; 2]; 3];
            for stream in 0..MERGES {
                let samples = kind.samples(PARTS * OF_PART, 700 + stream as u64);
                let mut sorted = samples.clone();
                sorted.sort_by(f64::total_cmp);
                let parts: Vec<_> =
                    ((samples.chunks(OF_PART)).map(|part| digest_of(compression, part))).collect();
                let operands: Vec<_> = parts.iter().collect();
                let merged = TDigest::merge(compression, &operands, Budget::UNLIMITED);
                let both = [merged.expect("memory"), digest_of(compression, &samples)];
                for (at, digest) in both.iter().enumerate() {
                    let compressed = digest.compressed().expect("memory");
                    let of_digest = errors_of(&compressed, &sorted);
                    for (errors, error) in errors.iter_mut().zip(of_digest) {
                        errors[at][stream] = error;
                    }
                }
            }
            let mut row = vec![kind.name.to_owned(), compression.to_string()];
            row.extend([errors[0], errors[2]].map(|both| {
                let both = both.map(|errors| {
                    let mean = errors.iter().sum::<f64>() / errors.len() as f64;
                    let most = errors.iter().copied().fold(0.0, f64::max);
                    format!("{} ({})", short(mean), short(most))
                });
                both.join(" / ")
            }));
            rows.push(row);
        }
    }
    let head = [
        "samples",
        "compression",
        "p50, merged / one digest",
        "largest",
    ];
    table(&head, &rows)
}
