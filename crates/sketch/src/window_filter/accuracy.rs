//! How often a filter with a window finds an item that was not added.

use super::{BloomWindow, CuckooWindow, Kind, WindowFilter};
use crate::accuracy::{Accuracy, Field, Figure, any_match, of_sub_filters, share};
use crate::memory::OutOfMemory;
use crate::window::Panes;

impl<K: Kind> WindowFilter<K> {
    /// The probability of a false positive, and the share of the slots that have live items in these panes.
    fn false_positive_rate(&self, panes: Panes) -> [Field; 2] {
        let live_items = self.live_items(panes);
        let bucket_size = self.parameters.bucket_size;
        of_sub_filters(self.sub_filters.iter().map(|each| {
            let size = each.size();
            let (used, slots) = (live_items(each), size.slots(bucket_size));
            // A look-up compares the slots of two buckets.
            let compared = 2 * u64::from(bucket_size);
            let rate = any_match(share(used, slots), size.fingerprints, compared);
            (used, slots, rate)
        }))
    }
}

impl Accuracy for BloomWindow {
    fn accuracy(&self, panes: Panes, (): &mut ()) -> Result<Vec<Field>, OutOfMemory> {
        let [rate, fill] = self.false_positive_rate(panes);
        let specified = (c"specified rate", Figure::Ratio(self.error_rate()));
        Ok(vec![rate, specified, fill])
    }
}

impl Accuracy for CuckooWindow {
    fn accuracy(&self, panes: Panes, (): &mut ()) -> Result<Vec<Field>, OutOfMemory> {
        Ok(self.false_positive_rate(panes).into())
    }
}
