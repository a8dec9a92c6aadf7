//! Top-k with a sliding window: the k most frequent items of the last panes (docs/sliding-windows.md).
//!
//! Each pane has its own table of buckets (`table.rs`). Once a newer pane exists, a table never changes again, so
//! the count of an item in the window is the sum of exact, constant estimates and its count in the newest pane.
//!
//! A table cannot list its items. The *candidates* are the items that were among the k most frequent items of a live
//! pane, or are among those of the window. Each is stored once, with the sum of its estimates in the closed panes, so
//! an addition reads the table of the newest pane only.
//!
//! - `members`: two heaps of candidates, the most frequent items of the newest pane (the heap) and of the window (the
//!   list)
//! - `candidates`: the items and their lookup by hash
//! - `expiry`: the step to a later pane
//! - `counts`: the counts of the candidates after a step
//! - `ranking`: the candidates with the largest counts
//! - `read`: reads, also at a time after the newest pane; `cache`: what they keep
//! - `stored`: the stored forms
//!
//! An item that was never among the k most frequent items of a pane is not in the list, even if the sum of its counts
//! is large enough.

mod cache;
mod candidates;
mod counts;
mod expiry;
mod heap_index;
mod members;
mod ranking;
mod read;
mod stored;
#[cfg(test)]
mod tests;

use super::decay::Decay;
use super::random::Random;
use super::table::Table;
use super::{Added, ItemHash, MIN_PREFETCH_BYTES, Rows, Shape, TopKError, add_work, seed_from};
use crate::blocks::{BlockChanges, BlockMover, BlockVisitor, Blocks};
use crate::cache::Stamp;
use crate::memory::{Budget, OutOfMemory, with_capacity};
use crate::window::{Timeline, Window};
use crate::work_limit::{MAX_ROWS_WITHOUT_LIMIT, within_work_limit};
pub use cache::RankingCache;
use candidates::{Candidates, saturated};
use heap_index::{HeapIndex, NONE};
use members::Members;

/// The maximum depth: the columns of an item in all rows are computed once for all panes.
pub const MAX_DEPTH: u64 = MAX_ROWS_WITHOUT_LIMIT;

/// A step to a later pane takes at most as long as reading this many buckets, see [`check_limits`].
const MAX_STEP_BUCKETS: u64 = 25_000_000;

/// Besides the buckets that it reads, a candidate takes as long in a step as this many buckets.
const CANDIDATE_BUCKETS: u64 = 80;

/// The counts of a pane.
#[derive(Debug, PartialEq, Eq, Default)]
struct Pane {
    /// Without buckets until the first addition.
    table: Table,
    /// The sum of all increments; saturates.
    total: u64,
}

/// A top-k sketch with a window.
///
/// # Example
///
/// ```
/// use roughly_sketch::memory::Budget;
/// use roughly_sketch::top_k::{DEFAULT_DECAY, TopKWindow};
/// use roughly_sketch::window::{Timed, Window};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let minute = Window::of::<TopKWindow>(60_000, 6)?;
/// let mut fruit = TopKWindow::new(2, 50, 4, DEFAULT_DECAY, minute, Budget::UNLIMITED)?;
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
    shape: Shape,
    rows: Rows,
    decay: Decay,
    random: Random,
    /// The ring of panes, see [`Timeline::slot`]. Those that are not live are empty.
    panes: Vec<Pane>,
    /// The most frequent items of the newest pane, with their counts there.
    heap: Members,
    /// The most frequent items of the window, with their counts in the window.
    list: Members,
    candidates: Candidates,
    stamp: Stamp,
}

