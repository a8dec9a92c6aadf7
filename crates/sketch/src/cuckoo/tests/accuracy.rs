//! The false-positive rate is within the documented limit.

use super::*;
use crate::accuracy::{Accuracy, Figure};
use crate::window::Panes;

/// At 95 % load an absent item is compared with 2 * 4 * 0.95 fingerprints, each equal to its own with probability 1/255:
/// the expected rate is 2.94 %. Over 400,000 items the standard deviation is 0.027 %, so the bounds (2.6 %, and the limit
/// of 8/255 = 3.14 %) are more than 7 deviations away.
#[test]
fn the_rate_at_95_percent_load_is_within_the_limit() {
    let mut filter = filter(1 << 16, parameters(4, 500, 0));
    let items = (1u64 << 16) * 95 / 100;
    for item in 0..items {
        filter.insert(&item.to_le_bytes(), ANY).unwrap();
    }
    for item in 0..items {
        assert!(filter.contains(&item.to_le_bytes()));
    }
    let absent = 400_000;
    let found = (items..items + absent).filter(|item| filter.contains(&item.to_le_bytes()));
    let rate = found.count() as f64 / absent as f64;
    assert!((0.026..8.0 / 255.0).contains(&rate), "{rate}");
}

/// After each growth, the estimate from the number of items is close to the rate from the fingerprints. A number of items that
/// contradicts the slots cannot make it exceed the rate of full slots.
#[test]
fn the_estimate_after_growth_is_close_to_the_rate() {
    for (bucket_size, expansion) in [(1, 1), (2, 1), (2, 2), (4, 1), (4, 4), (8, 1)] {
        let mut filter = filter(1024, parameters(bucket_size, 20, expansion));
        assert!(filter.rate_after_growth().abs() < f64::EPSILON);
        let mut item = 0u64;
        for sub_filters in 2..=6 {
            while filter.num_sub_filters() < sub_filters {
                filter.insert(&item.to_le_bytes(), ANY).unwrap();
                item += 1;
            }
            let fields = filter.accuracy(Panes::ALL, &mut ()).unwrap();
            let (_, Figure::Ratio(rate)) = fields[0] else {
                panic!("{fields:?}");
            };
            let estimate = filter.rate_after_growth();
            let what = format!("{bucket_size} {expansion} {sub_filters}: {estimate} {rate}");
            let lowest = if expansion == 1 { 0.99 } else { 0.85 };
            assert!((lowest..1.01).contains(&(estimate / rate)), "{what}");
        }
        filter.items = u64::MAX;
        let most = 5.0 * 2.0 * f64::from(bucket_size) / 255.0;
        assert!(filter.rate_after_growth() <= most);
    }
}
