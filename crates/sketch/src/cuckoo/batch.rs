//! Several items at once: hashed and fetched a block ahead.
//!
//! One item after another would wait for memory twice a sub-filter. A block's buckets are asked for
//! before the first of them is needed, so that the processor has many misses under way.

use super::item::HashedItem;
use super::{CuckooError, CuckooFilter};
use crate::memory::Budget;

/// Items hashed ahead. Twice this many cache lines are asked for a sub-filter: more than processors
/// keep under way (10 to 48), and few enough to stay in a first-level cache.
pub const BLOCK_ITEMS: usize = 16;

/// Slots from which on fetching ahead pays. Below, they are in a second-level cache, and the
/// instructions for asking cost more than they save.
const PREFETCH_FROM_BYTES: u64 = 1 << 20;

/// Unique insertions, and others once the newest sub-filter is half full, ask for the buckets of this many
/// sub-filters, from the newest: an insertion that looks further finds the others by the processor's own
/// speculation.
const PREFETCHED_SUB_FILTERS: usize = 4;

impl CuckooFilter {
    /// [`CuckooFilter::contains`] of each item, in order.
    pub fn contains_each<'a>(
        &self,
        items: impl IntoIterator<Item = &'a [u8]>,
        mut answer: impl FnMut(bool),
    ) {
        let large = self.slot_bytes() >= PREFETCH_FROM_BYTES;
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
            found[..block.len()].iter().for_each(|&found| answer(found));
        });
    }

    /// [`CuckooFilter::insert`] of each item, in order; an item that fails does not stop the rest.
    pub fn insert_each<'a>(
        &mut self,
        items: impl IntoIterator<Item = &'a [u8]>,
        budget: Budget<'_>,
        mut answer: impl FnMut(Result<(), CuckooError>),
    ) {
        for_each_block(items, |block| {
            self.prefetch_room(block);
            block
                .iter()
                .for_each(|item| answer(self.insert_hashed(item, budget)));
        });
    }

    /// [`CuckooFilter::insert_unique`] of each item, in order; an item that fails does not stop the
    /// rest.
    pub fn insert_unique_each<'a>(
        &mut self,
        items: impl IntoIterator<Item = &'a [u8]>,
        budget: Budget<'_>,
        mut answer: impl FnMut(Result<bool, CuckooError>),
    ) {
        for_each_block(items, |block| {
            self.prefetch_newest(block);
            block
                .iter()
                .for_each(|item| answer(self.insert_unique_hashed(item, budget)));
        });
    }

    /// Asks for the buckets that will likely take the items of a block.
    ///
    /// While the newest sub-filter is not half full, that is the first bucket of seven in eight of them (at two
    /// slots a bucket), and CF.INSERT of 100 items took 0.92 of the time without the others.
    fn prefetch_room(&self, block: &[HashedItem]) {
        let Some(newest) = self.sub_filters.last() else {
            return;
        };
        let newest_bytes = newest.slots().len() as u64;
        let older = self.slot_bytes() - newest_bytes;
        if self.items.saturating_sub(older) > newest_bytes / 2 {
            self.prefetch_newest(block);
        } else if block.len() > 1 && newest_bytes >= PREFETCH_FROM_BYTES {
            let first = block.iter().map(|item| item.first);
            first.for_each(|hash| newest.prefetch_bucket(hash));
        }
    }

    fn prefetch_newest(&self, block: &[HashedItem]) {
        if block.len() == 1 || self.slot_bytes() < PREFETCH_FROM_BYTES {
            return;
        }
        for sub_filter in self.sub_filters.iter().rev().take(PREFETCHED_SUB_FILTERS) {
            block.iter().for_each(|item| sub_filter.prefetch(item));
        }
    }
}

/// Hands the hashes of all items to `work`, [`BLOCK_ITEMS`] at a time and in order.
fn for_each_block<'a>(
    items: impl IntoIterator<Item = &'a [u8]>,
    mut work: impl FnMut(&[HashedItem]),
) {
    let mut items = items.into_iter().map(HashedItem::of);
    loop {
        let mut block = [HashedItem::default(); BLOCK_ITEMS];
        let mut filled = 0;
        for (place, item) in block.iter_mut().zip(&mut items) {
            *place = item;
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
