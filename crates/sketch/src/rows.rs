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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::murmur2;
    use proptest::prelude::*;

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
