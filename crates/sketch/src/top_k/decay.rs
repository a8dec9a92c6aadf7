//! Decay: how a bucket loses its count to items that are not its own (HeavyKeeper, section 3.2).

use super::MOST_INCREMENT;
use super::random::Random;
use crate::math;

/// A chance below this is taken as none: 2^-64, so 2^32 trials would notice it once in 2^32 times.
const NO_CHANCE: f64 = 1.0 / (1u128 << 64) as f64;

/// Decrements of a bucket that are always borne: a few microseconds an item and row.
const QUICK_DECREMENTS: u64 = 1000;

/// What an increment did to a bucket that another item owns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Contest {
    /// The owner keeps the bucket, with this count (at least 1).
    Kept(u32),
    /// The newcomer takes the bucket, with this count (at least 1).
    Taken(u32),
}

/// The decay of a sketch: each trial lowers a count by one with probability `base`^count.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Decay {
    /// In (0, 1].
    pub base: f64,
    /// 1 / `base`; infinite where that is above the largest double.
    inverse: f64,
    /// `base`^(d 16^i) at `powers[i][d]`, by multiplication alone: the same bits on every machine.
    powers: [[f64; 1 << DIGIT_BITS]; DIGITS],
    /// The smallest count that no longer decays; `u32::MAX` where there is none.
    settled: u32,
    /// Whether no increment takes more than [`QUICK_DECREMENTS`] of them.
    pub is_quick: bool,
}

/// Counts are taken apart into digits of so many bits. Two digits, which is two loads and a product, hold
/// the counts that are likely to decay: with the default decay the chance at 256 is 2e-12. Bit by bit
/// TOPK.ADD took 130 instructions more, for it meets a chance in most of an item's rows.
const DIGIT_BITS: u32 = 4;
/// Digits of a count.
const DIGITS: usize = (u32::BITS / DIGIT_BITS) as usize;

/// Digit `i` of a count, the lowest first.
#[inline(always)]
fn digit(count: u32, i: usize) -> usize {
    (count >> (DIGIT_BITS * i as u32)) as usize % (1 << DIGIT_BITS)
}

