//! How often a filter with a window finds an item that was not added.

use super::{Kind, WindowFilter, WindowMultiset, WindowSet};
use crate::accuracy::{Accuracy, Field, Figure, any_of, any_of_equal, share};
use crate::memory::OutOfMemory;
use crate::window::Panes;

impl<K: Kind> WindowFilter<K> {
    /// The probability of a false positive, and the share of the slots that have live items in these panes.
    fn false_positive_rate(&self, panes: Panes) -> [Field; 2] {
        let live_items = self.live_items(panes);
        let bucket_size = self.parameters.bucket_size;
        let (mut used, mut slots) = (0, 0);
        let rates = self.sub_filters.iter().map(|each| {
            let shape = each.shape();
            let (used_of_each, slots_of_each) = (live_items(each), shape.slots(bucket_size));
            used += used_of_each;
            slots += slots_of_each;
            let match_of_slot = share(used_of_each, slots_of_each) / shape.fingerprints as f64;
            // A look-up compares the slots of two buckets.
            any_of_equal(match_of_slot.min(1.0), 2 * u64::from(bucket_size))
        });
        [
            (c"false positive rate", Figure::Ratio(any_of(rates))),
            (c"fill", Figure::Ratio(share(used, slots))),
        ]
    }
}

impl Accuracy for WindowSet {
    fn accuracy(&self, panes: Panes, (): &mut ()) -> Result<Vec<Field>, OutOfMemory> {
        let [rate, fill] = self.false_positive_rate(panes);
        let specified = (c"specified rate", Figure::Ratio(self.error_rate()));
        Ok(vec![rate, specified, fill])
    }
}

impl Accuracy for WindowMultiset {
    fn accuracy(&self, panes: Panes, (): &mut ()) -> Result<Vec<Field>, OutOfMemory> {
        Ok(self.false_positive_rate(panes).into())
    }
}
