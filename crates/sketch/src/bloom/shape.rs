//! The size of a filter: computes the number of bits and hashes from the capacity and the error rate (Bloom 1970).
//!
//! Format: docs/contributing/formats.md, "Bloom filters". The constants are truncated as there, because they affect the stored
//! bits.

use crate::math;

/// ln(2)², truncated.
const LN2_SQUARED: f64 = 0.480_453_013_918_201;
/// ln(2), truncated.
#[allow(clippy::approx_constant)]
const LN2: f64 = 0.693_147_180_559_945;

/// The rule that computes the number of bits from the capacity.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sizing {
    /// New chains: `capacity * bits_per_entry` bits.
    Exact,
    /// Old chains without [`NO_ROUNDING`](super::options::NO_ROUNDING): rounded up to a power of two. The capacity
    /// increases accordingly.
    PowerOfTwo,
    /// Old chains with [`ENTRIES_IS_BITS`](super::options::ENTRIES_IS_BITS): the number of bits is 2 to the power of
    /// the given capacity.
    Exponent,
}

/// The parameters of one filter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Shape {
    /// Items after which the filter is full, at least 1 except in [`Shape::FAILED_GROWTH`].
    pub capacity: u64,
    /// False-positive rate at capacity, in (0, 1).
    pub error_rate: f64,
    /// Bits per item, not rounded.
    pub bits_per_entry: f64,
    /// Bits of the array. In new filters a multiple of 64.
    pub bits: u64,
    /// Probes per item.
    pub hashes: u16,
    /// 0, or log2 of the modulus in old files; at most 63.
    pub power: u8,
    /// Parameters of the chain. Each filter stores them, because the shape has unused bytes: most chains have one filter.
    pub(super) of_chain: OfChain,
}

/// The parameters that all filters of a chain share.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
#[repr(C, packed)]
pub(super) struct OfChain {
    /// See [`options`](super::options).
    pub options: u8,
    /// The factor between the capacities of two filters.
    pub expansion: u32,
}

/// Bits per item for an error rate: |ln e| / ln(2)².
#[must_use]
pub fn bits_per_entry(error_rate: f64) -> f64 {
    math::ln(error_rate).abs() / LN2_SQUARED
}

/// Probes per item for a number of bits per item: ln(2) times that, rounded up.
#[must_use]
pub fn hashes_for(bits_per_entry: f64) -> u32 {
    (LN2 * bits_per_entry).ceil() as u32
}

/// The number of bits as RedisBloom converts it: that of a product from 2^64 on is 0.
fn wrapped(bits: f64) -> u64 {
    const LIMIT: f64 = 18_446_744_073_709_551_616.0;
    match bits < LIMIT {
        true => bits as u64,
        false => 0,
    }
}

/// The modulus of filters in old files. Cold, so that look-ups in other filters compute no power.
#[cold]
#[inline(never)]
fn power_of_two(power: u8) -> u64 {
    1 << power
}

impl Shape {
    /// The filter that RedisBloom appends when a chain fails to grow, because the next error rate or capacity is 0.
    /// It has no hash functions, so the chain then contains all items.
    pub const FAILED_GROWTH: Self = Self {
        capacity: 0,
        error_rate: 0.0,
        bits_per_entry: 0.0,
        hashes: 0,
        bits: 0,
        power: 0,
        of_chain: OfChain {
            options: 0,
            expansion: 0,
        },
    };

    /// Whether this is [`Shape::FAILED_GROWTH`].
    #[must_use]
    pub fn is_failed_growth(&self) -> bool {
        self.hashes == 0
    }

    /// [`Shape::new`] for an exact size, but as in RedisBloom 2.8: a filter whose number of bits does not fit in 64 bits has
    /// 64 bits.
    #[must_use]
    pub fn new_wrapping(capacity: u64, error_rate: f64) -> Option<Self> {
        let needed = capacity as f64 * bits_per_entry(error_rate);
        if wrapped(needed) != 0 || needed < 1.0 {
            return Self::new(capacity, error_rate, Sizing::Exact);
        }
        let one = Self::new(1, error_rate, Sizing::Exact)?;
        Some(Self {
            capacity,
            bits: 64,
            ..one
        })
    }

