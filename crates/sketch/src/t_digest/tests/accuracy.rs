//! Bounds of the error. The samples are fixed, so a bound holds on every run or on none.

use super::*;

/// The largest rank error over common quantiles, as a fraction of the samples.
fn rank_error(digest: &TDigest, sorted: &[f64]) -> f64 {
    let compressed = digest.compressed().unwrap();
    let count = sorted.len() as f64;
    [0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999]
        .map(|q| {
            let value = compressed.quantile(q);
            let below = sorted.partition_point(|&sample| sample < value) as f64;
            (below / count - q).abs()
        })
        .into_iter()
        .fold(0.0, f64::max)
}

#[test]
fn equal_sorted_reversed_and_organ_pipe_samples_give_small_accurate_digests() {
    let count = 100_000;
    let up: Vec<f64> = (0..count).map(f64::from).collect();
    let shapes = [
        vec![0.1; count as usize],
        up.clone(),
        up.iter().rev().copied().collect(),
        up.iter().chain(up.iter().rev()).copied().collect(),
    ];
    for mut shape in shapes {
        let mut digest = digest(100);
        for batch in shape.chunks(97) {
            digest.add(batch).unwrap();
        }
        assert!(digest.compressed().unwrap().centroids().len() < 100);
        shape.sort_by(f64::total_cmp);
        assert_eq!(
            (digest.min(), digest.max()),
            (shape[0], shape[shape.len() - 1])
        );
        let compressed = digest.compressed().unwrap();
        if shape[0] == 0.1 {
            assert!((0..=100).all(|q| compressed.quantile(f64::from(q) / 100.0) == 0.1));
            assert!((1..=100).all(|q| compressed.trimmed_mean(0.0, f64::from(q) / 100.0) == 0.1));
            assert_eq!(compressed.cdf(0.1), 0.5);
        } else {
            assert!(rank_error(&digest, &shape) < 0.02);
        }
    }
}

#[test]
fn merged_digests_are_as_accurate_as_one_digest_of_all_samples() {
    for (compression, bound) in [(100, 0.015), (500, 0.001)] {
        let mut values: Vec<f64> = Uniform(11).take(100_000).map(|u| -(1.0 - u).ln()).collect();
        let parts: Vec<TDigest> = values
            .chunks(1000)
            .map(|part| digest_of(compression, part))
            .collect();
        let merged = TDigest::merge(
            compression,
            &parts.iter().collect::<Vec<_>>(),
            Budget::UNLIMITED,
        )
        .unwrap();
        let whole = digest_of(compression, &values);
        values.sort_by(f64::total_cmp);
        assert_eq!(merged.observations(), 100_000);
        assert_eq!((merged.min(), merged.max()), (whole.min(), whole.max()));
        assert!(rank_error(&merged, &values) < bound);
        assert!(rank_error(&whole, &values) < bound);
    }
}
