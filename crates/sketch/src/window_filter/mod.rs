//! Filters with a sliding window: cuckoo filters whose slots contain a fingerprint and the time of the addition.
//!
//! Two types share this structure: [`BloomWindow`] (`bf-window`), the set of items that were added in the window, and
//! [`CuckooWindow`] (`cf-window`), which counts and deletes occurrences.
//!
//! A filter is a list of sub-filters, each an array of buckets of slots (`slot.rs`). An item has two candidate buckets in
//! each sub-filter (Fan et al., "Cuckoo Filter: Practically Better Than Bloom", CoNEXT 2014). The number of buckets need
//! not be a power of two. A look-up reads two buckets per sub-filter. The slot of an expired entry is free: insertions
//! overwrite it, so nothing needs to happen when a pane expires, apart from a bounded number of slots per write
//! (`sweep.rs`). The number of live entries per pane is exact.
//!
//! Besides the nouns of [`window`](crate::window), there are *ticks* and *generations*. The panes with additions have consecutive
//! numbers, the ticks (`ticks.rs`). A slot stores a fingerprint and its state: empty, or a tick modulo a cycle (`slot.rs`). A
//! generation is a number of consecutive ticks, and each group of buckets stores the generation of its last sweep.
//!
//! If no slot can be made free, or the items exceed the capacity, the filter adds a sub-filter. A sub-filter without
//! live entries is removed. Insertions prefer the largest sub-filter, so after an overload of a window the filter
//! consists of few sub-filters of a suitable size.
//!
//! A secret seed keys the hash of items (`seed.rs`), so that who cannot read the filter cannot choose items that collide.
//!
//! The state is a function of the seed and the operations: there is no other randomness.

mod accuracy;
mod batch;
mod bloom;
mod cuckoo;
mod evict;
mod growth;
mod retired;
mod size;
mod slot;
mod stored;
mod sub_filter;
mod sweep;
mod ticks;

pub use crate::seed::Seed;
pub use bloom::{Addition, Bloom, BloomWindow, BloomWindowParameters, IfPresent};
pub use cuckoo::{Cuckoo, CuckooWindow, CuckooWindowParameters};

use crate::blocks::{BlockChanges, BlockMover, BlockVisitor, Blocks};
use crate::memory::{Budget, OutOfMemory, capacity_for, shrink};
use crate::window::{Panes, Timed, Timeline, Window};
use evict::SearchBudget;
use retired::Retired;
use std::ffi::CStr;
use std::marker::PhantomData;
use sub_filter::SubFilter;
use ticks::{LiveTicks, Ticks};

/// The largest number of sub-filters.
const MAX_SUB_FILTERS: usize = 2048;
/// The largest expansion.
pub const MAX_EXPANSION: u32 = 32768;
/// The part of the error rate that the first sub-filter may use. The rest is for growth.
const FIRST_SHARE: f64 = 15.0 / 16.0;
/// The smallest limit of a sub-filter that is added below the capacity.
const MIN_OVERFLOW_LIMIT: u64 = 16;

/// An error of creating a filter or adding an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A parameter is out of range, or the size of a sub-filter is: its slots would be longer than 57 bits, or the
    /// bits for its buckets and fingerprints exceed those of the hash.
    #[error("the parameters make no filter")]
    Parameters,
    /// The memory for a sub-filter was refused.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
    /// The filter is full and does not grow.
    #[error("the filter is full and does not grow")]
    Full,
}

/// The parameters of both types, as they are stored.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Parameters {
    /// Keys the hash of items.
    seed: Seed,
    /// Items per window.
    capacity: u64,
    /// The error rate of the whole filter, or of each sub-filter: [`Kind::is_rate_of_each`].
    error_rate: f64,
    /// Slots per bucket, at least 1.
    bucket_size: u8,
    /// Entries that an insertion may evict, at least 1.
    max_iterations: u16,
    /// Each further sub-filter has this many times the limit of the largest one. 0: the filter does not grow.
    expansion: u32,
}

/// What differs between [`BloomWindow`] and [`CuckooWindow`].
pub trait Kind: Send + Sync + std::fmt::Debug + PartialEq + Sized {
    /// The name of the type in RDB files and DUMP payloads.
    const TYPE_NAME: &'static CStr;
    /// The encoding version of values.
    const ENCODING_VERSION: u16;
    /// The first bytes of a header.
    const HEADER_MARK: &'static [u8];
    /// Whether each sub-filter of a filter has the filter's error rate. If not, it is an upper bound for their sum.
    fn is_rate_of_each(error_rate: f64, bucket_size: u8) -> bool;
    /// Whether a filter that does not grow adds sub-filters below its capacity if it finds no free slot.
    const GUARANTEES_CAPACITY: bool;
    /// Whether filters of this kind can have these parameters, each of which is in range.
    fn allows(bucket_size: u8, max_iterations: u16) -> bool;
}

