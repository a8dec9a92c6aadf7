//! The limit on the hashing that one command may do in a sketch with many rows.
//!
//! Work is counted in bytes that are hashed for [`LANES`] rows. Without a limit, a single large item in a sketch of a
//! million rows could block the server for hours.

use crate::hash::rows::{LANES, MAX_PASS_GROUPS};

/// Sketches of up to this many rows have no limit: an item needs at most two passes.
pub const MAX_ROWS_WITHOUT_LIMIT: u64 = 32;

/// The work that one command may do: hashing 512 MiB.
const MAX_WORK: u64 = 1 << 29;

/// The work of a cell of memory that is in no cache.
const CELL_WORK: u64 = 384;

/// The work of the first use of a page of memory, which the operating system then provides.
const PAGE_WORK: u64 = 24 << 10;
const PAGE_BYTES: u64 = 4096;

/// The work of hashing `item` for this many rows, and of the cells, in bytes. A pass over the item takes as long for eight
/// rows as for 64, and one more pass is the most that the other steps take.
#[must_use]
pub fn hash_work(item: &[u8], rows: u64) -> u64 {
    let passes = rows.div_ceil((MAX_PASS_GROUPS * LANES) as u64) + 1;
    let hashed = (item.len() as u64).saturating_mul(passes.saturating_mul(MAX_PASS_GROUPS as u64));
    hashed.saturating_add(rows.saturating_mul(CELL_WORK))
}

/// The work of the pages that this number of items can use for the first time, in a table of this many rows and bytes: a
/// cell of each row and item can be on a page of its own.
fn page_work(items: u64, rows: u64, table_bytes: u64) -> u64 {
    let cells = items.saturating_mul(rows);
    let pages = cells.min(table_bytes.div_ceil(PAGE_BYTES));
    pages.saturating_mul(PAGE_WORK)
}

/// Whether one command may do this work, one number per item, in a table of this many rows and bytes: at most 512 MiB
/// in total. It does not depend on the pages in use, so a primary and its replicas refuse the same commands.
#[must_use]
pub fn within_work_limit(work: impl Iterator<Item = u64>, rows: u64, table_bytes: u64) -> bool {
    let (items, work) = work.fold((0u64, 0u64), |(items, total), work| {
        (items + 1, total.saturating_add(work))
    });
    work.saturating_add(page_work(items, rows, table_bytes)) <= MAX_WORK
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
        assert!(within_work_limit(items(500, 64), 64, 0));
        assert!(!within_work_limit(items(501, 64), 64, 0));
        assert!(within_work_limit(items(1, 60_000), 60_000, 0));
        assert!(!within_work_limit(items(1, 70_000), 70_000, 0));
        assert!(!within_work_limit(items(3, u64::MAX), u64::MAX, 0));
        assert!(within_work_limit(items(0, u64::MAX), u64::MAX, 0));
    }
    #[test]
    fn pages_count_once_as_24_kibibytes() {
        let page = 24 << 10;
        assert_eq!(page_work(0, 33, 1 << 30), 0);
        assert_eq!(page_work(2, 33, 1 << 30), 66 * page);
        // The table has fewer pages than the items have cells.
        assert_eq!(page_work(2, 33, 65 * 4096), 65 * page);
        assert_eq!(page_work(2, 33, 65 * 4096 + 1), 66 * page);
        assert_eq!(page_work(u64::MAX, 33, 4096), page);
        assert_eq!(page_work(3, u64::MAX, u64::MAX), u64::MAX);
        // 33 rows of 1,500,000 counters of four bytes: at most 21,509 cells of 384 bytes and 24 KiB.
        let bytes = 33 * 1_500_000 * 4;
        let items = |number| std::iter::repeat_n(hash_work(&[], 33), number);
        assert!(within_work_limit(items(651), 33, bytes));
        assert!(!within_work_limit(items(652), 33, bytes));
        // A table in the caches: only its pages.
        assert!(within_work_limit(items(41_000), 33, 1 << 20));
    }
}