impl TopKWindow {
    /// An empty sketch of the `k` most frequent items of a window. The other parameters are those of
    /// [`TopK::new`](super::TopK::new), per pane.
    ///
    /// Allocates 16 bytes per element of the list and 32 per live pane. The table of a pane takes 8 bytes per bucket,
    /// from the first addition in the pane on. Each candidate takes its bytes, 42 to 48 for its slot and 11 to 22 for
    /// its index entry. Requests the bytes of [`TopK::new`](super::TopK::new) and those of the panes from `budget`.
    ///
    /// # Errors
    /// See [`TopKError`]; its variants are checked in order. `depth` is at most [`MAX_DEPTH`]. When panes expire, one
    /// bucket per row of half of the panes is read for each candidate, of which there are about `k` per pane, and the rest of
    /// the work for a candidate takes as long as 80 buckets: `k` must be so small that these are at most 25 million buckets.
    pub fn new(
        k: u64,
        width: u64,
        depth: u64,
        decay: f64,
        window: Window,
        budget: Budget<'_>,
    ) -> Result<Self, TopKError> {
        let shape = Shape::new(k, width, depth, decay)?;
        check_limits(shape, window)?;
        request_memory(shape, window, budget)?;
        let heap = Members::new(shape.k, HeapIndex::Heap)?;
        let list = Members::new(shape.k, HeapIndex::List)?;
        let random = seed_from(|feed| shape.digest(feed));
        Ok(Self::assemble(
            Timeline::new::<Self>(window)?,
            shape,
            random,
            heap,
            list,
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
        shape: Shape,
        random: Random,
        heap: Members,
        list: Members,
    ) -> Result<Self, OutOfMemory> {
        let live_panes = timeline.window().live_panes();
        let mut panes = with_capacity(live_panes)?;
        panes.resize_with(live_panes, Pane::default);
        Ok(Self {
            timeline,
            shape,
            rows: shape.rows(),
            decay: Decay::new(shape.decay),
            random,
            panes,
            heap,
            list,
            candidates: Candidates::new((live_panes as u64 + 1).saturating_mul(shape.k.into())),
            stamp: Stamp::new(),
        })
    }

    /// k, the maximum number of items in the list.
    #[must_use]
    pub fn k(&self) -> u32 {
        self.shape.k
    }

    /// Buckets per row.
    #[must_use]
    pub fn width(&self) -> u32 {
        self.shape.width
    }

    /// Number of rows.
    #[must_use]
    pub fn depth(&self) -> u32 {
        self.shape.depth
    }

    /// The base of the probability with which buckets decay, in (0, 1].
    #[must_use]
    pub fn decay(&self) -> f64 {
        self.shape.decay
    }

    /// Number of candidates: items that are or may become part of the list.
    #[must_use]
    pub fn candidate_count(&self) -> usize {
        self.candidates.len() as usize
    }

    fn pane(&self, pane: u64) -> &Pane {
        &self.panes[self.timeline.slot(pane)]
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
        let rows = u64::from(self.depth());
        let table_bytes = 8 * rows * u64::from(self.width());
        self.decay.is_fast
            || within_work_limit(add_work(items, rows, &self.decay), rows, table_bytes)
    }

    /// Hashes an item that will be added or counted soon. If the sketch is larger than the caches, prefetches its
    /// buckets in the newest pane and its index entry. Cost: one pass over the item.
    #[inline]
    #[must_use]
    pub fn hash(&self, item: &[u8]) -> ItemHash {
        let hash = ItemHash::new(item, self.rows);
        self.pane(self.timeline.newest())
            .table
            .prefetch(&hash, self.rows);
        if self.candidates.index_bytes() > MIN_PREFETCH_BYTES {
            self.candidates.prefetch(item, hash.fingerprint);
        }
        hash
    }

    /// The maximum number of bytes by which the sketch grows if the item, with its hash ([`TopKWindow::hash`]), is
    /// added. Cost: at most one hash lookup.
    #[must_use]
    pub fn growth(&self, item: &[u8], hash: &ItemHash) -> u64 {
        let table = match self.pane(self.timeline.newest()).table.is_allocated() {
            true => 0,
            // The table was requested when the sketch was created, so its size fits.
            false => self.shape.bucket_bytes().unwrap_or(u64::MAX),
        };
        let candidate = match self.candidates.growth(item.len()) {
            0 => 0,
            _ if self.candidates.find(item, hash.fingerprint).is_some() => 0,
            bytes => bytes,
        };
        table.saturating_add(candidate)
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

    /// Adds `increment` occurrences of an item with its hash ([`TopKWindow::hash`]) to the newest pane. `budget` is
    /// asked for the bytes of each block before it is allocated; `changes` records the blocks that are freed and
    /// allocated.
    ///
    /// Cost: that of the sketch without a window, and a hash lookup. An item that becomes a candidate costs one bucket
    /// per row of each live pane.
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
        let mut number = self.candidates.find(item, hash.fingerprint);
        if number.is_none() {
            self.candidates.reserve(item.len(), budget, changes)?;
        }
        let newest = self.timeline.slot(self.timeline.newest());
        let mut changed = false;
        if !self.panes[newest].table.is_allocated() {
            // The size is that of the request in `new` or `from_header`.
            budget.request(self.shape.bucket_bytes().unwrap_or(u64::MAX))?;
            let table = Table::new(self.shape)?;
            table.visit(&mut changes.allocated);
            self.panes[newest].table = table;
            changed = true;
        }
        self.stamp.change();

        let pane = &mut self.panes[newest];
        let total = pane.total.saturating_add(increment.into());
        changed |= total != pane.total;
        pane.total = total;
        let random_before = self.random;
        let random = &mut self.random;
        let counted = (pane.table).count(item, hash, increment, self.rows, &self.decay, random);
        changed |= counted.changed || self.random != random_before;
        let count = counted.max_count;

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
                    let entering = candidates.insert(item, hash.fingerprint, changes);
                    let closed = (self.panes.iter().enumerate())
                        .filter(|&(slot, _)| slot != newest)
                        .map(|(_, pane)| pane);
                    let closed = sum_of_estimates(closed, item, hash, self.rows);
                    candidates.set_closed(entering, closed);
                    entering
                }
            };
            number = Some(entering);
            left_heap = heap.replace_root(entering, count, candidates);
            changed = true;
        }

