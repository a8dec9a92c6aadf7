//! Growth: the next sub-filter of a filter without a free slot.
//!
//! A caller advances a filter before a write. If the write then changes nothing, the filter should not advance either. So
//! the caller asks first (`unchanged_by`): the functions take the ticks that are live in the later pane.

use super::evict::SearchBudget;
use super::size::SubFilterSize;
use super::sub_filter::SubFilter;
use super::ticks::LiveTicks;
use super::{Error, Kind, MAX_SUB_FILTERS, MIN_OVERFLOW_LIMIT, WindowFilter};
use crate::memory::{Budget, OutOfMemory, reserve_for};
use crate::window::Panes;

impl<K: Kind> WindowFilter<K> {
    /// Adds the next sub-filter.
    pub(super) fn grow(&mut self, budget: Budget<'_>) -> Result<(), Error> {
        self.add_sub_filter(self.next_size(self.ticks.live())?, budget)
    }

    /// The sub-filters after an advance to a pane in which these ticks are live, with their live entries. See
    /// [`WindowFilter::remove_empty`].
    pub(super) fn kept(
        &self,
        live: LiveTicks,
    ) -> impl DoubleEndedIterator<Item = (&SubFilter, u64)> + Clone {
        let stored = self.ticks.live();
        let all = live.oldest == stored.oldest;
        let keep = self.kept_if_empty();
        let counted = self.sub_filters.iter().map(move |each| {
            let count = match all {
                true => each.live,
                false => each.count_of_all(live.oldest..stored.newest + 1),
            };
            (each, count)
        });
        let kept = counted
            .enumerate()
            .filter(move |&(index, (_, count))| all || count > 0 || keep == Some(index));
        kept.map(|(_, kept)| kept)
    }

    /// The size of the sub-filter that the filter adds while these ticks are live: the one for the capacity; a small one if
    /// there are fewer items than the limit, but no free slot; or one that is larger by the expansion.
    ///
    /// Small ones double when they are half full. So one item with many occurrences needs little memory, and many items with
    /// several occurrences need few sub-filters.
    pub(super) fn next_size(&self, live: LiveTicks) -> Result<SubFilterSize, Error> {
        let kept = self.kept(live);
        let present = || kept.clone().map(|(each, _)| each);
        let first_limit = self.first_limit();
        let limit = kept.clone().next_back();
        let limit = limit.map_or(0, |(largest, _)| largest.size().limit);
        if limit < first_limit {
            return self.size_for(first_limit, present());
        }
        let expansion = self.parameters.expansion;
        let below_limit = !kept.clone().all(|(each, count)| each.is_full_with(count));
        if expansion == 0 && !(below_limit && K::GUARANTEES_CAPACITY) {
            return Err(Error::Full);
        }
        let limit = if below_limit {
            // The limits of sub-filters that are at least half full.
            let used = kept.clone().filter_map(|(each, count)| {
                let own = each.size().limit;
                (count >= own.div_ceil(2) && own < limit).then_some(own)
            });
            (used.max().unwrap_or(0).saturating_mul(2))
                .max(MIN_OVERFLOW_LIMIT)
                .min(limit)
        } else {
            limit
                .checked_mul(expansion.into())
                .ok_or(Error::Parameters)?
        };
        self.size_for(limit, present())
    }

    /// The size of a sub-filter with this limit in addition to others.
    fn size_for<'a>(
        &self,
        limit: u64,
        others: impl Iterator<Item = &'a SubFilter> + Clone,
    ) -> Result<SubFilterSize, Error> {
        if others.clone().count() >= MAX_SUB_FILTERS {
            return Err(OutOfMemory { bytes: u64::MAX }.into());
        }
        let panes = self.timeline.window().panes();
        let rates = others.map(|each| each.size().error_rate());
        let error_rate = self.parameters.next_error_rate::<K>(rates);
        SubFilterSize::for_items(limit, error_rate, self.parameters.bucket_size, panes)
            .ok_or(Error::Parameters)
    }

    /// Adds an empty sub-filter.
    pub(super) fn add_sub_filter(
        &mut self,
        size: SubFilterSize,
        budget: Budget<'_>,
    ) -> Result<(), Error> {
        let panes = self.timeline.window().panes();
        let bucket_size = self.parameters.bucket_size;
        budget.request(SubFilter::bytes(&size, bucket_size, panes))?;
        let sub_filter = SubFilter::empty(size, bucket_size, panes)?;
        let len = self.sub_filters.len() + 1;
        reserve_for(&mut self.sub_filters, len, MAX_SUB_FILTERS)?;
        let place = self
            .sub_filters
            .partition_point(|each| each.size().limit <= size.limit);
        self.sub_filters.insert(place, sub_filter);
        Ok(())
    }

    /// The number of sub-filters after an advance, if these panes are live then.
    #[must_use]
    pub fn num_sub_filters_in(&self, later: Panes) -> usize {
        self.kept(self.live_in(later)).count()
    }

    /// The live ticks that have entries after an advance, if these panes are live then.
    pub(super) fn live_in(&self, later: Panes) -> LiveTicks {
        LiveTicks {
            oldest: self.ticks.oldest_from(later.oldest()),
            newest: self.ticks.live().newest,
        }
    }

    /// The error with which [`WindowFilter::insert`] refuses an entry, whatever memory there is.
    pub(super) fn refusal(&self, hash: u64, live: LiveTicks) -> Option<Error> {
        let mut searches = SearchBudget::new(self.parameters.max_iterations);
        let has_room = self.kept(live).rev().any(|(each, count)| {
            let (ticks, place) = (each.stored_ticks(live), each.place(hash));
            !each.is_full_with(count) && each.has_room(&ticks, &place, &mut searches)
        });
        match has_room {
            true => None,
            false => self.next_size(live).err(),
        }
    }
}
