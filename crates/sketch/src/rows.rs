//! Rows of cells: where an item falls in each row of a count-min sketch or a top-k.
//!
//! Row i hashes items with 32-bit MurmurHash2 under seed i, and the column is the hash modulo the
//! row's width (spec: count-min-sketch.md, top-k.md).

use super::hash::murmur2_groups;

/// Rows whose hashes are computed side by side.
pub const LANES: usize = 8;

/// The hashes of `item` in rows from `first_row` on, in `GROUPS` of as many as a vector register has lanes.
/// Row numbers are 32-bit seeds and wrap. Cost: one pass over the item.
#[inline(always)]
#[must_use]
pub fn group_hashes<const N: usize, const GROUPS: usize>(
    item: &[u8],
    first_row: u32,
) -> [[u32; N]; GROUPS] {
    let mut seeds = [[0; N]; GROUPS];
    let mut next = first_row;
    for seed in seeds.as_flattened_mut() {
        *seed = next;
        next = next.wrapping_add(1);
    }
    murmur2_groups(item, seeds)
}

/// Rows up to which any items may be hashed: that is at most five passes over what was sent.
pub const SHALLOW_ROWS: u64 = 32;

/// What one command may cost in a sketch that is not shallow, in bytes hashed in one pass: some seconds.
const MOST_BYTES: u64 = 1 << 32;

/// What a pass costs besides the item's bytes, in such bytes: eight cells of memory.
const PASS_BYTES: u64 = 64;

/// What an item costs in so many rows, in bytes hashed in one pass.
///
/// Each [`LANES`] rows count as a pass over the item, so that one of half a gibibyte would take a day for a
/// million rows.
#[must_use]
pub fn item_bytes(item: &[u8], rows: u64) -> u64 {
    let pass = (item.len() as u64).saturating_add(PASS_BYTES);
    rows.div_ceil(LANES as u64).saturating_mul(pass)
}

/// Whether one command may cost all of this, in bytes hashed in one pass: 4 GiB, which takes some seconds.
#[must_use]
pub fn is_bearable(costs: impl Iterator<Item = u64>) -> bool {
    let all = costs.fold(0u64, u64::saturating_add);
    all <= MOST_BYTES
}

/// Takes 32-bit hashes modulo a fixed width, with two multiplications instead of a division: as
/// `sketch/bloom/modulus.rs` does, for the reason that is told there, but in 32 bits and the products of such,
/// which vectors have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Columns {
    /// The width; 0 stands for 2^32 and more, which changes no 32-bit hash.
    modulus: u32,
    inverse: u32,
}

impl Columns {
    /// Columns of rows of `width` cells. A width of 0 counts as 1.
    #[must_use]
    pub const fn new(width: u64) -> Self {
        const HASHES: u64 = 1 << 32;
        if width >= HASHES {
            return Self {
                modulus: 0,
                inverse: 0,
            };
        }
        #[allow(clippy::cast_possible_truncation)] // looked at above
        let modulus = if width == 0 { 1 } else { width as u32 };
        Self {
            modulus,
            inverse: u32::MAX / modulus,
        }
    }

    /// `hash % width`.
    #[inline(always)]
    #[must_use]
    pub fn column(self, hash: u32) -> u32 {
        #[allow(clippy::cast_possible_truncation)] // the high half
        let quotient = ((u64::from(hash) * u64::from(self.inverse)) >> 32) as u32;
        let rest = hash.wrapping_sub(quotient.wrapping_mul(self.modulus));
        // Below the width the difference wraps to something large.
        rest.min(rest.wrapping_sub(self.modulus))
    }

    /// [`Columns::column`] of several hashes, each in the place of its hash. Always inlined, so that it has the
    /// vectors of whatever it is inlined into.
    #[inline(always)]
    pub fn replace(self, hashes: &mut [u32]) {
        for hash in hashes {
            *hash = self.column(*hash);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::murmur2;
    use proptest::prelude::*;

    /// Hashes at which a remainder is easily wrong for `width`: multiples and their neighbours.
    fn hashes_near_multiples(width: u64) -> impl Iterator<Item = u32> {
        let last = u64::from(u32::MAX) / width * width;
        [0, width, width * 2, width * 3, last]
            .into_iter()
            .flat_map(|hash| [hash.wrapping_sub(1), hash, hash + 1])
            .filter_map(|hash| u32::try_from(hash).ok())
            .chain([u32::MAX, u32::MAX - 1, 1 << 31, (1 << 31) - 1])
    }

    #[test]
    fn the_remainder_is_exact_at_the_edges() {
        let edges = (0..34).flat_map(|bit| [(1u64 << bit) - 1, 1 << bit, (1 << bit) + 1]);
        for width in (1..2000).chain(edges).filter(|&width| width > 0) {
            let columns = Columns::new(width);
            for hash in hashes_near_multiples(width) {
                let remainder = (u64::from(hash) % width) as u32;
                assert_eq!(columns.column(hash), remainder, "{hash} % {width}");
                let mut several = [hash; 3];
                columns.replace(&mut several);
                assert_eq!(several, [remainder; 3], "{hash} % {width}");
            }
        }
        assert_eq!(Columns::new(u64::MAX).column(u32::MAX), u32::MAX);
        assert_eq!(Columns::new(0).column(7), 0);
    }

    #[test]
    fn a_command_may_hash_four_gibibytes_in_all_passes() {
        let item = [0; 1 << 16];
        assert_eq!(item_bytes(&item, 1), (1 << 16) + 64);
        assert_eq!(item_bytes(&item, 8), (1 << 16) + 64);
        assert_eq!(item_bytes(&item, 9), 2 * ((1 << 16) + 64));
        assert_eq!(item_bytes(&[], u64::MAX), u64::MAX);
        let items = |number, rows| std::iter::repeat_n(item_bytes(&item, rows), number);
        assert!(is_bearable(items(65_472, 8)));
        assert!(!is_bearable(items(65_473, 8)));
        assert!(is_bearable(items(1, 1 << 18)));
        assert!(!is_bearable(items(1, 1 << 20)));
        assert!(!is_bearable(items(3, u64::MAX)));
        assert!(is_bearable(items(0, u64::MAX)));
    }

    proptest! {
        #[test]
        fn the_remainder_is_exact(hash: u32, width: u64, shift in 0u32..64) {
            let width = (width >> shift).max(1);
            let remainder = |hash| (u64::from(hash) % width) as u32;
            prop_assert_eq!(Columns::new(width).column(hash), remainder(hash));
            for hash in hashes_near_multiples(width.min(1 << 32)) {
                prop_assert_eq!(Columns::new(width).column(hash), remainder(hash));
            }
        }

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
