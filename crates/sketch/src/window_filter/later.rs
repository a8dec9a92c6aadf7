//! What an addition will do after an advance, without a change.
//!
//! A caller advances a filter before a write. If the write then changes nothing, the filter should not advance either. So the
//! caller asks first. The answer depends on the entries that are live in the later pane, which a view of the slots shows.

use super::evict::SearchBudget;
use super::ticks::LiveTicks;
use super::{Addition, BloomWindow, CuckooWindow, Error, IfPresent, Kind, WindowFilter};
use crate::window::Panes;

impl<K: Kind> WindowFilter<K> {
    /// The number of sub-filters after an advance, if these panes are live then.
    #[must_use]
    pub fn num_sub_filters_in(&self, later: Panes) -> usize {
        self.kept(self.live_for_later_write(later)).count()
    }

    /// The live ticks of a write after an advance, if these panes are live then. See [`WindowFilter::live_for_write`].
    fn live_for_later_write(&self, later: Panes) -> LiveTicks {
        LiveTicks {
            oldest: self.ticks.oldest_from(later.oldest()),
            newest: self.ticks.live().newest + 1,
        }
    }

    /// The error with which [`WindowFilter::insert`] refuses an entry, whatever memory there is.
    fn refusal(&self, hash: u64, live: LiveTicks) -> Option<Error> {
        let mut searches = SearchBudget::new();
        let has_room = self.kept(live).rev().any(|(each, count)| {
            let (view, place) = (each.view(live), each.place(hash));
            let max_iterations = self.parameters.max_iterations;
            !each.is_full_with(count) && each.has_room(&view, &place, max_iterations, &mut searches)
        });
        match has_room {
            true => None,
            false => self.next_shape(live).err(),
        }
    }
}

impl BloomWindow {
    /// The result that an addition will have after an advance, if these panes are live then and the addition changes nothing.
    /// `None` if it changes the set, or if that depends on the memory that is available.
    #[must_use]
    pub fn unchanged_by(
        &self,
        item: &[u8],
        if_present: IfPresent,
        later: Panes,
    ) -> Option<Result<Addition, Error>> {
        let (hash, live) = (self.hash(item), self.live_for_later_write(later));
        match (self.contains_hashed(hash, live), if_present) {
            (true, IfPresent::Refresh) => None,
            (true, IfPresent::Skip) => Some(Ok(Addition::Unchanged)),
            (false, _) => self.refusal(hash, live).map(Err),
        }
    }
}

impl CuckooWindow {
    /// The error of an insertion after an advance, if these panes are live then. `None` if the item is stored, or if that
    /// depends on the memory that is available.
    #[must_use]
    pub fn insertion_error(&self, item: &[u8], later: Panes) -> Option<Error> {
        self.refusal(self.hash(item), self.live_for_later_write(later))
    }

    /// As [`BloomWindow::unchanged_by`], for [`CuckooWindow::insert_unique`]: `Ok(false)` if the filter contains the item.
    #[must_use]
    pub fn unchanged_by_unique(&self, item: &[u8], later: Panes) -> Option<Result<bool, Error>> {
        let (hash, live) = (self.hash(item), self.live_for_later_write(later));
        match self.contains_hashed(hash, live) {
            true => Some(Ok(false)),
            false => self.refusal(hash, live).map(Err),
        }
    }
}
