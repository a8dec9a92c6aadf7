//! Additions of samples with weights.

use super::super::weighted::one_node;
use super::*;
use proptest::prelude::*;

fn samples(values: &[(f64, i64)]) -> Vec<Centroid> {
    let samples = values.iter();
    (samples.map(|&(mean, weight)| Centroid { mean, weight })).collect()
}

fn sample() -> impl Strategy<Value = f64> {
    prop_oneof![
        Just(0.0),
        Just(-0.0),
        (-9i8..9).prop_map(f64::from),
        -1e300..1e300f64
    ]
}

proptest! {
    #[test]
    fn weights_of_one_are_additions(
        batches in prop::collection::vec(prop::collection::vec(sample(), 0..40), 0..12),
        compression in 1..30i64,
        heavy in prop::option::of((sample(), 2..9i64)),
    ) {
        let (mut one, mut other) = (digest(compression), digest(compression));
        let mut weight = 0;
        for values in batches {
            if let Some(heavy) = heavy {
                one.add_weighted(&samples(&[heavy]), ANY).unwrap();
                other.add_weighted(&samples(&[heavy]), ANY).unwrap();
                weight += heavy.1;
            }
            let ones: Vec<_> = values.iter().map(|&value| (value, 1)).collect();
            one.add(&values).unwrap();
            // Without the short way for these weights.
            other.add_as(&samples(&ones), one_node, ANY).unwrap();
            weight += values.len() as i64;
            prop_assert_eq!(fed(&one), fed(&other));
            prop_assert_eq!(one.info(), other.info());
            prop_assert_eq!(one.observations(), weight);
        }
    }

    /// Of at most as many different values as the compression.
    #[test]
    fn samples_with_weights_are_repeated_samples(
        added in prop::collection::vec((0..99i64, prop_oneof![1..4i64, 1..500i64]), 1..400),
        compression in 1..30i64,
        batch in 1..99usize,
    ) {
        let added = added.iter().map(|&(value, weight)| ((value % compression) as f64, weight));
        let added: Vec<_> = added.collect();
        let (mut weighted, mut repeated) = (digest(compression), digest(compression));
        for part in added.chunks(batch) {
            weighted.add_weighted(&samples(part), ANY).unwrap();
        }
        for &(value, weight) in &added {
            repeated.add(&vec![value; weight as usize]).unwrap();
        }
        let (weighted, repeated) = (weighted.compressed().unwrap(), repeated.compressed().unwrap());
        for part in 0..=100 {
            let q = f64::from(part) / 100.0;
            prop_assert_eq!(weighted.quantile(q), repeated.quantile(q));
        }
        for value in 0..compression {
            let value = value as f64;
            prop_assert_eq!(weighted.cdf(value), repeated.cdf(value));
            prop_assert_eq!(weighted.rank(value), repeated.rank(value));
        }
    }

    #[test]
    fn any_weights_leave_a_digest_that_loads(
        values in prop::collection::vec((sample(), prop_oneof![1..9i64, 1..1i64 << 55]), 1..200),
        compression in 1..30i64,
    ) {
        let mut digest = digest(compression);
        digest.add_weighted(&samples(&values), ANY).unwrap();
        let loaded = TDigest::load(&mut saved(&digest), 0, &()).unwrap();
        prop_assert_eq!(fed(&digest), fed(&loaded));
        let smallest = values.iter().map(|value| value.0).fold(f64::MAX, f64::min);
        prop_assert_eq!(digest.min(), smallest);
        let all: i64 = values.iter().map(|value| value.1).sum();
        prop_assert!(digest.observations() <= all && all - digest.observations() < 1 << 30);
    }
}

#[test]
fn refused_weights_change_nothing() {
    let mut digest = digest_of(100, &[1.0, 2.0]);
    let before = fed(&digest);
    for (values, error) in [
        (vec![(1.0, 5), (2.0, 0)], DigestError::InvalidWeight),
        (vec![(1.0, -1)], DigestError::InvalidWeight),
        (vec![(1.0, 5), (f64::NAN, 1)], DigestError::NotFinite),
        (vec![(1.0, i64::MAX - 1)], DigestError::Overflow),
        (vec![(1.0, 1 << 62), (1.0, 1 << 62)], DigestError::Overflow),
    ] {
        let added = digest.add_weighted(&samples(&values), ANY);
        assert_eq!(added, Err(error));
        assert_eq!(fed(&digest), before);
    }
    let none = |_| false;
    let added = digest.add_weighted(&samples(&[(1.0, 5)]), Budget::new(&none));
    assert!(matches!(added, Err(DigestError::OutOfMemory(_))));
    assert_eq!(fed(&digest), before);
}

#[test]
fn a_digest_of_centroids_has_their_extent_or_a_larger_one() {
    let of = |centroids: &[(f64, i64)], min, max| {
        TDigest::from_centroids(100, &samples(centroids), min, max, ANY)
    };
    let wide = of(&[(3.0, 2), (1.0, 5)], 0.5, 4.0).unwrap();
    assert_eq!(wide, digest_with_unmerged(&[(1.0, 5), (3.0, 2)], 0.5, 4.0));
    let narrow = of(&[(3.0, 2), (1.0, 5)], 2.0, 2.5).unwrap();
    assert_eq!((narrow.min(), narrow.max()), (1.0, 3.0));
    // No samples have no extent.
    assert_eq!(of(&[], 1.0, 2.0).unwrap(), digest(100));
    for (centroids, min, max, error) in [
        (vec![(1.0, 1)], f64::NAN, 1.0, DigestError::NotFinite),
        (vec![(1.0, 1)], 1.0, f64::INFINITY, DigestError::NotFinite),
        (vec![(f64::NAN, 1)], 1.0, 1.0, DigestError::NotFinite),
        (vec![(1.0, 0)], 1.0, 1.0, DigestError::InvalidWeight),
        (
            vec![(1.0, i64::MAX), (1.0, 1)],
            1.0,
            1.0,
            DigestError::Overflow,
        ),
    ] {
        assert_eq!(of(&centroids, min, max).err(), Some(error));
    }
}

/// A digest to which these nodes were added, with another extent.
fn digest_with_unmerged(nodes: &[(f64, i64)], min: f64, max: f64) -> TDigest {
    let mut digest = digest(100);
    digest.add_as(&samples(nodes), one_node, ANY).unwrap();
    (digest.min, digest.max) = (min, max);
    digest
}
