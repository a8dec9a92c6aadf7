//! Top-k with a sliding window: the k most frequent items of the last panes (docs/sliding-windows.md).
//!
//! Each pane has a table of buckets. Only additions to the newest pane and merges change it. The count of an item in the window is the sum
//! of its estimates in all panes.
//!
//! A table cannot list its items. So each closed pane lists *candidates*: items that were among its most frequent ones, or those of
//! the window. A candidate is stored once, with the sum of its estimates in the closed panes: an addition reads only the newest table.
//!
//! An item can be frequent in the window, but in no pane. So a sample of the additions of other items (`is_sampled`) reads all tables: if
//! the sum is large enough for the list of the window, the item becomes a candidate.
//!
//! - `table`: the buckets of a pane
//! - `members`: two heaps of candidates, the most frequent items of the newest pane (the heap) and of the window (the
//!   list)
//! - `candidates`: the items and their lookup by hash
//! - `expiry`: the step to a later pane; `merge`: two panes become one; `order`: the order of items in merges
//! - `largest`: the candidates with the largest counts
//! - `read`: reads, also at a time after the newest pane; `cache`: what they keep
//! - `stored`: the stored forms

mod cache;
mod candidates;
mod expiry;
mod largest;
mod members;
mod merge;
mod order;
mod read;
mod stored;
mod table;
#[cfg(test)]
mod tests;

use super::decay::Decay;
use super::parameters::ELEMENT_BYTES;
use super::random::Random;
use super::{Added, ItemHash, MIN_PREFETCH_BYTES, Parameters, TopKError, add_work, seed_from};
use crate::blocks::{BlockChanges, BlockMover, BlockVisitor, Blocks};
use crate::cache::Stamp;
use crate::hash::seeded_rows::{finalize, scale};
use crate::memory::{Budget, OutOfMemory, with_capacity};
use crate::seed::Seed;
use crate::window::{PaneList, StoredPane, Timeline, Window};
use crate::work_limit::{MAX_ROWS_WITHOUT_LIMIT, within_work_limit};
pub use cache::RankingCache;
use candidates::{Candidates, HeapIndex, NONE, saturated};
use members::Members;
use merge::Merger;
use table::{Buckets, Places, Table};

/// The maximum depth.
pub const MAX_DEPTH: u64 = MAX_ROWS_WITHOUT_LIMIT;

/// The largest table of a pane in bytes, in a uniform window.
pub const MAX_TABLE_BYTES: u64 = 512 << 20;

/// The largest table of a pane in bytes, in a window whose panes grow with age. A step has up to 230 merges, and each reads a random
/// bucket per cell: the tables must fit in the caches.
pub const MAX_MERGED_TABLE_BYTES: u64 = 1 << 20;

/// The limit on the work of a step to a later pane, in units of about 4 ns.
const MAX_STEP_WORK: u64 = 25_000_000;

/// The work of the estimate of a candidate in a pane: two buckets of a table.
const ESTIMATE_WORK: u64 = 4;

/// The other work for a candidate.
const CANDIDATE_WORK: u64 = 80;

/// A pane with additions.
#[derive(Debug, PartialEq, Eq, Default)]
struct Pane {
    table: Table,
    /// The sum of all increments; saturates. 0 only in the newest pane.
    total: u64,
    /// The candidates of a closed pane in ascending order. Has the capacity [`max_listed`].
    listed: Vec<u32>,
}

impl Pane {
    fn visit(&self, visitor: &mut impl BlockVisitor) {
        self.table.bytes.visit(visitor);
        visitor.visit(&self.listed);
    }
}

/// A top-k sketch with a window.
///
/// # Example
///
/// ```
/// use roughly_sketch::memory::Budget;
/// use roughly_sketch::seed::Seed;
/// use roughly_sketch::top_k::{DEFAULT_DECAY, TopKWindow};
/// use roughly_sketch::window::{Timed, Window};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let minute = Window::of::<TopKWindow>(60_000, 6, None)?;
/// let seed = Seed([7; 16]);
/// let mut fruit = TopKWindow::new(2, 50, 4, DEFAULT_DECAY, minute, seed, Budget::UNLIMITED)?;
/// let now = 1_700_000_000_000;
/// fruit.advance(minute.pane_at(now));
/// fruit.add(b"apple", 3)?;
/// assert_eq!(fruit.count_at(b"apple", fruit.timeline().panes_at(now)), 3);
/// assert_eq!(fruit.count_at(b"apple", fruit.timeline().panes_at(now + 90_000)), 0);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct TopKWindow {
    timeline: Timeline,
    parameters: Parameters,
    seed: Seed,
    /// Of the table of each pane.
    buckets: Buckets,
    decay: Decay,
    random: Random,
    panes: PaneList<Pane>,
    /// The most frequent items of the newest pane, with their counts there.
    heap: Members,
    /// The most frequent items of the window, with their counts in the window.
    list: Members,
    candidates: Candidates,
    merger: Merger,
    stamp: Stamp,
}