/// What [`WindowFilter::sub_filters`] tells of a sub-filter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SubFilterInfo {
    /// Items per window.
    pub capacity: u64,
    /// Live items.
    pub items: u64,
    /// Bytes of its slots.
    pub bytes: u64,
    /// The highest probability of a false positive in it.
    pub error_rate: f64,
}

/// A filter with a window; see the [module documentation](self).
#[derive(Debug, PartialEq)]
pub struct WindowFilter<K> {
    timeline: Timeline,
    parameters: Parameters,
    /// Deletions since the last compaction.
    deletes: u64,
    ticks: Ticks,
    /// In order of their limits, the newest last among equal ones. Empty if all entries of a filter that has grown have
    /// expired.
    sub_filters: Vec<SubFilter>,
    retired: Retired,
    kind: PhantomData<K>,
}

impl<K: Kind> WindowFilter<K> {
    /// An empty filter with one sub-filter.
    fn create(window: Window, parameters: Parameters, budget: Budget<'_>) -> Result<Self, Error> {
        refuse_if!(!parameters.are_valid::<K>() => Error::Parameters);
        // The ring of panes.
        budget.request(Ticks::bytes(window.live_panes()))?;
        let mut filter = Self {
            timeline: Timeline::new::<Self>(window).map_err(|_| Error::Parameters)?,
            parameters,
            deletes: 0,
            ticks: Ticks::new(1, window.live_panes())?,
            sub_filters: Vec::new(),
            retired: Retired::default(),
            kind: PhantomData,
        };
        filter.grow(budget)?;
        Ok(filter)
    }

    /// The number of items in these panes.
    #[must_use]
    pub fn items(&self, panes: Panes) -> u64 {
        let counts = self.sub_filters.iter().map(self.live_items(panes));
        counts.fold(0, u64::saturating_add)
    }

    /// The number of items of a sub-filter in these panes.
    fn live_items(&self, panes: Panes) -> impl Fn(&SubFilter) -> u64 + use<K> {
        let LiveTicks { oldest, newest } = self.ticks_in(panes);
        let all = oldest == self.ticks.live().oldest;
        move |sub_filter| {
            if all {
                sub_filter.live
            } else {
                sub_filter.count_of_all(oldest..newest + 1)
            }
        }
    }

    /// The pane in which an item was last added or refreshed, if it is one of these panes. A false positive has the pane
    /// of another item. Cost: that of [`WindowFilter::contains`] for an item that the filter does not contain.
    #[must_use]
    pub fn last_pane(&self, item: &[u8], panes: Panes) -> Option<u64> {
        let (hash, live) = (self.hash(item), self.ticks_in(panes));
        let ticks = (self.sub_filters.iter())
            .filter_map(|each| each.newest_tick(&each.stored_ticks(live), &each.place(hash)));
        Some(self.ticks.pane_of(ticks.max()?))
    }

    /// Its window and newest pane.
    #[must_use]
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// The seed, which is secret.
    #[must_use]
    pub fn seed(&self) -> Seed {
        self.parameters.seed
    }

    /// The hash of an item.
    #[inline]
    fn hash(&self, item: &[u8]) -> u64 {
        self.parameters.seed.hash(item)
    }

