//! The dimensions of a sketch: width, depth, cell size.

use super::CountMinError;
use super::cell::CellSize;
use crate::math;

/// The dimensions of a sketch of 1 to 2^63 - 1 cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dimensions {
    width: u64,
    depth: u64,
    cell_size: CellSize,
}

impl Dimensions {
    /// The dimensions of a sketch of `depth` rows of `width` cells.
    ///
    /// # Errors
    /// [`CountMinError::InvalidDimensions`] if one of them is 0 or their product exceeds 2^63 - 1.
    pub fn new(width: u64, depth: u64, cell_size: CellSize) -> Result<Self, CountMinError> {
        const MAX_CELLS: u64 = i64::MAX as u64;
        match width.checked_mul(depth) {
            Some(1..=MAX_CELLS) => Ok(Self {
                width,
                depth,
                cell_size,
            }),
            _ => Err(CountMinError::InvalidDimensions),
        }
    }

    /// The dimensions of a sketch with these bytes of cells in `depth` rows, which are valid.
    #[inline]
    pub(super) fn of_cells(bytes: u64, depth: u64, cell_size: CellSize) -> Self {
        Self {
            width: (bytes >> cell_size.log2()) / depth,
            depth,
            cell_size,
        }
    }

    /// Cells per row.
    #[must_use]
    pub fn width(self) -> u64 {
        self.width
    }

    /// Number of rows.
    #[must_use]
    pub fn depth(self) -> u64 {
        self.depth
    }

    /// Size of a cell.
    #[must_use]
    pub fn cell_size(self) -> CellSize {
        self.cell_size
    }

    /// Whether a sketch of the dimensions `source` may be merged into one of these.
    pub(super) fn check_source(self, source: Self) -> Result<(), CountMinError> {
        if (self.width, self.depth) != (source.width, source.depth) {
            return Err(CountMinError::DimensionMismatch);
        }
        refuse_if!(self.cell_size != source.cell_size => CountMinError::CellSizeMismatch);
        Ok(())
    }

    /// Bytes of all cells; `None` if the number does not fit in 64 bits.
    #[must_use]
    pub fn bytes(self) -> Option<u64> {
        (self.width * self.depth).checked_mul(self.cell_size.bytes())
    }
}

/// The width and depth for which an estimate exceeds the count by at most `error` times the total, with a probability
/// of at least 1 - `probability`. Both parameters are in (0, 1).
///
/// The width is ⌈2 / `error`⌉. The depth is ⌈log10(`probability`) / log10(1/2)⌉, where the probability, both logarithms
/// and the quotient are rounded to single precision. The rounding is part of the format, since the depth is the number of
/// cells per item (docs/contributing/formats.md). Cormode & Muthukrishnan, "An improved data stream summary" (2005), section 3, use e
/// where this function uses 2.
///
/// # Errors
/// [`CountMinError::InvalidDimensions`] if the width or depth is 0, not finite or above 2^63 - 1: for a probability
/// that rounds to 0 or 1 in single precision, or an error below 2 / (2^63 - 1).
pub fn dimensions_for(error: f64, probability: f64) -> Result<(u64, u64), CountMinError> {
    let width = (2.0 / error).ceil();
    let depth = f64::from((log10_single(probability as f32) / LOG10_HALF).ceil());
    Ok((to_dimension(width)?, to_dimension(depth)?))
}

/// log10(1/2) in single precision: the result of [`log10_single`].
const LOG10_HALF: f32 = f32::from_bits(0xbe9a_209b);

/// The common logarithm, rounded to single precision.
///
/// The resulting depth equals that of glibc's `log10f` for each of the 1,065,353,215 single-precision numbers between 0
/// and 1.
fn log10_single(number: f32) -> f32 {
    math::log10(f64::from(number)) as f32
}

