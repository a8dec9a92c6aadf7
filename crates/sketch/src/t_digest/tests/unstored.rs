//! Values that RedisBloom 2.6.12 and 2.8.2 stored: of one sample, and after it was loaded.

use super::*;
use crate::format::FormatError;

/// Fields of a stored digest: minimum, maximum, unmerged nodes, weight, unmerged weight, then mean and weight of each node.
type Recorded = (f64, f64, u64, f64, f64, &'static [(f64, f64)]);

fn loaded((min, max, unmerged, weight, unmerged_weight, nodes): &Recorded) -> TDigest {
    let mut values = saved(&digest(2));
    values.values[1] = Value::Double(*min);
    values.values[2] = Value::Double(*max);
    values.values[4] = Value::Integer(nodes.len() as u64);
    values.values[5] = Value::Integer(*unmerged);
    values.values[7] = Value::Double(*weight);
    values.values[8] = Value::Double(*unmerged_weight);
    let means = nodes.iter().map(|node| node.0);
    let weights = nodes.iter().map(|node| node.1);
    let nodes = means.chain(weights).map(Value::Double);
    values.values.extend(nodes);
    TDigest::load(&mut values, 0, &()).unwrap()
}

/// The nodes, and the smallest and the largest sample.
fn content(digest: &TDigest) -> (Vec<(f64, f64)>, f64, f64) {
    let values = saved(digest).values;
    let double = |value: &Value| match value {
        Value::Double(number) => *number,
        other => panic!("{other:?}"),
    };
    let numbers: Vec<_> = values.iter().skip(9).map(double).collect();
    let (means, weights) = numbers.split_at(numbers.len() / 2);
    let nodes = means.iter().copied().zip(weights.iter().copied());
    (nodes.collect(), double(&values[1]), double(&values[2]))
}

#[test]
fn a_digest_of_one_sample_has_it() {
    for value in [42.0, -7.5, -0.0, f64::MAX, f64::MIN, 5e-324] {
        let digest = loaded(&(value, value, 1, 0.0, 1.0, &[]));
        let built = digest_of(2, &[value]);
        assert_eq!((&digest, digest.info()), (&built, built.info()));
        assert_eq!(reloaded(&digest), built);
        assert_eq!(content(&digest), (vec![(value, 1.0)], value, value));
    }
}

#[test]
fn a_digest_that_continued_from_one_sample_has_it_unless_others_enclose_it() {
    const CASES: &[(Recorded, &[(f64, f64)])] = &[
        // 42, then 41, -5, or 42 again.
        (
            (41.0, 42.0, 0, 2.0, 0.0, &[(0.0, 0.0), (41.0, 1.0)]),
            &[(41.0, 1.0), (42.0, 1.0)],
        ),
        (
            (-5.0, 42.0, 0, 2.0, 0.0, &[(-5.0, 1.0), (0.0, 0.0)]),
            &[(-5.0, 1.0), (42.0, 1.0)],
        ),
        (
            (42.0, 42.0, 0, 2.0, 0.0, &[(0.0, 0.0), (42.0, 1.0)]),
            &[(42.0, 1.0), (42.0, 1.0)],
        ),
        // 42, then 43.
        (
            (42.0, 43.0, 0, 2.0, 0.0, &[(0.0, 0.0), (43.0, 1.0)]),
            &[(42.0, 1.0), (43.0, 1.0)],
        ),
        // 42, then 41, 43, 45, 47.
        (
            (
                41.0,
                47.0,
                0,
                5.0,
                0.0,
                &[(0.0, 0.0), (41.0, 1.0), (45.0, 3.0)],
            ),
            &[(41.0, 1.0), (45.0, 3.0), (47.0, 1.0)],
        ),
        // 42, then 41 and 43: between the others.
        (
            (
                41.0,
                43.0,
                0,
                3.0,
                0.0,
                &[(0.0, 0.0), (41.0, 1.0), (43.0, 1.0)],
            ),
            &[(41.0, 1.0), (43.0, 1.0)],
        ),
        // Merged with itself: nothing is missing.
        (
            (
                0.0,
                50.0,
                0,
                2.0,
                0.0,
                &[(f64::NAN, 0.0), (50.0, 1.0), (50.0, 1.0)],
            ),
            &[(50.0, 1.0), (50.0, 1.0)],
        ),
    ];
    for (recorded, wanted) in CASES {
        let digest = loaded(recorded);
        assert_eq!(content(&digest), (wanted.to_vec(), recorded.0, recorded.1));
        assert_eq!(reloaded(&digest), digest);
    }
}

#[test]
fn copies_of_nodes_without_a_sample_are_not_samples() {
    // Three nodes, of which one has a sample, which the bounds contain beside 0.
    for (min, max, value) in [(0.0, 7.0, 7.0), (-7.0, 0.0, -7.0), (0.0, 0.0, 0.0)] {
        let digest = loaded(&(min, max, 3, 0.0, 1.0, &[]));
        assert_eq!(content(&digest), (vec![(value, 1.0)], value, value));
    }
    let none = loaded(&(0.0, 0.0, 1, 0.0, 0.0, &[]));
    assert_eq!(none, digest(2));
}

#[test]
fn other_digests_with_unmerged_nodes_are_refused() {
    let refused = |min: f64, unmerged: i64, weight: f64, unmerged_weight: f64| {
        let mut values = saved(&digest(2));
        values.values[1] = Value::Double(min);
        values.values[2] = Value::Double(9.0);
        values.values[5] = Value::Integer(unmerged.cast_unsigned());
        values.values[7] = Value::Double(weight);
        values.values[8] = Value::Double(unmerged_weight);
        TDigest::load(&mut values, 0, &()).err()
    };
    let unmerged = Some(FormatError::Invalid("there are unmerged nodes"));
    assert_eq!(refused(9.0, 2, 0.0, 2.0), unmerged);
    assert_eq!(refused(9.0, -1, 0.0, 1.0), unmerged);
    assert_eq!(refused(9.0, 1, 1.0, 1.0), unmerged);
    assert_eq!(refused(9.0, 1, 0.0, f64::NAN), unmerged);
    let sum = Some(FormatError::Invalid("the weights have another sum"));
    assert_eq!(refused(9.0, 0, 1.0, 0.0), sum);
    let no_range = Some(FormatError::Invalid("minimum and maximum are no range"));
    for min in [f64::NAN, f64::NEG_INFINITY, 10.0] {
        assert_eq!(refused(min, 1, 0.0, 1.0), no_range);
    }
}