impl TopKWindow {
    /// An empty sketch of the `k` most frequent items of a window. The other parameters are those of
    /// [`TopK::new`](super::TopK::new), per pane, and the key of the hash.
    ///
    /// Allocates 16 bytes per element of the list, 112 if panes grow with age. A pane with an addition takes about 8 bytes for each of
    /// the `width` · `depth` cells and 4 per element of the list, 8 if panes grow with age. A candidate takes 57 to 74, and one of more than
    /// 14 bytes also its bytes and one more.
    /// Requests the bytes of [`TopK::new`](super::TopK::new) and those of the first pane from `budget`.
    ///
    /// # Errors
    /// See [`TopKError`]; its variants are checked in order. `depth` is at most [`MAX_DEPTH`], and a table has at most
    /// [`MAX_TABLE_BYTES`], or [`MAX_MERGED_TABLE_BYTES`] if the panes grow with age. A step to a later pane reads two buckets
    /// of half of the panes for each candidate: `k` must be so small that this takes at most 0.1 s.
    pub fn new(
        k: u64,
        width: u64,
        depth: u64,
        decay: f64,
        window: Window,
        seed: Seed,
        budget: Budget<'_>,
    ) -> Result<Self, TopKError> {
        let parameters = Parameters::new(k, width, depth, decay)?;
        check_limits(parameters, window)?;
        let timeline = Timeline::new::<Self>(window)?;
        request_memory(parameters, timeline, budget)?;
        let random = seed_from(|feed| {
            parameters.digest(feed);
            feed(&seed.0);
        });
        let members = |heap| Members::new(parameters.k, heap);
        let (heap, list) = (members(HeapIndex::Heap)?, members(HeapIndex::List)?);
        Ok(Self::assemble(
            timeline, parameters, seed, random, heap, list,
        )?)
    }

    /// Its window and newest pane.
    #[must_use]
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// A sketch without tables and candidates. The heaps have k elements.
    fn assemble(
        timeline: Timeline,
        parameters: Parameters,
        seed: Seed,
        random: Random,
        heap: Members,
        list: Members,
    ) -> Result<Self, OutOfMemory> {
        Ok(Self {
            timeline,
            parameters,
            seed,
            buckets: Buckets::of(parameters),
            decay: Decay::new(parameters.decay),
            random,
            panes: PaneList::default(),
            heap,
            list,
            candidates: Candidates::default(),
            merger: Merger::new(parameters, timeline.window())?,
            stamp: Stamp::new(),
        })
    }

    /// The key of its hash.
    #[must_use]
    pub fn seed(&self) -> Seed {
        self.seed
    }

    /// k, the maximum number of items in the list.
    #[must_use]
    pub fn k(&self) -> u32 {
        self.parameters.k
    }

