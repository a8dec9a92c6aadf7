//! An index of empty slots over more than 64 sub-filters of the same size.

use crate::cuckoo::bucket;
use crate::cuckoo::item::other_bucket;
use crate::cuckoo::sub_filter::SubFilter;
use crate::memory::{Budget, with_capacity};

/// For each bucket, the number of the oldest sub-filter that may have an empty slot in it.
///
/// The numbers only rise, because sub-filters only fill up. A whole compaction therefore makes at most one test per
/// bucket of each sub-filter, and one more per lookup.
#[derive(Debug)]
pub(super) struct FirstFree {
    numbers: Vec<u16>,
    bucket_mask: u64,
}

impl FirstFree {
    /// An index that starts at the oldest sub-filter. `None` if memory is refused. Requests two bytes per bucket of one
    /// sub-filter from `budget`.
    pub fn new(earlier: &[SubFilter], budget: Budget<'_>) -> Option<Self> {
        let bucket_mask = earlier.first()?.bucket_mask();
        let len = usize::try_from(bucket_mask + 1).ok()?;
        let bytes = (bucket_mask + 1).saturating_mul(size_of::<u16>() as u64);
        budget.request(bytes).ok()?;
        let mut numbers = with_capacity(len).ok()?;
        numbers.resize(len, 0);
        Some(Self {
            numbers,
            bucket_mask,
        })
    }

    /// Moves the fingerprints of `block`; see [`FreeSlots::move_block`](super::FreeSlots::move_block).
    pub fn move_block(
        &mut self,
        earlier: &mut [SubFilter],
        block: &mut [u8],
        first_bucket: u64,
    ) -> bool {
        let mut moved = false;
        let Some(bucket_size) = earlier.first().map(SubFilter::bucket_size) else {
            return false;
        };
        for (home, slots) in (first_bucket..).zip(block.chunks_exact_mut(bucket_size)) {
            for slot in slots.iter_mut().filter(|slot| **slot != 0) {
                if self.store(earlier, [home, other_bucket(home, *slot)], *slot) {
                    *slot = 0;
                    moved = true;
                }
            }
        }
        moved
    }

    /// Stores `fingerprint` in the first of `earlier` with an empty slot in the first bucket or else in the second.
    /// Returns false if none has one.
    fn store(&mut self, earlier: &mut [SubFilter], buckets: [u64; 2], fingerprint: u8) -> bool {
        let numbers = buckets.map(|hash| self.advance(earlier, hash));
        let chosen = usize::from(numbers[1] < numbers[0]);
        let sub_filter = earlier.get_mut(numbers[chosen]);
        sub_filter.is_some_and(|each| {
            bucket::store(each.bucket_mut(buckets[chosen]), fingerprint).is_some()
        })
    }

    /// The number of the first of `earlier` with an empty slot in the bucket, or `earlier.len()`.
    fn advance(&mut self, earlier: &[SubFilter], hash: u64) -> usize {
        let number = &mut self.numbers[(hash & self.bucket_mask) as usize];
        while let Some(sub_filter) = earlier.get(usize::from(*number)) {
            if bucket::contains(sub_filter.bucket(hash), 0) {
                break;
            }
            *number += 1;
        }
        usize::from(*number)
    }
}
