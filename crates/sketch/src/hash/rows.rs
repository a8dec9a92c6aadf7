//! Rows of cells, as in count-min and top-k sketches: the cell of an item in each row.
//!
//! Row `i` hashes items with 32-bit MurmurHash2 under seed `i`. The column is the hash modulo the width. Cells are
//! numbered row by row (docs/contributing/formats.md, "Count-min sketches" and "Top-k").

use crate::hash::modulus::Modulus;
use crate::hash::murmur2_groups;

/// Rows whose hashes are computed in the same vector register.
pub const LANES: usize = 8;

/// Groups of [`LANES`] rows whose hashes are computed in one pass over an item, if a sketch has so many rows: as many as
/// keep the processor's vector units busy. Fewer groups take as long.
pub const MAX_PASS_GROUPS: usize = 8;

/// The dimensions of a table of cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rows {
    /// Cells per row, at least 1.
    pub width: usize,
    /// Number of rows, at least 1.
    pub depth: usize,
    /// Computes remainders by the width.
    pub modulus: Modulus<u32>,
}

impl Rows {
    /// The columns of `item` in `G` groups of `L` rows from `first_row` on, including columns beyond the last row.
    /// Cost: one pass over the item.
    #[inline(always)]
    #[must_use]
    pub fn columns<const L: usize, const G: usize>(
        self,
        item: &[u8],
        first_row: usize,
    ) -> [[u32; L]; G] {
        // Seeds have 32 bits and wrap: row 2^32 has seed 0.
        let mut columns = group_hashes::<L, G>(item, first_row as u32);
        self.modulus.replace(columns.as_flattened_mut());
        columns
    }

    /// Prepares `G` groups of `L` rows from `first_row` on.
    #[inline(always)]
    #[must_use]
    pub fn groups<const L: usize, const G: usize>(self, first_row: usize) -> RowGroups<L, G> {
        let mut starts = [[0; L]; G];
        let mut next = first_row.wrapping_mul(self.width);
        for start in starts.as_flattened_mut() {
            *start = next;
            next = next.wrapping_add(self.width);
        }
        RowGroups {
            modulus: self.modulus,
            seeds: seeds(first_row as u32),
            starts,
        }
    }

    /// The cell numbers that belong to these columns, the first of which is in row `first_row`. Columns beyond the
    /// last row are skipped.
    #[inline(always)]
    pub fn cells(self, first_row: usize, columns: &[u32]) -> impl Iterator<Item = usize> + Clone {
        let width = self.width;
        let mut row_start = first_row * width;
        columns
            .iter()
            .take(self.depth - first_row)
            .map(move |&column| {
                let cell = row_start + column as usize;
                row_start += width;
                cell
            })
    }
}

/// `G` groups of `L` rows, prepared for the cells of many items.
///
/// If the compiler computes the seeds, it treats seed 0 differently from the others and uses fewer vector instructions.
/// The cells are therefore computed in a function that reads them from memory.
#[derive(Debug, Clone, Copy)]
pub struct RowGroups<const L: usize, const G: usize> {
    modulus: Modulus<u32>,
    seeds: [[u32; L]; G],
    /// The number of the first cell of each row. Those beyond the last row have no meaning.
    starts: [[usize; L]; G],
}

impl<const L: usize, const G: usize> RowGroups<L, G> {
    /// Replaces `cells` by the numbers of the cells of the items, at most `N`. Those beyond the last row have no meaning.
    /// Cost: one pass over each item.
    #[inline(always)]
    pub fn cells_of<const N: usize>(&self, items: &[&[u8]; N], cells: &mut [[[usize; L]; G]]) {
        let mut columns = [[[0; L]; G]; N];
        let columns = &mut columns[..cells.len()];
        // Separate loops: the steps for several items do not depend on each other, so the processor overlaps them.
        for (columns, item) in columns.iter_mut().zip(items) {
            *columns = murmur2_groups(item, self.seeds);
        }
        self.modulus
            .replace(columns.as_flattened_mut().as_flattened_mut());
        for (cells, columns) in cells.iter_mut().zip(columns) {
            *cells = self.starts;
            for (cell, column) in cells
                .as_flattened_mut()
                .iter_mut()
                .zip(columns.as_flattened())
            {
                *cell = cell.wrapping_add(*column as usize);
            }
        }
    }
}