    /// Buckets per row.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.parameters.width
    }

    /// Number of rows.
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.parameters.depth
    }

    /// The base of the probability with which buckets decay, in (0, 1].
    #[must_use]
    pub fn decay(&self) -> f64 {
        self.parameters.decay
    }

    /// Whether the limit on the bytes of all candidates, 16 MiB, permits an item of this length that is not a candidate.
    #[must_use]
    pub fn has_room(&self, item_len: usize) -> bool {
        self.candidates.has_room(item_len)
    }

    /// Whether one command may add or count these items with their increments; see
    /// [`TopK::within_work_limit`](super::TopK::within_work_limit). There is a limit only for a slow decay, since the
    /// depth is at most [`MAX_DEPTH`]. Cost: one step per item if there is a limit.
    #[must_use]
    pub fn within_work_limit<'a>(&self, items: impl Iterator<Item = (&'a [u8], u32)>) -> bool {
        // An item is hashed once, and decays one cell. It can be the first one in the pages of two buckets and a lobby.
        let work = add_work(items, 1, &self.decay);
        self.decay.is_fast || within_work_limit(work, 3, self.buckets.bytes())
    }

    /// Hashes an item that will be added or counted soon. If the sketch is larger than the caches, prefetches its
    /// buckets in the newest pane and its index entry. Cost: one pass over the item.
    #[inline]
    #[must_use]
    pub fn hash(&self, item: &[u8]) -> ItemHash {
        #[cfg(test)]
        crate::testing::HASH_PASSES.with(crate::testing::Work::count);
        let hash = self.seed.hash(item);
        if let Some(pane) = self.panes.newest(&self.timeline)
            && pane.table.is_large()
        {
            pane.table.prefetch(self.buckets.places(hash));
        }
        if self.candidates.index_bytes() > MIN_PREFETCH_BYTES {
            self.candidates.prefetch(hash);
        }
        ItemHash::seeded(hash)
    }

    /// The maximum number of bytes by which the sketch grows if the item, with its hash ([`TopKWindow::hash`]), is
    /// added. Cost: at most one hash lookup.
    #[must_use]
    pub fn growth(&self, item: &[u8], hash: &ItemHash) -> u64 {
        let pane = match self.panes.newest(&self.timeline) {
            Some(_) => 0,
            None => {
                let len = self.panes.all().len() + 1;
                pane_bytes(self.parameters, self.timeline.window())
                    + self.panes.growth(len, &self.timeline)
            }
        };
        let candidate = match self.candidates.growth(item.len()) {
            0 => 0,
            _ if self.candidates.find(item, hash.of_seed()).is_some() => 0,
            bytes => bytes,
        };
        pane + candidate
    }

    /// Adds `increment` occurrences of an item to the newest pane, without a memory budget.
    ///
    /// # Errors
    /// See [`TopKWindow::add_hashed`].
    pub fn add(&mut self, item: &[u8], increment: u32) -> Result<Added<'_>, OutOfMemory> {
        let hash = self.hash(item);
        let mut uncounted = BlockChanges::<()>::default();
        self.add_hashed(item, &hash, increment, Budget::UNLIMITED, &mut uncounted)
    }

    /// Adds `increment` occurrences of an item with its hash ([`TopKWindow::hash`]) to the newest pane. Requests the bytes of each block
    /// from `budget`; `changes` records the blocks that are freed and allocated.
    ///
    /// Cost: two to five buckets and a hash lookup. An item that becomes a candidate costs two buckets of each live pane; so does, on
    /// average, at most one of as many other occurrences as there are closed panes.
    ///
    /// # Errors
    /// [`OutOfMemory`] if the memory for the pane, or for an item that might become a candidate, is refused, or if there is no
    /// room for such an item ([`TopKWindow::has_room`]); then nothing has changed.
    pub fn add_hashed(
        &mut self,
        item: &[u8],
        hash: &ItemHash,
        increment: u32,
        budget: Budget<'_>,
        changes: &mut BlockChanges<impl BlockVisitor>,
    ) -> Result<Added<'_>, OutOfMemory> {
        let hash = hash.of_seed();
        let mut number = self.candidates.find(item, hash);
        if number.is_none() {
            self.candidates.reserve(item.len(), budget, changes)?;
        }
        let mut changed = self.panes.newest(&self.timeline).is_none();
        if changed {
            self.add_pane(budget, changes)?;
        }
        self.stamp.change();
        let places = self.buckets.places(hash);
        let Some((newest, closed)) = self.panes.split_last_mut() else {
            return Err(OutOfMemory { bytes: u64::MAX });
        };

        let total = newest.total.saturating_add(increment.into());
        changed |= total != newest.total;
        newest.total = total;
        let random_before = self.random;
        let counted = (newest.table).count(places, increment, &self.decay, &mut self.random);
        changed |= counted.changed || self.random != random_before;
        let count = counted.estimate;

        let (heap, candidates) = (&mut self.heap, &mut self.candidates);
        let position = number.map_or(NONE, |number| candidates.get(number).positions[0]);
        let mut left_heap = None;
        if position != NONE {
            if count >= heap.root_count() {
                changed |= heap.set_count(position, count, candidates);
            }
        } else if heap.has_vacant_root() || count > heap.root_count() {
            let entering = match number {
                Some(number) => number,
                None => {
                    let entering = candidates.insert(item, hash, changes);
                    let sum = sum_of_estimates(closed, places);
                    candidates.apart_mut(entering).set_closed(sum);
                    entering
                }
            };
            number = Some(entering);
            left_heap = heap.replace_root(entering, count, candidates);
            changed = true;
        }

        let list = &mut self.list;
        if number.is_none() && count > 1 && is_sampled(hash, total, increment, closed.len()) {
            let sum = sum_of_estimates(closed, places);
            if sum.saturating_add(count.into()) > list.root_count().into() {
                let entering = candidates.insert(item, hash, changes);
                candidates.apart_mut(entering).set_closed(sum);
                number = Some(entering);
            }
        }
        let mut left_list = None;
        if let Some(number) = number {
            let position = candidates.get(number).positions[1];
            let count = saturated(
                candidates
                    .apart(number)
                    .closed()
                    .saturating_add(count.into()),
            );
            if count >= list.root_count() {
                if position != NONE {
                    changed |= list.set_count(position, count, candidates);
                } else {
                    left_list = list.replace_root(number, count, candidates);
                    changed = true;
                }
            }
        }
        let expelled = self.remove_unused(left_heap, left_list, changes);
        Ok(Added { expelled, changed })
    }

    /// Adds the newest pane. After an error nothing has changed.
    #[cold]
    fn add_pane(
        &mut self,
        budget: Budget<'_>,
        changes: &mut BlockChanges<impl BlockVisitor>,
    ) -> Result<(), OutOfMemory> {
        let window = self.timeline.window();
        budget.request(pane_bytes(self.parameters, window))?;
        let pane = Pane {
            table: Table::new(self.buckets)?,
            listed: with_capacity(max_listed(self.parameters, window))?,
            ..Pane::default()
        };
        let len = self.panes.all().len() + 1;
        if let Some(block) = self.panes.block_for(len, &self.timeline, budget)? {
            self.panes.visit(&mut changes.freed);
            self.panes.set_block(Some(block));
            self.panes.visit(&mut changes.allocated);
        }
        pane.visit(&mut changes.allocated);
        self.panes.push(self.timeline.newest(), pane);
        Ok(())
    }

    /// Removes the candidates that left the heap and the list, unless something else keeps them. Returns the item that
    /// left the list.
    #[inline]
    fn remove_unused(
        &mut self,
        left_heap: Option<u32>,
        mut left_list: Option<u32>,
        changes: &mut BlockChanges<impl BlockVisitor>,
    ) -> Option<&[u8]> {
        let (heap, list, candidates) = (&mut self.heap, &mut self.list, &mut self.candidates);
        if let Some(number) = left_heap
            && left_list != left_heap
            && candidates.is_unused(number)
        {
            let item = candidates.remove(number, |positions, number| {
                heap.renumber(positions, number);
                list.renumber(positions, number);
            });
            candidates.recycle(item, changes);
            // The last candidate has got the number of the removed one.
            if left_list == Some(candidates.len()) {
                left_list = left_heap;
            }
        }
        let number = left_list?;
        if candidates.is_unused(number) {
            let item = candidates.remove(number, |positions, number| {
                heap.renumber(positions, number);
                list.renumber(positions, number);
            });
            return Some(candidates.recycle(item, changes));
        }
        Some(candidates.item(number))
    }
}

