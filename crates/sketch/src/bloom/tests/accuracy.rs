//! The false-positive rate is at most the specified one.
//!
//! The items are fixed, so the tests are deterministic. For random items a correct filter would fail with a probability
//! below 1e-6: a binomial count of mean m exceeds m + 5·√m + 10 with a lower probability.

use super::*;

const PROBES: u32 = 200_000;

fn false_positives(chain: &Chain) -> u32 {
    let absent = (0..PROBES).map(|i| (u64::from(i) | 1 << 40).to_le_bytes());
    absent.filter(|item| contains(chain, item)).count() as u32
}

fn bound(rate: f64) -> u32 {
    let mean = f64::from(PROBES) * rate;
    (mean + 5.0 * mean.sqrt() + 10.0) as u32
}

fn fill(chain: &mut Chain, items: u64) {
    for i in 0..items {
        // A full chain that does not scale refuses items. The test then uses the items that were added before.
        let _ = add(chain, &i.to_le_bytes());
    }
}

#[test]
fn the_rate_is_within_the_limit_at_capacity() {
    for error_rate in [0.1, 0.01, 0.001] {
        let mut chain = chain(20_000, error_rate, 2);
        fill(&mut chain, 20_000);
        assert_eq!(chain.filters().len(), 1);
        let found = false_positives(&chain);
        // The first filter of a scaling chain has half the specified rate.
        assert!(found <= bound(error_rate / 2.0), "{found} at {error_rate}");
    }
}

#[test]
fn the_rate_is_within_the_limit_after_six_expansions() {
    for error_rate in [0.1, 0.01, 0.001] {
        let mut chain = chain(500, error_rate, 2);
        fill(&mut chain, 500 * 127);
        assert_eq!(chain.filters().len(), 7);
        let found = false_positives(&chain);
        assert!(found <= bound(error_rate), "{found} at {error_rate}");
    }
}

#[test]
fn a_full_chain_that_does_not_scale_has_the_theoretical_rate() {
    let mut chain = chain(20_000, 0.01, 0);
    fill(&mut chain, 20_000);
    let found = false_positives(&chain);
    // The rate of this layout in theory (Bloom 1970). It is slightly above 1 %, because the number of hashes is rounded
    // up.
    let shape = chain.filters()[0].shape();
    let hashes = f64::from(shape.hashes);
    let set = 1.0 - (-hashes * 20_000.0 / shape.bits as f64).exp();
    let theory = set.powf(hashes);
    assert!(theory < 0.0101, "{theory}");
    assert!(found <= bound(theory), "{found}");
}
