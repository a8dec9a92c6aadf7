//! The random numbers of a sketch: a generator whose counter is part of the state.
//!
//! Replicas, AOF replays and copies continue from the same counter and decay the same buckets (docs/contributing/formats.md, "Top-k").
//! No function of the mathematical library is used: its results differ between
//! machines, and a replica must make the same decisions on any processor.

use crate::hash::seeded_rows::{STEP, finalize};

/// Bits of the counter. The other 16 bits of its stored form are a tag.
const COUNTER_BITS: u32 = 48;
const COUNTER_MASK: u64 = (1 << COUNTER_BITS) - 1;

/// A generator with 2^48 states in one cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Random {
    counter: u64,
}

impl Random {
    /// Starts from the lower 48 bits of a number.
    pub fn from_seed(seed: u64) -> Self {
        Self {
            counter: seed & COUNTER_MASK,
        }
    }

    /// The stored form: the counter, and above it a tag. RedisBloom stores an address in this field; the tag
    /// distinguishes the two.
    pub fn to_stored(self) -> u64 {
        tag(self.counter) << COUNTER_BITS | self.counter
    }

    /// Reads the stored form; `None` if the tag is wrong.
    pub fn from_stored(stored: u64) -> Option<Self> {
        let random = Self::from_seed(stored);
        (random.to_stored() == stored).then_some(random)
    }

    /// The next number, uniform among the multiples of 2^-53 in [0, 1).
    #[inline]
    pub fn next_f64(&mut self) -> f64 {
        self.counter = (self.counter + 1) & COUNTER_MASK;
        let bits = finalize(self.counter.wrapping_mul(STEP)) >> 11;
        bits as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// The next number if `wanted`; otherwise an unspecified number, and the state does not change. Without a branch.
    #[inline(always)]
    pub fn next_f64_if(&mut self, wanted: bool) -> f64 {
        let mut next = *self;
        let number = next.next_f64();
        self.counter = (self.counter + u64::from(wanted)) & COUNTER_MASK;
        number
    }

    /// The number of trials that fail before the first success, if each trial succeeds with this probability, in (0,
    /// 1]; `None` if none of `trials` succeeds. Draws one random number.
    ///
    /// The number of failures has a geometric distribution, and is computed by inversion of its distribution function:
    /// the result is the largest g for which (1 - probability)^g is at least the random number. Repeated squaring and
    /// bisection find it in about 2 log2(g) multiplications.
    #[inline]
    pub fn failures_before_success(&mut self, probability: f64, trials: u32) -> Option<u32> {
        let drawn = self.next_f64();
        if trials == 0 {
            return None;
        }
        if drawn < probability {
            return Some(0);
        }
        if trials == 1 {
            return None;
        }
        // In (0, 1]. There are at least g failures if (1 - probability)^g reaches it.
        let threshold = 1.0 - drawn;
        // powers[i] = (1 - probability)^(2^i), up to the threshold and the number of trials.
        let mut powers = [0.0; u32::BITS as usize];
        let mut known = 0;
        let mut power = 1.0 - probability;
        while known < powers.len() && trials >> known != 0 && power >= threshold {
            powers[known] = power;
            known += 1;
            power *= power;
        }
        let mut failures = 0u32;
        let mut reached = 1.0;
        for i in (0..known).rev() {
            let product = reached * powers[i];
            if product >= threshold {
                reached = product;
                failures |= 1 << i;
            }
        }
        (failures < trials).then_some(failures)
    }
}

/// The 16 bits stored above a counter: never zero, unlike the upper bits of an address.
fn tag(counter: u64) -> u64 {
    /// An arbitrary constant. It is part of the format.
    const TAG_KEY: u64 = 0x546f_704b_2d54_5950;
    finalize(counter ^ TAG_KEY) >> COUNTER_BITS | 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn only_the_stored_form_of_a_state_is_accepted(seed: u64, flipped in 0u32..64) {
            let random = Random::from_seed(seed);
            let stored = random.to_stored();
            prop_assert_eq!(Random::from_stored(stored), Some(random));
            prop_assert_ne!(stored >> 48, 0);
            // An address.
            prop_assert_eq!(Random::from_stored(stored & COUNTER_MASK), None);
            if flipped >= 48 {
                prop_assert_eq!(Random::from_stored(stored ^ 1 << flipped), None);
            }
        }
    }

    #[test]
    fn the_sequence_never_changes() {
        let mut random = Random::from_seed(0);
        let first: Vec<u64> = (0..3).map(|_| random.next_f64().to_bits()).collect();
        // SplitMix64's first outputs for seed 0 are e220a8397b1dcdaf, 6e789e6aa1b965f4 and
        // 06c45d188009454f; these are their upper 53 bits as fractions.
        let expected = [
            0xe220_a839_7b1d_cdaf_u64,
            0x6e78_9e6a_a1b9_65f4,
            0x06c4_5d18_8009_454f,
        ];
        let expected = expected.map(|bits| ((bits >> 11) as f64 / 2f64.powi(53)).to_bits());
        assert_eq!(first, expected);
        assert_eq!(Random::from_seed(1).to_stored() & COUNTER_MASK, 1);
    }

    #[test]
    fn the_counter_wraps_within_its_48_bits() {
        let mut random = Random::from_seed(COUNTER_MASK);
        random.next_f64();
        assert_eq!(random, Random::from_seed(0));
    }

    #[test]
    fn certain_trials_succeed_and_negligible_ones_fail() {
        let mut random = Random::from_seed(7);
        for trials in [1, 2, 100_000, u32::MAX] {
            assert_eq!(random.failures_before_success(1.0, trials), Some(0));
            assert_eq!(random.failures_before_success(1e-300, trials), None);
        }
        assert_eq!(random.failures_before_success(1.0, 0), None);
    }
}