/// Whether an addition computes the sum of its item over the window. `total` is that of the newest pane after the addition. True for one of
/// as many occurrences as there are closed panes, so that additions read one closed pane on average.
#[inline]
fn is_sampled(hash: u64, total: u64, increment: u32, closed_panes: usize) -> bool {
    let drawn = scale(finalize(hash.wrapping_add(total)), closed_panes);
    closed_panes > 0 && drawn < increment as usize
}

/// The sum of the estimates of an item in these panes. Cost: two buckets per pane.
fn sum_of_estimates<'a>(
    panes: impl IntoIterator<IntoIter: Iterator<Item = &'a StoredPane<Pane>> + Clone>,
    item: Places,
) -> u64 {
    /// The tables of all panes are usually larger than the caches.
    const AHEAD: usize = 8;
    let panes = panes.into_iter();
    let mut ahead = panes.clone();
    let prefetch = |pane: &StoredPane<Pane>| pane.content.table.prefetch(item);
    ahead.by_ref().take(AHEAD).for_each(prefetch);
    let estimates = panes.map(|pane| {
        ahead.next().map(prefetch);
        #[cfg(test)]
        crate::testing::ESTIMATES.with(crate::testing::Work::count);
        u64::from(pane.content.table.estimate(item))
    });
    estimates.sum()
}

