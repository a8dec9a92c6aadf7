//! Bounds of the error. The samples are fixed, so a bound holds on every run or on none.

use super::*;
use crate::accuracy::{Accuracy, Field, Figure};
use crate::window::Panes;

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
