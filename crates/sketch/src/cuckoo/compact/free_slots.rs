//! Finds and fills empty slots in older sub-filters.
//!
//! Four methods find the same slots at different costs:
//!
//! - Without an index, the buckets of one older sub-filter after another are tested. The cost is fingerprints times older
//!   sub-filters, so this is the fastest for few fingerprints.
//! - [`Planes`] has one bit per bucket, and one more per bucket of the largest, for sub-filters of different sizes.
//! - [`Bitmap`] has one bit per bucket for each of up to 64 older sub-filters of the same size. A lookup tests all of
//!   them at once.
//! - [`FirstFree`] has one number per bucket, for more than 64 older sub-filters of the same size.
//!
//! The cost of an index is linear in the slots.
//!
//! A compaction processes one sub-filter (the source) after another, from the newest to older ones, so each source has
//! fewer older sub-filters than the previous one. The older sub-filters only fill up. A bucket that was found full
//! therefore stays full. The indexes rely on that.

use super::bitmap::Bitmap;
use super::one_by_one::{self, FirstFree};
use super::passes;
use super::planes::Planes;
use crate::cuckoo::sub_filter::SubFilter;
use crate::memory::{Budget, optional};

/// No index is built before this many tests.
const MIN_TESTS: u64 = 4096;
/// Buckets that the construction of an index processes in the time of one test.
const BUCKETS_PER_TEST: u64 = 16;

/// The search for empty slots of one compaction.
pub(in crate::cuckoo) struct FreeSlots<'a> {
    index: Index,
    /// Tests of fingerprints in sub-filters without an index.
    tests: u64,
    /// Tests after which [`FreeSlots::build_index`] runs.
    index_after: u64,
    budget: Budget<'a>,
}

#[derive(Debug)]
enum Index {
    None,
    Bitmap(Bitmap),
    FirstFree(FirstFree),
    Planes(Planes),
}

impl<'a> FreeSlots<'a> {
    /// Builds an index when the search without one has cost as much as the index would. The bytes of the index are requested
    /// from `budget`; if they are refused, there is none.
    pub fn new(budget: Budget<'a>) -> Self {
        Self::with_index_after(MIN_TESTS, budget)
    }

    /// As [`FreeSlots::new`], with an index after at least `index_after` tests. 0 builds it immediately.
    pub fn with_index_after(index_after: u64, budget: Budget<'a>) -> Self {
        Self {
            index: Index::None,
            tests: 0,
            index_after,
            budget,
        }
    }

    /// Moves the fingerprints of `block`, in slot order: each into the first of `earlier` that has an empty slot in
    /// its own bucket or else in its other bucket. Returns whether one moved.
    ///
    /// `block` contains whole buckets, at most [`BLOCK_SLOTS`](super::BLOCK_SLOTS) slots, of a sub-filter that is newer than
    /// all of `earlier`. `first_bucket` is the number of the first of these buckets.
    pub fn move_block(
        &mut self,
        earlier: &mut [SubFilter],
        block: &mut [u8],
        first_bucket: u64,
    ) -> bool {
        if matches!(self.index, Index::None) && self.tests >= self.index_after {
            self.build_index(earlier);
        }
        match &mut self.index {
            Index::Bitmap(bitmap) => passes::move_block(bitmap, earlier, block, first_bucket),
            Index::Planes(planes) => {
                planes.prepare(earlier.len())
                    && passes::move_block(planes, earlier, block, first_bucket)
            }
            Index::FirstFree(first_free) => {
                one_by_one::move_block(earlier, block, first_bucket, |earlier, item| {
                    first_free.store(earlier, item)
                })
            }
            Index::None => one_by_one::move_block(earlier, block, first_bucket, |earlier, item| {
                let number = earlier.iter_mut().position(|each| each.store(item));
                self.tests += number.map_or(earlier.len(), |number| number + 1) as u64;
                number.is_some()
            }),
        }
    }

    /// Builds the index if the search without it has cost as much as building it would.
    #[cold]
    fn build_index(&mut self, earlier: &[SubFilter]) {
        let buckets: u64 = earlier.iter().map(|each| each.bucket_mask() + 1).sum();
        let index_cost = buckets / BUCKETS_PER_TEST;
        if self.index_after > 0 && self.tests < index_cost {
            self.index_after = index_cost;
            return;
        }
        let newest = earlier.last().map(SubFilter::bucket_mask);
        let index = optional(|| {
            if newest != earlier.first().map(SubFilter::bucket_mask) {
                Planes::new(earlier, self.budget).map(Index::Planes)
            } else if earlier.len() <= Bitmap::MAX_SUB_FILTERS {
                Bitmap::new(earlier, self.budget).map(Index::Bitmap)
            } else {
                FirstFree::new(earlier, self.budget).map(Index::FirstFree)
            }
        });
        self.index_after = u64::MAX;
        self.index = index.unwrap_or(Index::None);
    }
}
