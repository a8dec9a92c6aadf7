//! The estimate of the false-positive rate.

use super::*;
use crate::accuracy::{Accuracy, Figure};
use crate::window::Panes;

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
