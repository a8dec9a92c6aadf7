//! An index of empty slots over up to 64 sub-filters of the same size.
//!
//! The index has one bit per bucket and sub-filter, a sixteenth of the slots' bytes at bucket size 2, so it usually
//! fits in the second-level cache. Lookups have no unpredictable branch: trailing zeros give the sub-filter, and
//! fingerprints without an empty slot are skipped without a branch.

use super::passes::BitIndex;
use crate::cuckoo::sub_filter::SubFilter;
use crate::memory::{Budget, with_capacity};

/// For each bucket, a mask with one bit per sub-filter, the oldest lowest. The bit is set if the bucket of that
/// sub-filter has an empty slot.
#[derive(Debug)]
pub(super) struct Bitmap {
    /// Masks of `1 << log2_width` bits, the first lowest.
    words: Vec<u64>,
    log2_width: u32,
    /// Number of masks less one.
    bucket_mask: u64,
}

impl Bitmap {
    /// The number of bits of the widest mask.
    pub const MAX_SUB_FILTERS: usize = 64;

    /// Tests every bucket of `earlier`: 1 to [`Bitmap::MAX_SUB_FILTERS`] sub-filters of the same size. `None` if memory
    /// is refused. Requests the bytes of the masks.
    pub fn new(earlier: &[SubFilter], budget: Budget<'_>) -> Option<Self> {
        let bucket_mask = earlier.first()?.bucket_mask();
        let log2_width = earlier.len().next_power_of_two().ilog2();
        let len = ((bucket_mask + 1) << log2_width).div_ceil(64);
        budget.request(len * size_of::<u64>() as u64).ok()?;
        let len = usize::try_from(len).ok()?;
        let mut words = with_capacity(len).ok()?;
        words.resize(len, 0);
        let mut bitmap = Self {
            words,
            log2_width,
            bucket_mask,
        };
        for (number, sub_filter) in earlier.iter().enumerate() {
            sub_filter.for_each_bucket(|bucket, has_empty_slot| {
                let (word, shift) = bitmap.position(bucket);
                bitmap.words[word] |= u64::from(has_empty_slot) << (shift as usize + number);
            });
        }
        Some(bitmap)
    }

    /// The word that holds a bucket's mask, and the mask's position in it.
    #[inline(always)]
    fn position(&self, hash: u64) -> (usize, u32) {
        let bit = (hash & self.bucket_mask) << self.log2_width;
        ((bit >> 6) as usize, (bit & 63) as u32)
    }

    /// The bits of the first `earlier` sub-filters in a bucket's mask.
    #[inline(always)]
    fn mask(&self, earlier: usize, hash: u64) -> u64 {
        let (word, shift) = self.position(hash);
        self.words[word] >> shift & u64::MAX >> (64 - earlier)
    }
}

impl BitIndex for Bitmap {
    #[inline(always)]
    fn may_have_empty_slot(&self, earlier: usize, hash: u64) -> bool {
        self.mask(earlier, hash) != 0
    }

    #[inline(always)]
    fn first(&self, earlier: usize, buckets: [u64; 2]) -> Option<(usize, u64)> {
        let masks = buckets.map(|hash| self.mask(earlier, hash));
        let number = (masks[0] | masks[1]).trailing_zeros();
        let in_first = masks[0].unbounded_shr(number) & 1 != 0;
        (number < 64).then_some((number as usize, buckets[usize::from(!in_first)]))
    }

    #[inline(always)]
    fn clear(&mut self, number: usize, hash: u64) {
        let (word, shift) = self.position(hash);
        self.words[word] &= !(1 << (shift as usize + number));
    }
}
