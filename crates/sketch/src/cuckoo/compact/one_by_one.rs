//! Finds an empty slot for one fingerprint after another.

use crate::cuckoo::bucket;
use crate::cuckoo::item::{HashedItem, other_bucket};
use crate::cuckoo::sub_filter::SubFilter;
use crate::memory::{Budget, with_capacity};

/// Moves the fingerprints of `block`; see [`FreeSlots::move_block`](super::FreeSlots::move_block). `store` stores one in
/// `earlier`, or returns false.
pub(super) fn move_block(
    earlier: &mut [SubFilter],
    block: &mut [u8],
    first_bucket: u64,
    mut store: impl FnMut(&mut [SubFilter], &HashedItem) -> bool,
) -> bool {
    let mut moved = false;
    let bucket_size = earlier[0].bucket_size();
    for (first, slots) in (first_bucket..).zip(block.chunks_exact_mut(bucket_size)) {
        for slot in slots.iter_mut().filter(|slot| **slot != 0) {
            let item = HashedItem {
                fingerprint: *slot,
                first,
                second: other_bucket(first, *slot),
            };
            if store(earlier, &item) {
                *slot = 0;
                moved = true;
            }
        }
    }
    moved
}

/// An index of empty slots over any number of sub-filters of the same size: for each bucket, the number of the oldest
/// sub-filter that may have an empty slot in it.
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

    /// Stores a fingerprint in the first of `earlier` with an empty slot in the first bucket or else in the second.
    /// Returns false if none has one.
    pub fn store(&mut self, earlier: &mut [SubFilter], item: &HashedItem) -> bool {
        let numbers = [item.first, item.second].map(|hash| self.advance(earlier, hash));
        let number = usize::from(numbers[0].min(numbers[1]));
        earlier.get_mut(number).is_some_and(|each| each.store(item))
    }

    /// The number of the first of `earlier` with an empty slot in the bucket, or their number.
    fn advance(&mut self, earlier: &[SubFilter], hash: u64) -> u16 {
        let number = &mut self.numbers[(hash & self.bucket_mask) as usize];
        while let Some(sub_filter) = earlier.get(usize::from(*number)) {
            if bucket::contains(sub_filter.bucket(hash), 0) {
                break;
            }
            *number += 1;
        }
        *number
    }
}