    /// The shape for `capacity` items at `error_rate`. `None` if the rate is not in (0, 1), the capacity is 0, or the number
    /// of bits does not fit in 64 bits.
    #[must_use]
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
            hashes: u16::try_from(hashes_for(bits_per_entry)).ok()?,
            bits: bits.checked_next_multiple_of(64)?,
            power,
            of_chain: OfChain::default(),
        })
    }

    /// Whether the chain has an option of [`options`](super::options).
    #[inline(always)]
    pub(super) fn has_option(&self, option: u32) -> bool {
        u32::from(self.of_chain.options) & option != 0
    }

    /// Bytes of the bit array.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bits.div_ceil(8)
    }

    /// The modulus of the probes.
    #[inline(always)]
    #[must_use]
    pub fn modulus(&self) -> u64 {
        match self.power {
            0 => self.bits,
            power => power_of_two(power),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_filter_of_the_default_chain_has_1152_bits() {
        let shape = Shape::new(100, 0.005, Sizing::Exact).unwrap();
        assert_eq!((shape.bits, shape.hashes, shape.bytes()), (1152, 8, 144));
        assert_eq!(shape.modulus(), 1152);
    }

    #[test]
    fn invalid_parameters_have_no_shape() {
        assert_eq!(Shape::new(10, 0.0, Sizing::Exact), None);
        assert_eq!(Shape::new(10, 1.0, Sizing::Exact), None);
        assert_eq!(Shape::new(10, f64::NAN, Sizing::Exact), None);
        assert_eq!(Shape::new(0, 0.1, Sizing::Exact), None);
        assert_eq!(Shape::new(u64::MAX, 1e-300, Sizing::Exact), None);
        assert_eq!(Shape::new(64, 0.1, Sizing::Exponent), None);
        assert_eq!(Shape::new(1 << 62, 0.1, Sizing::PowerOfTwo), None);
    }

    #[test]
    fn a_product_beyond_64_bits_has_64_bits() {
        let largest = i64::MAX as u64;
        let shape = Shape::new_wrapping(largest, 0.25).unwrap();
        assert_eq!((shape.bits, shape.hashes, shape.capacity), (64, 3, largest));
        // 2^64 - 2^11 bits is the largest product below 2^64.
        let fits = Shape::new_wrapping(1 << 62, 0.17).unwrap();
        assert_eq!(Some(fits), Shape::new(1 << 62, 0.17, Sizing::Exact));
        for (capacity, rate) in [(10, 0.01), (1, 0.9999), (largest, 0.999_999_999_999_999_9)] {
            let wrapping = Shape::new_wrapping(capacity, rate);
            assert_eq!(wrapping, Shape::new(capacity, rate, Sizing::Exact));
        }
        assert_eq!(Shape::new_wrapping(0, 0.1), None);
        assert_eq!(Shape::new_wrapping(largest, 0.0), None);
        assert_eq!(Shape::new_wrapping(largest, 1.0), None);
    }

    #[test]
    fn old_sizings_round_to_powers_of_two() {
        let shape = Shape::new(10, 0.01, Sizing::Exponent).unwrap();
        assert_eq!((shape.bits, shape.power, shape.modulus()), (1024, 10, 1024));
        let shape = Shape::new(100, 0.01, Sizing::PowerOfTwo).unwrap();
        assert_eq!((shape.bits, shape.power, shape.capacity), (1024, 10, 106));
        // The array is rounded up to 64 bits, the modulus is not.
        let shape = Shape::new(3, 0.5, Sizing::Exponent).unwrap();
        assert_eq!((shape.bits, shape.modulus()), (64, 8));
    }
}
