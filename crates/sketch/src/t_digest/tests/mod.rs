//! Examples, error bounds, golden payloads, hostile bytes. Samples are drawn from a
//! generator with fixed seeds, so that every run tests the same samples.

mod accuracy;
mod golden;
mod hostile;
mod kept;
mod memory;
mod merge;
mod runs;
mod stored;
mod unstored;
mod weighted;

use super::*;
use crate::memory::Budget;
use crate::stored::Stored;
use crate::testing::{bits, fed, reloaded, saved};
use roughly_dump::{Value, Values};

/// Allows every allocation.
const ANY: Budget<'_> = Budget::UNLIMITED;

fn digest(compression: i64) -> TDigest {
    TDigest::new(compression, ANY).unwrap()
}

fn digest_of(compression: i64, values: &[f64]) -> TDigest {
    let mut digest = digest(compression);
    digest.add(values).unwrap();
    digest
}

/// A digest loaded with these centroids.
fn digest_with(min: f64, max: f64, nodes: &[(f64, i64)]) -> TDigest {
    let mut values = saved(&digest(100));
    let weight: i64 = nodes.iter().map(|node| node.1).sum();
    let means = nodes.iter().map(|node| node.0);
    let weights = nodes.iter().map(|node| node.1 as f64);
    values.values[1] = Value::Double(min);
    values.values[2] = Value::Double(max);
    values.values[4] = Value::Integer(nodes.len() as u64);
    values.values[7] = Value::Double(weight as f64);
    (values.values).extend(means.chain(weights).map(Value::Double));
    TDigest::load(&mut values, 0, &()).unwrap()
}

/// The answers to a fixed set of queries, as bits.
fn answers(digest: &TDigest) -> Vec<u64> {
    let compressed = digest.compressed().unwrap();
    let mut answers = vec![bits(digest.min()), bits(digest.max())];
    for percent in 0..=100 {
        answers.push(bits(compressed.quantile(f64::from(percent) / 100.0)));
    }
    for x in probes(digest) {
        answers.push(bits(compressed.cdf(x)));
        answers.push(compressed.rank(x) as u64);
        answers.push(compressed.revrank(x) as u64);
    }
    for rank in [0, 1, 2, 7, 100, digest.observations() / 2, i64::MAX] {
        answers.push(bits(compressed.by_rank(rank)));
        answers.push(bits(compressed.by_revrank(rank)));
    }
    for (low, high) in [(0.0, 1.0), (0.1, 0.9), (0.5, 0.51), (0.0, 1e-9)] {
        answers.push(bits(compressed.trimmed_mean(low, high)));
    }
    answers
}

/// Arguments for cdf and rank: all means, values between them, minimum and maximum, and values outside.
fn probes(digest: &TDigest) -> Vec<f64> {
    let compressed = digest.compressed().unwrap();
    let means: Vec<f64> = compressed.centroids().map(|node| node.mean).collect();
    let mut probes = vec![
        f64::NEG_INFINITY,
        f64::INFINITY,
        0.0,
        -0.0,
        f64::MAX,
        f64::MIN,
        5e-324,
        digest.min,
        digest.max,
    ];
    for pair in means.windows(2) {
        probes.push(pair[0] / 2.0 + pair[1] / 2.0);
    }
    probes.extend(means);
    probes
}

/// A generator of uniform numbers in [0, 1) (Knuth's MMIX constants).
struct Uniform(u64);

impl Iterator for Uniform {
    type Item = f64;
    fn next(&mut self) -> Option<f64> {
        self.0 = (self.0.wrapping_mul(6_364_136_223_846_793_005))
            .wrapping_add(1_442_695_040_888_963_407);
        Some((self.0 >> 11) as f64 / (1u64 << 53) as f64)
    }
}

