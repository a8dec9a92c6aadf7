//! Rows of cells: where an item falls in each row of a count-min sketch or a top-k.
//!
//! Row i hashes items with 32-bit MurmurHash2 under seed i, and the column is the hash modulo the
//! row's width (spec: count-min-sketch.md, top-k.md).

use super::hash::murmur2_lanes;

/// Rows whose hashes are computed side by side.
pub const LANES: usize = 8;

/// The hashes of `item` in the rows `first_row..first_row + out.len()`, into `out`.
///
/// Row numbers are 32-bit seeds and wrap. Cost: one pass over the item for every [`LANES`] rows.
#[inline]
pub fn row_hashes(item: &[u8], first_row: u32, out: &mut [u32]) {
    let mut row = first_row;
    for group in out.chunks_mut(LANES) {
        let len = group.len();
        if len > LANES / 2 {
            let hashes = lane_hashes::<LANES>(item, row);
            group.copy_from_slice(&hashes[..len]);
        } else {
            let hashes = lane_hashes::<{ LANES / 2 }>(item, row);
            group.copy_from_slice(&hashes[..len]);
        }
        row = row.wrapping_add(LANES as u32);
    }
}

/// The hashes of `item` in `N` rows from `first_row` on. Cost: one pass over the item.
#[inline(always)]
#[must_use]
pub fn lane_hashes<const N: usize>(item: &[u8], first_row: u32) -> [u32; N] {
    murmur2_lanes(item, consecutive(first_row))
}

/// The seeds `first, first + 1, …`.
#[inline]
fn consecutive<const N: usize>(first: u32) -> [u32; N] {
    let mut next = first;
    [(); N].map(|()| {
        let seed = next;
        next = next.wrapping_add(1);
        seed
    })
}

/// Rows up to which any items may be hashed: that is at most four passes over what was sent.
pub const SHALLOW_ROWS: u64 = 32;

/// What one command may cost in a sketch that is not shallow, in bytes hashed in one pass: some seconds.
const MOST_BYTES: u64 = 1 << 32;

/// What a pass costs besides the item's bytes, in such bytes: eight cells of memory.
const PASS_BYTES: u64 = 64;

/// What an item costs in so many rows, in bytes hashed in one pass.
///
/// Each group of [`LANES`] rows is a pass over the item, so that one of half a gibibyte would take a day
/// for a million rows.
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

/// Takes 32-bit hashes modulo a fixed width, with two multiplications instead of a division.
///
/// From D. Lemire, O. Kaser, N. Kurz, "Faster remainder by direct computation" (2019), section 3.2:
/// with F = 64 fractional bits the result is exact for every 32-bit hash and every width up to 2^32.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Columns {
    /// The width, at most 2^32: no 32-bit hash is changed by a greater modulus.
    modulus: u64,
    /// ⌈2^64 / modulus⌉ modulo 2^64.
    inverse: u64,
}

impl Columns {
    /// Columns of rows of `width` cells. A width of 0 counts as 1.
    #[must_use]
    pub const fn new(width: u64) -> Self {
        const HASHES: u64 = 1 << 32;
        let modulus = match width {
            0 => 1,
            1..HASHES => width,
            _ => HASHES,
        };
        Self {
            modulus,
            inverse: (u64::MAX / modulus).wrapping_add(1),
        }
    }

    /// `hash % width`.
    #[inline]
    #[must_use]
    pub const fn column(self, hash: u32) -> u64 {
        let fraction = self.inverse.wrapping_mul(hash as u64);
        ((fraction as u128 * self.modulus as u128) >> 64) as u64
    }

    /// [`Columns::column`] of several hashes: in products of 32 bits, which vectors have.
    #[inline(always)]
    #[must_use]
    pub fn columns<const N: usize>(self, hashes: [u32; N]) -> [u64; N] {
        let Ok(modulus) = u32::try_from(self.modulus) else {
            return hashes.map(u64::from);
        };
        hashes.map(|hash| {
            let fraction = self.inverse.wrapping_mul(u64::from(hash));
            let high = (fraction >> 32) * u64::from(modulus);
            let low = (fraction & 0xffff_ffff) * u64::from(modulus);
            (high + (low >> 32)) >> 32
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sketch::hash::murmur2;
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
                let remainder = u64::from(hash) % width;
                assert_eq!(columns.column(hash), remainder, "{hash} % {width}");
                assert_eq!(columns.columns([hash]), [remainder], "{hash} % {width}");
            }
        }
        assert_eq!(Columns::new(u64::MAX).column(u32::MAX), u64::from(u32::MAX));
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
            prop_assert_eq!(Columns::new(width).column(hash), u64::from(hash) % width);
            for hash in hashes_near_multiples(width.min(1 << 32)) {
                prop_assert_eq!(Columns::new(width).column(hash), u64::from(hash) % width);
                prop_assert_eq!(Columns::new(width).columns([hash]), [u64::from(hash) % width]);
            }
        }

        #[test]
        fn every_row_has_the_hash_of_its_seed(item: Vec<u8>, first_row: u32, rows in 0usize..40) {
            let mut hashes = vec![0; rows];
            row_hashes(&item, first_row, &mut hashes);
            for (row, hash) in (0u32..).zip(hashes) {
                prop_assert_eq!(hash, murmur2(&item, first_row.wrapping_add(row)));
            }
        }
    }
}