impl Decay {
    /// `base` is in (0, 1].
    pub fn new(base: f64) -> Self {
        let mut powers = [[1.0; 1 << DIGIT_BITS]; DIGITS];
        let mut step = base;
        for digits in &mut powers {
            for d in 1..digits.len() {
                digits[d] = digits[d - 1] * step;
            }
            step *= digits[digits.len() - 1];
        }
        let mut decay = Self {
            base,
            inverse: 1.0 / base,
            powers,
            settled: u32::MAX,
            is_quick: false,
        };
        // Bisection for the smallest count with base^count < NO_CHANCE.
        let (mut low, mut high) = (1, u32::MAX);
        while low < high {
            let middle = low + (high - low) / 2;
            if decay.chance(middle) < NO_CHANCE {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        decay.settled = low;
        decay.is_quick = decay.most_decrements(MOST_INCREMENT) <= QUICK_DECREMENTS;
        decay
    }

    /// `base`^`count`, the probability that a trial lowers the count.
    #[inline(always)]
    fn chance(&self, count: u32) -> f64 {
        let chance = self.powers[0][digit(count, 0)] * self.powers[1][digit(count, 1)];
        if count >> (2 * DIGIT_BITS) == 0 {
            chance
        } else {
            self.small_chance(count, chance)
        }
    }

    /// The chance of a count with more than two digits, given the product for these.
    #[inline(never)]
    fn small_chance(&self, count: u32, chance: f64) -> f64 {
        let powers = self.powers.iter().enumerate().skip(2);
        powers.fold(chance, |chance, (i, powers)| {
            chance * powers[digit(count, i)]
        })
    }

    /// About the most decrements that so many trials can bring, see [`Decay::contest`].
    pub fn most_decrements(&self, increment: u32) -> u64 {
        let trials = f64::from(increment);
        let rate = -math::ln(self.base);
        if rate <= 0.0 {
            return 0;
        }
        // A count that is not negative and not above the trials.
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        let most = (math::ln_1p(trials * rate) / rate).min(trials).ceil() as u64;
        most
    }

    /// Whether [`Decay::one_more`] may be asked: there is no chance in a decay of 1.
    pub fn is_chance(&self) -> bool {
        self.base < 1.0
    }

    /// What becomes of a bucket (its owner and count) by one occurrence of the item with this fingerprint: what
    /// [`Decay::contest`] says where it is another's.
    ///
    /// Which of the cases it is makes no branch: in a busy sketch it is as hard to foresee as the random number,
    /// and an item meets seven buckets. With it, and hashed in AVX2, an addition takes
    /// 0.7 to 0.8 of the time it took.
    #[inline(always)]
    pub fn one_more(
        &self,
        (owner, count): (u32, u32),
        fingerprint: u32,
        random: &mut Random,
    ) -> (u32, u32) {
        let is_own = (owner == fingerprint) | (count == 0);
        let is_contested = !is_own & (count < self.settled);
        // Of counts that nothing is asked of, the settled ones among them, the chance is not looked at.
        let chance = self.chance(if is_contested { count } else { 0 });
        let is_lost = is_contested & (random.fraction_if(is_contested) < chance);
        let left = count.wrapping_sub(u32::from(is_lost));
        let is_taken = is_lost & (left == 0);
        let owner = if is_own | is_taken {
            fingerprint
        } else {
            owner
        };
        let gained = count.saturating_add(1);
        (
            owner,
            if is_own {
                gained
            } else {
                left | u32::from(is_taken)
            },
        )
    }

    /// `increment` trials against a bucket with `count` ≥ 1.
    ///
    /// Draws the number of failures before each success instead of every trial: one random number a
    /// decrement. Large counts hardly ever decay, so there are at most about ln(1 + n l) / l decrements
    /// for n trials and l = -ln(base): 88 for n = 100,000 and a base of 0.9, 690 for 0.99, 4,600 for 0.999, and
    /// never more than n (where every other trial succeeds there is no way around one number for
    /// each success, or each failure). None is drawn where nothing can happen or nothing is left to chance.
    #[inline]
    pub fn contest(&self, mut count: u32, increment: u32, random: &mut Random) -> Contest {
        let mut trials = increment;
        if self.base >= 1.0 {
            return if trials < count {
                Contest::Kept(count - trials)
            } else {
                Contest::Taken(trials - count + 1)
            };
        }
        if count >= self.settled {
            return Contest::Kept(count);
        }
        let mut chance = self.chance(count);
        while trials > 0 {
            let Some(failures) = random.failures_before_success(chance, trials) else {
                break;
            };
            trials -= failures;
            count -= 1;
            if count == 0 {
                // The trial that succeeded counts for the newcomer.
                return Contest::Taken(trials);
            }
            trials -= 1;
            chance = (chance * self.inverse).min(1.0);
        }
        Contest::Kept(count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chances_are_powers() {
        for base in [1.0, 0.9, 0.5, 1e-6, 1e-300, f64::from_bits(1)] {
            for count in [0, 1, 2, 3, 7, 255, 256, 511, 512, 1000, u32::MAX] {
                let wanted = f64::powf(base, count.into());
                let got = Decay::new(base).chance(count);
                assert!(
                    (got - wanted).abs() <= wanted * 1e-12,
                    "{base}^{count}: {got}, {wanted}"
                );
            }
        }
    }

    /// One occurrence is decided as several are, with the same random numbers.
    #[test]
    fn one_more_is_an_increment_of_one() {
        let several = |decay: &Decay, (owner, count), fingerprint, random: &mut Random| {
            if count == 0 {
                (fingerprint, 1)
            } else if owner == fingerprint {
                (fingerprint, u32::saturating_add(count, 1))
            } else {
                match decay.contest(count, 1, random) {
                    Contest::Kept(count) => (owner, count),
                    Contest::Taken(count) => (fingerprint, count),
                }
            }
        };
        for base in [0.999_999_999, 0.99, 0.9, 0.5, 1e-6, f64::from_bits(1)] {
            let decay = Decay::new(base);
            assert!(decay.is_chance());
            let settled = decay.settled;
            let edges = [0, 1, 2, 3, 15, 16, 255, 256, 257, u32::MAX - 1, u32::MAX];
            let near = [settled - 1, settled, settled.saturating_add(1)];
            let mut one = Random::from_seed(1);
            let mut other = one;
            for _ in 0..50 {
                for count in edges.into_iter().chain(near) {
                    for owner in [0, 1, 7] {
                        for fingerprint in [0, 1, 9] {
                            let bucket = (owner, count);
                            assert_eq!(
                                decay.one_more(bucket, fingerprint, &mut one),
                                several(&decay, bucket, fingerprint, &mut other),
                                "{bucket:?} {fingerprint} {base}"
                            );
                            assert_eq!(one, other, "{bucket:?} {fingerprint} {base}");
                        }
                    }
                }
            }
        }
        assert!(!Decay::new(1.0).is_chance());
    }

    #[test]
    fn decays_near_one_are_not_quick() {
        for base in [f64::from_bits(1), 0.1, 0.9, 0.99, 0.993, 1.0] {
            assert!(Decay::new(base).is_quick, "{base}");
        }
        for base in [0.994, 0.999, 0.999_999_999] {
            assert!(!Decay::new(base).is_quick, "{base}");
        }
        assert_eq!(Decay::new(0.9).most_decrements(MOST_INCREMENT), 88);
        assert_eq!(Decay::new(0.999_999_999).most_decrements(500), 500);
        assert_eq!(Decay::new(0.9).most_decrements(0), 0);
    }

    #[test]
    fn counts_settle_where_the_chance_is_gone() {
        assert_eq!(Decay::new(0.5).settled, 65);
        assert_eq!(Decay::new(1e-300).settled, 1);
        assert_eq!(Decay::new(f64::from_bits(1)).settled, 1);
        assert_eq!(Decay::new(1.0).settled, u32::MAX);
        let settled = Decay::new(0.9).settled;
        assert!(f64::powf(0.9, settled.into()) < NO_CHANCE);
        assert!(f64::powf(0.9, (settled - 1).into()) >= NO_CHANCE);
    }

    #[test]
    fn with_decay_1_every_trial_succeeds() {
        let (decay, mut random) = (Decay::new(1.0), Random::from_seed(1));
        let mut contest = |count, increment| decay.contest(count, increment, &mut random);
        assert_eq!(contest(5, 0), Contest::Kept(5));
        assert_eq!(contest(5, 4), Contest::Kept(1));
        assert_eq!(contest(5, 5), Contest::Taken(1));
        assert_eq!(contest(5, 100_000), Contest::Taken(99_996));
        assert_eq!(contest(1, u32::MAX), Contest::Taken(u32::MAX));
        assert_eq!(contest(u32::MAX, u32::MAX), Contest::Taken(1));
        assert_eq!(random, Random::from_seed(1));
    }

    #[test]
    fn where_the_chance_underflows_nothing_decays_and_nothing_is_drawn() {
        let mut random = Random::from_seed(1);
        for (base, count) in [(f64::from_bits(1), 1), (1e-30, 1), (0.9, 8000)] {
            let contest = Decay::new(base).contest(count, u32::MAX, &mut random);
            assert_eq!(contest, Contest::Kept(count));
        }
        assert_eq!(random, Random::from_seed(1));
    }
}