/// Converts a computed width or depth to an integer.
fn to_dimension(number: f64) -> Result<u64, CountMinError> {
    // 2^63, the smallest double above every valid dimension.
    const END: f64 = 9_223_372_036_854_775_808.0;
    if (1.0..END).contains(&number) {
        Ok(number as u64)
    } else {
        Err(CountMinError::InvalidDimensions)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const INVALID: CountMinError = CountMinError::InvalidDimensions;

    #[test]
    fn a_sketch_has_1_to_2_to_the_63rd_minus_1_cells() {
        let cells = |width, depth| Dimensions::new(width, depth, CellSize::Four);
        for (width, depth) in [
            (0, 1),
            (1, 0),
            (2, 1 << 62),
            (3_037_000_500, 3_037_000_500),
            (i64::MAX as u64, 2),
            (u64::MAX, u64::MAX),
        ] {
            assert_eq!(cells(width, depth), Err(INVALID), "{width} x {depth}");
        }
        assert!(cells(i64::MAX as u64, 1).is_ok());
        assert_eq!(cells(1 << 62, 1).unwrap().bytes(), None);
        assert_eq!(cells(300, 5).unwrap().bytes(), Some(6000));
    }

    #[test]
    fn dimensions_equal_the_recorded_ones() {
        // From golden/transcripts.
        for (error, probability, width, depth) in [
            (0.01, 0.01, 200, 7),
            (0.5, 0.001, 4, 10),
            (0.001, 0.5, 2000, 1),
            (0.1, 0.1, 20, 4),
            (0.002, 0.002, 1000, 9),
            (0.3, 1e-6, 7, 20),
            (0.01, 0.9999, 200, 1),
            (0.999_999, 0.6, 3, 1),
            (0.1, 0.75, 20, 1),
            (0.9, 0.25, 3, 2),
            (0.1, 0.125, 20, 3),
            (0.05, 0.0625, 40, 4),
            (0.1, 0.03125, 20, 5),
            (0.1, 0.015_625, 20, 6),
            (0.1, 0.007_812_5, 20, 7),
            (0.1, 0.003_906_25, 20, 8),
            (0.1, 0.000_976_562_5, 20, 10),
            (0.1, 0.000_061_035_156_25, 20, 14),
        ] {
            let found = dimensions_for(error, probability);
            assert_eq!(found, Ok((width, depth)), "{error} {probability}");
        }
    }

    /// The depth increases at the same probabilities as with glibc's `log10f`: a few units in the last place below each
    /// power of two. This determines the depth for every probability.
    #[test]
    fn the_depth_grows_at_the_recorded_probabilities() {
        const UNITS_BELOW: [u32; 148] = [
            2, 3, 4, 5, 7, 8, 3, 10, 7, 13, 10, 16, 13, 6, 12, 19, 25, 13, 19, 25, 32, 20, 26, 32,
            20, 26, 42, 11, 18, 24, 30, 37, 43, 49, 56, 25, 31, 38, 44, 50, 57, 63, 32, 39, 45, 51,
            58, 64, 33, 40, 46, 52, 59, 83, 53, 22, 65, 35, 78, 48, 91, 60, 30, 73, 116, 85, 55,
            98, 67, 111, 80, 50, 93, 62, 105, 75, 118, 87, 57, 100, 69, 113, 82, 125, 95, 64, 107,
            77, 120, 89, 59, 102, 72, 115, 84, 127, 97, 66, 109, 79, 122, 91, 135, 104, 74, 117,
            49, 166, 136, 105, 75, 44, 161, 130, 100, 69, 39, 156, 125, 95, 64, 181, 150, 120, 89,
            30, 44, 19, 8, 8, 4, 2, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
        ];
        for (depth, units) in (1u32..).zip(UNITS_BELOW) {
            // 2^-depth in single precision; below 2^-126 a subnormal number.
            let power = if depth < 127 {
                (127 - depth) << 23
            } else {
                1 << (149 - depth)
            };
            let depth_of = |bits| dimensions_for(0.1, f32::from_bits(bits).into()).unwrap().1;
            assert_eq!(depth_of(power - units + 1), u64::from(depth));
            assert_eq!(depth_of(power - units), u64::from(depth) + 1);
        }
    }

    #[test]
    fn the_constant_equals_the_rounded_logarithm_of_one_half() {
        assert_eq!(log10_single(0.5).to_bits(), LOG10_HALF.to_bits());
    }

    #[test]
    fn dimensions_out_of_range_are_refused() {
        for (error, probability) in [
            (0.1, 0.99999999),
            (0.1, 1e-46),
            (0.1, f64::MIN_POSITIVE),
            (1e-19, 0.1),
            (1e-19, 0.6),
            (1e-320, 0.1),
            (0.0, 0.1),
            (-1.0, 0.1),
            (0.1, 2.0),
            (0.1, -1.0),
            (f64::NAN, 0.1),
            (0.1, f64::NAN),
            (f64::INFINITY, 0.1),
        ] {
            let refused = dimensions_for(error, probability);
            assert_eq!(refused, Err(INVALID), "{error} {probability}");
        }
    }
}
