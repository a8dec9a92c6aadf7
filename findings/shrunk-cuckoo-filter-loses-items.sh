#!/usr/bin/env bash
# scalable_cuckoo_filter 0.5.1 (crate): shrink_to_fit() loses items that were added and not removed.
#
# 100,000 numbers are added to a filter with a false-positive probability of 10 %, and the first half of them is removed. All others are in
# the filter, and len() is 50,000. After shrink_to_fit(), two or three of them are not, and len() is 49,986.
cd "$(dirname "$0")"
. lib/packages.sh
rust_with scalable_cuckoo_filter@0.5.1 <<'END'
use scalable_cuckoo_filter::ScalableCuckooFilter;

fn main() {
    let missing = |filter: &ScalableCuckooFilter<u64>| (50_000..100_000).filter(|number| !filter.contains(number)).count();
    let mut filter = ScalableCuckooFilter::new(1000, 0.1);
    for number in 0..100_000 {
        filter.insert(&number);
    }
    for number in 0..50_000 {
        assert!(filter.remove(&number));
    }
    let before = missing(&filter);
    assert_eq!(filter.len(), 50_000);
    filter.shrink_to_fit();
    println!("missing items: {before} before, {} after, len() {}", missing(&filter), filter.len());
    assert!(before == 0 && missing(&filter) > 0);
}
END
