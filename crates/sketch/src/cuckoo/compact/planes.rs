//! An index of empty slots over sub-filters of different sizes.

use super::passes::BitIndex;
use crate::cuckoo::sub_filter::SubFilter;
use crate::memory::{Budget, with_capacity};

/// The union is computed again after a block of slots per so many buckets of the newest older sub-filter. That takes a small
/// part of the time of these blocks.
const BUCKETS_PER_BLOCK: u64 = 2048;

/// A plane per sub-filter, and a union of them.
///
/// A plane has one bit per bucket, which is set if the bucket has an empty slot. The union is as long as the plane of the newest
/// sub-filter. A bit of it is set if the bucket of its number had an empty slot in any sub-filter when the union was computed,
/// the number reduced to the size of the sub-filter.
///
/// A clear bit of the union excludes all sub-filters at once. For a set bit, the planes are tested, the oldest first. The small
/// sub-filters fill up soon, and full ones before the first open one are not tested.
#[derive(Debug)]
pub(super) struct Planes {
    /// One per sub-filter, the oldest first.
    levels: Vec<Level>,
    /// The planes, in the same order.
    planes: Vec<u64>,
    union: Vec<u64>,
    /// The sub-filters of the union; 0 before it is computed.
    united: usize,
    /// Blocks until it is computed again.
    blocks: u64,
    /// No older sub-filter has an empty slot.
    first_open: usize,
}

/// The position of a plane.
#[derive(Debug, Clone, Copy)]
struct Level {
    first_word: usize,
    /// Number of buckets less one.
    bucket_mask: u64,
    /// The bit of the first bucket. Fewer than 64 buckets are repeated in their word.
    bits: u64,
}

impl Level {
    fn words(&self) -> usize {
        (self.bucket_mask as usize + 1).div_ceil(64)
    }

    /// The word that holds a bucket's bit, and the bit's position in it.
    #[inline(always)]
    fn position(&self, hash: u64) -> (usize, u32) {
        let bucket = hash & self.bucket_mask;
        let word = self.first_word + (bucket >> 6) as usize;
        (word, (bucket & 63) as u32)
    }
}

impl Planes {
    /// Tests every bucket of `earlier`. `None` if memory is refused. Requests the bytes of the planes and of the union.
    pub fn new(earlier: &[SubFilter], budget: Budget<'_>) -> Option<Self> {
        let words = |each: &SubFilter| (each.bucket_mask() + 1).div_ceil(64);
        let union_len = words(earlier.last()?);
        let len: u64 = earlier.iter().map(words).sum();
        budget
            .request((len + union_len) * size_of::<u64>() as u64)
            .ok()?;
        let mut levels = with_capacity(earlier.len()).ok()?;
        let mut planes: Vec<u64> = with_capacity(usize::try_from(len).ok()?).ok()?;
        let mut union = with_capacity(usize::try_from(union_len).ok()?).ok()?;
        union.resize(union_len as usize, 0);
        for sub_filter in earlier {
            let bucket_mask = sub_filter.bucket_mask();
            let level = Level {
                first_word: planes.len(),
                bucket_mask,
                bits: u64::MAX / (u64::MAX >> (63 - bucket_mask.min(63))),
            };
            planes.resize(level.first_word + level.words(), 0);
            sub_filter.for_each_bucket(|bucket, has_empty_slot| {
                let (word, shift) = level.position(bucket);
                planes[word] |= (u64::from(has_empty_slot) * level.bits) << shift;
            });
            levels.push(level);
        }
        Some(Self {
            levels,
            planes,
            union,
            united: 0,
            blocks: 0,
            first_open: 0,
        })
    }

    /// Prepares the index for a block. Returns whether one of the `earlier` sub-filters may have an empty slot.
    pub fn prepare(&mut self, earlier: usize) -> bool {
        if self.united != earlier || self.blocks == 0 {
            self.unite(earlier);
        }
        self.blocks = self.blocks.saturating_sub(1);
        self.first_open < earlier
    }

    /// Computes the union of the `earlier` planes.
    fn unite(&mut self, earlier: usize) {
        self.united = earlier;
        self.blocks = self.levels[earlier - 1].bucket_mask / BUCKETS_PER_BLOCK;
        self.union[0] = 0;
        let (mut len, mut closed) = (1, 0);
        for level in &self.levels[..earlier] {
            let plane = &self.planes[level.first_word..][..level.words()];
            // Those of the older ones are at the front.
            for (word, bits) in plane.iter().enumerate().rev() {
                self.union[word] = bits | self.union[word & (len - 1)];
            }
            len = plane.len();
            closed += usize::from(self.union[..len].iter().all(|&bits| bits == 0));
        }
        self.first_open = closed;
    }
}

impl BitIndex for Planes {
    #[inline(always)]
    fn may_have_empty_slot(&self, earlier: usize, hash: u64) -> bool {
        let bucket = hash & self.levels[earlier - 1].bucket_mask;
        self.union[(bucket >> 6) as usize] >> (bucket & 63) & 1 != 0
    }

    #[inline(always)]
    fn first(&self, earlier: usize, buckets: [u64; 2]) -> Option<(usize, u64)> {
        for number in self.first_open..earlier {
            for hash in buckets {
                let (word, shift) = self.levels[number].position(hash);
                if self.planes[word] >> shift & 1 != 0 {
                    return Some((number, hash));
                }
            }
        }
        None
    }

    #[inline(always)]
    fn clear(&mut self, number: usize, hash: u64) {
        let level = self.levels[number];
        let (word, shift) = level.position(hash);
        self.planes[word] &= !(level.bits << shift);
    }
}
