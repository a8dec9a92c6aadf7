//! An index of empty slots over sub-filters of different sizes.

use super::plane::plane_of;
use super::{BLOCK_SLOTS, Candidate};
use crate::cuckoo::bucket;
use crate::cuckoo::item::other_bucket;
use crate::cuckoo::sub_filter::SubFilter;
use crate::memory::{Budget, with_capacity};
use std::hint::select_unpredictable;

/// For each sub-filter, a plane and a union: one bit per bucket. The bit of the plane is set if the bucket has an empty
/// slot; that of the union, if the bucket of that number of this sub-filter or of an older one has one, each number
/// reduced to the size of the sub-filter.
///
/// So one bit per bucket of the newest older sub-filter answers whether any has an empty slot for a fingerprint. The
/// unions of the others find the oldest one: a set bit remains set in all newer sub-filters.
///
/// Buckets only fill up, so each bit is cleared once. The total cost of a compaction is linear in the fingerprints and
/// the buckets; each move adds the logarithm of the number of sub-filters.
#[derive(Debug)]
pub(super) struct Unions {
    /// One per sub-filter, the oldest first.
    levels: Vec<Level>,
    /// The planes of all sub-filters, the oldest first. Not updated: a bit is read when the older buckets become full, and
    /// no fingerprint moves to its bucket earlier.
    planes: Vec<u64>,
    /// The unions of all sub-filters, in the same order.
    unions: Vec<u64>,
    /// No older sub-filter has an empty slot.
    first_open: usize,
}

/// The position of a plane and of a union.
#[derive(Debug, Clone, Copy)]
struct Level {
    first_word: usize,
    /// Number of buckets less one.
    bucket_mask: u64,
    /// Number of set bits in the union.
    open: u64,
}

impl Level {
    /// The word that holds a bucket's bit, and the bit's position in it.
    #[inline(always)]
    fn position(&self, hash: u64) -> (usize, u32) {
        let bucket = hash & self.bucket_mask;
        let word = self.first_word + (bucket >> 6) as usize;
        (word, (bucket & 63) as u32)
    }
}

impl Unions {
    /// Tests every bucket of `earlier`. `None` if memory is refused. Requests the bytes of the planes and unions.
    pub fn new(earlier: &[SubFilter], budget: Budget<'_>) -> Option<Self> {
        let words = |each: &SubFilter| (each.bucket_mask() + 1).div_ceil(64);
        let len: u64 = earlier.iter().map(words).sum();
        let bytes = len.saturating_mul(2 * size_of::<u64>() as u64);
        budget.request(bytes).ok()?;
        let len = usize::try_from(len).ok()?;
        let mut levels = with_capacity(earlier.len()).ok()?;
        let mut planes = with_capacity(len).ok()?;
        let mut unions: Vec<u64> = with_capacity(len).ok()?;
        let mut older = 0..0;
        for sub_filter in earlier {
            let first_word = planes.len();
            let bucket_mask = sub_filter.bucket_mask();
            plane_of(sub_filter, &mut planes);
            // Fewer than 64 buckets are repeated in their word.
            let counted = u64::MAX >> (63 - bucket_mask.min(63));
            let mut open = 0;
            for (number, plane) in planes[first_word..].iter().enumerate() {
                let repeated = number & older.len().wrapping_sub(1);
                let of_older = unions[older.clone()].get(repeated).unwrap_or(&0);
                let union = plane | of_older;
                open += u64::from((union & counted).count_ones());
                unions.push(union);
            }
            older = first_word..unions.len();
            levels.push(Level {
                first_word,
                bucket_mask,
                open,
            });
        }
        Some(Self {
            levels,
            planes,
            unions,
            first_open: 0,
        })
    }

    /// Moves the fingerprints of `block`; see [`FreeSlots::move_block`](super::FreeSlots::move_block).
    pub fn move_block(
        &mut self,
        earlier: &mut [SubFilter],
        block: &mut [u8],
        first_bucket: u64,
    ) -> bool {
        if self.levels[earlier.len() - 1].open == 0 {
            return false;
        }
        while self.levels[self.first_open].open == 0 {
            self.first_open += 1;
        }
        match earlier[0].bucket_size() {
            1 => self.move_buckets::<1>(earlier, block, first_bucket),
            2 => self.move_buckets::<2>(earlier, block, first_bucket),
            4 => self.move_buckets::<4>(earlier, block, first_bucket),
            8 => self.move_buckets::<8>(earlier, block, first_bucket),
            _ => self.move_buckets::<0>(earlier, block, first_bucket),
        }
    }

