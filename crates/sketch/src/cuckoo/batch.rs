//! Operations on several items, in blocks: hash the items, prefetch their buckets, then process them.
//!
//! Single operations wait for two cache misses per sub-filter. In a block the misses of all items overlap.

use super::item::HashedItem;
use super::{CuckooError, CuckooFilter};
use crate::memory::Budget;

/// Items per block. Each block prefetches twice as many cache lines per sub-filter: enough for all the cache misses
/// that a processor can have in flight (10 to 48), and few enough for the first-level cache.
pub const BLOCK_ITEMS: usize = 16;

/// Filters with fewer bytes of slots are not prefetched: they fit in the second-level cache, where prefetch instructions
/// cost more than they save.
const MIN_PREFETCH_BYTES: u64 = 1 << 20;

/// Newest sub-filters that insertions prefetch. The processor's speculation fetches the buckets of further ones.
const PREFETCHED_SUB_FILTERS: usize = 4;

impl CuckooFilter {
    /// [`CuckooFilter::contains`] for each item, in order. Calls `on_result` once per item.
    pub fn contains_each<'a>(
        &self,
        items: impl IntoIterator<Item = &'a [u8]>,
        mut on_result: impl FnMut(bool),
    ) {
        let large = self.slot_bytes() >= MIN_PREFETCH_BYTES;
        for_each_block(items, |block| {
            let mut found = [false; BLOCK_ITEMS];
            for sub_filter in self.sub_filters.iter().rev() {
                if large {
                    block.iter().for_each(|item| sub_filter.prefetch(item));
                }
                for (item, found) in block.iter().zip(&mut found) {
                    *found = *found || sub_filter.contains(item);
                }
            }
            found[..block.len()]
                .iter()
                .for_each(|&found| on_result(found));
        });
    }

    /// [`CuckooFilter::insert`] for each item, in order. Calls `on_result` once per item; an error does not stop the rest.
    pub fn insert_each<'a>(
        &mut self,
        items: impl IntoIterator<Item = &'a [u8]>,
        budget: Budget<'_>,
        mut on_result: impl FnMut(Result<(), CuckooError>),
    ) {
        for_each_block(items, |block| {
            self.prefetch_for_insert(block);
            block
                .iter()
                .for_each(|item| on_result(self.insert_hashed(item, budget)));
        });
    }

    /// [`CuckooFilter::insert_unique`] for each item, in order. Calls `on_result` once per item; an error does not stop the
    /// rest.
    pub fn insert_unique_each<'a>(
        &mut self,
        items: impl IntoIterator<Item = &'a [u8]>,
        budget: Budget<'_>,
        mut on_result: impl FnMut(Result<bool, CuckooError>),
    ) {
        for_each_block(items, |block| {
            self.prefetch_newest(block);
            block
                .iter()
                .for_each(|item| on_result(self.insert_unique_hashed(item, budget)));
        });
    }

    /// Prefetches the buckets that the insertion of a block is likely to access. While the newest sub-filter is at most
    /// half full, most items (seven of eight at bucket size 2) fit in their first bucket there, so only that is
    /// prefetched.
    fn prefetch_for_insert(&self, block: &[HashedItem]) {
        let Some(newest) = self.sub_filters.last() else {
            return;
        };
        let newest_bytes = newest.slots().len() as u64;
        let older = self.slot_bytes() - newest_bytes;
        if self.items.saturating_sub(older) > newest_bytes / 2 {
            self.prefetch_newest(block);
        } else if block.len() > 1 && newest_bytes >= MIN_PREFETCH_BYTES {
            let first = block.iter().map(|item| item.first);
            first.for_each(|hash| newest.prefetch_bucket(hash));
        }
    }

    /// Prefetches both buckets of each item in the newest sub-filters.
    fn prefetch_newest(&self, block: &[HashedItem]) {
        if block.len() == 1 || self.slot_bytes() < MIN_PREFETCH_BYTES {
            return;
        }
        for sub_filter in self.sub_filters.iter().rev().take(PREFETCHED_SUB_FILTERS) {
            block.iter().for_each(|item| sub_filter.prefetch(item));
        }
    }
}

/// Hashes all items and passes them to `work` in order, [`BLOCK_ITEMS`] at a time.
fn for_each_block<'a>(
    items: impl IntoIterator<Item = &'a [u8]>,
    mut work: impl FnMut(&[HashedItem]),
) {
    let mut items = items.into_iter().map(HashedItem::of);
    loop {
        let mut block = [HashedItem::default(); BLOCK_ITEMS];
        let mut filled = 0;
        for (hashed, item) in block.iter_mut().zip(&mut items) {
            *hashed = item;
            filled += 1;
        }
        if filled > 0 {
            work(&block[..filled]);
        }
        if filled < BLOCK_ITEMS {
            return;
        }
    }
}
