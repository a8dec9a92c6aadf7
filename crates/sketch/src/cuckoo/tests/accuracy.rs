//! The rate of false positives.

use super::*;

/// At 95 % load an absent item meets 2 * 4 * 0.95 fingerprints, each equal to its own with
/// probability 1/255: 2.94 % are found. Over 400,000 of them the standard deviation is 0.027 %, so that
/// the bounds (2.6 %, and the 8/255 = 3.14 % that the spec budget) are more than 7 deviations away.
#[test]
fn false_positives_are_as_many_as_the_buckets_allow() {
    let mut filter = filter(1 << 16, parameters(4, 500, 0));
    let items = (1u64 << 16) * 95 / 100;
    for item in 0..items {
        filter
            .insert(&item.to_le_bytes(), Budget::UNLIMITED)
            .unwrap();
    }
    for item in 0..items {
        assert!(filter.contains(&item.to_le_bytes()));
    }
    let absent = 400_000;
    let found = (items..items + absent).filter(|item| filter.contains(&item.to_le_bytes()));
    let rate = found.count() as f64 / absent as f64;
    assert!((0.026..8.0 / 255.0).contains(&rate), "{rate}");
}
