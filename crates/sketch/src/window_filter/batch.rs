//! Operations on several items, in batches: hash the items, prefetch their buckets, then process them.

use super::sub_filter::{Place, SubFilter};
use super::ticks::LiveTicks;
use super::{Addition, BloomWindow, CuckooWindow, Error, IfPresent, Kind, Seed, WindowFilter};
use crate::batch::{BATCH_ITEMS, PREFETCHED_SUB_FILTERS, fill};
use crate::cuckoo;
use crate::memory::Budget;
use crate::window::Panes;
use std::ops::ControlFlow;

/// Sub-filters with fewer bytes of slots are not prefetched: they fit in the second-level cache, where prefetch
/// instructions cost more than they save.
const MIN_PREFETCH_BYTES: usize = 1 << 20;

impl<K: Kind> WindowFilter<K> {
    /// Whether an item may have been added in these panes: no false negatives, some false positives.
    #[inline]
    #[must_use]
    pub fn contains(&self, item: &[u8], panes: Panes) -> bool {
        self.contains_hashed(self.hash(item), self.ticks_in(panes))
    }

    #[inline]
    pub(super) fn contains_hashed(&self, hash: u64, live: LiveTicks) -> bool {
        self.sub_filters
            .iter()
            .rev()
            .any(|each| each.contains(&each.stored_ticks(live), &each.place(hash)))
    }

    /// [`WindowFilter::contains`] for each item, in order. Calls `on_result` once per item.
    pub fn contains_each<'a>(
        &self,
        items: impl IntoIterator<Item = &'a [u8]>,
        panes: Panes,
        mut on_result: impl FnMut(bool),
    ) {
        let live = self.ticks_in(panes);
        let (mut hashes, mut batch) = batches(self.seed(), items);
        while let batch @ [_, ..] = fill(&mut batch, &mut hashes) {
            let mut found = [false; BATCH_ITEMS];
            for sub_filter in self.sub_filters.iter().rev() {
                let ticks = sub_filter.stored_ticks(live);
                let places = places(sub_filter, batch);
                for (place, found) in places[..batch.len()].iter().zip(&mut found) {
                    *found = *found || sub_filter.contains(&ticks, place);
                }
            }
            found[..batch.len()]
                .iter()
                .for_each(|&found| on_result(found));
        }
    }

    /// Prefetches the buckets of a batch of items in the largest sub-filters.
    fn prefetch_largest(&self, hashes: &[u64]) {
        if hashes.len() > 1 {
            for sub_filter in self.sub_filters.iter().rev().take(PREFETCHED_SUB_FILTERS) {
                places(sub_filter, hashes);
            }
        }
    }
}

impl BloomWindow {
    /// [`BloomWindow::add`] for each item, in order, or [`IfPresent::Skip`]. Calls `on_result` once per item, until it ends the
    /// addition; an error does not end it.
    pub fn add_each<'a>(
        &mut self,
        items: impl IntoIterator<Item = &'a [u8]>,
        if_present: IfPresent,
        budget: Budget<'_>,
        mut on_result: impl FnMut(Result<Addition, Error>) -> ControlFlow<()>,
    ) {
        let (mut hashes, mut batch) = batches(self.seed(), items);
        while let batch @ [_, ..] = fill(&mut batch, &mut hashes) {
            self.prefetch_largest(batch);
            for &hash in batch {
                if on_result(self.add_hashed(hash, if_present, budget)).is_break() {
                    return;
                }
            }
        }
    }
}

impl CuckooWindow {
    /// [`CuckooWindow::insert_if`] for each item, in order. Calls `on_result` once per item; an error does not stop the rest.
    pub fn insert_each<'a>(
        &mut self,
        items: impl IntoIterator<Item = &'a [u8]>,
        duplicates: cuckoo::Duplicates,
        budget: Budget<'_>,
        mut on_result: impl FnMut(Result<bool, Error>),
    ) {
        let (mut hashes, mut batch) = batches(self.seed(), items);
        while let batch @ [_, ..] = fill(&mut batch, &mut hashes) {
            self.prefetch_largest(batch);
            for &hash in batch {
                on_result(self.insert_hashed_if(hash, duplicates, budget));
            }
        }
    }
}

/// The places of a batch of items, prefetched if the sub-filter is large.
#[inline(always)]
fn places(sub_filter: &SubFilter, hashes: &[u64]) -> [Place; BATCH_ITEMS] {
    let mut places = [Place::default(); BATCH_ITEMS];
    let large = hashes.len() > 1 && sub_filter.slots.len() >= MIN_PREFETCH_BYTES;
    for (place, &hash) in places.iter_mut().zip(hashes) {
        *place = sub_filter.place(hash);
        if large {
            sub_filter.prefetch(place);
        }
    }
    places
}

/// The hashes of items, and memory for a batch of them.
fn batches<'a>(
    seed: Seed,
    items: impl IntoIterator<Item = &'a [u8]>,
) -> (impl Iterator<Item = u64>, [u64; BATCH_ITEMS]) {
    let hashes = items.into_iter().map(move |item| seed.hash(item));
    (hashes.fuse(), [0; BATCH_ITEMS])
}
