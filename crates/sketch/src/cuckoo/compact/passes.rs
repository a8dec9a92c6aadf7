//! The passes that move the fingerprints of a block with an index that has bits for each bucket.
//!
//! Three passes overlap the cache misses of different fingerprints: list those that may move, prefetch their buckets,
//! move them. A move creates no empty slot in older sub-filters, so the bucket of the second pass is still the first
//! choice in the third unless it has become full.

use super::BLOCK_SLOTS;
use crate::cuckoo::bucket;
use crate::cuckoo::item::other_bucket;
use crate::cuckoo::sub_filter::SubFilter;

/// A fingerprint of a block that may move.
#[derive(Debug, Clone, Copy, Default)]
struct Candidate {
    /// Its slot in the block.
    slot: u16,
    /// The number of its bucket.
    home: u64,
    /// The first choice: the number of a sub-filter, and a bucket there.
    choice: (usize, u64),
}

/// An index of the buckets with empty slots in older sub-filters. A function gets the number of them that count.
pub(super) trait BitIndex {
    /// False if the bucket has no empty slot in `earlier` sub-filters.
    fn may_have_empty_slot(&self, earlier: usize, hash: u64) -> bool;

    /// The number of the oldest of `earlier` sub-filters with an empty slot in one of the buckets, and which bucket: the first
    /// if it has one.
    fn first(&self, earlier: usize, buckets: [u64; 2]) -> Option<(usize, u64)>;

    /// Clears the bit of that bucket of sub-filter `number`, which has become full.
    fn clear(&mut self, number: usize, hash: u64);
}

/// Moves the fingerprints of `block`; see [`FreeSlots::move_block`](super::FreeSlots::move_block).
pub(super) fn move_block(
    index: &mut impl BitIndex,
    earlier: &mut [SubFilter],
    block: &mut [u8],
    first_bucket: u64,
) -> bool {
    let older = earlier.len();
    let bucket_size = earlier[0].bucket_size();
    let mut candidates = [Candidate::default(); BLOCK_SLOTS];
    let (mut len, mut slot) = (0, 0);
    for (home, slots) in (first_bucket..).zip(block.chunks_exact(bucket_size)) {
        let home_may = index.may_have_empty_slot(older, home);
        for &fingerprint in slots {
            let other = other_bucket(home, fingerprint);
            let may_move = home_may | index.may_have_empty_slot(older, other);
            candidates[len].slot = slot;
            candidates[len].home = home;
            len += usize::from((fingerprint != 0) & may_move);
            slot += 1;
        }
    }
    let all = len;
    len = 0;
    for i in 0..all {
        let Candidate { slot, home, .. } = candidates[i];
        let buckets = [home, other_bucket(home, block[usize::from(slot)])];
        if let Some(choice) = index.first(older, buckets) {
            earlier[choice.0].prefetch_bucket(choice.1);
            candidates[len] = Candidate { slot, home, choice };
            len += 1;
        }
    }
    let mut moved = false;
    for candidate in &candidates[..len] {
        let slot = &mut block[usize::from(candidate.slot)];
        let buckets = [candidate.home, other_bucket(candidate.home, *slot)];
        let stored = store(index, earlier, candidate.choice, *slot)
            || (index.first(older, buckets))
                .is_some_and(|choice| store(index, earlier, choice, *slot));
        if stored {
            *slot = 0;
            moved = true;
        }
    }
    moved
}

/// Stores `fingerprint` in that bucket of a sub-filter if it has an empty slot. No older sub-filter has one in that bucket.
#[inline(always)]
fn store(
    index: &mut impl BitIndex,
    earlier: &mut [SubFilter],
    (number, hash): (usize, u64),
    fingerprint: u8,
) -> bool {
    let stored = bucket::store(earlier[number].bucket_mut(hash), fingerprint);
    if stored == Some(false) {
        index.clear(number, hash);
    }
    stored.is_some()
}
