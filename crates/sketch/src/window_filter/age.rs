//! When an item was last added.

use super::{Kind, WindowFilter};
use crate::window::Panes;

impl<K: Kind> WindowFilter<K> {
    /// The pane in which an item was last added or refreshed, if it is one of these panes. A false positive has the pane
    /// of another item. Cost: that of [`WindowFilter::contains`] for an item that the filter does not contain.
    #[must_use]
    pub fn last_pane(&self, item: &[u8], panes: Panes) -> Option<u64> {
        let (hash, live) = (self.hash(item), self.ticks_in(panes));
        let ticks = self
            .sub_filters
            .iter()
            .filter_map(|each| each.newest_tick(&each.view(live), &each.place(hash)));
        Some(self.ticks.pane_of(ticks.max()?))
    }
}