    /// The number of items per window that the filter was created for.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.parameters.capacity
    }

    /// The number of items per window that fit without further growth: [`WindowFilter::capacity`], or more after growth.
    /// Saturating.
    #[must_use]
    pub fn grown_capacity(&self) -> u64 {
        let capacities = self.sub_filters.iter().map(|each| self.per_window(each));
        capacities.fold(0, u64::saturating_add).max(self.capacity())
    }

    /// The items per window for which a sub-filter has its limit; see [`WindowFilter::first_limit`].
    fn per_window(&self, sub_filter: &SubFilter) -> u64 {
        let panes = u128::from(self.timeline.window().panes());
        let capacity = u128::from(sub_filter.size().limit) * panes / (panes + 1);
        u64::try_from(capacity).unwrap_or(u64::MAX)
    }

    /// The sub-filters with their items in these panes, the smallest first.
    pub fn sub_filters(&self, panes: Panes) -> impl ExactSizeIterator<Item = SubFilterInfo> {
        let live_items = self.live_items(panes);
        self.sub_filters.iter().map(move |each| SubFilterInfo {
            capacity: self.per_window(each),
            items: live_items(each),
            bytes: each.slots.len() as u64,
            error_rate: each.size().error_rate(),
        })
    }

    /// The sum of the limits of all sub-filters: the number of live items that fit without growth. Saturating.
    #[must_use]
    pub fn limit(&self) -> u64 {
        let limits = self.sub_filters.iter().map(|each| each.size().limit);
        limits.fold(0, u64::saturating_add)
    }

    /// The factor by which the filter grows. 0 if it does not.
    #[must_use]
    pub fn expansion(&self) -> u32 {
        self.parameters.expansion
    }

    /// Number of sub-filters. 0 if all entries of a filter that has grown have expired.
    #[must_use]
    pub fn num_sub_filters(&self) -> usize {
        self.sub_filters.len()
    }

    /// The number of buckets of all sub-filters.
    #[must_use]
    pub fn num_buckets(&self) -> u64 {
        self.sub_filters
            .iter()
            .map(|each| each.size().buckets)
            .sum()
    }

    /// Bytes of the slots of all sub-filters.
    #[must_use]
    pub fn slot_bytes(&self) -> u64 {
        self.sub_filters
            .iter()
            .map(|each| each.slots.len() as u64)
            .sum()
    }

    /// Live items of a tick.
    fn count_of(&self, tick: u64) -> u64 {
        let counts = self.sub_filters.iter().map(|each| each.count_of(tick));
        counts.fold(0, u64::saturating_add)
    }

    /// The ticks in these panes.
    fn ticks_in(&self, panes: Panes) -> LiveTicks {
        let live = self.ticks.live();
        if self.timeline.counts_all(panes) {
            return live;
        }
        LiveTicks {
            oldest: self.ticks.oldest_from(panes.oldest()),
            newest: live.newest,
        }
    }

    /// The live ticks of a write, which include that of the newest pane.
    #[inline]
    fn live_for_write(&self) -> LiveTicks {
        LiveTicks {
            newest: self.ticks.tick_for(self.timeline.newest()),
            ..self.ticks.live()
        }
    }

    /// The live items that fit in a sub-filter for the capacity. The window has `panes` full panes and the current one,
    /// so with a constant rate there are this many live items at the end of a pane.
    fn first_limit(&self) -> u64 {
        let panes = u128::from(self.timeline.window().panes());
        let limit = (u128::from(self.parameters.capacity) * (panes + 1)).div_ceil(panes);
        u64::try_from(limit).unwrap_or(u64::MAX)
    }

    /// Makes the tick of a write the newest one, before the first entry of this tick is stored.
    fn begin_tick(&mut self, live: LiveTicks) {
        if self.ticks.begin(live.newest, self.timeline.newest()) {
            for sub_filter in &mut self.sub_filters {
                let ticks = sub_filter.stored_ticks(live);
                sub_filter.sweep_due(&ticks, live.newest);
            }
        }
    }

    /// Stores an entry at the newest tick. Adds a sub-filter if there is no free slot.
    fn insert(&mut self, hash: u64, live: LiveTicks, budget: Budget<'_>) -> Result<(), Error> {
        let mut searches = SearchBudget::new(self.parameters.max_iterations);
        if !self.insert_in_existing(hash, live, &mut searches) {
            self.grow(budget)?;
            // A new sub-filter is empty, so it needs no search.
            self.insert_in_existing(hash, live, &mut searches);
        }
        Ok(())
    }

    /// Stores an entry in the largest sub-filter that has room. Returns false, and nothing has changed, if none has.
    fn insert_in_existing(
        &mut self,
        hash: u64,
        live: LiveTicks,
        searches: &mut SearchBudget,
    ) -> bool {
        for index in (0..self.sub_filters.len()).rev() {
            let sub_filter = &mut self.sub_filters[index];
            if sub_filter.is_full() {
                continue;
            }
            let ticks = sub_filter.stored_ticks(live);
            let place = sub_filter.place(hash);
            let slot = sub_filter.make_room(&ticks, &place, searches);
            if let Some(slot) = slot {
                sub_filter.store(&ticks, slot, place.fingerprint, live.newest);
                self.begin_tick(live);
                return true;
            }
        }
        false
    }

    /// Makes `pane` the newest, and subtracts the entries that expire. Returns whether there are any; `None` if `pane` is not
    /// above the newest.
    fn expire_until(&mut self, pane: u64) -> Option<bool> {
        self.timeline.advance(pane)?;
        let expired = self.ticks.expire_before(self.timeline.oldest());
        if !expired.is_empty() {
            for sub_filter in &mut self.sub_filters {
                sub_filter.expire(expired.clone());
            }
        }
        Some(!expired.is_empty())
    }

    /// Removes sub-filters without live entries, but not the largest if it is the one for the capacity.
    fn remove_empty(&mut self) {
        let keep = self.kept_if_empty();
        let mut index = 0;
        let removed = self.sub_filters.extract_if(.., |each| {
            let kept = each.live > 0 || keep == Some(index);
            index += 1;
            !kept
        });
        for sub_filter in removed {
            self.retired.add(sub_filter.slots);
        }
        let capacity = capacity_for(self.sub_filters.len(), MAX_SUB_FILTERS);
        shrink(&mut self.sub_filters, capacity);
    }

    /// The index of the sub-filter that stays if it is empty: the largest, if it is the one for the capacity.
    fn kept_if_empty(&self) -> Option<usize> {
        let last = self.sub_filters.len().checked_sub(1)?;
        (self.sub_filters[last].size().limit == self.first_limit()).then_some(last)
    }
}

