//! Decay of buckets, and its random numbers (docs/contributing/formats.md, "Top-k").

/// Bases of the decay.
pub const BASES: [f64; 6] = [0.9, 0.5, 1.0, 0.999, 1e-300, 0.1];

/// The lower bits of the state: a counter. The others are a tag.
const COUNTER: u64 = (1 << 48) - 1;

/// The random state and the base of the decay.
#[derive(Debug, Clone, Copy)]
pub struct Random {
    base: f64,
    counter: u64,
}

/// Stafford's variant 13 of the finalizer of MurmurHash3.
pub fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

impl Random {
    /// Starts from a stored state of eight bytes.
    pub fn new(base: f64, stored: &[u8]) -> Self {
        let stored = u64::from_le_bytes(stored.try_into().expect("eight bytes"));
        let random = Self {
            base,
            counter: stored & COUNTER,
        };
        assert_eq!(random.stored(), stored);
        random
    }

    /// The stored state.
    pub fn stored(&self) -> u64 {
        (mix(self.counter ^ 0x546f_704b_2d54_5950) >> 48 | 1) << 48 | self.counter
    }

    /// A number in [0, 1).
    fn next(&mut self) -> f64 {
        self.counter = (self.counter + 1) & COUNTER;
        let bits = mix(self.counter.wrapping_mul(0x9e37_79b9_7f4a_7c15)) >> 11;
        bits as f64 / (1u64 << 53) as f64
    }

    /// `base`^`count` as a product of powers for each digit to the base 16.
    fn probability(&self, count: u32) -> f64 {
        let (mut step, mut product) = (self.base, 1.0);
        for digit in 0..8 {
            let powers = std::iter::successors(Some(1.0), |power| Some(power * step));
            let powers: Vec<f64> = powers.take(16).collect();
            product *= powers[(count >> (4 * digit)) as usize % 16];
            step *= powers[15];
        }
        product
    }

    /// The number of failures before the first success; at least `trials` if there is none.
    fn failures(&mut self, probability: f64, trials: u32) -> u64 {
        let drawn = self.next();
        if drawn < probability {
            return 0;
        }
        let squares = std::iter::successors(Some(1.0 - probability), |power| Some(power * power));
        let squares: Vec<f64> = squares.take(32).collect();
        let (mut failures, mut reached) = (0u64, 1.0);
        for (i, square) in squares.iter().enumerate().rev() {
            if trials >> i != 0 && reached * square >= 1.0 - drawn {
                reached *= square;
                failures |= 1 << i;
            }
        }
        failures
    }

    /// The count of a bucket after `trials` additions of another item. If that item takes the bucket, its count.
    pub fn decay(&mut self, mut count: u32, mut trials: u32) -> (u32, Option<u32>) {
        if self.base == 1.0 {
            return match trials.checked_sub(count) {
                Some(left) => (0, Some(left + 1)),
                None => (count - trials, None),
            };
        }
        let mut probability = self.probability(count);
        if probability < 2f64.powi(-64) {
            return (count, None);
        }
        while trials > 0 {
            let failures = self.failures(probability, trials);
            if failures >= u64::from(trials) {
                break;
            }
            trials -= failures as u32;
            count -= 1;
            if count == 0 {
                return (0, Some(trials));
            }
            trials -= 1;
            probability = (probability * (1.0 / self.base)).min(1.0);
        }
        (count, None)
    }
}
