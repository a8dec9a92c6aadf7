//! Operations on several items, in batches: hash the items, prefetch their buckets, then process them.
//!
//! Single operations wait for two cache misses per sub-filter. In a batch the misses of all items overlap.

use super::item::HashedItem;
use super::{CuckooError, CuckooFilter, Duplicates};
use crate::batch::{BATCH_ITEMS, PREFETCHED_SUB_FILTERS, fill};
use crate::memory::Budget;

/// Filters with fewer bytes of slots are not prefetched: they fit in the second-level cache, where prefetch instructions
/// cost more than they save.
const MIN_PREFETCH_BYTES: u64 = 1 << 20;

impl CuckooFilter {
    /// [`CuckooFilter::contains`] for each item, in order. Calls `on_result` once per item.
    pub fn contains_each<'a>(
        &self,
        items: impl IntoIterator<Item = &'a [u8]>,
        mut on_result: impl FnMut(bool),
    ) {
        let large = self.slot_bytes() >= MIN_PREFETCH_BYTES;
        let mut items = items.into_iter().map(HashedItem::of).fuse();
        let mut batch = [HashedItem::default(); BATCH_ITEMS];
        while let batch @ [_, ..] = fill(&mut batch, &mut items) {
            let mut found = [false; BATCH_ITEMS];
            for sub_filter in self.sub_filters.iter().rev() {
                if large {
                    batch.iter().for_each(|item| sub_filter.prefetch(item));
                }
                for (item, found) in batch.iter().zip(&mut found) {
                    *found = *found || sub_filter.contains(item);
                }
            }
            found[..batch.len()]
                .iter()
                .for_each(|&found| on_result(found));
        }
    }

    /// [`CuckooFilter::insert_if`] for each item, in order. Calls `on_result` once per item; an error does not stop the rest.
    pub fn insert_each<'a>(
        &mut self,
        items: impl IntoIterator<Item = &'a [u8]>,
        duplicates: Duplicates,
        budget: Budget<'_>,
        mut on_result: impl FnMut(Result<bool, CuckooError>),
    ) {
        let mut items = items.into_iter().map(HashedItem::of).fuse();
        let mut batch = [HashedItem::default(); BATCH_ITEMS];
        while let batch @ [_, ..] = fill(&mut batch, &mut items) {
            match duplicates {
                Duplicates::Insert => self.prefetch_for_insert(batch),
                Duplicates::Skip => self.prefetch_newest(batch),
            }
            for item in batch {
                on_result(self.insert_hashed_if(item, duplicates, budget));
            }
        }
    }

    /// Prefetches the buckets that the insertion of a batch is likely to access. While the newest sub-filter is at most
    /// half full, most items (seven of eight at bucket size 2) fit in their first bucket there, so only that is
    /// prefetched.
    fn prefetch_for_insert(&self, batch: &[HashedItem]) {
        let Some(newest) = self.sub_filters.last() else {
            return;
        };
        let newest_bytes = newest.slots().len() as u64;
        let older = self.slot_bytes() - newest_bytes;
        if self.items.saturating_sub(older) > newest_bytes / 2 {
            self.prefetch_newest(batch);
        } else if batch.len() > 1 && newest_bytes >= MIN_PREFETCH_BYTES {
            let first = batch.iter().map(|item| item.first);
            first.for_each(|hash| newest.prefetch_bucket(hash));
        }
    }

    /// Prefetches both buckets of each item in the newest sub-filters.
    fn prefetch_newest(&self, batch: &[HashedItem]) {
        if batch.len() == 1 || self.slot_bytes() < MIN_PREFETCH_BYTES {
            return;
        }
        for sub_filter in self.sub_filters.iter().rev().take(PREFETCHED_SUB_FILTERS) {
            batch.iter().for_each(|item| sub_filter.prefetch(item));
        }
    }
}
