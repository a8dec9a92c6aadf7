//! The hash of an item: its fingerprint, and its bucket in each row (docs/contributing/formats.md, "Top-k").

use crate::hash::murmur2_lanes;
use crate::hash::rows::{LANES, MAX_PASS_GROUPS, Rows};
use crate::prefetch::with_wide_vectors;
use std::cmp::Ordering;

/// Seed of the hash that is an item's fingerprint.
const FINGERPRINT_SEED: u32 = 1919;

/// Rows whose columns are computed in the same pass over the item as its fingerprint. Seven is the default depth.
const FIRST_ROWS: usize = LANES - 1;

/// The fingerprint of `item`. Cost: one pass over the item.
pub(super) fn fingerprint_of(item: &[u8]) -> u32 {
    murmur2_lanes(item, [FINGERPRINT_SEED])[0]
}

/// The hash of an item for the sketch that computed it.
#[derive(Debug, Clone, Copy, Default)]
pub struct ItemHash {
    pub(super) fingerprint: u32,
    /// The upper half of the hash under the seed of a sketch with a window. The fingerprint is the lower half.
    upper: u32,
    /// The column in each of the first seven rows of a sketch without a window.
    columns: [u32; FIRST_ROWS],
}

/// The buckets of an item with this hash in a table without a window.
#[derive(Debug, Clone, Copy)]
pub(super) struct Buckets<'a> {
    pub item: &'a [u8],
    pub hash: &'a ItemHash,
    pub rows: Rows,
}

impl Buckets<'_> {
    /// The fingerprint of the item.
    #[inline(always)]
    pub fn fingerprint(self) -> u32 {
        self.hash.fingerprint
    }

    /// Calls `visit` with the number of the item's bucket in every row, in order.
    #[inline(always)]
    pub fn for_each(self, visit: impl FnMut(usize)) {
        self.hash.for_each_bucket(self.item, self.rows, visit);
    }
}

impl ItemHash {
    /// Hashes an item. Cost: one pass over the item.
    #[inline]
    pub(super) fn new(item: &[u8], rows: Rows) -> Self {
        #[cfg(test)]
        crate::testing::HASH_PASSES.with(crate::testing::Work::count);
        with_wide_vectors(
            #[inline(always)]
            || {
                if rows.depth <= 3 {
                    let [fingerprint, first, second, third] =
                        hash_lanes(item, rows, [FINGERPRINT_SEED, 0, 1, 2]);
                    let mut columns = [0; FIRST_ROWS];
                    columns[..3].copy_from_slice(&[first, second, third]);
                    Self {
                        fingerprint,
                        upper: 0,
                        columns,
                    }
                } else {
                    let [fingerprint, columns @ ..] =
                        hash_lanes(item, rows, [FINGERPRINT_SEED, 0, 1, 2, 3, 4, 5, 6]);
                    Self {
                        fingerprint,
                        upper: 0,
                        columns,
                    }
                }
            },
        )
    }

    /// That of an item with this hash under the seed of a sketch with a window.
    #[inline]
    pub(super) fn seeded(hash: u64) -> Self {
        Self {
            fingerprint: hash as u32,
            upper: (hash >> 32) as u32,
            columns: [0; FIRST_ROWS],
        }
    }

    /// The hash under the seed.
    #[inline]
    pub(super) fn of_seed(&self) -> u64 {
        u64::from(self.upper) << 32 | u64::from(self.fingerprint)
    }

    /// The number of the item's bucket in each of the first rows, in order.
    #[inline(always)]
    pub(super) fn first_buckets(&self, rows: Rows) -> impl Iterator<Item = usize> {
        rows.cells(0, &self.columns)
    }

