//! Bounds of the error. The samples are fixed, so a bound holds on every run or on none.

use super::*;
use crate::accuracy::{Accuracy, Field, Figure};
use crate::window::Panes;

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
        let ends = (digest.min(), digest.max());
        assert_eq!(ends, (shape[0], shape[shape.len() - 1]));
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
        let parts: Vec<TDigest> =
            (values.chunks(1000).map(|part| digest_of(compression, part))).collect();
        let merged = TDigest::merge(compression, &parts.iter().collect::<Vec<_>>(), ANY).unwrap();
        let whole = digest_of(compression, &values);
        values.sort_by(f64::total_cmp);
        assert_eq!(merged.observations(), 100_000);
        assert_eq!((merged.min(), merged.max()), (whole.min(), whole.max()));
        assert!(rank_error(&merged, &values) < bound);
        assert!(rank_error(&whole, &values) < bound);
    }
}

/// The fields, computed with this cache.
fn fields_with(cache: &mut DigestCache, digest: &TDigest) -> Vec<Field> {
    digest.accuracy(Panes::ALL, cache).unwrap()
}

/// The reported rank errors at p50, p90 and p99.
fn reported(digest: &TDigest) -> [f64; 3] {
    let fields = fields_with(&mut DigestCache::default(), digest);
    let samples = digest.observations().cast_unsigned();
    assert_eq!(fields[3], (c"samples", Figure::Count(samples)));
    let names = [c"rank error p50", c"rank error p90", c"rank error p99"];
    std::array::from_fn(|at| match fields[at] {
        (name, Figure::Ratio(error)) if name == names[at] => error,
        other => panic!("{other:?}"),
    })
}

#[test]
fn exact_digests_report_no_rank_error() {
    let several: Vec<f64> = (0..100).map(f64::from).collect();
    for samples in [
        &[][..],
        &[7.0],
        &[1.0, 2.0],
        &several,
        &[0.1; 10_000],
        &several.repeat(100),
        &[-0.0, 0.0],
    ] {
        let digest = digest_of(1000, samples);
        assert_eq!(reported(&digest), [0.0; 3], "{}", samples.len());
        let compressed = digest.compressed().unwrap();
        for quantile in [0.5, 0.9, 0.99] {
            // The range of the ranks of the answer includes the quantile. That of an empty digest is nan.
            let answer = compressed.quantile(quantile);
            let rank = quantile * samples.len() as f64;
            let below = samples.iter().filter(|&&sample| sample < answer).count();
            let above = samples.iter().filter(|&&sample| sample > answer).count();
            let ranks = below as f64..=(samples.len() - above) as f64;
            assert!(ranks.contains(&rank), "{answer}: {ranks:?}, not {rank}");
        }
    }
    let few = digest_of(100, &Uniform(3).take(1000).collect::<Vec<_>>());
    let are_small = (reported(&few).iter()).all(|error| (1e-4..0.05).contains(error));
    assert!(are_small);
}

/// The heavy centroids of one mean are no run: their samples differ.
#[test]
fn merged_digests_with_the_same_samples_report_an_error() {
    let samples: Vec<f64> = (Uniform(3).take(10_000).map(|sample| sample * sample)).collect();
    let part = digest_of(100, &samples);
    let parts = [&part; 12];
    let merged = TDigest::merge(100, &parts, ANY).unwrap();
    let compressed = merged.compressed().unwrap();
    let mut sorted = samples.repeat(12);
    sorted.sort_by(f64::total_cmp);
    let answer = compressed.quantile(0.5);
    let rank = sorted.partition_point(|&sample| sample < answer) as f64 / sorted.len() as f64;
    assert!((rank - 0.5).abs() > 1e-4);
    assert!(reported(&merged)[0] >= (rank - 0.5).abs());
}

#[test]
fn reported_rank_errors_depend_on_the_state_only() {
    let mut cache = DigestCache::default();
    let mut digest = digest(100);
    for batch in [3, 700, 20, 3000] {
        (digest.add(&Uniform(batch).take(batch as usize).collect::<Vec<_>>())).unwrap();
        let before = fed(&digest);
        // The cache has the compressed form of the state before the additions, and then that of this one.
        let fields = fields_with(&mut cache, &digest);
        assert_eq!(fields_with(&mut cache, &digest), fields);
        assert_eq!(fields_with(&mut DigestCache::default(), &digest), fields);
        assert_eq!(fed(&digest), before);
        let loaded = TDigest::load(&mut saved(&digest), 0, &()).unwrap();
        assert_eq!(fields_with(&mut DigestCache::default(), &loaded), fields);
        assert_eq!(fields_with(&mut cache, &loaded), fields);
    }
}

#[test]
fn reported_rank_errors_of_extreme_digests_are_at_most_1() {
    let half = 1 << 61;
    let (min, max, tiny) = (f64::MIN, f64::MAX, 5e-324);
    for nodes in [
        &[(0.0, 4 * (half - 256))][..],
        &[(min, half), (max, half)],
        &[(min, half), (0.0, half), (max, half)],
        &[(min, 1), (0.0, half), (tiny, half), (max, 1)],
        &[(-tiny, half), (0.0, half), (tiny, half)],
        &[(1.0, half), (1.0, half), (2.0, half)],
        &[(1.0, 1), (2.0, half), (3.0, 1)],
    ] {
        let errors = reported(&digest_with(min, max, nodes));
        for (error, quantile) in errors.into_iter().zip([0.5, 0.9, 0.99]) {
            let largest = f64::max(quantile, 1.0 - quantile);
            assert!((0.0..=largest).contains(&error), "{nodes:?}: {error}");
        }
    }
    // Nothing is known of the samples between the smallest, the only mean and the largest.
    let found = reported(&digest_with(min, max, &[(0.0, half)]));
    assert_eq!(found, [0.5, 0.9, 0.99]);
    assert_eq!(reported(&digest_with(1.0, 1.0, &[(1.0, half)])), [0.0; 3]);
}