/// Checks that a step to a later pane takes bounded time (docs/operations.md, "Longest time of one command"); see [`TopKWindow::new`].
fn check_limits(parameters: Parameters, window: Window) -> Result<(), TopKError> {
    refuse_if!(u64::from(parameters.depth) > MAX_DEPTH => TopKError::TooDeepForWindow);
    let max_bytes = match window.levels() {
        0 => MAX_TABLE_BYTES,
        _ => MAX_MERGED_TABLE_BYTES,
    };
    if parameters
        .bucket_bytes()
        .is_none_or(|bytes| bytes > max_bytes)
    {
        return Err(TopKError::TooWideForWindow);
    }
    let panes = window.live_panes() as u64;
    // The list and the heap have up to 2k candidates, as many as a closed pane of level 0 lists in the second case.
    let lists = match window.levels() {
        0 => panes,
        _ => panes + window.finest_panes(),
    };
    let candidates = u64::from(parameters.k) * lists;
    let work = candidates.saturating_mul(CANDIDATE_WORK + ESTIMATE_WORK * (panes / 2));
    refuse_if!(work > MAX_STEP_WORK => TopKError::TooManyCandidates);
    Ok(())
}

/// The largest number of candidates that a pane lists: k, but 2k for panes of level 0 in a window whose panes grow with age.
fn max_listed(parameters: Parameters, window: Window) -> usize {
    match window.levels() {
        0 => parameters.k as usize,
        _ => 2 * parameters.k as usize,
    }
}

/// Bytes of the table and the list of a pane.
fn pane_bytes(parameters: Parameters, window: Window) -> u64 {
    Buckets::of(parameters).bytes() + list_bytes(parameters, window)
}

/// Bytes of the list of a pane.
fn list_bytes(parameters: Parameters, window: Window) -> u64 {
    (max_listed(parameters, window) * size_of::<u32>()) as u64
}

/// Requests the memory of an empty sketch and of its first pane.
fn request_memory(
    parameters: Parameters,
    timeline: Timeline,
    budget: Budget<'_>,
) -> Result<(), OutOfMemory> {
    budget.request(Buckets::of(parameters).bytes() + u64::from(parameters.k) * ELEMENT_BYTES)?;
    let panes = PaneList::<Pane>::default().growth(1, &timeline);
    let window = timeline.window();
    budget.request(Merger::bytes(parameters, window) + list_bytes(parameters, window) + panes)
}

impl PartialEq for TopKWindow {
    /// Equality of the logical state, as [`Stored::digest`](crate::stored::Stored::digest) feeds it.
    fn eq(&self, other: &Self) -> bool {
        self.timeline == other.timeline
            && self.parameters == other.parameters
            && self.seed == other.seed
            && self.random == other.random
            && self.panes == other.panes
            && self.heap == other.heap
            && self.list == other.list
            && self.candidates == other.candidates
    }
}

/// The blocks are the list of panes, the heap, the list, the memory for merges, the tables, the lists of the panes, and those of
/// the candidates.
impl Blocks for TopKWindow {
    fn for_each_block(&self, visitor: &mut impl BlockVisitor) {
        self.panes.visit(visitor);
        self.heap.visit(visitor);
        self.list.visit(visitor);
        self.merger.visit(visitor);
        visitor.visit(&self.decay.powers);
        for pane in self.panes.all() {
            pane.content.visit(visitor);
        }
        self.candidates.for_each_block(visitor);
    }

    fn relocate_block(&mut self, index: usize, mover: &mut impl BlockMover) -> bool {
        const FIRST_OF_PANES: usize = 5;
        match index {
            0 => self.panes.relocate(mover),
            1 => self.heap.relocate(mover),
            2 => self.list.relocate(mover),
            3 => self.merger.relocate(mover),
            4 => mover.relocate(&mut self.decay.powers),
            _ => {
                let (index, panes) = (index - FIRST_OF_PANES, self.panes.all().len());
                match self.panes.contents_mut().nth(index / 2) {
                    Some(pane) if index.is_multiple_of(2) => pane.table.bytes.relocate(mover),
                    Some(pane) => mover.relocate(&mut pane.listed),
                    None => return self.candidates.relocate_block(index - 2 * panes, mover),
                }
            }
        }
        true
    }
}
