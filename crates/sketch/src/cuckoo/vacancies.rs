//! Empty slots in older sub-filters, for compaction.
//!
//! All ways of finding them give the same slots; they differ in cost. During a compaction the
//! sub-filters looked at only fill up, and there are fewer of them with each source, so that what was
//! found full stays so: both indexes rest on that.
//!
//! - Probing the buckets ([`sweep`]) costs nothing to set up: best where few fingerprints have to move, or
//!   to few sub-filters. It costs a cache miss a sub-filter, of which many are under way at once.
//! - With more, and when probes begin to cost as much as a look at every bucket, an index is built, once.
//!   Up to 64 older sub-filters it is [`Masks`], which tell of all of them at once: with 40 sub-filters
//!   of 256K slots CF.COMPACT took 41 ms instead of 778. With 2 sub-filters it was slower than probing,
//!   with 9 faster.
//! - Beyond, it is [`Cursors`], which make a compaction linear in the slots where probing would be
//!   quadratic in the sub-filters.

use super::cursors::Cursors;
use super::masks::Masks;
use super::sub_filter::SubFilter;
use super::sweep;
use crate::memory::Budget;

/// Slots that are looked at together: at least one bucket of the largest size, and few enough for the
/// first-level cache with all that goes with them.
pub(super) const BLOCK_SLOTS: usize = 256;

/// Below this many probes no index is built.
const PATIENCE_PROBES: u64 = 4096;
/// Nor is one for this many older sub-filters or fewer.
const PROBED_SUB_FILTERS: usize = 4;
/// Building an index passes this many buckets in the time of one probe.
const BUCKETS_A_PROBE: u64 = 16;

/// Finds and fills empty slots. One serves one compaction.
pub(super) struct Vacancies<'a> {
    index: Index,
    probes: u64,
    /// Probes before an index is thought of.
    patience: u64,
    /// Asked before an index is built, with its bytes.
    budget: Budget<'a>,
}

#[derive(Debug)]
enum Index {
    None,
    Masks(Masks),
    Cursors(Cursors),
}

impl<'a> Vacancies<'a> {
    /// Starts by probing; builds an index when that is worth its cost, if `budget` allows its bytes.
    pub fn new(budget: Budget<'a>) -> Self {
        Self::after(PATIENCE_PROBES, budget)
    }

    /// As [`Vacancies::new`], with an index after that many probes at the earliest, with 0 at once.
    pub fn after(patience: u64, budget: Budget<'a>) -> Self {
        Self {
            index: Index::None,
            probes: 0,
            patience,
            budget,
        }
    }

    /// Moves the fingerprints of `block`, whole buckets from `first_bucket` on of a sub-filter after
    /// `earlier`, one after another: each into the first of `earlier` that has an empty slot in its own
    /// bucket or else in its other one. Says whether one moved. `block` is at most [`BLOCK_SLOTS`].
    pub fn empty(
        &mut self,
        earlier: &mut [SubFilter],
        block: &mut [u8],
        first_bucket: u64,
    ) -> bool {
        if matches!(self.index, Index::None) && self.probes >= self.patience {
            self.build_index(earlier);
        }
        match &mut self.index {
            Index::Masks(masks) => masks.empty(earlier, block, first_bucket),
            Index::Cursors(cursors) => cursors.empty(earlier, block, first_bucket),
            Index::None => sweep::empty(earlier, block, first_bucket, &mut self.probes),
        }
    }

    /// Builds the index if it is worth its cost by now; goes on probing where memory is refused.
    #[cold]
    fn build_index(&mut self, earlier: &[SubFilter]) {
        let buckets: u64 = earlier.iter().map(|each| each.bucket_mask() + 1).sum();
        let worth = buckets / BUCKETS_A_PROBE;
        let few = earlier.len() <= PROBED_SUB_FILTERS;
        if self.patience > 0 && (few || self.probes < worth) {
            // Later sources have no more sub-filters before them.
            self.patience = if few { u64::MAX } else { worth };
            return;
        }
        let index = if earlier.len() <= Masks::MAX_SUB_FILTERS {
            Masks::new(earlier, self.budget).map(Index::Masks)
        } else {
            Cursors::new(earlier, self.budget).map(Index::Cursors)
        };
        self.patience = u64::MAX;
        self.index = index.unwrap_or(Index::None);
    }
}
