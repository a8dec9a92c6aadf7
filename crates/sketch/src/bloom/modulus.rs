//! Remainders by a divisor that stays the same, without a division instruction.

/// A divisor prepared for many remainders.
///
/// `x mod d` is `x - d * floor(x / d)`. With `inverse = floor((2^64 - 1) / d)` the high half of
/// `x * inverse` is the quotient or one less: `x * inverse / 2^64 = x/d - x(1 + e)/(d * 2^64)` for the
/// remainder `e < d` of `2^64 - 1`, and the second term is below 1. So one conditional subtraction
/// makes it exact. (Granlund & Montgomery, "Division by Invariant Integers using Multiplication",
/// PLDI 1994, in its simplest form.) Two multiplications against a division of 20 to 40 cycles on
/// older processors, and they pipeline where divisions do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Modulus {
    divisor: u64,
    inverse: u64,
}

impl Modulus {
    /// Prepares `divisor`; 0 is taken as 1.
    #[must_use]
    pub fn new(divisor: u64) -> Self {
        let divisor = divisor.max(1);
        Self {
            divisor,
            inverse: u64::MAX / divisor,
        }
    }

    /// `x mod divisor`.
    #[inline(always)]
    #[must_use]
    pub fn of(self, x: u64) -> u64 {
        #[allow(clippy::cast_possible_truncation)]
        let quotient = ((u128::from(x) * u128::from(self.inverse)) >> 64) as u64;
        let rest = x.wrapping_sub(quotient.wrapping_mul(self.divisor));
        // Below the divisor the difference wraps to something large.
        rest.min(rest.wrapping_sub(self.divisor))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn edges() {
        for divisor in [1, 2, 3, 64, 640, 1 << 32, (1 << 63) - 1, 1 << 63, u64::MAX] {
            for x in [
                0,
                1,
                divisor - 1,
                divisor,
                divisor.wrapping_mul(3),
                u64::MAX - 1,
                u64::MAX,
            ] {
                assert_eq!(
                    Modulus::new(divisor).of(x),
                    x % divisor,
                    "{x} mod {divisor}"
                );
            }
        }
    }

    proptest! {
        #[test]
        fn is_the_remainder(x: u64, divisor: u64, shift in 0u32..64) {
            let divisor = (divisor >> shift).max(1);
            prop_assert_eq!(Modulus::new(divisor).of(x), x % divisor);
        }
    }
}
