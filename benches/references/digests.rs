//! Roughly's t-digest compared with the crate tdigests: cost per sample, cost per quantile, and rank error.
//!
//! That crate has no buffer. To add samples, the benchmark builds a digest from a batch, merges it and
//! compresses the result. Batches have the size of Roughly's buffer, and the digest is compressed to as many
//! centroids as Roughly's digest has.

use crate::record::segments::Segments;
use crate::stream::Numbers;
use roughly_sketch::memory::Budget;
use roughly_sketch::t_digest::TDigest;
use serde_json::{Value, json};
use std::hint::black_box;

/// Samples per digest.
const SAMPLES: usize = 1_000_000;
/// Samples per call, as in a command with many samples.
const BATCH: usize = 100;
/// The quantiles to estimate, in turn.
const QUANTILES: [f64; 4] = [0.5, 0.9, 0.99, 0.999];
/// Quantiles per segment.
const QUANTILES_PER_SEGMENT: u64 = 400;
/// Samples per segment: enough to fill and merge several buffers.
const SAMPLES_PER_SEGMENT: usize = 18_000;
const UNLIMITED: Budget<'static> = Budget::UNLIMITED;

/// Exponentially distributed samples, like waiting times.
fn samples() -> Vec<f64> {
    let mut numbers = Numbers(1);
    (0..SAMPLES)
        .map(|_| {
            let uniform = (numbers.below(1 << 53) as f64 + 0.5) / (1u64 << 53) as f64;
            -uniform.ln()
        })
        .collect()
}

/// Largest difference between a requested quantile and the share of samples below the estimate.
fn worst_rank_error(sorted: &[f64], estimate: impl Fn(f64) -> f64) -> f64 {
    let of = |q: f64| {
        let below = sorted.partition_point(|&sample| sample < estimate(q));
        (below as f64 / sorted.len() as f64 - q).abs()
    };
    QUANTILES.into_iter().map(of).fold(0.0, f64::max)
}

/// Measures both implementations at two compressions.
pub fn measure() -> Vec<Value> {
    let values = samples();
    let mut sorted = values.clone();
    sorted.sort_by(f64::total_cmp);
    let mut measured = Vec::new();
    for compression in [100, 1_000] {
        let mut segments = Segments::default();
        let mut digest =
            TDigest::new(compression, UNLIMITED).expect("enough memory for the digest");
        for segment in values.chunks(SAMPLES_PER_SEGMENT) {
            segments.time(SAMPLES_PER_SEGMENT as u64, || {
                for batch in segment.chunks(BATCH) {
                    digest.add(batch).expect("the digest accepts the values");
                }
            });
        }
        let add_ns = segments.median();
        let kept = digest.compressed().expect("enough memory for the answers");
        let quantile_ns = quantile_cost(|q| kept.quantile(q));
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
        for segment in values[1..].chunks(SAMPLES_PER_SEGMENT) {
            segments.time(segment.len() as u64, || {
                for batch in segment.chunks(6 * compression as usize) {
                    digest = digest.merge(&tdigests::TDigest::from_values(batch.to_vec()));
                    digest.compress(centroids);
                }
            });
        }
        let add_ns = segments.median();
        let quantile_ns = quantile_cost(|q| digest.estimate_quantile(q));
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

/// Median time per quantile, in ns.
fn quantile_cost(quantile: impl Fn(f64) -> f64) -> f64 {
    let mut segments = Segments::default();
    for _ in 0..200 {
        segments.time(QUANTILES_PER_SEGMENT, || {
            for i in 0..QUANTILES_PER_SEGMENT as usize {
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
        "t-digest, {name}, c {compression}: {centroids} centroids, {add_ns:.1} ns per sample, \
         {quantile_ns:.1} ns per quantile, rank error {error:.6}"
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