        let mut left_list = None;
        if let Some(number) = number {
            let list = &mut self.list;
            let position = candidates.get(number).positions[1];
            let count = saturated(candidates.closed(number).saturating_add(count.into()));
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

/// The sum of the estimates of an item in these panes. Cost: one bucket per row and pane and, beyond
/// seven rows, one pass over the item.
fn sum_of_estimates<'a>(
    panes: impl Iterator<Item = &'a Pane>,
    item: &[u8],
    hash: &ItemHash,
    rows: Rows,
) -> u64 {
    let mut columns = [0; MAX_DEPTH as usize];
    let columns = &mut columns[..rows.depth];
    hash.all_rows(item, rows, columns);
    let tables = panes
        .map(|pane| &pane.table)
        .filter(|table| table.is_allocated());
    let estimates = tables.map(|table| table.estimate_at(hash.fingerprint, columns, rows));
    estimates.map(u64::from).sum()
}

/// Checks that a step to a later pane takes bounded time (docs/worst-cases.md); see [`TopKWindow::new`].
fn check_limits(shape: Shape, window: Window) -> Result<(), TopKError> {
    if u64::from(shape.depth) > MAX_DEPTH {
        return Err(TopKError::TooDeepForWindow);
    }
    // A step subtracts or adds at most half of the panes.
    let candidates = u64::from(shape.k) * window.live_panes() as u64;
    let bucket_reads = u64::from(shape.depth) * window.panes().div_ceil(2);
    if candidates.saturating_mul(CANDIDATE_BUCKETS + bucket_reads) > MAX_STEP_BUCKETS {
        return Err(TopKError::TooManyCandidates);
    }
    Ok(())
}

/// Requests the memory of an empty sketch and of its first table.
fn request_memory(shape: Shape, window: Window, budget: Budget<'_>) -> Result<(), OutOfMemory> {
    shape.request_memory(budget)?;
    budget.request((window.live_panes() * size_of::<Pane>()) as u64)
}

impl PartialEq for TopKWindow {
    /// Equality of the logical state, as [`Stored::digest`](crate::stored::Stored::digest) feeds it.
    fn eq(&self, other: &Self) -> bool {
        self.timeline == other.timeline
            && self.shape == other.shape
            && self.random == other.random
            && self.panes == other.panes
            && self.heap == other.heap
            && self.list == other.list
            && self.candidates == other.candidates
    }
}

/// The blocks are the ring, the heap, the list, the tables, and those of the candidates.
impl Blocks for TopKWindow {
    fn for_each_block(&self, visitor: &mut impl BlockVisitor) {
        visitor.visit(&self.panes);
        self.heap.visit(visitor);
        self.list.visit(visitor);
        for pane in &self.panes {
            pane.table.visit(visitor);
        }
        self.candidates.for_each_block(visitor);
    }

    fn relocate_block(&mut self, index: usize, mover: &mut impl BlockMover) -> bool {
        const FIRST_TABLE: usize = 3;
        match index {
            0 => mover.relocate(&mut self.panes),
            1 => self.heap.relocate(mover),
            2 => self.list.relocate(mover),
            _ => {
                let index = index - FIRST_TABLE;
                match self.panes.get_mut(index) {
                    Some(pane) => pane.table.relocate(mover),
                    None => {
                        let index = index - self.panes.len();
                        return self.candidates.relocate_block(index, mover);
                    }
                }
            }
        }
        true
    }
}
