//! How often a cuckoo filter finds an item that was not inserted.

use super::CuckooFilter;
use super::item::FINGERPRINTS;
use super::sub_filter::SubFilter;
use crate::accuracy::{Accuracy, Field, any_match, of_sub_filters, share};
use crate::memory::OutOfMemory;
use crate::window::Panes;

impl CuckooFilter {
    /// An estimate of the false positive rate of a filter that has just grown: the newest sub-filter is nearly empty, and the
    /// others are equally full. If they have different sizes, the smaller ones are fuller, and the estimate is lower than the rate.
    ///
    /// Cost: O(f), f the number of sub-filters. That of [`Accuracy::accuracy`], which counts the fingerprints, is linear in the
    /// bytes of the filter.
    #[must_use]
    pub fn rate_after_growth(&self) -> f64 {
        let Some((newest, full)) = self.sub_filters.split_last() else {
            return 0.0;
        };
        let slots = full.iter().map(|each| each.slots().len() as u64).sum();
        // A loaded number of items is not verified.
        let used = share(self.items.min(slots), slots);
        any_match(
            used,
            FINGERPRINTS,
            compared_slots(newest) * full.len() as u64,
        )
    }
}

impl Accuracy for CuckooFilter {
    fn accuracy(&self, _: Panes, (): &mut ()) -> Result<Vec<Field>, OutOfMemory> {
        Ok(of_sub_filters(self.sub_filters.iter().map(|each| {
            let (used, slots) = (each.num_fingerprints(), each.slots().len() as u64);
            let rate = any_match(share(used, slots), FINGERPRINTS, compared_slots(each));
            (used, slots, rate)
        }))
        .into())
    }
}

/// The slots with which a look-up compares: those of two buckets.
fn compared_slots(sub_filter: &SubFilter) -> u64 {
    2 * sub_filter.bucket_size() as u64
}
