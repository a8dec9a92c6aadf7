//! An index of empty slots over many sub-filters.

use super::bucket;
use super::item::other_bucket;
use super::sub_filter::SubFilter;
use crate::memory::{Budget, with_capacity};

/// For each bucket the oldest sub-filter that may have an empty slot in it. All sub-filters are of one
/// size, as more than 56 always are.
///
/// Each number only rises while sub-filters only fill up: a compaction looks at most once at each
/// bucket and once at each fingerprint.
#[derive(Debug)]
pub(super) struct Cursors {
    oldest: Vec<u16>,
    bucket_mask: u64,
}

impl Cursors {
    /// `None` where memory is refused, which `budget` is asked for, or sizes differ.
    pub fn new(earlier: &[SubFilter], budget: Budget<'_>) -> Option<Self> {
        let bucket_mask = earlier.first()?.bucket_mask();
        if earlier.iter().any(|each| each.bucket_mask() != bucket_mask) {
            return None;
        }
        let len = usize::try_from(bucket_mask + 1).ok()?;
        let bytes = (bucket_mask + 1).saturating_mul(size_of::<u16>() as u64);
        budget.request(bytes).ok()?;
        let mut oldest = with_capacity(len).ok()?;
        oldest.resize(len, 0);
        Some(Self {
            oldest,
            bucket_mask,
        })
    }

    /// Moves the fingerprints of `block`; see [`Vacancies::empty`](super::vacancies::Vacancies::empty).
    pub fn empty(
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
                if self.fill(earlier, [home, other_bucket(home, *slot)], *slot) {
                    *slot = 0;
                    moved = true;
                }
            }
        }
        moved
    }

    /// Puts `fingerprint` into the first of `earlier` with an empty slot in the first bucket or else in
    /// the second; false if none has.
    fn fill(&mut self, earlier: &mut [SubFilter], buckets: [u64; 2], fingerprint: u8) -> bool {
        let numbers = buckets.map(|hash| self.advance(earlier, hash));
        let preferred = usize::from(numbers[1] < numbers[0]);
        let Some(sub_filter) = earlier.get_mut(numbers[preferred]) else {
            return false;
        };
        let slots = sub_filter.bucket_mut(buckets[preferred]);
        let Some(slot) = bucket::position(slots, 0) else {
            return false;
        };
        slots[slot] = fingerprint;
        true
    }

    /// Advances a bucket's cursor to the first of `earlier` with an empty slot in it; the number of
    /// that sub-filter, or one past the end.
    #[allow(clippy::cast_possible_truncation)] // below the length of `oldest`
    fn advance(&mut self, earlier: &[SubFilter], hash: u64) -> usize {
        let cursor = &mut self.oldest[(hash & self.bucket_mask) as usize];
        while let Some(sub_filter) = earlier.get(usize::from(*cursor)) {
            if bucket::contains(sub_filter.bucket(hash), 0) {
                break;
            }
            *cursor += 1;
        }
        usize::from(*cursor)
    }
}
