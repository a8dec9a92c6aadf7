//! Finds and fills empty slots in older sub-filters.
//!
//! Four methods find the same slots at different costs:
//!
//! - [`probe`] tests the buckets of one older sub-filter after another. It needs no preparation, so it is the
//!   fastest for few fingerprints, and for one older sub-filter of the same size. Its cost is fingerprints times older
//!   sub-filters.
//! - [`Unions`] has two bits per bucket, for sub-filters of different sizes.
//! - [`Bitmap`] has one bit per bucket for each of up to 64 older sub-filters of the same size. A lookup tests all of
//!   them at once.
//! - [`FirstFree`] has one number per bucket, for more than 64 older sub-filters of the same size.
//!
//! The cost of an index is linear in the slots, where that of probing is linear in the slots times the number of
//! sub-filters.
//!
//! A compaction processes one sub-filter (the source) after another, from the newest to older ones, so each source has
//! fewer older sub-filters than the previous one. The older sub-filters only fill up. A bucket that was found full
//! therefore stays full. The indexes rely on that.

use super::bitmap::Bitmap;
use super::first_free::FirstFree;
use super::unions::Unions;
use super::{passes, probe};
use crate::cuckoo::shape::Shape;
use crate::cuckoo::sub_filter::SubFilter;
use crate::memory::{Budget, optional};

/// No index is built before this many probes.
const MIN_PROBES: u64 = 4096;
/// Buckets that the construction of an index processes in the time of one probe.
const BUCKETS_PER_PROBE: u64 = 16;

/// The search for empty slots of one compaction.
pub(in crate::cuckoo) struct FreeSlots<'a> {
    index: Index,
    /// Whether each sub-filter is larger than the older ones.
    grows: bool,
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
    Unions(Unions),
}

impl<'a> FreeSlots<'a> {
    /// For sub-filters of this shape. Starts with probing, and builds an index when probing has cost as much as the index
    /// would. The bytes of the index are requested from `budget`; if they are refused, probing continues.
    pub fn new(shape: Shape, budget: Budget<'a>) -> Self {
        Self::with_index_after(MIN_PROBES, shape, budget)
    }

    /// As [`FreeSlots::new`], with an index after at least `index_after` probes. 0 builds it immediately.
    pub fn with_index_after(index_after: u64, shape: Shape, budget: Budget<'a>) -> Self {
        Self {
            index: Index::None,
            grows: shape.parameters.expansion > 1,
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
            Index::Bitmap(bitmap) => passes::move_block(bitmap, earlier, block, first_bucket),
            Index::FirstFree(first_free) => first_free.move_block(earlier, block, first_bucket),
            Index::Unions(unions) => {
                unions.has_open(earlier.len())
                    && passes::move_block(unions, earlier, block, first_bucket)
            }
            Index::None => probe::move_block(earlier, block, first_bucket, &mut self.probes),
        }
    }

    /// Builds the index if probing has cost as much as building it would.
    #[cold]
    fn build_index(&mut self, earlier: &[SubFilter]) {
        let buckets: u64 = earlier.iter().map(|each| each.bucket_mask() + 1).sum();
        let index_cost = buckets / BUCKETS_PER_PROBE;
        // Probing one older sub-filter of the same size is faster. Later sources have fewer.
        let is_probed = earlier.len() == 1 && !self.grows;
        if self.index_after > 0 && (is_probed || self.probes < index_cost) {
            self.index_after = if is_probed { u64::MAX } else { index_cost };
            return;
        }
        let index = optional(|| {
            if self.grows {
                Unions::new(earlier, self.budget).map(Index::Unions)
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
