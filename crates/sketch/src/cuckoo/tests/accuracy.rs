//! The false-positive rate is within the documented limit.

use super::*;

/// At 95 % load an absent item is compared with 2 * 4 * 0.95 fingerprints, each equal to its own with probability 1/255:
/// the expected rate is 2.94 %. Over 400,000 items the standard deviation is 0.027 %, so the bounds (2.6 %, and the limit
/// of 8/255 = 3.14 %) are more than 7 deviations away.
#[test]
fn the_rate_at_95_percent_load_is_within_the_limit() {
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
