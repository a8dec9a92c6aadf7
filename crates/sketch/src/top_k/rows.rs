//! Which bucket of each row an item belongs to, and its fingerprint (spec: top-k.md).

use crate::hash::murmur2_lanes;
use crate::modulus::Modulus;
use crate::prefetch::with_wide_vectors;
use crate::rows::{LANES, group_hashes};

/// Seed of the hash that is an item's fingerprint.
const FINGERPRINT_SEED: u32 = 1919;

/// Rows whose columns are found in the same pass over the item as its fingerprint: eight hashes fill
/// the vector registers, and seven rows are the default depth.
const FIRST_ROWS: usize = LANES - 1;

/// The fingerprint of `item`. Cost: one pass.
pub(super) fn fingerprint_of(item: &[u8]) -> u32 {
    murmur2_lanes(item, [FINGERPRINT_SEED])[0]
}

/// What hashing an item gives, for the sketch whose [`super::TopK::hash`] made it: its fingerprint and
/// its column in each of the first rows.
#[derive(Debug, Clone, Copy, Default)]
pub struct ItemHash {
    pub(super) fingerprint: u32,
    columns: [u32; FIRST_ROWS],
}

/// The shape of a table of `depth` rows of `width` buckets, and the way from hashes into it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Rows {
    pub width: u32,
    pub depth: u32,
    columns: Modulus<u32>,
}

impl Rows {
    /// `width` and `depth` are at least 1.
    pub fn new(width: u32, depth: u32) -> Self {
        Self {
            width,
            depth,
            columns: Modulus::<u32>::new(width.into()),
        }
    }

    /// Hashes an item for the first rows. Cost: one pass over it.
    #[inline]
    pub fn hash(&self, item: &[u8]) -> ItemHash {
        with_wide_vectors(
            #[inline(always)]
            || {
                if self.depth <= 3 {
                    let [fingerprint, first, second, third] =
                        self.lanes(item, [FINGERPRINT_SEED, 0, 1, 2]);
                    let mut columns = [0; FIRST_ROWS];
                    columns[..3].copy_from_slice(&[first, second, third]);
                    ItemHash {
                        fingerprint,
                        columns,
                    }
                } else {
                    let [fingerprint, columns @ ..] =
                        self.lanes(item, [FINGERPRINT_SEED, 0, 1, 2, 3, 4, 5, 6]);
                    ItemHash {
                        fingerprint,
                        columns,
                    }
                }
            },
        )
    }

    /// The hash of an item under the first seed, and its columns in the rows of the others.
    #[inline(always)]
    fn lanes<const N: usize>(&self, item: &[u8], seeds: [u32; N]) -> [u32; N] {
        let mut lanes = murmur2_lanes(item, seeds);
        let fingerprint = lanes[0];
        self.columns.replace(&mut lanes);
        lanes[0] = fingerprint;
        lanes
    }

    /// The index of the item's bucket in each of the first rows, in order.
    #[inline(always)]
    pub fn first_buckets(&self, hash: &ItemHash) -> impl Iterator<Item = usize> {
        let width = self.width as usize;
        let mut row_start = 0;
        let columns = hash.columns.iter().take(self.depth as usize);
        columns.map(move |&column| {
            let bucket = row_start + column as usize;
            row_start += width;
            bucket
        })
    }

    /// Calls `visit` with the index of the item's bucket in every row, in order. Cost: beyond the first
    /// rows one pass over the item for every [`LANES`].
    #[inline(always)]
    pub fn for_each_bucket(&self, item: &[u8], hash: &ItemHash, mut visit: impl FnMut(usize)) {
        for bucket in self.first_buckets(hash) {
            visit(bucket);
        }
        for first_row in (FIRST_ROWS as u32..self.depth).step_by(LANES) {
            let columns = self.later_columns(item, first_row);
            for (row, column) in (first_row..self.depth).zip(columns) {
                visit(row as usize * self.width as usize + column as usize);
            }
        }
    }

    /// The columns of an item in [`LANES`] rows from `first_row` on.
    fn later_columns(&self, item: &[u8], first_row: u32) -> [u32; LANES] {
        with_wide_vectors(
            #[inline(always)]
            || {
                let [mut columns] = group_hashes(item, first_row);
                self.columns.replace(&mut columns);
                columns
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::murmur2;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_row_has_its_own_hash(item: Vec<u8>, width in 1u32..1000, depth in 1u32..40) {
            let rows = Rows::new(width, depth);
            let hash = rows.hash(&item);
            prop_assert_eq!(hash.fingerprint, murmur2(&item, 1919));
            prop_assert_eq!(fingerprint_of(&item), hash.fingerprint);
            let mut got = Vec::new();
            rows.for_each_bucket(&item, &hash, |bucket| got.push(bucket));
            let wanted: Vec<usize> = (0..depth)
                .map(|row| (row * width + murmur2(&item, row) % width) as usize)
                .collect();
            prop_assert_eq!(got, wanted);
        }
    }
}