/// The seeds of rows from `first_row` on. Row numbers wrap at 2^32.
#[inline(always)]
fn seeds<const L: usize, const G: usize>(first_row: u32) -> [[u32; L]; G] {
    let mut seeds = [[0; L]; G];
    let mut next = first_row;
    for seed in seeds.as_flattened_mut() {
        *seed = next;
        next = next.wrapping_add(1);
    }
    seeds
}

/// The hashes of `item` in `G` groups of `L` rows from `first_row` on. Row numbers wrap at 2^32.
#[inline(always)]
fn group_hashes<const L: usize, const G: usize>(item: &[u8], first_row: u32) -> [[u32; L]; G] {
    murmur2_groups(item, seeds(first_row))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::murmur2;
    use crate::prefetch::with_wide_vectors;
    use proptest::prelude::*;

    fn rows(width: usize, depth: usize) -> Rows {
        Rows {
            width,
            depth,
            modulus: Modulus::<u32>::new(width as u64),
        }
    }

    #[test]
    fn wide_vectors_compute_the_same_cells() {
        fn check<const L: usize, const G: usize>(rows: Rows, item: &[u8], first_row: usize) {
            let narrow = rows.columns::<L, G>(item, first_row);
            let wide = with_wide_vectors(
                #[inline(always)]
                || rows.columns::<L, G>(item, first_row),
            );
            assert_eq!(narrow, wide);
            let cells: Vec<_> = rows.cells(first_row, narrow.as_flattened()).collect();
            let expected = (first_row..rows.depth).take(L * G).map(|row| {
                let hash = murmur2(item, row as u32);
                row * rows.width + hash as usize % rows.width
            });
            assert!(expected.clone().eq(cells));

            let groups = rows.groups::<L, G>(first_row);
            // There is space for the cells of two items.
            let items = [item, b"another", b"ignored"];
            let mut several = [[[0; L]; G]; 2];
            with_wide_vectors(
                #[inline(always)]
                || groups.cells_of(&items, &mut several),
            );
            let expected: Vec<_> = expected.collect();
            assert_eq!(several[0].as_flattened()[..expected.len()], expected);
            let [other] = rows.columns::<L, 1>(b"another", first_row);
            let other = rows.cells(first_row, &other);
            assert!(
                other.eq((several[1].as_flattened().iter().copied()).take(L.min(expected.len())))
            );
        }
        let item: Vec<u8> = (0..40).collect();
        for (width, depth) in [(1, 1), (7, 4), (100, 5), (200_000, 10), (1 << 20, 20)] {
            let rows = rows(width, depth);
            for len in 0..item.len() {
                check::<4, 1>(rows, &item[..len], 0);
                check::<LANES, 1>(rows, &item[..len], 0);
                check::<LANES, 2>(rows, &item[..len], 0);
                check::<LANES, 2>(rows, &item[..len], rows.depth / 2);
            }
        }
    }

    #[test]
    fn row_numbers_and_widths_above_32_bits_are_supported() {
        let rows = rows(1 << 33, 1 << 33);
        let first_row = (1 << 32) - 8;
        let columns = rows.columns::<LANES, 2>(b"item", first_row);
        for (row, &column) in (first_row as u64..).zip(columns.as_flattened()) {
            let seed = (row % (1 << 32)) as u32;
            assert_eq!(column, murmur2(b"item", seed));
        }
        let cells: Vec<_> = rows.cells(1, &[u32::MAX, 1]).collect();
        assert_eq!(cells, [(1 << 33) + u32::MAX as usize, (2 << 33) + 1]);
    }

    proptest! {
        #[test]
        fn every_row_has_the_hash_of_its_seed(
            item: Vec<u8>, first_row in prop_oneof![any::<u32>(), u32::MAX - 20..=u32::MAX],
        ) {
            let [one] = group_hashes::<4, 1>(&item, first_row);
            let several = group_hashes::<LANES, 3>(&item, first_row);
            prop_assert_eq!(&one, &several[0][..4]);
            for (row, &hash) in (0u32..).zip(several.as_flattened()) {
                prop_assert_eq!(hash, murmur2(&item, first_row.wrapping_add(row)));
            }
        }
    }
}
