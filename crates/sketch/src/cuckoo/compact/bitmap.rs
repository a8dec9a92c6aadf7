//! An index of empty slots over up to 64 sub-filters of the same size.
//!
//! The index has one bit per bucket and sub-filter, a sixteenth of the slots' bytes at bucket size 2, so it usually
//! fits in the second-level cache. Lookups have no unpredictable branch: trailing zeros give the sub-filter, and
//! fingerprints without an empty slot are skipped without a branch.

use super::passes::BitIndex;
use crate::cuckoo::bucket;
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
    /// The bits of one mask.
    width_mask: u64,
}

impl Bitmap {
    /// The number of bits of the widest mask.
    pub const MAX_SUB_FILTERS: usize = 64;

    /// Tests every bucket of `earlier`: 1 to [`Bitmap::MAX_SUB_FILTERS`] sub-filters of the same size. `None` if memory
    /// is refused. Requests the bytes of the masks and of the planes that they are built from.
    pub fn new(earlier: &[SubFilter], budget: Budget<'_>) -> Option<Self> {
        let bucket_mask = earlier.first()?.bucket_mask();
        let width = earlier.len().next_power_of_two();
        let groups = (bucket_mask + 1).div_ceil(64);
        let words = groups.checked_mul((width + earlier.len()) as u64)?;
        budget
            .request(words.saturating_mul(size_of::<u64>() as u64))
            .ok()?;
        let groups = usize::try_from(groups).ok()?;
        let mut planes = with_capacity(earlier.len()).ok()?;
        for sub_filter in earlier {
            let mut plane = with_capacity(groups).ok()?;
            plane_of(sub_filter, &mut plane);
            planes.push(plane);
        }
        let mut words = with_capacity(groups.checked_mul(width)?).ok()?;
        let (mut matrix, mut scratch) = ([0; 64], [0; 64]);
        for group in 0..groups {
            matrix[..width].fill(0);
            for (row, plane) in matrix.iter_mut().zip(&planes) {
                *row = plane[group];
            }
            interleave(&mut matrix[..width], &mut scratch[..width]);
            words.extend_from_slice(&matrix[..width]);
        }
        Some(Self {
            words,
            log2_width: width.ilog2(),
            bucket_mask,
            width_mask: u64::MAX >> (64 - width),
        })
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
}

impl BitIndex for Bitmap {
    #[inline(always)]
    fn bits(&self, earlier: usize) -> (impl Fn(u64) -> u64 + Copy, u64) {
        (|hash| self.mask(hash), u64::MAX >> (64 - earlier))
    }

    #[inline(always)]
    fn first(&self, _earlier: usize, buckets: [u64; 2]) -> (usize, u64) {
        let masks = buckets.map(|hash| self.mask(hash) & self.width_mask);
        let number = (masks[0] | masks[1]).trailing_zeros();
        let in_first = masks[0].unbounded_shr(number) & 1 != 0;
        (number as usize, buckets[usize::from(!in_first)])
    }

    #[inline(always)]
    fn clear(&mut self, _earlier: usize, number: usize, hash: u64) {
        let (word, shift) = self.position(hash);
        self.words[word] &= !(1 << (shift as usize + number));
    }
}

/// Transposes planes to masks: bit k of plane j becomes bit j of mask k. The masks are as wide as there are planes and
/// have no gaps. The number of planes is a power of two up to 64; `scratch` has the same length.
///
/// Each round interleaves the bits of the first half of the planes with those of the second half.
fn interleave(planes: &mut [u64], scratch: &mut [u64]) {
    for _ in 0..planes.len().ilog2() {
        scratch.copy_from_slice(planes);
        let (even, odd) = scratch.split_at(scratch.len() / 2);
        for ((pair, even), odd) in planes.as_chunks_mut::<2>().0.iter_mut().zip(even).zip(odd) {
            *pair = [
                spread(*even) | spread(*odd) << 1,
                spread(even >> 32) | spread(odd >> 32) << 1,
            ];
        }
    }
}

/// Inserts a zero bit after each of the low 32 bits (Warren, "Hacker's Delight", section 7-2).
#[inline]
fn spread(word: u64) -> u64 {
    let mut word = word & 0xffff_ffff;
    word = (word | word << 16) & 0x0000_ffff_0000_ffff;
    word = (word | word << 8) & 0x00ff_00ff_00ff_00ff;
    word = (word | word << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    word = (word | word << 2) & 0x3333_3333_3333_3333;
    (word | word << 1) & 0x5555_5555_5555_5555
}

/// Appends the plane of a sub-filter, the first bucket lowest. A bit is set if the bucket has an empty slot. The bits of
/// fewer than 64 buckets are repeated.
pub(super) fn plane_of(sub_filter: &SubFilter, plane: &mut Vec<u64>) {
    let buckets = sub_filter.bucket_mask() + 1;
    let slots = sub_filter.slots();
    if buckets < 64 {
        let bits = (0..64).map(|bucket| {
            let free = bucket::contains(sub_filter.bucket(bucket), 0);
            u64::from(free) << bucket
        });
        plane.push(bits.sum());
        return;
    }
    let bucket_size = sub_filter.bucket_size();
    for slots in slots.chunks_exact(64 * bucket_size) {
        plane.push(match bucket_size {
            1 => free_buckets(slots, 8, bucket::empty_1),
            2 => free_buckets(slots, 4, bucket::empty_2),
            4 => free_buckets(slots, 2, bucket::empty_4),
            size => (slots.chunks_exact(size).rev()).fold(0, |bits, slots| {
                bits << 1 | u64::from(bucket::contains(slots, 0))
            }),
        });
    }
}

/// One bit per bucket, the first lowest. `free` tests the `buckets` buckets of a word of eight slots.
#[inline]
fn free_buckets(slots: &[u8], buckets: u32, free: impl Fn(u64) -> u64) -> u64 {
    let words = slots.as_chunks().0.iter().rev();
    words.fold(0, |bits, &word| {
        bits << buckets | free(u64::from_le_bytes(word))
    })
}
