//! An index of empty slots over sub-filters of different sizes.

use super::bitmap::plane_of;
use super::passes::BitIndex;
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

    /// Whether one of the `earlier` sub-filters has an empty slot.
    pub fn has_open(&mut self, earlier: usize) -> bool {
        if self.levels[earlier - 1].open == 0 {
            return false;
        }
        while self.levels[self.first_open].open == 0 {
            self.first_open += 1;
        }
        true
    }

    /// A bucket's bit in the union of sub-filter `number`.
    #[inline(always)]
    fn bit(&self, number: usize, hash: u64) -> u64 {
        let (word, shift) = self.levels[number].position(hash);
        self.unions[word] >> shift & 1
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
}

impl BitIndex for Unions {
    #[inline(always)]
    fn bits(&self, earlier: usize) -> (impl Fn(u64) -> u64 + Copy, u64) {
        let level = self.levels[earlier - 1];
        let union = &self.unions[level.first_word..];
        // Higher bits are those of other buckets.
        let bits = move |hash: u64| {
            let bucket = hash & level.bucket_mask;
            union[(bucket >> 6) as usize] >> (bucket & 63)
        };
        (bits, 1)
    }

    /// A binary search. Each round halves the range whatever the bits are, so the number of rounds is predictable.
    #[inline(always)]
    fn first(&self, earlier: usize, buckets: [u64; 2]) -> (usize, u64) {
        let mut number = self.first_open;
        let mut newer = earlier - 1 - number;
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

    #[inline(always)]
    fn clear(&mut self, earlier: usize, number: usize, hash: u64) {
        let level = &mut self.levels[number];
        let (word, shift) = level.position(hash);
        self.unions[word] &= !(1 << shift);
        level.open -= 1;
        let bucket = hash & level.bucket_mask;
        let newest = earlier - 1;
        if number < newest {
            self.clear_newer(number, bucket, newest);
        }
    }
}
