//! An index of empty slots over up to 64 sub-filters.
//!
//! The index is small (one bit per bucket and sub-filter: a sixteenth of the slots' bytes at bucket size 2), so that
//! it mostly fits in the second-level cache. Look-ups have no unpredictable branch: the sub-filter is found by counting
//! trailing zeros, and fingerprints without an empty slot are skipped without a branch.

use super::free_slots::BLOCK_SLOTS;
use crate::cuckoo::bucket;
use crate::cuckoo::item::other_bucket;
use crate::cuckoo::sub_filter::SubFilter;
use crate::memory::{Budget, with_capacity};

/// For each bucket of the largest sub-filter a mask with one bit per sub-filter, the oldest lowest: whether the
/// bucket of that number, reduced to the size of the sub-filter, has an empty slot.
///
/// A bit may be set although the bucket is full: several masks refer to the same bucket of a smaller sub-filter, and
/// only the one that was used is updated. No bit is clear although the bucket has an empty slot.
#[derive(Debug)]
pub(super) struct Bitmap {
    /// Masks of `1 << log2_width` bits, the first lowest.
    words: Vec<u64>,
    log2_width: u32,
    /// Number of masks less one.
    bucket_mask: u64,
    /// The bits of one mask.
    width_mask: u64,
}

impl Bitmap {
    /// The number of bits of the widest mask.
    pub const MAX_SUB_FILTERS: usize = 64;

    /// Tests every bucket of `earlier`: at least one and at most [`Bitmap::MAX_SUB_FILTERS`]. `None` if memory is
    /// refused. Requests the bytes of all masks from `budget`.
    pub fn new(earlier: &[SubFilter], budget: Budget<'_>) -> Option<Self> {
        let bucket_mask = earlier.iter().map(SubFilter::bucket_mask).max()?;
        let width = earlier.len().next_power_of_two();
        let len = (bucket_mask + 1).checked_mul(width as u64)?.div_ceil(64);
        budget.request(len.checked_mul(8)?).ok()?;
        let len = usize::try_from(len).ok()?;
        let mut words = with_capacity(len).ok()?;
        words.resize(len, 0);
        for (number, sub_filter) in earlier.iter().enumerate() {
            // Each call is compiled for its constant.
            match sub_filter.bucket_size() {
                1 => mark(&mut words, width, number, sub_filter, 1),
                2 => mark(&mut words, width, number, sub_filter, 2),
                4 => mark(&mut words, width, number, sub_filter, 4),
                size => mark(&mut words, width, number, sub_filter, size),
            }
        }
        Some(Self {
            words,
            log2_width: width.ilog2(),
            bucket_mask,
            width_mask: u64::MAX >> (64 - width),
        })
    }

    /// Moves the fingerprints of `block`; see [`FreeSlots::move_block`](super::FreeSlots::move_block).
    ///
    /// Three passes overlap the cache misses of different fingerprints: list those that may move, prefetch their
    /// buckets, move them. A move creates no empty slot in `earlier`, so the bucket of the second pass is still the
    /// first choice in the third unless it has become full.
    pub fn move_block(
        &mut self,
        earlier: &mut [SubFilter],
        block: &mut [u8],
        first_bucket: u64,
    ) -> bool {
        let mut candidates = [Candidate::default(); BLOCK_SLOTS];
        let mut len = 0;
        let mut slot = 0;
        let before_source = u64::MAX >> (64 - earlier.len());
        let bucket_size = earlier[0].bucket_size();
        for (bucket, slots) in (0..).zip(block.chunks_exact(bucket_size)) {
            let home = first_bucket + u64::from(bucket);
            let home_mask = self.mask(home);
            for &fingerprint in slots {
                let mask = home_mask | self.mask(other_bucket(home, fingerprint));
                candidates[len].slot = slot;
                candidates[len].bucket = bucket;
                len += usize::from((fingerprint != 0) & (mask & before_source != 0));
                slot += 1;
            }
        }
        for candidate in &mut candidates[..len] {
            let fingerprint = block[usize::from(candidate.slot)];
            let home = first_bucket + u64::from(candidate.bucket);
            let (number, target) = self.first([home, other_bucket(home, fingerprint)]);
            candidate.sub_filter = number as u8;
            candidate.target = target;
            earlier[number].prefetch_bucket(target);
        }
        let mut moved = false;
        for candidate in &candidates[..len] {
            let slot = &mut block[usize::from(candidate.slot)];
            let number = usize::from(candidate.sub_filter);
            let home = first_bucket + u64::from(candidate.bucket);
            if self.store(earlier, number, candidate.target, *slot)
                || self.store_in_first(earlier, [home, other_bucket(home, *slot)], *slot)
            {
                *slot = 0;
                moved = true;
            }
        }
        moved
    }

    /// The word that holds a bucket's mask, and the mask's position in it.
    #[inline]
    fn position(&self, hash: u64) -> (usize, u32) {
        let bit = (hash & self.bucket_mask) << self.log2_width;
        ((bit >> 6) as usize, (bit & 63) as u32)
    }

    /// A bucket's mask; higher bits belong to other buckets.
    #[inline]
    fn mask(&self, hash: u64) -> u64 {
        let (word, shift) = self.position(hash);
        self.words[word] >> shift
    }

    /// The number of the first sub-filter with a set bit for one of the buckets, and which bucket. The number is at
    /// least the number of sub-filters if no bit is set.
    #[inline]
    fn first(&self, buckets: [u64; 2]) -> (usize, u64) {
        let masks = buckets.map(|hash| self.mask(hash) & self.width_mask);
        let number = (masks[0] | masks[1]).trailing_zeros();
        let in_first = masks[0].unbounded_shr(number) & 1 != 0;
        (number as usize, buckets[usize::from(!in_first)])
    }

    /// Stores `fingerprint` in that bucket of sub-filter `number` if it has an empty slot, and clears its bit if it is
    /// full afterwards.
    #[inline]
    fn store(
        &mut self,
        earlier: &mut [SubFilter],
        number: usize,
        hash: u64,
        fingerprint: u8,
    ) -> bool {
        let stored = bucket::store(earlier[number].bucket_mut(hash), fingerprint);
        let (word, shift) = self.position(hash);
        let full = u64::from(stored != Some(true));
        self.words[word] &= !(full << (shift as usize + number));
        stored.is_some()
    }

    /// Stores `fingerprint` in the first of `earlier` with an empty slot in the first bucket or else in the second.
    /// Returns false if none has one.
    #[cold]
    fn store_in_first(
        &mut self,
        earlier: &mut [SubFilter],
        buckets: [u64; 2],
        fingerprint: u8,
    ) -> bool {
        loop {
            let (number, hash) = self.first(buckets);
            if number >= earlier.len() {
                return false;
            }
            if self.store(earlier, number, hash, fingerprint) {
                return true;
            }
        }
    }
}

/// A fingerprint that may move.
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

/// Sets the bits of sub-filter `number`, whose bucket size is `bucket_size`, in masks of `width` bits.
#[inline(always)]
fn mark(
    words: &mut [u64],
    width: usize,
    number: usize,
    sub_filter: &SubFilter,
    bucket_size: usize,
) {
    let slots = &**sub_filter.slots();
    let bucket_mask = sub_filter.bucket_mask() as usize;
    let mut bucket = 0;
    for word in words {
        let mut shift = number;
        while shift < 64 {
            let start = (bucket & bucket_mask) * bucket_size;
            let free = bucket::contains(&slots[start..start + bucket_size], 0);
            *word |= u64::from(free) << shift;
            shift += width;
            bucket += 1;
        }
    }
}
