//! The false-positive rate is at most the specified one.
//!
//! The items are fixed, so the tests are deterministic. For random items a correct filter would fail with a probability
//! below 1e-6: a binomial count of mean m exceeds m + 5·√m + 10 with a lower probability.

use super::*;

const PROBES: u32 = 200_000;

fn false_positives(chain: &ValkeyChain) -> u32 {
    let absent: Vec<_> = ((0..PROBES).map(|i| (u64::from(i) | 1 << 40).to_le_bytes())).collect();
    let mut found = 0;
    chain.contains_each(absent.iter().map(|item| &item[..]), |is_found| {
        found += u32::from(is_found);
    });
    found
}

fn bound(rate: f64) -> u32 {
    let mean = f64::from(PROBES) * rate;
    (mean + 5.0 * mean.sqrt() + 10.0) as u32
}

/// Adds this many items. Some are false positives, which the chain does not count.
fn fill(chain: &mut ValkeyChain, items: u64) {
    for item in 0..items {
        add(chain, &item.to_le_bytes()).unwrap();
    }
}

#[test]
fn a_full_filter_has_the_theoretical_rate() {
    for error_rate in [0.1, 0.01, 0.001] {
        let mut chain = chain(20_000, error_rate, 0);
        fill(&mut chain, 20_000);
        let filter = &chain.filters()[0];
        // The rate of this layout in theory (Bloom 1970).
        let hashes = f64::from(filter.hashes());
        let bits = filter.bits().len() as f64 * 8.0;
        let theory = (1.0 - (-hashes * 20_000.0 / bits).exp()).powf(hashes);
        assert!(theory < error_rate * 1.03, "{theory}");
        let found = false_positives(&chain);
        assert!(found <= bound(theory), "{found} at {error_rate}");
    }
}

#[test]
fn the_rate_of_a_chain_is_at_most_the_sum_of_its_filters() {
    for error_rate in [0.1, 0.01, 0.001] {
        let mut chain = chain(500, error_rate, 2);
        fill(&mut chain, 500 * 127);
        assert_eq!(chain.filters().len(), 7);
        let sum: f64 = (0..7).map(|index| chain.error_rate_of(index)).sum();
        let found = false_positives(&chain);
        assert!(found <= bound(sum * 1.03), "{found} at {error_rate}");
    }
}
