//! How often a cuckoo filter finds an item that was not inserted.

use super::CuckooFilter;
use super::item::FINGERPRINTS;
use crate::accuracy::{Accuracy, Field, Figure, any_of, any_of_equal, share};
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
        let match_of_slot = share(self.items.min(slots), slots) / FINGERPRINTS as f64;
        let compared_slots = 2 * newest.bucket_size() as u64 * full.len() as u64;
        any_of_equal(match_of_slot, compared_slots)
    }
}

impl Accuracy for CuckooFilter {
    fn accuracy(&self, _: Panes, (): &mut ()) -> Result<Vec<Field>, OutOfMemory> {
        let (mut used, mut slots) = (0, 0);
        let rates = self.sub_filters.iter().map(|each| {
            let (used_of_each, slots_of_each) =
                (each.num_fingerprints(), each.slots().len() as u64);
            used += used_of_each;
            slots += slots_of_each;
            let match_of_slot = share(used_of_each, slots_of_each) / FINGERPRINTS as f64;
            // A look-up compares the slots of two buckets.
            any_of_equal(match_of_slot, 2 * each.bucket_size() as u64)
        });
        Ok(vec![
            (c"false positive rate", Figure::Ratio(any_of(rates))),
            (c"fill", Figure::Ratio(share(used, slots))),
        ])
    }
}
