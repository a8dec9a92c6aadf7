//! Merges of sketches without a window.

use super::*;
use crate::top_k::MergeError;

fn sketch_of(items: &[(&[u8], u32)]) -> TopK {
    let mut sketch = sketch(3, 20, 4, 0.9);
    for (item, count) in items {
        sketch.add(item, *count).unwrap();
    }
    sketch
}

#[test]
fn counts_of_both_sketches_are_added() {
    let mut one = sketch_of(&[(b"a", 5), (b"b", 2)]);
    let other = sketch_of(&[(b"c", 4), (b"a", 1), (b"d", 3)]);
    let before = saved(&other);
    one.merge(&other).unwrap();
    let expected = [(b"a".to_vec(), 6), (b"c".to_vec(), 4), (b"d".to_vec(), 3)];
    assert_eq!(listed(&one), expected);
    let counts = (one.count(b"a"), one.count(b"b"), one.count(b"c"));
    assert_eq!(counts, (6, 2, 4));
    assert!(one.query(b"d") && !one.query(b"b"));
    assert_eq!(saved(&other), before);
    // The stored form has all of it.
    let loaded = TopK::load(&mut saved(&one), 0, &()).unwrap();
    assert!(listed(&loaded) == expected && loaded.bucket_bytes() == one.bucket_bytes());
    let empty = sketch_of(&[]);
    let state = saved(&one);
    one.merge(&empty).unwrap();
    assert_eq!(saved(&one), state);
}

#[test]
fn a_sum_above_32_bits_is_an_error_and_changes_nothing() {
    let mut one = sketch_of(&[(b"b", 7), (b"a", u32::MAX - 5)]);
    one.merge(&sketch_of(&[(b"a", 5)])).unwrap();
    assert_eq!(one.count(b"a"), u32::MAX);
    let before = saved(&one);
    let merged = one.merge(&sketch_of(&[(b"b", 1), (b"a", 1)]));
    assert_eq!(merged, Err(MergeError::Overflow));
    assert_eq!(saved(&one), before);
}

#[test]
fn listed_items_keep_their_counts_in_a_table_that_is_too_small() {
    let mut one = sketch(2, 1, 1, 0.9);
    let mut other = sketch(2, 1, 1, 0.9);
    one.add(b"a", 10).unwrap();
    other.add(b"b", 7).unwrap();
    one.merge(&other).unwrap();
    assert_eq!(listed(&one), [(b"a".to_vec(), 10), (b"b".to_vec(), 7)]);
    assert_eq!((one.count(b"a"), one.count(b"b")), (10, 0));
}

#[test]
fn sketches_with_other_parameters_are_refused() {
    let mut one = sketch(3, 20, 4, 0.9);
    one.add(b"a", 5).unwrap();
    let before = saved(&one);
    for (other, parameter) in [
        (sketch(4, 20, 4, 0.9), "k"),
        (sketch(3, 21, 4, 0.9), "width"),
        (sketch(3, 20, 5, 0.9), "depth"),
        (sketch(3, 20, 4, 0.8), "decay"),
    ] {
        match one.merge(&other) {
            Err(MergeError::Differ(difference)) => assert_eq!(difference.parameter, parameter),
            other => panic!("{other:?}"),
        }
        assert_eq!(saved(&one), before);
    }
}
