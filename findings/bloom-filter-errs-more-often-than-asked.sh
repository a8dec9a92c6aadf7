#!/usr/bin/env bash
# bloomfilter 3.0.2 (crate): filters created for false-positive rates of 1 %, .1 % and .01 % have 3.7, 2.3 and .9 %.
#
# Each filter has as many items as it was created for, 100,000 consecutive numbers, and 1,000,000 others are searched. Its bits and hash
# functions are those that the rate needs (Bloom 1970): 14.4 bits per item and 10 functions for .1 %. Other seeds, strings and 100 to 10,000
# items give similar rates.
cd "$(dirname "$0")"
. lib/packages.sh
rust_with bloomfilter@3.0.2 <<'END'
use bloomfilter::Bloom;

fn main() {
    let (items, others) = (100_000, 1_000_000);
    for (wanted, expected) in [(0.01, 36_500..37_500), (0.001, 22_500..24_000), (0.0001, 8_800..9_800)] {
        let mut filter = Bloom::<u64>::new_for_fp_rate_with_seed(items, wanted, &[1; 32]).unwrap();
        for item in 0..items as u64 {
            filter.set(&item);
        }
        let found = (items as u64..).take(others).filter(|item| filter.check(item)).count();
        println!(
            "{:.1} bits per item, {} functions: {wanted} wanted, {}",
            filter.len() as f64 / items as f64,
            filter.number_of_hash_functions(),
            found as f64 / others as f64
        );
        assert!(expected.contains(&found));
    }
}
END