impl Parameters {
    fn are_valid<K: Kind>(&self) -> bool {
        self.capacity > 0
            && self.error_rate > 0.0
            && self.error_rate < 1.0
            && self.bucket_size > 0
            && self.max_iterations > 0
            && self.expansion <= MAX_EXPANSION
            && K::allows(self.bucket_size, self.max_iterations)
    }

    /// The highest error rate of the next sub-filter of a filter that consists of sub-filters with these rates. Not above 0 if
    /// there is none.
    ///
    /// The first sub-filter takes a large part of the error rate. Each further one takes part of what the others leave:
    /// half, then a third, a quarter and so on. So the sum does not exceed the rate, and long lists are possible.
    fn next_error_rate<K: Kind>(&self, of_sub_filters: impl Iterator<Item = f64>) -> f64 {
        if K::is_rate_of_each(self.error_rate, self.bucket_size) {
            return self.error_rate;
        }
        let (present, sum) =
            of_sub_filters.fold((0, 0.0), |(present, sum), rate| (present + 1, sum + rate));
        match present {
            0 => self.error_rate * FIRST_SHARE,
            _ => (self.error_rate - sum) / f64::from(present + 1),
        }
    }
}

impl<K: Kind> Timed for WindowFilter<K> {
    /// A filter has one array for all panes.
    const MAX_PANES: u64 = Window::MAX_PANES;

    fn timeline(&self) -> Option<&Timeline> {
        Some(&self.timeline)
    }

    /// Cost: proportional to the sub-filters and the panes that expire. Removes the sub-filters that become empty;
    /// [`Timed::release_recorded`] frees the slots of large ones.
    fn advance(&mut self, pane: u64) -> bool {
        let expired = self.expire_until(pane);
        if expired == Some(true) {
            self.remove_empty();
        }
        expired.is_some()
    }

    /// Cost: that of [`Timed::advance`], and calls for the blocks only if a sub-filter is empty.
    fn advance_recorded(
        &mut self,
        pane: u64,
        changes: &mut BlockChanges<impl BlockVisitor>,
    ) -> bool {
        let expired = self.expire_until(pane);
        if expired == Some(true) && self.sub_filters.iter().any(|each| each.live == 0) {
            self.for_each_block(&mut changes.freed);
            self.remove_empty();
            self.for_each_block(&mut changes.allocated);
        }
        expired.is_some()
    }

    /// Removes sub-filters without live entries.
    fn expire(&mut self) -> bool {
        let before = self.sub_filters.len();
        self.remove_empty();
        self.sub_filters.len() != before
    }

    fn release_recorded(&mut self, changes: &mut BlockChanges<impl BlockVisitor>) -> bool {
        self.retired.release(changes)
    }

    fn retired_bytes(&self) -> u64 {
        self.retired.bytes()
    }

    fn pane_total(&self, pane: u64) -> u64 {
        self.ticks
            .tick_of(pane)
            .map_or(0, |tick| self.count_of(tick))
    }
}

impl<K> Blocks for WindowFilter<K> {
    fn for_each_block(&self, visitor: &mut impl BlockVisitor) {
        visitor.visit(&self.sub_filters);
        self.ticks.panes.0.visit(visitor);
        for sub_filter in &self.sub_filters {
            sub_filter.slots.visit(visitor);
            sub_filter.generations.visit(visitor);
            sub_filter.counts.0.visit(visitor);
        }
        self.retired.visit(visitor);
    }

    /// Block 0 is the list of sub-filters, block 1 the ring of panes. Each sub-filter has three blocks: slots,
    /// generations and counts. The last blocks are those of removed sub-filters.
    fn relocate_block(&mut self, index: usize, mover: &mut impl BlockMover) -> bool {
        match index {
            0 => mover.relocate(&mut self.sub_filters),
            1 => self.ticks.panes.0.relocate(mover),
            _ => {
                let Some(sub_filter) = self.sub_filters.get_mut((index - 2) / 3) else {
                    let index = index - 2 - self.sub_filters.len() * 3;
                    return self.retired.relocate_block(index, mover);
                };
                match (index - 2) % 3 {
                    0 => sub_filter.slots.relocate(mover),
                    1 => sub_filter.generations.relocate(mover),
                    _ => sub_filter.counts.0.relocate(mover),
                }
            }
        }
        true
    }
}

#[cfg(test)]
mod tests;