/// Replies of RedisBloom 2.6.12 and 2.8.2. Sums of weights above 2^53 are rounded: that before the last mean is 2^62 + 3072, and that of
/// all 2^62 + 2048.
#[test]
fn weights_above_2_to_the_53_are_rounded_as_in_redisbloom() {
    let digest = digest_with(
        0.0,
        3.0,
        &[(0.0, 1 << 62), (1.0, 600), (2.0, 1025), (3.0, 1)],
    );
    let compressed = digest.compressed().unwrap();
    let answers = [2.999_999_999, 2.9999, 2.5, 2.0].map(|x| compressed.cdf(x));
    assert_eq!(answers, [1.0 + f64::EPSILON, 1.0 + f64::EPSILON, 1.0, 1.0]);
    assert_eq!(compressed.rank(2.999_999_999), 4_611_686_018_427_390_976);
}

#[test]
fn compressions_out_of_range_are_refused() {
    let new = |compression| TDigest::new(compression, ANY).map(|digest| digest.info());
    assert_eq!(new(0), Err(DigestError::CompressionNotPositive));
    assert_eq!(new(i64::MIN), Err(DigestError::CompressionNotPositive));
    assert_eq!(new(357_913_940), Err(DigestError::CompressionTooLarge));
    assert_eq!(new(i64::MAX), Err(DigestError::CompressionTooLarge));
    assert_eq!(new(1).unwrap().capacity, 16);
    assert_eq!(new(357_913_939).unwrap().capacity, i32::MAX as u32 - 3);
}

#[test]
fn heavy_end_centroids_are_interpolated_to_minimum_and_maximum() {
    let heavy = digest_with(0.0, 10.0, &[(2.0, 6), (8.0, 6)]);
    let compressed = heavy.compressed().unwrap();
    let quantiles = [0.0, 0.05, 1.0 / 12.0, 0.5, 11.0 / 12.0, 1.0].map(|q| compressed.quantile(q));
    assert_eq!(quantiles, [0.0, 0.0, 0.0, 5.0, 10.0, 10.0]);
    let parts = [0.0, 1.0, 5.0, 9.0, 10.0].map(|x| compressed.cdf(x) * 24.0);
    assert_eq!(parts, [1.0, 4.0, 12.0, 20.0, 23.0]);
    // End centroids of weight 2: half of each is the minimum or maximum.
    let pairs = digest_with(0.0, 10.0, &[(2.0, 2), (8.0, 2)]);
    let compressed = pairs.compressed().unwrap();
    let quantiles = [0.1, 0.25, 0.5, 0.75].map(|q| compressed.quantile(q));
    assert_eq!(quantiles, [0.0, 2.0, 5.0, 10.0]);
    // Only lookups by rank return the minimum below the first sample.
    let odd = digest_with(1.0, 3.0, &[(2.0, 1), (3.0, 1)]);
    let compressed = odd.compressed().unwrap();
    let lowest = (compressed.quantile(0.0), compressed.by_revrank(1));
    assert_eq!(lowest, (2.0, 1.0));
}

#[test]
fn a_quantile_between_two_centroids_is_between_their_means() {
    let low: f64 = 0.692_345_591_279_564_1;
    let high = f64::from_bits(low.to_bits() + 1);
    let close = digest_with(0.0, 1.0, &[(0.0, 1), (low, 1000), (high, 1000), (1.0, 1)]);
    let compressed = close.compressed().unwrap();
    for index in 501..1501 {
        let value = compressed.quantile((f64::from(index) + 0.3) / 2002.0);
        assert!(low <= value && value <= high);
    }
}

#[test]
fn differences_above_the_largest_double_are_interpolated() {
    let (low, high) = (f64::MIN, f64::MAX);
    let wide = digest_with(low, high, &[(low, 4), (high, 4)]);
    let compressed = wide.compressed().unwrap();
    assert_eq!(compressed.quantile(0.5), 0.0);
    assert_eq!(compressed.cdf(0.0), 0.5);
    assert_eq!(compressed.trimmed_mean(0.0, 1.0), 0.0);
    let ends = digest_with(low, high, &[(high / 2.0, 6), (high, 6)]);
    let compressed = ends.compressed().unwrap();
    assert!((compressed.cdf(low / 4.0) * 12.0 - 2.0).abs() < 1e-12);
    assert!((compressed.quantile(2.0 / 12.0) - low / 4.0).abs() < high * 1e-12);
}