    /// [`Unions::move_block`] for buckets of `SIZE` slots, or of any other size if `SIZE` is 0.
    ///
    /// Three passes, as in [`Bitmap::move_block`](super::bitmap::Bitmap::move_block).
    fn move_buckets<const SIZE: usize>(
        &mut self,
        earlier: &mut [SubFilter],
        block: &mut [u8],
        first_bucket: u64,
    ) -> bool {
        let mut candidates = [Candidate::default(); BLOCK_SLOTS];
        let mut len = 0;
        let mut slot = 0;
        let newest = earlier.len() - 1;
        let bucket_size = match SIZE {
            0 => earlier[0].bucket_size(),
            size => size,
        };
        let level = self.levels[newest];
        let union = &self.unions[level.first_word..];
        // Higher bits are those of other buckets.
        let bits = |hash: u64| {
            let bucket = hash & level.bucket_mask;
            union[(bucket >> 6) as usize] >> (bucket & 63)
        };
        for (bucket, slots) in (0..).zip(block.chunks_exact(bucket_size)) {
            let home = first_bucket + u64::from(bucket);
            let home_bits = bits(home);
            for &fingerprint in slots {
                let is_open = (home_bits | bits(other_bucket(home, fingerprint))) & 1;
                candidates[len].slot = slot;
                candidates[len].bucket = bucket;
                len += usize::from(fingerprint != 0) & is_open as usize;
                slot += 1;
            }
        }
        for candidate in &mut candidates[..len] {
            let fingerprint = block[usize::from(candidate.slot)];
            let home = first_bucket + u64::from(candidate.bucket);
            let (number, target) = self.first(newest, [home, other_bucket(home, fingerprint)]);
            candidate.sub_filter = number as u8;
            candidate.target = target;
            earlier[number].prefetch_bucket(target);
        }
        let mut moved = false;
        for candidate in &candidates[..len] {
            let slot = &mut block[usize::from(candidate.slot)];
            let number = usize::from(candidate.sub_filter);
            let home = first_bucket + u64::from(candidate.bucket);
            if self.store::<SIZE>(earlier, number, candidate.target, *slot)
                || self.store_in_first::<SIZE>(earlier, [home, other_bucket(home, *slot)], *slot)
            {
                *slot = 0;
                moved = true;
            }
        }
        moved
    }

    /// A bucket's bit in the union of sub-filter `number`.
    #[inline(always)]
    fn bit(&self, number: usize, hash: u64) -> u64 {
        let (word, shift) = self.levels[number].position(hash);
        self.unions[word] >> shift & 1
    }

    /// The number of the oldest sub-filter with an empty slot in one of the buckets, and which bucket: the first if it
    /// has one. One of `newest` or older must have an empty slot in one of the buckets.
    ///
    /// A binary search. Each round halves the range whatever the bits are, so the number of rounds is predictable.
    #[inline(always)]
    fn first(&self, newest: usize, buckets: [u64; 2]) -> (usize, u64) {
        let mut number = self.first_open;
        let mut newer = newest - number;
        while newer > 0 {
            let half = newer.div_ceil(2);
            let middle = number + half - 1;
            let is_open = self.bit(middle, buckets[0]) | self.bit(middle, buckets[1]);
            number += select_unpredictable(is_open == 0, half, 0);
            newer -= half;
        }
        let in_first = self.bit(number, buckets[0]) != 0;
        (number, buckets[usize::from(!in_first)])
    }

    /// Stores `fingerprint` in that bucket of sub-filter `number` if it has an empty slot. No older sub-filter has one in
    /// that bucket.
    #[inline(always)]
    fn store<const SIZE: usize>(
        &mut self,
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
            let level = &mut self.levels[number];
            let (word, shift) = level.position(hash);
            self.unions[word] &= !(1 << shift);
            level.open -= 1;
            let bucket = hash & level.bucket_mask;
            let newest = earlier.len() - 1;
            if number < newest {
                self.clear_newer(number, bucket, newest);
            }
        }
        stored.is_some()
    }

    /// Clears the bits that were set in the unions of sub-filters up to `newest` only because that of `bucket` in the union of
    /// sub-filter `number` was set.
    fn clear_newer(&mut self, number: usize, bucket: u64, newest: usize) {
        let (level, newer) = (self.levels[number], self.levels[number + 1]);
        let mut cleared = 0;
        let mut bucket = bucket;
        while bucket <= newer.bucket_mask {
            let (word, shift) = newer.position(bucket);
            let before = self.unions[word];
            let after = before & (self.planes[word] | !(1 << shift));
            self.unions[word] = after;
            cleared += u64::from(before != after);
            if number + 1 < newest && before != after {
                self.clear_newer(number + 1, bucket, newest);
            }
            bucket += level.bucket_mask + 1;
        }
        self.levels[number + 1].open -= cleared;
    }

    /// Stores `fingerprint` in the oldest of `earlier` with an empty slot in the first bucket or else in the second.
    /// Returns false if none has one.
    #[cold]
    fn store_in_first<const SIZE: usize>(
        &mut self,
        earlier: &mut [SubFilter],
        buckets: [u64; 2],
        fingerprint: u8,
    ) -> bool {
        let newest = earlier.len() - 1;
        if self.bit(newest, buckets[0]) | self.bit(newest, buckets[1]) == 0 {
            return false;
        }
        let (number, hash) = self.first(newest, buckets);
        self.store::<SIZE>(earlier, number, hash, fingerprint)
    }
}
