//! Compaction: fingerprints of newer sub-filters move into empty slots of older ones.
//!
//! The order of moves is part of the data format (spec: cuckoo.md, Compact): from the newest
//! sub-filter down to the second, every fingerprint in the order of its slots goes to the oldest
//! sub-filter with an empty slot in one of its two buckets. How those are found is not; see
//! [`Vacancies`].
//!
//! Cost, measured with 10 to 17 million slots on one core of a 2.3 GHz Xeon (bucket sizes 1, 2, 4): about
//! 2 ns a slot that is looked at and 15 to 25 ns a fingerprint that moves. An automatic compaction took
//! 0.2 to 12 ms where few moved, and 20 to 60 ms where 0.5 to 1.7 million did: the first after a filter
//! had grown with much room left in its older sub-filters. CF.COMPACT took 8 to 55 ms.

use super::CuckooFilter;
use super::sub_filter::SubFilter;
use super::vacancies::{BLOCK_SLOTS, Vacancies};

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
    /// Compacts; says whether that changed anything.
    pub(super) fn compact_sub_filters(&mut self, reach: Reach) -> bool {
        self.compact_with(reach, Vacancies::default())
    }

    /// [`Self::compact_sub_filters`] with a given way of finding empty slots.
    pub(super) fn compact_with(&mut self, reach: Reach, mut vacancies: Vacancies) -> bool {
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
        self.deletes = 0;
        changed
    }
}

/// Moves what finds room in `earlier`, slot by slot.
fn empty_into(
    source: &mut SubFilter,
    earlier: &mut [SubFilter],
    vacancies: &mut Vacancies,
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
