//! Roughly's t-digest compared with the crate tdigests: the cost of a sample and of a quantile, and how far off the
//! quantiles are.
//!
//! That crate has no buffer: a sample is added by merging a digest made of a batch, and compressing. It
//! gets batches of the size of our buffer, and as many centroids as ours keeps at most.

use crate::record::segments::Segments;
use crate::stream::Numbers;
use roughly_sketch::memory::Budget;
use roughly_sketch::t_digest::TDigest;
use serde_json::{Value, json};
use std::hint::black_box;

/// Samples of a digest.
const SAMPLES: usize = 1_000_000;
/// Samples that are handed over at once, as by a command with many.
const BATCH: usize = 100;
/// Quantiles that are asked for, again and again.
const QUANTILES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];
/// Questions of a segment.
const QUESTIONS: u64 = 400;
/// Samples of a segment: several buffers are filled and merged in it.
const SEGMENT: usize = 18_000;
const ANY: Budget<'static> = Budget::UNLIMITED;

/// Waiting times, exponentially distributed: most are short, some long.
fn samples() -> Vec<f64> {
    let mut numbers = Numbers(1);
    (0..SAMPLES)
        .map(|_| {
            let uniform = (numbers.below(1 << 53) as f64 + 0.5) / (1u64 << 53) as f64;
            -uniform.ln()
        })
        .collect()
}

/// How far the share of samples below an estimate is from the quantile asked for, at worst.
fn worst_rank_error(sorted: &[f64], estimate: impl Fn(f64) -> f64) -> f64 {
    let of = |q: f64| {
        let below = sorted.partition_point(|&sample| sample < estimate(q));
        (below as f64 / sorted.len() as f64 - q).abs()
    };
    QUANTILES.into_iter().map(of).fold(0.0, f64::max)
}

/// Both, at two compressions.
pub fn measure() -> Vec<Value> {
    let values = samples();
    let mut sorted = values.clone();
    sorted.sort_by(f64::total_cmp);
    let mut measured = Vec::new();
    for compression in [100, 1_000] {
        let mut segments = Segments::default();
        let mut digest = TDigest::new(compression, ANY).expect("memory for the digest");
        for segment in values.chunks(SEGMENT) {
            segments.time(SEGMENT as u64, || {
                for batch in segment.chunks(BATCH) {
                    digest.add(batch).expect("room for the values");
                }
            });
        }
        let add_ns = segments.median();
        let kept = digest.compressed().expect("memory for the answers");
        let quantile_ns = ask(|q| kept.quantile(q));
        let centroids = kept.centroids().len();
        let error = worst_rank_error(&sorted, |q| kept.quantile(q));
        measured.push(row(
            "Roughly",
            compression,
            centroids,
            add_ns,
            quantile_ns,
            error,
        ));

        let mut segments = Segments::default();
        let mut digest = tdigests::TDigest::from_values(values[..1].to_vec());
        for segment in values[1..].chunks(SEGMENT) {
            segments.time(segment.len() as u64, || {
                for batch in segment.chunks(6 * compression as usize) {
                    digest = digest.merge(&tdigests::TDigest::from_values(batch.to_vec()));
                    digest.compress(centroids);
                }
            });
        }
        let add_ns = segments.median();
        let quantile_ns = ask(|q| digest.estimate_quantile(q));
        let error = worst_rank_error(&sorted, |q| digest.estimate_quantile(q));
        let kept = digest.centroids().len();
        measured.push(row(
            "tdigests",
            compression,
            kept,
            add_ns,
            quantile_ns,
            error,
        ));
    }
    measured
}

/// The time of a quantile, in ns.
fn ask(quantile: impl Fn(f64) -> f64) -> f64 {
    let mut segments = Segments::default();
    for _ in 0..200 {
        segments.time(QUESTIONS, || {
            for i in 0..QUESTIONS as usize {
                black_box(quantile(QUANTILES[i % QUANTILES.len()]));
            }
        });
    }
    segments.median()
}

fn row(
    name: &str,
    compression: i64,
    centroids: usize,
    add_ns: f64,
    quantile_ns: f64,
    error: f64,
) -> Value {
    println!(
        "t-digest, {name}, c {compression}: {centroids} centroids, {add_ns:.1} ns a sample, \
         {quantile_ns:.1} ns a quantile, rank error {error:.6}"
    );
    json!({
        "name": name,
        "compression": compression,
        "centroids": centroids,
        "add_ns": add_ns,
        "quantile_ns": quantile_ns,
        "worst_rank_error": error,
    })
}
