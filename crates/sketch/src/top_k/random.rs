//! The random numbers of a sketch: a counter that belongs to its state.
//!
//! Replicas, replays of the AOF and copies go on from the same counter and so decay the same buckets
//! (spec: top-k.md, "Randomness is part of the state"). Nothing here calls the mathematical library,
//! whose last digits differ between machines: a replica must take the same decisions on another kind of
//! processor.

/// The counter has this many bits, so that its stored form has 16 left for a tag.
const COUNTER_BITS: u32 = 48;
const COUNTER_MASK: u64 = (1 << COUNTER_BITS) - 1;

/// 2^64 divided by the golden ratio, made odd: spreads neighbouring counters (Steele, Lea, Flood: Fast
/// Splittable Pseudorandom Number Generators, 2014).
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// A generator with 2^48 states, all on one cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Random {
    counter: u64,
}

impl Random {
    /// Starts from a number of which 48 bits count.
    pub fn from_seed(seed: u64) -> Self {
        Self {
            counter: seed & COUNTER_MASK,
        }
    }

    /// The stored form: the counter, and above it a tag that tells it from the addresses that the peer
    /// leaves in this place.
    pub fn to_stored(self) -> u64 {
        tag(self.counter) << COUNTER_BITS | self.counter
    }

    /// Reads the stored form; `None` if the tag is not ours.
    pub fn from_stored(stored: u64) -> Option<Self> {
        let random = Self::from_seed(stored);
        (random.to_stored() == stored).then_some(random)
    }

    /// The next number: uniform among the multiples of 2^-53 in [0, 1).
    #[inline]
    pub fn fraction(&mut self) -> f64 {
        self.counter = (self.counter + 1) & COUNTER_MASK;
        let bits = mix(self.counter.wrapping_mul(GOLDEN)) >> 11;
        #[allow(clippy::cast_precision_loss)]
        let fraction = bits as f64 * (1.0 / (1u64 << 53) as f64);
        fraction
    }

    /// The next number if it is `wanted`, else one that is not to be looked at: without a branch.
    #[inline(always)]
    pub fn fraction_if(&mut self, wanted: bool) -> f64 {
        let mut next = *self;
        let fraction = next.fraction();
        self.counter = (self.counter + u64::from(wanted)) & COUNTER_MASK;
        fraction
    }

    /// How many trials fail before the first success, where each succeeds with probability `chance` (in
    /// (0, 1]); `None` if none of `trials` succeeds. One random number, however many the trials.
    ///
    /// The number of failures is geometric, so the random number is looked up in the distribution's
    /// inverse: the largest g with (1 - chance)^g at least that number, found by repeated squaring and
    /// bisection in about 2 log2(g) multiplications.
    #[inline]
    pub fn failures_before_success(&mut self, chance: f64, trials: u32) -> Option<u32> {
        let fraction = self.fraction();
        if trials == 0 {
            return None;
        }
        if fraction < chance {
            return Some(0);
        }
        if trials == 1 {
            return None;
        }
        // In (0, 1]; at least g failures come first where (1 - chance)^g reaches it.
        let threshold = 1.0 - fraction;
        // powers[i] = (1 - chance)^(2^i), as far as the threshold and the trials allow.
        let mut powers = [0.0; u32::BITS as usize];
        let mut known = 0;
        let mut power = 1.0 - chance;
        while known < powers.len() && trials >> known != 0 && power >= threshold {
            powers[known] = power;
            known += 1;
            power *= power;
        }
        let mut failures = 0u32;
        let mut reached = 1.0;
        for i in (0..known).rev() {
            let further = reached * powers[i];
            if further >= threshold {
                reached = further;
                failures |= 1 << i;
            }
        }
        (failures < trials).then_some(failures)
    }
}

/// The 16 bits stored above a counter: never zero, as an address's are.
fn tag(counter: u64) -> u64 {
    /// Any constant would do; it must never change.
    const TAG_KEY: u64 = 0x546f_704b_2d54_5950;
    mix(counter ^ TAG_KEY) >> COUNTER_BITS | 1
}

/// A permutation of 64-bit numbers whose every output bit depends on every input bit (Stafford's
/// variant 13 of the MurmurHash3 finalizer, as in SplitMix64).
#[inline]
fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_stored_form_comes_back_and_nothing_else_does(seed: u64, flipped in 0u32..64) {
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
        let first: Vec<u64> = (0..3).map(|_| random.fraction().to_bits()).collect();
        // SplitMix64's first outputs for seed 0 are e220a8397b1dcdaf, 6e789e6aa1b965f4 and
        // 06c45d188009454f; these are their upper 53 bits as fractions.
        let wanted = [
            0xe220_a839_7b1d_cdaf_u64,
            0x6e78_9e6a_a1b9_65f4,
            0x06c4_5d18_8009_454f,
        ];
        let wanted = wanted.map(|bits| ((bits >> 11) as f64 / 2f64.powi(53)).to_bits());
        assert_eq!(first, wanted);
        assert_eq!(Random::from_seed(1).to_stored() & COUNTER_MASK, 1);
    }

    #[test]
    fn the_counter_wraps_within_its_48_bits() {
        let mut random = Random::from_seed(COUNTER_MASK);
        random.fraction();
        assert_eq!(random, Random::from_seed(0));
    }

    #[test]
    fn certain_and_hopeless_trials() {
        let mut random = Random::from_seed(7);
        for trials in [1, 2, 100_000, u32::MAX] {
            assert_eq!(random.failures_before_success(1.0, trials), Some(0));
            assert_eq!(random.failures_before_success(1e-300, trials), None);
        }
        assert_eq!(random.failures_before_success(1.0, 0), None);
    }
}
