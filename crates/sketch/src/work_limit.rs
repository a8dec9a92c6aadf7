//! The limit on the hashing that one command may do in a sketch with many rows.
//!
//! Work is counted in bytes that are hashed for [`LANES`] rows. Without a limit, a single large item in a sketch of a
//! million rows could block the server for hours.

use crate::rows::{LANES, MAX_PASS_GROUPS};

/// Sketches of up to this many rows have no limit: an item needs at most two passes.
pub const MAX_ROWS_WITHOUT_LIMIT: u64 = 32;

/// The work that one command may do: hashing 512 MiB.
const MAX_WORK: u64 = 1 << 29;

/// The work of a cell of memory that is in no cache, or was never used.
const CELL_WORK: u64 = 384;

/// The work of hashing `item` for this many rows, and of the cells, in bytes. A pass over the item takes as long for eight
/// rows as for 64, and one more pass is the most that the other steps take.
#[must_use]
pub fn hash_work(item: &[u8], rows: u64) -> u64 {
    let passes = rows.div_ceil((MAX_PASS_GROUPS * LANES) as u64) + 1;
    let hashed = (item.len() as u64).saturating_mul(passes.saturating_mul(MAX_PASS_GROUPS as u64));
    hashed.saturating_add(rows.saturating_mul(CELL_WORK))
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
        let pass = 8 << 16;
        assert_eq!(hash_work(&item, 1), 2 * pass + 384);
        assert_eq!(hash_work(&item, 64), 2 * pass + 64 * 384);
        assert_eq!(hash_work(&item, 65), 3 * pass + 65 * 384);
        assert_eq!(hash_work(&[], 5), 5 * 384);
        assert_eq!(hash_work(&item, u64::MAX), u64::MAX);
        let items = |number, rows| std::iter::repeat_n(hash_work(&item, rows), number);
        // 512 MiB are 500 × 1,073,152 bytes and a rest.
        assert_eq!(hash_work(&item, 64), 1_073_152);
        assert!(within_work_limit(items(500, 64)));
        assert!(!within_work_limit(items(501, 64)));
        assert!(within_work_limit(items(1, 60_000)));
        assert!(!within_work_limit(items(1, 70_000)));
        assert!(!within_work_limit(items(3, u64::MAX)));
        assert!(within_work_limit(items(0, u64::MAX)));
    }
}
