//! Which bucket of each row an item belongs to, and its fingerprint (spec: top-k.md).

use crate::sketch::hash::murmur2_lanes;
use std::array;

/// Seed of the hash that is an item's fingerprint.
pub(super) const FINGERPRINT_SEED: u32 = 1919;

/// Rows whose columns are found in the same pass over the item as its fingerprint: eight hashes fill
/// the vector registers, and seven rows are the default depth.
const FIRST_ROWS: usize = 7;

/// The fingerprint of `item`. Cost: one pass.
pub(super) fn fingerprint_of(item: &[u8]) -> u32 {
    murmur2_lanes(item, [FINGERPRINT_SEED])[0]
}

/// What hashing an item gives: its fingerprint and its column in each of the first rows.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Hashed {
    /// See [`fingerprint_of`].
    pub fingerprint: u32,
    columns: [u32; FIRST_ROWS],
}

/// The shape of a table of `depth` rows of `width` buckets, and the way from hashes into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rows {
    pub width: u32,
    pub depth: u32,
    /// ceil(2^64 / width), wrapped: turns the remainder by `width` into two multiplications.
    reciprocal: u64,
}

impl Rows {
    /// `width` and `depth` are at least 1.
    pub fn new(width: u32, depth: u32) -> Self {
        let reciprocal = (u64::MAX / u64::from(width)).wrapping_add(1);
        Self {
            width,
            depth,
            reciprocal,
        }
    }

    /// `hash % width`, for every hash and width (Lemire, Kaser, Kurz: Faster Remainder by Direct
    /// Computation, 2019).
    #[inline]
    fn column(&self, hash: u32) -> u32 {
        let fraction = self.reciprocal.wrapping_mul(u64::from(hash));
        #[allow(clippy::cast_possible_truncation)]
        let column = ((u128::from(fraction) * u128::from(self.width)) >> 64) as u32;
        column
    }

    /// Hashes an item for the first rows. Cost: one pass over it.
    #[inline]
    pub fn hash(&self, item: &[u8]) -> Hashed {
        if self.depth <= 3 {
            let [fingerprint, hashes @ ..] = murmur2_lanes(item, [FINGERPRINT_SEED, 0, 1, 2]);
            let mut columns = [0; FIRST_ROWS];
            for (column, hash) in columns.iter_mut().zip(hashes) {
                *column = self.column(hash);
            }
            Hashed {
                fingerprint,
                columns,
            }
        } else {
            let [fingerprint, hashes @ ..] =
                murmur2_lanes(item, [FINGERPRINT_SEED, 0, 1, 2, 3, 4, 5, 6]);
            Hashed {
                fingerprint,
                columns: hashes.map(|hash| self.column(hash)),
            }
        }
    }

    /// Calls `visit` with the index of the item's bucket in each of the first rows, in order.
    #[inline]
    pub fn for_first_buckets(&self, hashed: &Hashed, mut visit: impl FnMut(usize)) {
        let mut row_start = 0;
        for &column in hashed.columns.iter().take(self.depth as usize) {
            visit(row_start + column as usize);
            row_start += self.width as usize;
        }
    }

    /// Calls `visit` with the index of the item's bucket in every row, in order. Cost: beyond the first
    /// rows one pass over the item for every eight.
    #[inline]
    pub fn for_each_bucket(&self, item: &[u8], hashed: &Hashed, mut visit: impl FnMut(usize)) {
        self.for_first_buckets(hashed, &mut visit);
        let mut row = FIRST_ROWS as u32;
        while row < self.depth {
            let seeds: [u32; 8] = array::from_fn(|lane| row.wrapping_add(lane as u32));
            let hashes = murmur2_lanes(item, seeds);
            for (seed, hash) in seeds.into_iter().zip(hashes) {
                if seed >= row && seed < self.depth {
                    visit(seed as usize * self.width as usize + self.column(hash) as usize);
                }
            }
            row = row.saturating_add(8);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::hash::murmur2;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn columns_are_remainders(hash: u32, width in prop_oneof![1u32..100, 1u32..]) {
            prop_assert_eq!(Rows::new(width, 1).column(hash), hash % width);
        }

        #[test]
        fn every_row_has_its_own_hash(item: Vec<u8>, width in 1u32..1000, depth in 1u32..40) {
            let rows = Rows::new(width, depth);
            let hashed = rows.hash(&item);
            prop_assert_eq!(hashed.fingerprint, murmur2(&item, 1919));
            prop_assert_eq!(fingerprint_of(&item), hashed.fingerprint);
            let mut got = Vec::new();
            rows.for_each_bucket(&item, &hashed, |bucket| got.push(bucket));
            let wanted: Vec<usize> = (0..depth)
                .map(|row| (row * width + murmur2(&item, row) % width) as usize)
                .collect();
            prop_assert_eq!(got, wanted);
        }
    }

    #[test]
    fn extreme_widths_divide_exactly() {
        for width in [1, 2, 3, u32::MAX - 1, u32::MAX] {
            for hash in [0, 1, width - 1, width, u32::MAX - 1, u32::MAX] {
                assert_eq!(Rows::new(width, 1).column(hash), hash % width);
            }
        }
    }
}
