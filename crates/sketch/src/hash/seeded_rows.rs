//! Rows of cells whose hashes depend on a secret seed, as in count-min and top-k sketches with a window.
//!
//! The hash of an item is SipHash-1-3 under the seed. The column in row `i`, from 0, is the finalizer of SplitMix64 (Steele,
//! Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014) applied to the hash plus (`i` + 1) times an
//! odd constant, scaled to the width. Cells are numbered row by row (docs/contributing/formats.md, "Count-min sketches with a window").

use crate::seed::Seed;

/// The difference between the inputs of the finalizer for consecutive rows: 2^64 divided by the golden ratio, made odd.
pub(crate) const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// The dimensions of a table of cells, and its seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SeededRows {
    /// Cells per row, at least 1.
    pub width: usize,
    /// Number of rows, at least 1.
    pub depth: usize,
    /// The key of the hash.
    pub seed: Seed,
}

impl SeededRows {
    /// The hash of an item. Cost: one pass over its bytes.
    #[inline]
    #[must_use]
    pub fn hash(self, item: &[u8]) -> u64 {
        self.seed.hash(item)
    }

    /// The numbers of the cells of the item with this hash, from row 0 to the last one.
    #[inline(always)]
    pub fn cells(self, hash: u64) -> impl Iterator<Item = usize> + Clone {
        (0..self.depth).map(move |row| row * self.width + column(hash, row, self.width))
    }
}

/// The column of the item with this hash in row `row` of `width` columns. Part of the data format.
#[inline(always)]
pub(crate) fn column(hash: u64, row: usize, width: usize) -> usize {
    let step = (row as u64 + 1).wrapping_mul(STEP);
    scale(finalize(hash.wrapping_add(step)), width)
}

/// Scales a 64-bit number to [0, `width`).
#[inline(always)]
pub(crate) fn scale(x: u64, width: usize) -> usize {
    ((u128::from(x) * width as u128) >> 64) as usize
}

/// The finalizer of SplitMix64: a permutation of 64-bit numbers whose every output bit depends on every input bit. Part of
/// the data formats.
#[inline(always)]
pub(crate) fn finalize(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first number that SplitMix64 generates from the state 0, as its authors published it.
    #[test]
    fn the_finalizer_is_that_of_split_mix_64() {
        assert_eq!(finalize(STEP), 0xe220_a839_7b1d_cdaf);
    }

    /// The values of an implementation in Python.
    #[test]
    fn known_columns() {
        for (width, columns) in [
            (1, [0; 7]),
            (7, [5, 5, 1, 6, 4, 0, 0]),
            (2000, [1602, 1684, 396, 1983, 1293, 204, 149]),
            (
                200_000,
                [160_218, 168_413, 39_641, 198_372, 129_382, 20_450, 14_980],
            ),
            (
                1 << 33,
                [
                    6_881_337_752,
                    7_233_293_370,
                    1_702_570_974,
                    8_520_042_813,
                    5_556_927_295,
                    878_345_493,
                    643_401_215,
                ],
            ),
        ] {
            let rows = SeededRows {
                width,
                depth: 7,
                seed: Seed::default(),
            };
            let hash = rows.hash(b"a");
            assert_eq!(hash, 0x4074_48d2_b89b_1813);
            let cells = columns.iter().enumerate();
            let cells = cells.map(|(row, column)| row * width + column);
            assert!(rows.cells(hash).eq(cells), "{width}");
        }
        assert_eq!(column(0x4074_48d2_b89b_1813, 31, 2000), 356);
    }
}
