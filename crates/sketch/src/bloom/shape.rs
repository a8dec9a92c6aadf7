//! How large a filter is: from capacity and error rate to bits and hashes.
//!
//! Spec: bloom.md, "Parameters and layout". The constants are literal, truncated as written there:
//! they decide bits.

use crate::math;

/// ln(2)², truncated.
const LN2_SQUARED: f64 = 0.480_453_013_918_201;
/// ln(2), truncated.
#[allow(clippy::approx_constant)]
const LN2: f64 = 0.693_147_180_559_945;

/// How the number of bits follows from the capacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sizing {
    /// What new chains use: as many bits as the capacity needs.
    Exact,
    /// Old chains without [`NO_ROUNDING`](super::options::NO_ROUNDING): the next power of two, and the
    /// capacity grows to fill it.
    PowerOfTwo,
    /// Old chains with [`ENTRIES_IS_BITS`](super::options::ENTRIES_IS_BITS): the "capacity" is the
    /// exponent of the power of two.
    Exponent,
}

/// The parameters of one filter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shape {
    /// Items it takes before it counts as full.
    pub capacity: u64,
    /// False-positive rate it was made for, in (0, 1).
    pub error_rate: f64,
    /// Bits an entry, a real number.
    pub bits_per_entry: f64,
    /// Probes an item.
    pub hashes: u32,
    /// Bits of the array, rounded up to whole bytes (new filters: to 64).
    pub bits: u64,
    /// 0, or the exponent of the power of two that is the modulus in old files.
    pub power: u8,
}

/// Bits an entry takes at an error rate: |ln e| / ln(2)².
#[must_use]
pub fn bits_per_entry(error_rate: f64) -> f64 {
    math::ln(error_rate).abs() / LN2_SQUARED
}

/// Probes that a filter of so many bits an entry makes.
#[must_use]
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
pub fn hashes_for(bits_per_entry: f64) -> u32 {
    (LN2 * bits_per_entry).ceil() as u32
}

impl Shape {
    /// The shape for `capacity` items at `error_rate`. `None` if the two make no filter: a rate outside
    /// (0, 1), no capacity, or more bits than can be counted.
    #[must_use]
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss
    )]
    pub fn new(capacity: u64, error_rate: f64, sizing: Sizing) -> Option<Self> {
        if !(error_rate > 0.0 && error_rate < 1.0) {
            return None;
        }
        let bits_per_entry = bits_per_entry(error_rate);
        let needed = capacity as f64 * bits_per_entry;
        let (capacity, bits, power) = match sizing {
            Sizing::Exact => (capacity, (needed as u64).max(1), 0),
            Sizing::Exponent => {
                let power = u8::try_from(capacity).ok().filter(|&power| power < 64)?;
                let bits = 1u64 << power;
                ((bits as f64 / bits_per_entry) as u64, bits, power)
            }
            Sizing::PowerOfTwo => {
                let power = math::log2(needed).floor() + 1.0;
                if !(0.0..64.0).contains(&power) {
                    return None;
                }
                let bits = 1u64 << power as u32;
                let spare = (bits as f64 - needed).trunc();
                let more = (spare / bits_per_entry) as u64;
                (capacity.checked_add(more)?, bits, power as u8)
            }
        };
        if capacity == 0 {
            return None;
        }
        Some(Self {
            capacity,
            error_rate,
            bits_per_entry,
            hashes: hashes_for(bits_per_entry),
            bits: bits.checked_next_multiple_of(64)?,
            power,
        })
    }

    /// Bytes of the bit array.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bits.div_ceil(8)
    }

    /// What probes are taken modulo of.
    #[must_use]
    pub fn modulus(&self) -> u64 {
        if self.power > 0 {
            1 << self.power
        } else {
            self.bits
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_filter_of_a_scaling_chain() {
        let shape = Shape::new(100, 0.005, Sizing::Exact).unwrap();
        assert_eq!((shape.bits, shape.hashes, shape.bytes()), (1152, 8, 144));
        assert_eq!(shape.modulus(), 1152);
    }

    #[test]
    fn nothing_makes_no_filter() {
        assert_eq!(Shape::new(10, 0.0, Sizing::Exact), None);
        assert_eq!(Shape::new(10, 1.0, Sizing::Exact), None);
        assert_eq!(Shape::new(10, f64::NAN, Sizing::Exact), None);
        assert_eq!(Shape::new(0, 0.1, Sizing::Exact), None);
        assert_eq!(Shape::new(u64::MAX, 1e-300, Sizing::Exact), None);
        assert_eq!(Shape::new(64, 0.1, Sizing::Exponent), None);
        assert_eq!(Shape::new(1 << 62, 0.1, Sizing::PowerOfTwo), None);
    }

    #[test]
    fn old_sizings_round_to_powers_of_two() {
        let shape = Shape::new(10, 0.01, Sizing::Exponent).unwrap();
        assert_eq!((shape.bits, shape.power, shape.modulus()), (1024, 10, 1024));
        let shape = Shape::new(100, 0.01, Sizing::PowerOfTwo).unwrap();
        assert_eq!((shape.bits, shape.power, shape.capacity), (1024, 10, 106));
        // A modulus below 64 stays what it is, only the array is rounded up.
        let shape = Shape::new(3, 0.5, Sizing::Exponent).unwrap();
        assert_eq!((shape.bits, shape.modulus()), (64, 8));
    }
}