    /// Calls `visit` with the number of the item's bucket in every row, in order. Cost: beyond the first rows one pass
    /// over the item per 64 rows.
    #[inline(always)]
    pub(super) fn for_each_bucket(&self, item: &[u8], rows: Rows, mut visit: impl FnMut(usize)) {
        for bucket in rows.cells(0, &self.columns) {
            visit(bucket);
        }
        if rows.depth > FIRST_ROWS {
            let mut later = LaterRows::of(rows);
            while let Some((first_row, columns)) = later.next(item) {
                for bucket in rows.cells(first_row, columns) {
                    visit(bucket);
                }
            }
        }
    }
}

/// The columns of an item in the rows after the first ones, pass by pass.
struct LaterRows {
    rows: Rows,
    /// The first row of the next pass.
    next: usize,
    columns: [[u32; LANES]; MAX_PASS_GROUPS],
}

impl LaterRows {
    fn of(rows: Rows) -> Self {
        Self {
            rows,
            next: FIRST_ROWS,
            columns: [[0; LANES]; MAX_PASS_GROUPS],
        }
    }

    /// The first row of the next pass, and the columns in its rows; `None` after the last row. There may be columns
    /// beyond the last row.
    fn next(&mut self, item: &[u8]) -> Option<(usize, &[u32])> {
        let (rows, first_row) = (self.rows, self.next);
        let groups = match rows.depth.saturating_sub(first_row) {
            0 => return None,
            1..=LANES => {
                [self.columns[0]] = later_columns(item, rows, first_row);
                1
            }
            _ => {
                self.columns = later_columns(item, rows, first_row);
                MAX_PASS_GROUPS
            }
        };
        self.next += groups * LANES;
        Some((first_row, self.columns[..groups].as_flattened()))
    }
}

/// The hash of an item under the first seed, and its columns in the rows of the other seeds.
#[inline(always)]
fn hash_lanes<const N: usize>(item: &[u8], rows: Rows, seeds: [u32; N]) -> [u32; N] {
    let mut lanes = murmur2_lanes(item, seeds);
    let fingerprint = lanes[0];
    rows.modulus.replace(&mut lanes);
    lanes[0] = fingerprint;
    lanes
}

/// The columns of an item in `G` groups of [`LANES`] rows from `first_row` on.
fn later_columns<const G: usize>(item: &[u8], rows: Rows, first_row: usize) -> [[u32; LANES]; G] {
    #[cfg(test)]
    crate::testing::HASH_PASSES.with(crate::testing::Work::count);
    with_wide_vectors(
        #[inline(always)]
        || rows.columns::<LANES, G>(item, first_row),
    )
}

/// Whether two items are equal. Items can have a mebibyte and differ in the last byte only. Reads no bytes if their lengths
/// differ.
#[inline]
pub(super) fn are_equal(one: &[u8], other: &[u8]) -> bool {
    #[cfg(test)]
    if one.len() == other.len() {
        count(one.len());
    }
    one == other
}

/// The order of two items by their bytes.
#[inline]
pub(super) fn order(one: &[u8], other: &[u8]) -> Ordering {
    #[cfg(test)]
    count(one.len().min(other.len()));
    one.cmp(other)
}

/// Counts a comparison of up to this many bytes.
#[cfg(test)]
pub(super) fn count(bytes: usize) {
    crate::testing::COMPARED_BYTES.with(|work| work.add(1 + bytes as u64));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::modulus::Modulus;
    use crate::hash::murmur2;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn every_row_has_its_own_hash(item: Vec<u8>, width in 1u32..1000, depth in 1u32..200) {
            let rows = Rows {
                width: width as usize,
                depth: depth as usize,
                modulus: Modulus::<u32>::new(width.into()),
            };
            let hash = ItemHash::new(&item, rows);
            prop_assert_eq!(hash.fingerprint, murmur2(&item, 1919));
            prop_assert_eq!(fingerprint_of(&item), hash.fingerprint);
            let mut got = Vec::new();
            hash.for_each_bucket(&item, rows, |bucket| got.push(bucket));
            let wanted: Vec<usize> = (0..depth)
                .map(|row| (row * width + murmur2(&item, row) % width) as usize)
                .collect();
            prop_assert_eq!(&got, &wanted);
        }
    }
}
