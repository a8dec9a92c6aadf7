//! Finds and fills empty slots in older sub-filters.
//!
//! Three methods find the same slots at different costs:
//!
//! - [`probe`] tests the buckets of one older sub-filter after another. It needs no preparation, so it is the
//!   fastest for few fingerprints or few older sub-filters. Its cost is fingerprints times older sub-filters.
//! - [`Bitmap`] has one bit per bucket for each of up to 64 older sub-filters. A lookup tests all of them at once.
//! - [`FirstFree`] has one number per bucket, for more than 64 older sub-filters. Its total cost is linear in the
//!   slots, where probing is quadratic in the sub-filters.
//!
//! A compaction processes one sub-filter (the source) after another, from the newest to older ones, so each source has
//! fewer older sub-filters than the previous one. The older sub-filters only fill up. A bucket that was found full
//! therefore stays full. Both indexes rely on that.

use super::bitmap::Bitmap;
use super::first_free::FirstFree;
use super::probe;
use crate::cuckoo::sub_filter::SubFilter;
use crate::memory::Budget;

/// No index is built before this many probes.
const MIN_PROBES: u64 = 4096;
/// No index is built for this many older sub-filters or fewer: probing them is faster.
const MAX_PROBED_SUB_FILTERS: usize = 4;
/// Buckets that the construction of an index processes in the time of one probe.
const BUCKETS_PER_PROBE: u64 = 16;

/// The search for empty slots of one compaction.
pub(in crate::cuckoo) struct FreeSlots<'a> {
    index: Index,
    probes: u64,
    /// Probes after which [`FreeSlots::build_index`] runs.
    index_after: u64,
    budget: Budget<'a>,
}

#[derive(Debug)]
enum Index {
    None,
    Bitmap(Bitmap),
    FirstFree(FirstFree),
}

impl<'a> FreeSlots<'a> {
    /// Starts with probing, and builds an index when probing has cost as much as the index would. The bytes of the
    /// index are requested from `budget`; if they are refused, probing continues.
    pub fn new(budget: Budget<'a>) -> Self {
        Self::with_index_after(MIN_PROBES, budget)
    }

    /// As [`FreeSlots::new`], with an index after at least `index_after` probes. 0 builds it immediately.
    pub fn with_index_after(index_after: u64, budget: Budget<'a>) -> Self {
        Self {
            index: Index::None,
            probes: 0,
            index_after,
            budget,
        }
    }

    /// Moves the fingerprints of `block`, in slot order: each into the first of `earlier` that has an empty slot in
    /// its own bucket or else in its other bucket. Returns whether one moved.
    ///
    /// `block` contains whole buckets, at most [`BLOCK_SLOTS`] slots, of a sub-filter that is newer than all of
    /// `earlier`. `first_bucket` is the number of the first of these buckets.
    pub fn move_block(
        &mut self,
        earlier: &mut [SubFilter],
        block: &mut [u8],
        first_bucket: u64,
    ) -> bool {
        if matches!(self.index, Index::None) && self.probes >= self.index_after {
            self.build_index(earlier);
        }
        match &mut self.index {
            Index::Bitmap(bitmap) => bitmap.move_block(earlier, block, first_bucket),
            Index::FirstFree(first_free) => first_free.move_block(earlier, block, first_bucket),
            Index::None => probe::move_block(earlier, block, first_bucket, &mut self.probes),
        }
    }

    /// Builds the index if probing has cost as much as building it would.
    #[cold]
    fn build_index(&mut self, earlier: &[SubFilter]) {
        let buckets: u64 = earlier.iter().map(|each| each.bucket_mask() + 1).sum();
        let index_cost = buckets / BUCKETS_PER_PROBE;
        let few = earlier.len() <= MAX_PROBED_SUB_FILTERS;
        if self.index_after > 0 && (few || self.probes < index_cost) {
            // Later sources have no more older sub-filters than this one.
            self.index_after = if few { u64::MAX } else { index_cost };
            return;
        }
        let index = if earlier.len() <= Bitmap::MAX_SUB_FILTERS {
            Bitmap::new(earlier, self.budget).map(Index::Bitmap)
        } else {
            FirstFree::new(earlier, self.budget).map(Index::FirstFree)
        };
        self.index_after = u64::MAX;
        self.index = index.unwrap_or(Index::None);
    }
}
