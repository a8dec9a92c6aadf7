//! Compaction: fingerprints of newer sub-filters move into empty slots of older ones.
//!
//! The order of moves is part of the data format (spec: cuckoo.md, Compact): from the newest
//! sub-filter down to the second, every fingerprint in the order of its slots goes to the oldest
//! sub-filter with an empty slot in one of its two buckets. How those are found is not; see
//! [`Vacancies`].
//!
//! Cost, in processor time on a busy Xeon (2 MiB of second-level cache) with bucket sizes of 1, 2 and 4.
//! Each filter was filled until its newest sub-filter was in use, then items were deleted (the first
//! ones, random ones, the last ones); the longest automatic compaction of the first eight, and the
//! CF.COMPACT after it:
//!
//! | sub-filters | million slots | automatic | CF.COMPACT |
//! |---|---|---|---|
//! | 2 of 8M slots | 16 | 14 to 24 ms | 0 to 2 ms |
//! | 3, growing fourfold | 10 | 10 to 12 ms | 4 to 6 ms |
//! | 4, growing twofold | 15 | 15 to 39 ms | 18 to 39 ms |
//! | 5 of 2M slots | 10 | 11 to 21 ms | 16 to 19 ms |
//! | 10 of 1M slots | 10 | 20 to 34 ms | 43 to 64 ms |
//! | 40 of 256K slots | 10 | 8 to 27 ms | 20 to 37 ms |
//! | 160 of 64K slots | 10 | 16 to 67 ms | 29 to 34 ms |
//!
//! The long ones are those in which half a million fingerprints and more move, or are offered to many
//! full sub-filters; where little is left to do, most took 0.1 to 5 ms.

use super::sub_filter::SubFilter;
use super::vacancies::{BLOCK_SLOTS, Vacancies};
use super::{CuckooFilter, MAX_SUB_FILTERS};
use crate::memory::shrink;

/// How far a compaction goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// It stops after the first sub-filter that kept a fingerprint: the automatic one.
    FirstKept,
    /// Through all sub-filters.
    All,
}

/// What became of a sub-filter's fingerprints.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Outcome {
    moved: bool,
    kept: bool,
}

impl CuckooFilter {
    /// Compacts with this way of finding empty slots; says whether that changed anything.
    pub(super) fn compact_with(&mut self, reach: Reach, mut vacancies: Vacancies<'_>) -> bool {
        let mut changed = self.deletes > 0;
        for source in (1..self.sub_filters.len()).rev() {
            let (earlier, later) = self.sub_filters.split_at_mut(source);
            let outcome = empty_into(&mut later[0], earlier, &mut vacancies);
            changed |= outcome.moved;
            if outcome.kept && reach == Reach::FirstKept {
                break;
            }
            if !outcome.kept && source + 1 == self.sub_filters.len() {
                self.sub_filters.pop();
                changed = true;
            }
        }
        shrink(&mut self.sub_filters, MAX_SUB_FILTERS);
        self.deletes = 0;
        changed
    }
}

/// Moves what finds room in `earlier`, slot by slot.
fn empty_into(
    source: &mut SubFilter,
    earlier: &mut [SubFilter],
    vacancies: &mut Vacancies<'_>,
) -> Outcome {
    let mut outcome = Outcome::default();
    let bucket_size = source.bucket_size();
    let block_buckets = BLOCK_SLOTS / bucket_size;
    let mut first_bucket = 0;
    for block in source.slots_mut().chunks_mut(block_buckets * bucket_size) {
        if any(block) {
            outcome.moved |= vacancies.empty(earlier, block, first_bucket);
            outcome.kept |= any(block);
        }
        first_bucket += block_buckets as u64;
    }
    outcome
}

/// Whether any slot holds a fingerprint.
fn any(slots: &[u8]) -> bool {
    slots.iter().fold(0, |any, slot| any | slot) != 0
}
