//! Decay: a bucket loses its count to items with other fingerprints (HeavyKeeper, section 3.2).

use super::random::Random;
use super::{DEFAULT_DECAY, MAX_INCREMENT};
use crate::math;

/// Probabilities below 2^-64 count as 0: even in 2^32 trials the difference shows with a probability of 2^-32.
const MIN_PROBABILITY: f64 = 1.0 / (1u128 << 64) as f64;

/// A decay is fast if an increment takes at most this many decrements per bucket.
const MAX_FAST_DECREMENTS: u64 = 1000;

/// The result of an increment for a bucket with another fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Decayed {
    /// The bucket keeps its fingerprint, with this count (at least 1).
    Kept(u32),
    /// The bucket gets the fingerprint of the new item, with this count (at least 1).
    Replaced(u32),
}

/// The decay of a sketch: each trial lowers a count by one with probability `base`^count.
#[derive(Debug, PartialEq)]
pub(super) struct Decay {
    /// In (0, 1].
    pub base: f64,
    /// 1 / `base`; infinite if that exceeds the largest double.
    inverse: f64,
    /// The smallest count that does not decay; `u32::MAX` if there is none.
    stable_count: u32,
    /// Whether no increment takes more than [`MAX_FAST_DECREMENTS`].
    pub is_fast: bool,
    /// `base`^(d 16^i) at `powers[0][i][d]`, computed by multiplication only: the same bits on every machine. Those of the other
    /// digits are computed when they are needed. Empty for [`DEFAULT_DECAY`]: sketches with it share [`DEFAULT_POWERS`], and small
    /// ones are near each other.
    pub powers: Vec<[Powers; STORED_DIGITS]>,
}

/// Bits of a digit of a count. Two digits, which take two loads and a product, cover the counts that are likely to
/// decay: with the default decay the probability at 256 is 2e-12.
const DIGIT_BITS: u32 = 4;
/// Digits of a count.
const DIGITS: usize = (u32::BITS / DIGIT_BITS) as usize;

/// Digits whose powers are stored: with a decay of at most 0.989, longer counts do not decay.
const STORED_DIGITS: usize = 3;

/// The powers of a number from 0 to 15.
type Powers = [f64; 1 << DIGIT_BITS];

/// The powers of a step, and the step of the next digit.
const fn powers_of(step: f64) -> (Powers, f64) {
    let mut powers = [1.0; 1 << DIGIT_BITS];
    let mut d = 1;
    while d < powers.len() {
        powers[d] = powers[d - 1] * step;
        d += 1;
    }
    (powers, step * powers[powers.len() - 1])
}

/// The powers of a decay that are stored.
const fn stored_powers(base: f64) -> [Powers; STORED_DIGITS] {
    let (first, step) = powers_of(base);
    let (second, step) = powers_of(step);
    let (third, _) = powers_of(step);
    [first, second, third]
}

/// Those of the default decay.
static DEFAULT_POWERS: [Powers; STORED_DIGITS] = stored_powers(DEFAULT_DECAY);

/// Digit `i` of a count, the lowest first.
#[inline(always)]
fn digit(count: u32, i: usize) -> usize {
    (count >> (DIGIT_BITS * i as u32)) as usize % (1 << DIGIT_BITS)
}

