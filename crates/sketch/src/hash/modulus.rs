//! Remainders by a fixed divisor, without a division instruction.

/// A divisor prepared for many remainders of 32-bit or 64-bit numbers.
///
/// `x mod d` is `x - d * floor(x / d)`. With b bits and `inverse = floor((2^b - 1) / d)` the high half of `x * inverse`
/// is the quotient or one less: `x * inverse / 2^b = x/d - x(1 + e)/(d * 2^b)` for the remainder `e < d` of `2^b - 1`,
/// and the second term is below 1. So one conditional subtraction makes it exact. (Granlund & Montgomery, "Division by
/// Invariant Integers using Multiplication", PLDI 1994, in its simplest form.) Unlike divisions, multiplications are
/// pipelined, and there are vector instructions for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Modulus<T> {
    /// 0 represents a divisor above the largest number, which leaves all numbers unchanged.
    divisor: T,
    inverse: T,
}

macro_rules! modulus {
    ($word:ty, $wide:ty) => {
        impl Modulus<$word> {
            /// Prepares `divisor`; 0 counts as 1.
            #[must_use]
            pub fn new(divisor: u64) -> Self {
                match <$word>::try_from(divisor.max(1)) {
                    Ok(divisor) => Self {
                        divisor,
                        inverse: <$word>::MAX / divisor,
                    },
                    Err(_) => Self {
                        divisor: 0,
                        inverse: 0,
                    },
                }
            }

            /// The same from its parts, without a division: a divisor of at least 1, and the
            /// [`inverse`](Self::inverse) of its modulus.
            #[inline(always)]
            #[must_use]
            pub fn of_parts(divisor: $word, inverse: $word) -> Self {
                Self { divisor, inverse }
            }

            /// The number that replaces a division; see [`of_parts`](Self::of_parts).
            #[must_use]
            pub fn inverse(self) -> $word {
                self.inverse
            }

            /// The divisor; 0 if it is above the largest number.
            #[must_use]
            pub fn divisor(self) -> $word {
                self.divisor
            }

            /// `x mod divisor`.
            #[inline(always)]
            #[must_use]
            pub fn of(self, x: $word) -> $word {
                let product = <$wide>::from(x) * <$wide>::from(self.inverse);
                let quotient = (product >> <$word>::BITS) as $word;
                let rest = x.wrapping_sub(quotient.wrapping_mul(self.divisor));
                // If it is below the divisor, the difference wraps to a large number.
                rest.min(rest.wrapping_sub(self.divisor))
            }

            /// Replaces each number by its remainder. Always inlined, so that it uses the vector instructions of its caller.
            #[inline(always)]
            pub fn replace(self, numbers: &mut [$word]) {
                for number in numbers {
                    *number = self.of(*number);
                }
            }
        }
    };
}

modulus!(u32, u64);
modulus!(u64, u128);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Numbers for which remainders are error-prone: multiples of the divisor and their neighbors.
    fn numbers_near_multiples(divisor: u64) -> impl Iterator<Item = u64> {
        [
            0,
            1,
            2,
            3,
            u64::MAX / divisor,
            u64::from(u32::MAX) / divisor,
        ]
        .into_iter()
        .filter_map(move |factor| divisor.checked_mul(factor))
        .flat_map(|x| [x.wrapping_sub(1), x, x.wrapping_add(1)])
        .chain([
            u64::MAX,
            u64::MAX - 1,
            1 << 63,
            u64::from(u32::MAX),
            1 << 31,
        ])
    }

    fn check(divisor: u64) {
        for x in numbers_near_multiples(divisor) {
            let found = Modulus::<u64>::new(divisor).of(x);
            assert_eq!(found, x % divisor, "{x} mod {divisor}");
            if let Ok(x) = u32::try_from(x) {
                let modulus = Modulus::<u32>::new(divisor);
                let remainder = (u64::from(x) % divisor) as u32;
                assert_eq!(modulus.of(x), remainder, "{x} mod {divisor}");
                let mut several = [x; 3];
                modulus.replace(&mut several);
                assert_eq!(several, [remainder; 3], "{x} mod {divisor}");
            }
        }
    }

    #[test]
    fn remainders_are_exact_at_the_edges() {
        let edges = (0..64).flat_map(|bit| [(1u64 << bit) - 1, 1 << bit, (1 << bit) + 1]);
        let divisors = (1..2000).chain(edges).chain([u64::MAX - 1, u64::MAX]);
        divisors.filter(|&divisor| divisor > 0).for_each(check);
    }

    #[test]
    fn a_divisor_of_0_counts_as_1() {
        assert_eq!(Modulus::<u32>::new(0).of(7), 0);
        assert_eq!(Modulus::<u64>::new(0).of(7), 0);
    }

    proptest! {
        #[test]
        fn remainders_are_exact(x: u64, divisor: u64, shift in 0u32..64) {
            let divisor = (divisor >> shift).max(1);
            check(divisor);
            prop_assert_eq!(Modulus::<u64>::new(divisor).of(x), x % divisor);
            let small = (x >> 32) as u32;
            prop_assert_eq!(Modulus::<u32>::new(divisor).of(small), (u64::from(small) % divisor) as u32);
        }
    }
}
