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
    /// The first choice of its two buckets.
    target: u64,
    /// Its slot in the block.
    slot: u16,
    /// Its bucket in the block.
    bucket: u16,
    /// The sub-filter of the first choice.
    sub_filter: u8,
}

/// An index of the buckets with empty slots in older sub-filters, of which it has fewer than 256.
pub(super) trait BitIndex {
    /// Reads the bits of a bucket. It has an empty slot in one of `earlier` sub-filters if one of the bits of the second
    /// value is set.
    fn bits(&self, earlier: usize) -> (impl Fn(u64) -> u64 + Copy, u64);

    /// The number of the oldest sub-filter with an empty slot in one of the buckets, and which bucket: the first if it
    /// has one. One of `earlier` sub-filters must have an empty slot in one of the buckets.
    fn first(&self, earlier: usize, buckets: [u64; 2]) -> (usize, u64);

    /// Clears the bit of that bucket of sub-filter `number`, which has become full.
    fn clear(&mut self, earlier: usize, number: usize, hash: u64);
}

/// Moves the fingerprints of `block`; see [`FreeSlots::move_block`](super::FreeSlots::move_block).
pub(super) fn move_block(
    index: &mut impl BitIndex,
    earlier: &mut [SubFilter],
    block: &mut [u8],
    first_bucket: u64,
) -> bool {
    match earlier[0].bucket_size() {
        1 => move_buckets::<1>(index, earlier, block, first_bucket),
        2 => move_buckets::<2>(index, earlier, block, first_bucket),
        4 => move_buckets::<4>(index, earlier, block, first_bucket),
        8 => move_buckets::<8>(index, earlier, block, first_bucket),
        _ => move_buckets::<0>(index, earlier, block, first_bucket),
    }
}

/// [`move_block`] for buckets of `SIZE` slots, or of any other size if `SIZE` is 0.
fn move_buckets<const SIZE: usize>(
    index: &mut impl BitIndex,
    earlier: &mut [SubFilter],
    block: &mut [u8],
    first_bucket: u64,
) -> bool {
    let mut candidates = [Candidate::default(); BLOCK_SLOTS];
    let mut len = 0;
    let mut slot = 0;
    let bucket_size = match SIZE {
        0 => earlier[0].bucket_size(),
        size => size,
    };
    let (bits, open) = index.bits(earlier.len());
    for (bucket, slots) in (0..).zip(block.chunks_exact(bucket_size)) {
        let home = first_bucket + u64::from(bucket);
        let home_bits = bits(home);
        for &fingerprint in slots {
            let is_open = (home_bits | bits(other_bucket(home, fingerprint))) & open != 0;
            candidates[len].slot = slot;
            candidates[len].bucket = bucket;
            len += usize::from((fingerprint != 0) & is_open);
            slot += 1;
        }
    }
    for candidate in &mut candidates[..len] {
        let fingerprint = block[usize::from(candidate.slot)];
        let home = first_bucket + u64::from(candidate.bucket);
        let buckets = [home, other_bucket(home, fingerprint)];
        let (number, target) = index.first(earlier.len(), buckets);
        candidate.sub_filter = number as u8;
        candidate.target = target;
        earlier[number].prefetch_bucket(target);
    }
    let mut moved = false;
    for candidate in &candidates[..len] {
        let slot = &mut block[usize::from(candidate.slot)];
        let number = usize::from(candidate.sub_filter);
        let home = first_bucket + u64::from(candidate.bucket);
        if store::<SIZE>(index, earlier, number, candidate.target, *slot)
            || store_in_first::<SIZE>(index, earlier, [home, other_bucket(home, *slot)], *slot)
        {
            *slot = 0;
            moved = true;
        }
    }
    moved
}

/// Stores `fingerprint` in that bucket of sub-filter `number` if it has an empty slot. No older sub-filter has one in
/// that bucket.
#[inline(always)]
fn store<const SIZE: usize>(
    index: &mut impl BitIndex,
    earlier: &mut [SubFilter],
    number: usize,
    hash: u64,
    fingerprint: u8,
) -> bool {
    let sub_filter = &mut earlier[number];
    let stored = if SIZE == 0 {
        bucket::store(sub_filter.bucket_mut(hash), fingerprint)
    } else {
        let start = (hash & sub_filter.bucket_mask()) as usize * SIZE;
        bucket::store_at::<SIZE>(sub_filter.slots_mut(), start, fingerprint)
    };
    if stored == Some(false) {
        index.clear(earlier.len(), number, hash);
    }
    stored.is_some()
}

/// Stores `fingerprint` in the oldest of `earlier` with an empty slot in the first bucket or else in the second.
/// Returns false if none has one.
#[cold]
fn store_in_first<const SIZE: usize>(
    index: &mut impl BitIndex,
    earlier: &mut [SubFilter],
    buckets: [u64; 2],
    fingerprint: u8,
) -> bool {
    let (bits, open) = index.bits(earlier.len());
    if (bits(buckets[0]) | bits(buckets[1])) & open == 0 {
        return false;
    }
    let (number, hash) = index.first(earlier.len(), buckets);
    store::<SIZE>(index, earlier, number, hash, fingerprint)
}
