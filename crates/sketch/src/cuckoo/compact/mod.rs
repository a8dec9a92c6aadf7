//! Compaction: moves fingerprints of newer sub-filters into empty slots of older ones.
//!
//! The order of moves is part of the data format (docs/contributing/formats.md): from the newest sub-filter down to the
//! second, every fingerprint in slot order moves to the oldest sub-filter with an empty slot in one of its two
//! buckets. How the empty slots are found is not part of the format; see [`FreeSlots`].

mod bitmap;
mod free_slots;
mod one_by_one;
mod passes;
mod planes;

pub(super) use free_slots::FreeSlots;

use super::CuckooFilter;
use super::sub_filter::SubFilter;

/// Slots that are processed together: at least one bucket of the largest size (255), and few enough that they and
/// their candidates stay in the first-level cache.
const BLOCK_SLOTS: usize = 256;

/// Which sub-filters a compaction processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Scope {
    /// From the newest to the first that cannot be emptied: the automatic compaction.
    UntilKept,
    /// All: CF.COMPACT.
    All,
}

impl CuckooFilter {
    /// Compacts and sets the count of deletions to 0. Returns whether anything changed, that count included.
    pub(super) fn compact_with(&mut self, scope: Scope, mut free_slots: FreeSlots<'_>) -> bool {
        let mut changed = self.deletes > 0;
        let mut kept = self.sub_filters.len();
        for source in (1..self.sub_filters.len()).rev() {
            let (earlier, later) = self.sub_filters.split_at_mut(source);
            let (any_moved, any_kept) = move_all(&mut later[0], earlier, &mut free_slots);
            changed |= any_moved;
            if any_kept && scope == Scope::UntilKept {
                break;
            }
            if !any_kept && source + 1 == kept {
                kept = source;
                changed = true;
            }
        }
        self.sub_filters.truncate(kept);
        self.deletes = 0;
        changed
    }
}

/// Moves the fingerprints of `source` into empty slots of `earlier`, in slot order. Returns whether one moved, and whether one
/// stayed.
fn move_all(
    source: &mut SubFilter,
    earlier: &mut [SubFilter],
    free_slots: &mut FreeSlots<'_>,
) -> (bool, bool) {
    let (mut moved, mut kept) = (false, false);
    let bucket_size = source.bucket_size();
    let block_buckets = BLOCK_SLOTS / bucket_size;
    let mut first_bucket = 0;
    for block in source.slots_mut().chunks_mut(block_buckets * bucket_size) {
        if has_fingerprint(block) {
            moved |= free_slots.move_block(earlier, block, first_bucket);
            kept |= has_fingerprint(block);
        }
        first_bucket += block_buckets as u64;
    }
    (moved, kept)
}

/// Whether any slot holds a fingerprint. Tests all slots without a branch, so that it vectorizes.
fn has_fingerprint(slots: &[u8]) -> bool {
    slots.iter().fold(0, |any, slot| any | slot) != 0
}