impl Decay {
    /// Precomputes the powers of `base`, in (0, 1].
    pub fn new(base: f64) -> Self {
        let mut powers = Vec::new();
        if base != DEFAULT_DECAY {
            powers = vec![stored_powers(base)];
        }
        let mut decay = Self {
            base,
            inverse: 1.0 / base,
            stable_count: u32::MAX,
            is_fast: false,
            powers,
        };
        // Bisection for the smallest count with base^count < MIN_PROBABILITY, after a power of two above it.
        let (mut low, mut high) = (1, 1u32);
        while high < u32::MAX && decay.probability(high) >= MIN_PROBABILITY {
            low = high + 1;
            high = high.saturating_mul(2);
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if decay.probability(middle) < MIN_PROBABILITY {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        decay.stable_count = low;
        decay.is_fast = decay.max_decrements(MAX_INCREMENT) <= MAX_FAST_DECREMENTS;
        decay
    }

    #[inline(always)]
    fn powers(&self) -> &[Powers; STORED_DIGITS] {
        self.powers.first().unwrap_or(&DEFAULT_POWERS)
    }

    /// `base`^`count`, the probability that a trial lowers the count.
    #[inline(always)]
    fn probability(&self, count: u32) -> f64 {
        let [first, second, _] = self.powers();
        let product = first[digit(count, 0)] * second[digit(count, 1)];
        if count >> (2 * DIGIT_BITS) == 0 {
            product
        } else {
            self.probability_of_long_count(count, product)
        }
    }

    /// The probability for a count with more than two digits, given the product for the lowest two.
    #[inline(never)]
    fn probability_of_long_count(&self, count: u32, product: f64) -> f64 {
        let [.., third] = self.powers();
        let mut product = product * third[digit(count, 2)];
        let mut step = third[third.len() - 1] * third[1];
        for i in STORED_DIGITS..DIGITS {
            if count >> (DIGIT_BITS * i as u32) == 0 {
                break;
            }
            let powers;
            (powers, step) = powers_of(step);
            product *= powers[digit(count, i)];
        }
        product
    }

    /// An estimate of the maximum number of decrements in this many trials, see [`Decay::apply`].
    pub fn max_decrements(&self, trials: u32) -> u64 {
        let trials = f64::from(trials);
        let rate = -math::ln(self.base);
        if rate <= 0.0 {
            return 0;
        }
        // Not negative and at most the number of trials.
        (math::ln_1p(trials * rate) / rate).min(trials).ceil() as u64
    }

    /// Whether [`Decay::add_one`] may be called. With a decay of 1 every trial succeeds and no random number is drawn.
    pub fn is_random(&self) -> bool {
        self.base < 1.0
    }

    /// The bucket (fingerprint and count) after one occurrence of the item with this fingerprint. Equal to
    /// [`Decay::apply`] with an increment of 1 if the bucket holds another fingerprint.
    ///
    /// Branch-free: which case applies is as hard to predict as the random number.
    #[inline(always)]
    pub fn add_one(
        &self,
        (owner, count): (u32, u32),
        fingerprint: u32,
        random: &mut Random,
    ) -> (u32, u32) {
        let is_own = (owner == fingerprint) | (count == 0);
        let may_decay = !is_own & (count < self.stable_count);
        // The probability is not used if the count cannot decay.
        let probability = self.probability(if may_decay { count } else { 0 });
        let is_decremented = may_decay & (random.next_f64_if(may_decay) < probability);
        let left = count.wrapping_sub(u32::from(is_decremented));
        let is_replaced = is_decremented & (left == 0);
        let owner = if is_own | is_replaced {
            fingerprint
        } else {
            owner
        };
        let incremented = count.saturating_add(1);
        (
            owner,
            if is_own {
                incremented
            } else {
                left | u32::from(is_replaced)
            },
        )
    }

    /// Applies `increment` trials to a bucket with `count` ≥ 1 and another fingerprint.
    ///
    /// Draws the number of failures before each success instead of each trial: one random number per decrement. Large
    /// counts rarely decay, so n trials take at most about ln(1 + n l) / l decrements with l = -ln(base): 88 for n
    /// = 100,000 and a base of 0.9, 690 for 0.99, 4,600 for 0.999, and never more than n. Draws no number if the count
    /// cannot decay or the decay is 1.
    #[inline]
    pub fn apply(&self, mut count: u32, increment: u32, random: &mut Random) -> Decayed {
        let mut trials = increment;
        if self.base >= 1.0 {
            return if trials < count {
                Decayed::Kept(count - trials)
            } else {
                Decayed::Replaced(trials - count + 1)
            };
        }
        if count >= self.stable_count {
            return Decayed::Kept(count);
        }
        let mut probability = self.probability(count);
        while trials > 0 {
            let Some(failures) = random.failures_before_success(probability, trials) else {
                break;
            };
            trials -= failures;
            count -= 1;
            if count == 0 {
                // The successful trial counts for the new item.
                return Decayed::Replaced(trials);
            }
            trials -= 1;
            probability = (probability * self.inverse).min(1.0);
        }
        Decayed::Kept(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn probabilities_are_powers_of_the_base() {
        for base in [1.0, 0.9, 0.5, 1e-6, 1e-300, f64::from_bits(1)] {
            for count in [0, 1, 2, 3, 7, 255, 256, 511, 512, 1000, u32::MAX] {
                let expected = f64::powf(base, count.into());
                let got = Decay::new(base).probability(count);
                let is_close = (got - expected).abs() <= expected * 1e-12;
                assert!(is_close, "{base}^{count}: {got}, {expected}");
            }
        }
    }

    /// A replica with all powers in a table decides the same.
    #[test]
    fn probabilities_equal_those_of_a_table_of_all_digits() {
        for base in [
            1.0,
            1.0 - f64::EPSILON,
            0.999_999_99,
            0.9999,
            0.99,
            0.9,
            0.3,
            1e-300,
        ] {
            let decay = Decay::new(base);
            let mut step = base;
            let table: Vec<[f64; 16]> = (0..DIGITS)
                .map(|_| {
                    let mut powers = [1.0; 16];
                    for d in 1..16 {
                        powers[d] = powers[d - 1] * step;
                    }
                    step *= powers[15];
                    powers
                })
                .collect();
            let bits = (0..32).map(|bit| 1u32 << bit);
            let counts =
                bits.flat_map(|bit| [bit - 1, bit, bit + 1, bit.wrapping_mul(0x9e37_79b9)]);
            for count in counts.chain(0..70_000).chain([u32::MAX]) {
                let expected =
                    (0..DIGITS).fold(1.0, |product, i| product * table[i][digit(count, i)]);
                let got = decay.probability(count);
                assert_eq!(got.to_bits(), expected.to_bits(), "{base}^{count}");
            }
        }
    }

    #[test]
    fn add_one_equals_an_increment_of_one_with_the_same_random_numbers() {
        let several = |decay: &Decay, (owner, count), fingerprint, random: &mut Random| {
            if count == 0 {
                (fingerprint, 1)
            } else if owner == fingerprint {
                (fingerprint, u32::saturating_add(count, 1))
            } else {
                match decay.apply(count, 1, random) {
                    Decayed::Kept(count) => (owner, count),
                    Decayed::Replaced(count) => (fingerprint, count),
                }
            }
        };
        for base in [0.999_999_999, 0.99, 0.9, 0.5, 1e-6, f64::from_bits(1)] {
            let decay = Decay::new(base);
            assert!(decay.is_random());
            let stable_count = decay.stable_count;
            let edges = [0, 1, 2, 3, 15, 16, 255, 256, 257, u32::MAX - 1, u32::MAX];
            let near = [
                stable_count - 1,
                stable_count,
                stable_count.saturating_add(1),
            ];
            let mut one = Random::from_seed(1);
            let mut other = one;
            for _ in 0..50 {
                for count in edges.into_iter().chain(near) {
                    for owner in [0, 1, 7] {
                        for fingerprint in [0, 1, 9] {
                            let bucket = (owner, count);
                            assert_eq!(
                                decay.add_one(bucket, fingerprint, &mut one),
                                several(&decay, bucket, fingerprint, &mut other),
                                "{bucket:?} {fingerprint} {base}"
                            );
                            assert_eq!(one, other, "{bucket:?} {fingerprint} {base}");
                        }
                    }
                }
            }
        }
        assert!(!Decay::new(1.0).is_random());
    }

    #[test]
    fn decays_near_one_are_not_fast() {
        for base in [f64::from_bits(1), 0.1, 0.9, 0.99, 0.993, 1.0] {
            assert!(Decay::new(base).is_fast, "{base}");
        }
        for base in [0.994, 0.999, 0.999_999_999] {
            assert!(!Decay::new(base).is_fast, "{base}");
        }
        assert_eq!(Decay::new(0.9).max_decrements(MAX_INCREMENT), 88);
        assert_eq!(Decay::new(0.999_999_999).max_decrements(500), 500);
        assert_eq!(Decay::new(0.9).max_decrements(0), 0);
    }

    #[test]
    fn counts_with_a_negligible_probability_are_stable() {
        assert_eq!(Decay::new(0.5).stable_count, 65);
        assert_eq!(Decay::new(1e-300).stable_count, 1);
        assert_eq!(Decay::new(f64::from_bits(1)).stable_count, 1);
        assert_eq!(Decay::new(1.0).stable_count, u32::MAX);
        let stable_count = Decay::new(0.9).stable_count;
        assert!(f64::powf(0.9, stable_count.into()) < MIN_PROBABILITY);
        assert!(f64::powf(0.9, (stable_count - 1).into()) >= MIN_PROBABILITY);
        for base in [0.3, 0.7, 0.985, 0.99, 0.9999, 0.999_999, 0.999_999_98] {
            let decay = Decay::new(base);
            let is_low = decay.probability(decay.stable_count) < MIN_PROBABILITY;
            assert!(is_low, "{base}");
            let is_high = decay.probability(decay.stable_count - 1) >= MIN_PROBABILITY;
            assert!(is_high, "{base}");
        }
    }

    #[test]
    fn a_count_with_a_negligible_probability_draws_no_random_number() {
        let mut random = Random::from_seed(1);
        for (base, count) in [(f64::from_bits(1), 1), (1e-30, 1), (0.9, 8000)] {
            let decayed = Decay::new(base).apply(count, u32::MAX, &mut random);
            assert_eq!(decayed, Decayed::Kept(count));
        }
        assert_eq!(random, Random::from_seed(1));
    }
}