#[test]
fn repeated_doubling_ends_with_an_overflow_and_every_state_can_be_loaded() {
    for compression in [1, 2, 5, 100] {
        let mut doubled = digest_of(compression, &[1.0, 2.0, 4.0, 8.0, 16.0]);
        let merged = loop {
            match TDigest::merge(compression, &[&doubled, &doubled], ANY) {
                Ok(merged) => doubled = merged,
                Err(error) => break error,
            }
            // A new minimum and maximum each time: these weights are the hardest to merge.
            let bound = doubled.max * 3.0;
            doubled.add(&[-bound, bound]).unwrap();
            let nodes = doubled.info();
            assert!(nodes.merged_nodes + nodes.unmerged_nodes <= nodes.capacity as usize);
            assert_eq!(reloaded(&doubled), doubled);
        };
        assert_eq!(merged, DigestError::Overflow);
        assert!(doubled.observations() > i64::MAX / 2);
        for rank in [1, doubled.observations() / 2, doubled.observations() - 1] {
            let compressed = doubled.compressed().unwrap();
            assert!(compressed.by_rank(rank).is_finite());
        }
        // All but the last of the possible observations.
        let rest = digest_of(compression, &[0.5]);
        while let Ok(merged) = TDigest::merge(compression, &[&doubled, &rest, &rest, &rest], ANY)
            && merged.observations() < i64::MAX / 2 + (1 << 20)
        {
            doubled = merged;
        }
        reloaded(&doubled);
    }
}

#[test]
fn samples_above_the_maximum_number_are_refused() {
    let mut values = saved(&digest_of(100, &[1.0, 2.0]));
    // Merged weight, and the weights of the two nodes.
    let heavy = 2f64.powi(62);
    for (at, value) in [(7, 2.0 * heavy), (11, heavy), (12, heavy)] {
        values.values[at] = Value::Double(value);
    }
    let mut full = TDigest::load(&mut values, 0, &()).unwrap();
    // Their sum is one too high, and the reduced weight must be representable as a double.
    assert_eq!(full.observations(), i64::MAX - 511);
    full.add(&[1.5; 511]).unwrap();
    assert_eq!(full.observations(), i64::MAX);
    answers(&full);
    let before = fed(&full);
    assert_eq!(full.add(&[3.0]), Err(DigestError::Overflow));
    assert_eq!(full.add(&[]), Ok(()));
    assert_eq!(fed(&full), before);
    assert_eq!(reloaded(&full), full);
}

#[test]
fn extreme_samples_give_finite_answers() {
    let kinds = [
        f64::MAX,
        f64::MIN,
        f64::MAX / 3.0,
        5e-324,
        -5e-324,
        f64::MIN_POSITIVE,
        0.0,
        -0.0,
        1.0,
    ];
    let mut uniform = Uniform(7);
    for compression in [1, 3, 20, 100] {
        for kinds_used in [2, 3, 5, 9] {
            let values: Vec<f64> = (uniform.by_ref().take(3000))
                .map(|u| kinds[(u * f64::from(kinds_used)) as usize])
                .collect();
            let one = digest_of(compression, &values);
            let both = TDigest::merge(compression, &[&one, &one], ANY).unwrap();
            for digest in [one, both] {
                let compressed = digest.compressed().unwrap();
                let within = |value: f64| digest.min <= value && value <= digest.max;
                for step in 0..=1000 {
                    assert!(within(compressed.quantile(f64::from(step) / 1000.0)));
                    assert!(within(compressed.trimmed_mean(
                        f64::from(step) / 1001.0,
                        f64::from(step + 1) / 1001.0
                    )));
                }
                for x in probes(&digest) {
                    assert!((0.0..=1.0).contains(&compressed.cdf(x)));
                    assert!((-1..=digest.observations()).contains(&compressed.rank(x)));
                }
                assert_eq!(reloaded(&digest), digest);
            }
        }
    }
}

#[test]
fn a_digest_without_samples_and_compressions_is_new() {
    assert!(digest(100).is_new());
    let mut used = digest_of(100, &[1.0]);
    assert!(!used.is_new());
    used.reset();
    assert!(used.is_new());
    let empty = digest(100);
    let mut compressed = saved(&empty);
    compressed.values[6] = Value::Integer(1);
    assert!(!TDigest::load(&mut compressed, 0, &()).unwrap().is_new());
}
