//! Operations on several items, in blocks: hash the items, prefetch their buckets, then process them.

use super::sub_filter::{Place, SubFilter};
use super::ticks::LiveTicks;
use super::{Addition, BloomWindow, CuckooWindow, Error, IfPresent, Kind, Seed, WindowFilter};
use crate::memory::Budget;
use crate::window::Panes;

/// Items per block. Each block prefetches at least twice as many cache lines per sub-filter: enough for all the cache
/// misses that a processor can have in flight (10 to 48), and few enough for the first-level cache.
pub const BLOCK_ITEMS: usize = 16;

/// Sub-filters with fewer bytes of slots are not prefetched: they fit in the second-level cache, where prefetch
/// instructions cost more than they save.
const MIN_PREFETCH_BYTES: usize = 1 << 20;

/// Largest sub-filters that additions prefetch. The processor's speculation fetches the buckets of further ones.
const PREFETCHED_SUB_FILTERS: usize = 4;

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
        for_each_block(self.seed(), items, |hashes| {
            let mut found = [false; BLOCK_ITEMS];
            for sub_filter in self.sub_filters.iter().rev() {
                let ticks = sub_filter.stored_ticks(live);
                let places = places(sub_filter, hashes);
                for (place, found) in places[..hashes.len()].iter().zip(&mut found) {
                    *found = *found || sub_filter.contains(&ticks, place);
                }
            }
            found[..hashes.len()]
                .iter()
                .for_each(|&found| on_result(found));
        });
    }

    /// Prefetches the buckets of a block of items in the largest sub-filters.
    fn prefetch_largest(&self, hashes: &[u64]) {
        if hashes.len() > 1 {
            for sub_filter in self.sub_filters.iter().rev().take(PREFETCHED_SUB_FILTERS) {
                places(sub_filter, hashes);
            }
        }
    }
}

impl BloomWindow {
    /// [`BloomWindow::add`] for each item, in order, or [`IfPresent::Skip`]. Calls `on_result` once per item; an error does not
    /// stop the rest.
    pub fn add_each<'a>(
        &mut self,
        items: impl IntoIterator<Item = &'a [u8]>,
        if_present: IfPresent,
        budget: Budget<'_>,
        mut on_result: impl FnMut(Result<Addition, Error>),
    ) {
        let mut additions = Additions::new(items.into_iter(), if_present, self);
        while let Some(result) = additions.add_next(budget) {
            on_result(result);
        }
    }
}

/// The addition of several items to a [`BloomWindow`], one by one in order.
#[derive(Debug)]
pub struct Additions<'s, I> {
    set: &'s mut BloomWindow,
    items: I,
    if_present: IfPresent,
    block: Block,
    /// The position of the next item in the block.
    position: usize,
}

impl<'a, 's, I: Iterator<Item = &'a [u8]>> Additions<'s, I> {
    /// Prepares the addition of `items` to `set`.
    pub fn new(items: I, if_present: IfPresent, set: &'s mut BloomWindow) -> Self {
        Self {
            set,
            items,
            if_present,
            block: Block::default(),
            position: 0,
        }
    }

    /// Adds the next item and returns the result of [`BloomWindow::add`] or [`IfPresent::Skip`]. `None` after the last item.
    pub fn add_next(&mut self, budget: Budget<'_>) -> Option<Result<Addition, Error>> {
        if self.position == self.block.len {
            self.block = Block::of(self.set.seed(), &mut self.items);
            self.position = 0;
            self.set.prefetch_largest(self.block.hashes());
        }
        let hash = *self.block.hashes().get(self.position)?;
        self.position += 1;
        Some(self.set.add_hashed(hash, self.if_present, budget))
    }
}

impl CuckooWindow {
    /// [`CuckooWindow::insert_item`] for each item, in order. Calls `on_result` once per item; an error does not stop the
    /// rest.
    pub fn insert_each<'a>(
        &mut self,
        items: impl IntoIterator<Item = &'a [u8]>,
        budget: Budget<'_>,
        mut on_result: impl FnMut(Result<(), Error>),
    ) {
        for_each_block(self.seed(), items, |hashes| {
            self.prefetch_largest(hashes);
            for &hash in hashes {
                on_result(self.insert(hash, self.live_for_write(), budget));
            }
        });
    }

    /// [`CuckooWindow::insert_unique`] for each item, in order. Calls `on_result` once per item; an error does not stop
    /// the rest.
    pub fn insert_unique_each<'a>(
        &mut self,
        items: impl IntoIterator<Item = &'a [u8]>,
        budget: Budget<'_>,
        mut on_result: impl FnMut(Result<bool, Error>),
    ) {
        for_each_block(self.seed(), items, |hashes| {
            self.prefetch_largest(hashes);
            for &hash in hashes {
                on_result(self.insert_unique_hashed(hash, budget));
            }
        });
    }
}

/// The places of a block of items, prefetched if the sub-filter is large.
#[inline(always)]
fn places(sub_filter: &SubFilter, hashes: &[u64]) -> [Place; BLOCK_ITEMS] {
    let mut places = [Place::default(); BLOCK_ITEMS];
    let large = hashes.len() > 1 && sub_filter.slots.len() >= MIN_PREFETCH_BYTES;
    for (place, &hash) in places.iter_mut().zip(hashes) {
        *place = sub_filter.place(hash);
        if large {
            sub_filter.prefetch(place);
        }
    }
    places
}

/// Hashed items.
#[derive(Debug, Default)]
struct Block {
    hashes: [u64; BLOCK_ITEMS],
    len: usize,
}

impl Block {
    /// Takes the next items and hashes them.
    fn of<'a>(seed: Seed, items: &mut impl Iterator<Item = &'a [u8]>) -> Self {
        let mut block = Self::default();
        for (place, item) in block.hashes.iter_mut().zip(items) {
            *place = seed.hash(item);
            block.len += 1;
        }
        block
    }

    fn hashes(&self) -> &[u64] {
        &self.hashes[..self.len]
    }
}

/// Hashes all items and passes the hashes to `work` in order, [`BLOCK_ITEMS`] at a time.
fn for_each_block<'a>(
    seed: Seed,
    items: impl IntoIterator<Item = &'a [u8]>,
    mut work: impl FnMut(&[u64]),
) {
    let mut items = items.into_iter();
    loop {
        let block = Block::of(seed, &mut items);
        if block.len > 0 {
            work(block.hashes());
        }
        if block.len < BLOCK_ITEMS {
            return;
        }
    }
}
