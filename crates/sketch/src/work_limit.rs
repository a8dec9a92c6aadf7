//! The limit on the hashing that one command may do in a sketch with many rows.
//!
//! Work is counted in bytes hashed. Every [`LANES`] rows count as one pass over an item. Without a limit, a single
//! large item in a sketch of a million rows could block the server for hours.

use crate::rows::LANES;

/// Sketches of up to this many rows have no limit: an item needs at most five passes.
pub const MAX_ROWS_WITHOUT_LIMIT: u64 = 32;

/// The work that one command may do: hashing 512 MiB.
const MAX_WORK: u64 = 1 << 29;

/// The work of a pass besides the item's bytes: eight cells of memory that are in no cache.
const PASS_WORK: u64 = 1024;

/// The work of hashing `item` for this many rows, in bytes.
#[must_use]
pub fn hash_work(item: &[u8], rows: u64) -> u64 {
    let pass = (item.len() as u64).saturating_add(PASS_WORK);
    rows.div_ceil(LANES as u64).saturating_mul(pass)
}

/// Whether one command may do all of this work: at most 512 MiB in total.
#[must_use]
pub fn within_work_limit(work: impl Iterator<Item = u64>) -> bool {
    work.fold(0u64, u64::saturating_add) <= MAX_WORK
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_may_hash_512_mebibytes_in_all_passes() {
        let item = [0; 1 << 16];
        let pass = (1 << 16) + 1024;
        assert_eq!(hash_work(&item, 1), pass);
        assert_eq!(hash_work(&item, 8), pass);
        assert_eq!(hash_work(&item, 9), 2 * pass);
        assert_eq!(hash_work(&[], u64::MAX), u64::MAX);
        let items = |number, rows| std::iter::repeat_n(hash_work(&item, rows), number);
        assert!(within_work_limit(items(8065, 8)));
        assert!(!within_work_limit(items(8066, 8)));
        assert!(within_work_limit(items(1, 1 << 15)));
        assert!(!within_work_limit(items(1, 1 << 16)));
        assert!(!within_work_limit(items(3, u64::MAX)));
        assert!(within_work_limit(items(0, u64::MAX)));
    }
}
