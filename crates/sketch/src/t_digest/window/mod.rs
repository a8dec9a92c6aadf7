//! A t-digest with a sliding window (docs/sliding-windows.md).
//!
//! The newest pane is a [`TDigest`], to which samples are added. When the window advances, the nodes of the newest pane
//! are compressed once and become a [`ClosedPane`] (pane.rs). Two of them become one when the rule of panes says so; otherwise
//! they never change. Expired panes are freed.
//!
//! Queries are answered from the compressed form of the nodes of all live panes. A cache (cache.rs) keeps it until the next
//! write, and merges of closed panes until one of their panes closes or expires (merges.rs). So the first read after a write
//! merges the closed panes, as one sorted run, with the newest pane. What is kept is not part of the state, and a
//! function of the state and of the current pane. Replies are therefore equal on a primary, on its replica and after a
//! reload, if they see the same current pane.
//!
//! The state includes the number of unmerged nodes of the newest pane, unlike that of a digest without a window, whose
//! stored form has no place for it.
//!
//! Memory: that of a [`TDigest`] for the newest pane; 64 bytes per closed pane and 16 bytes per node of it; 16 bytes per
//! node of the largest pane that the next step may compute, which are allocated in advance, because [`Timed::advance`]
//! cannot fail. It depends on the state only.

mod cache;
mod merges;
mod pane;
mod stored;
#[cfg(test)]
mod tests;

use super::centroid::{Centroid, in_order, merge_lightest_if_full, round_weights, stored_weight};
use super::compressed::Extent;
use super::{Compressed, DigestError, Info, Nodes, TDigest, capacity};
use crate::blocks::{BlockMover, BlockVisitor, Blocks};
use crate::cache::Stamp;
use crate::memory::{Budget, OutOfMemory, capacity_for, optional, with_capacity};
use crate::window::{PaneList, Panes, StoredPane, Timeline, Window};
pub use cache::WindowCache;
use merges::Merges;
use pane::{ClosedPane, max_closed_nodes};
use std::ops::Range;

/// The largest compression: an addition of one value may compress six times as many nodes, and so may the step to a later
/// pane.
pub const MAX_WINDOW_COMPRESSION: u32 = 200_000;

/// A t-digest with a sliding window. See the module documentation (window/mod.rs).
///
/// # Example
///
/// ```
/// use roughly_sketch::memory::Budget;
/// use roughly_sketch::t_digest::{DEFAULT_COMPRESSION, TDigestWindow};
/// use roughly_sketch::window::{Timed, Window};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let minute = Window::of::<TDigestWindow>(60_000, 6, None)?;
/// let mut latency = TDigestWindow::new(DEFAULT_COMPRESSION, minute, Budget::UNLIMITED)?;
/// let now = 1_700_000_000_000;
/// latency.advance(minute.pane_at(now));
/// latency.add_within(&[1.0, 2.0, 3.0], Budget::UNLIMITED)?;
/// assert_eq!(latency.max_at(latency.timeline().panes_at(now)), 3.0);
/// assert!(latency.max_at(latency.timeline().panes_at(now + 90_000)).is_nan());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct TDigestWindow {
    timeline: Timeline,
    /// The newest pane.
    newest: TDigest,
    /// The live panes before the newest one that have samples. The capacity includes the newest pane if it has samples.
    closed: PaneList<ClosedPane>,
    /// Sum of the weights of the closed panes. Together with the newest pane at most 2^63 - 1.
    closed_weight: i64,
    /// Bytes of the blocks of the closed panes.
    closed_bytes: usize,
    /// An empty vector with capacity for the nodes of any pane that [`Timed::advance`] computes.
    reserve: Vec<Centroid>,
    stamp: Stamp,
}

/// The panes that are live for a reader.
struct Live<'a> {
    closed: &'a [StoredPane<ClosedPane>],
    /// The positions of the closed panes that count.
    positions: Range<usize>,
    /// `None` if it has expired for the reader.
    newest: Option<&'a TDigest>,
}

impl Live<'_> {
    /// The extent of all samples. Cost: linear in the number of panes.
    fn extent(&self) -> Extent {
        let closed = self.closed.iter().map(|pane| pane.content.extent);
        closed
            .chain(self.newest.map(TDigest::extent))
            .fold(Extent::EMPTY, Extent::and)
    }
}

impl TDigestWindow {
    /// An empty digest whose newest pane is 0. Allocates nothing, but requests the memory of a digest with all panes
    /// full from `budget`, so that excessive parameters are refused here and not by a later addition.
    ///
    /// # Errors
    /// As [`TDigest::new`], and [`DigestError::Window`]; the largest compression is 400,000.
    pub fn new(compression: i64, window: Window, budget: Budget<'_>) -> Result<Self, DigestError> {
        let allows = |bytes| {
            let compression = u32::try_from(compression).unwrap_or(u32::MAX);
            budget
                .request(full_bytes(bytes, compression, window))
                .is_ok()
        };
        let newest = TDigest::new(compression, Budget::new(&allows))?;
        refuse_if!(newest.compression > MAX_WINDOW_COMPRESSION => DigestError::CompressionTooLarge);
        Ok(Self::with_newest(newest, Timeline::new::<Self>(window)?))
    }

    /// A digest without closed panes.
    fn with_newest(newest: TDigest, timeline: Timeline) -> Self {
        Self {
            timeline,
            newest,
            closed: PaneList::default(),
            closed_weight: 0,
            closed_bytes: 0,
            reserve: Vec::new(),
            stamp: Stamp::new(),
        }
    }

    /// Its window and newest pane.
    #[must_use]
    pub fn timeline(&self) -> &Timeline {
        &self.timeline
    }

    /// The live panes that count.
    fn live_in(&self, panes: Panes) -> Live<'_> {
        let positions = self.closed.positions(panes);
        Live {
            closed: &self.closed.all()[positions.clone()],
            positions,
            newest: (panes.contains(self.timeline.newest())).then_some(&self.newest),
        }
    }

    /// A digest without a window that has the nodes of the live panes, as a source of a merge. Requests its memory from
    /// `budget`. Cost: as [`TDigestWindow::compressed_at`], and two passes over the nodes.
    ///
    /// # Errors
    /// [`OutOfMemory`] if the budget or the allocator refuses.
    pub fn digest_at(
        &self,
        panes: Panes,
        cache: &mut WindowCache,
        budget: Budget<'_>,
    ) -> Result<TDigest, OutOfMemory> {
        let compressed = self.compressed_at(panes, cache)?;
        let nodes = compressed.centroids();
        budget.request((2 * nodes.len() * size_of::<Centroid>()) as u64)?;
        let mut centroids = with_capacity(nodes.len())?;
        centroids.extend(nodes.map(|node| Centroid {
            weight: stored_weight(node.weight),
            ..node
        }));
        let mut digest = TDigest::empty(self.newest.compression);
        while centroids.len() >= digest.capacity() {
            merge_lightest_if_full(&mut centroids, digest.capacity());
        }
        let extent = compressed.extent;
        round_weights(&mut centroids, extent.weight);
        (digest.min, digest.max) = (extent.min, extent.max);
        digest.set_nodes(Nodes::of(&centroids, 0, digest.capacity())?);
        Ok(digest)
    }

    /// The capacity of [`TDigestWindow::reserve`] for a newest pane with this many nodes: a merge of closed panes has at most
    /// the nodes of all panes.
    fn reserve_for(&self, newest: usize) -> usize {
        let closed = match self.timeline.window().levels() {
            0 => 0,
            _ => self.closed_bytes / size_of::<Centroid>(),
        };
        let max_len = max_closed_nodes(self.newest.compression);
        capacity_for((newest + closed).min(max_len), max_len)
    }

    /// The number of closed panes after the next step, with a newest pane of this many nodes.
    fn closed_after(&self, newest: usize) -> usize {
        self.closed.all().len() + usize::from(newest > 0)
    }

    /// Allocates what a step takes if the newest pane has `nodes` nodes. Nothing changes until the result is passed to
    /// [`TDigestWindow::set_spare`].
    fn spare_for(&self, nodes: usize, budget: Budget<'_>) -> Result<Spare, OutOfMemory> {
        let closed_len = self.closed_after(nodes);
        let reserve_len = self.reserve_for(nodes);
        let mut spare = Spare {
            closed: (self.closed).block_for(closed_len, &self.timeline, budget)?,
            reserve: None,
        };
        if reserve_len > self.reserve.capacity() {
            let more = reserve_len - self.reserve.capacity();
            budget.request((more * size_of::<Centroid>()) as u64)?;
            spare.reserve = Some(with_capacity(reserve_len)?);
        }
        Ok(spare)
    }

    /// Replaces the vectors by larger ones.
    fn set_spare(&mut self, spare: Spare) {
        self.closed.set_block(spare.closed);
        if let Some(reserve) = spare.reserve {
            self.reserve = reserve;
        }
    }

    /// Reduces the capacities to what the state requires. They stay larger if the allocator refuses the smaller blocks.
    fn shrink(&mut self) {
        let nodes = self.newest.nodes();
        let closed = self.closed_after(nodes);
        self.closed.shrink(closed, &self.timeline);
        let reserve = self.reserve_for(nodes);
        if reserve < self.reserve.capacity()
            && let Ok(smaller) = optional(|| with_capacity(reserve))
        {
            self.reserve = smaller;
        }
    }

    /// Moves to a later pane; see [`Timed::advance`](crate::window::Timed::advance). Cost: the compression of the
    /// newest pane, one merge for a step to the next pane, and freeing the expired panes.
    fn advance_to(&mut self, pane: u64) -> bool {
        let pane = pane.min(self.timeline.window().max_pane());
        if pane <= self.timeline.newest() {
            return false;
        }
        let (compression, scratch) = (self.newest.compression, &mut self.reserve);
        if self.newest.observations() > 0 {
            let closed = ClosedPane::of(&mut self.newest, scratch);
            self.closed.push(self.timeline.newest(), closed);
        }
        let merge = |older: &mut ClosedPane, younger, _: &_| {
            older.merge(younger, compression, scratch);
        };
        (self.closed).advance(&mut self.timeline, pane, merge, drop);
        self.count_closed();
        self.stamp.change();
        self.shrink();
        true
    }

    /// Computes the sums over the closed panes. Their weights do not overflow.
    fn count_closed(&mut self) {
        let closed = || self.closed.all().iter().map(|pane| &pane.content);
        self.closed_weight = closed().map(|pane| pane.extent.weight).sum();
        self.closed_bytes = closed().map(ClosedPane::block_bytes).sum();
    }

    /// Makes a compressed form that of these panes.
    fn update(
        &self,
        live: &Live<'_>,
        compressed: &mut Compressed,
        merges: &mut Merges,
    ) -> Result<(), OutOfMemory> {
        let compression = self.newest.compression;
        let (all, positions) = (self.closed.all(), live.positions.clone());
        let closed = merges.of(all, positions, &self.timeline, compression)?;
        let none = TDigest::empty(compression);
        let newest = live.newest.unwrap_or(&none);
        let others = in_order(closed, newest.centroids.elements());
        let others_len = closed.len() + newest.centroids.elements().len();
        // Closed panes change only with the newest pane, and with it the last ones count. Other lists of samples have other numbers.
        let key = (
            newest.samples.list,
            self.timeline.newest(),
            live.closed.len(),
        );
        compressed.update(
            key,
            (others, others_len),
            &newest.samples,
            live.extent(),
            answer_compression(compression),
        )
    }
}

/// The compression of the answers. A digest without a window is compressed many times while it is small, which leaves
/// more centroids than one compression of all nodes. One eighth more makes up for that. Much more would be worse: the
/// newest pane has heavy centroids among single samples, and interpolation between unequal neighbors is inaccurate.
fn answer_compression(compression: u32) -> u32 {
    compression + compression / 8
}

/// Vectors that replace smaller ones.
#[derive(Default)]
struct Spare {
    closed: Option<Vec<StoredPane<ClosedPane>>>,
    reserve: Option<Vec<Centroid>>,
}

/// Bytes of a digest with all panes full; `newest` are those of the newest pane.
fn full_bytes(newest: u64, compression: u32, window: Window) -> u64 {
    let nodes = max_closed_nodes(compression) * size_of::<Centroid>();
    let closed = size_of::<StoredPane<ClosedPane>>() + nodes;
    newest + (window.live_panes() - 1) as u64 * closed as u64
}

impl TDigestWindow {
    /// Adds samples of weight 1, in this order, to the newest pane. Requests the growth from `budget` before it grows. Cost: as
    /// [`TDigest::add_within`].
    ///
    /// # Errors
    /// [`DigestError::NotFinite`], [`DigestError::Overflow`] or [`DigestError::OutOfMemory`]; then nothing has changed.
    pub fn add_within(&mut self, values: &[f64], budget: Budget<'_>) -> Result<(), DigestError> {
        self.newest.check_samples(values, self.closed_weight)?;
        let max_nodes = self.newest.capacity();
        let nodes = (self.newest.nodes() + values.len()).min(max_nodes);
        let spare = self.spare_for(nodes, budget)?;
        self.newest.add_checked(values, budget)?;
        self.set_spare(spare);
        self.shrink();
        self.stamp.change();
        Ok(())
    }

    /// Removes all samples and frees their memory. The compression, the window and the newest pane stay.
    pub fn reset(&mut self) {
        *self = Self::with_newest(TDigest::empty(self.newest.compression), self.timeline);
    }

    /// Whether the digest contains what a new one contains.
    #[must_use]
    pub fn is_new(&self) -> bool {
        self.closed.all().is_empty() && self.newest.is_new()
    }

    /// The compression parameter.
    #[must_use]
    pub fn compression(&self) -> u32 {
        self.newest.compression
    }

    /// Bytes of all its blocks. Cost: constant.
    #[must_use]
    pub fn block_bytes(&self) -> usize {
        self.newest.block_bytes()
            + self.closed.block_bytes()
            + self.closed_bytes
            + self.reserve.capacity() * size_of::<Centroid>()
    }

    /// The number of samples.
    #[must_use]
    pub fn observations_at(&self, panes: Panes) -> i64 {
        self.live_in(panes).extent().weight
    }

    /// The smallest sample; nan if empty.
    #[must_use]
    pub fn min_at(&self, panes: Panes) -> f64 {
        match self.live_in(panes).extent() {
            Extent { weight: 0, .. } => f64::NAN,
            Extent { min, .. } => min,
        }
    }

    /// The largest sample; nan if empty.
    #[must_use]
    pub fn max_at(&self, panes: Panes) -> f64 {
        match self.live_in(panes).extent() {
            Extent { weight: 0, .. } => f64::NAN,
            Extent { max, .. } => max,
        }
    }

    /// The fields of TDIGEST.INFO: the sums over the live panes. The capacity is that of one pane. Cost: linear in the number of
    /// panes.
    #[must_use]
    pub fn info_at(&self, panes: Panes) -> Info {
        let live = self.live_in(panes);
        let empty;
        let newest = match live.newest {
            Some(newest) => newest,
            None => {
                empty = TDigest::empty(self.newest.compression);
                &empty
            }
        };
        let mut info = newest.info();
        for StoredPane { content: pane, .. } in live.closed {
            info.merged_nodes += pane.centroids.len();
            info.merged_weight += pane.extent.weight;
            info.observations += pane.extent.weight;
            info.total_compressions = info.total_compressions.saturating_add(pane.compressions);
        }
        info
    }

    /// The compressed form of the samples in these panes, which answers queries. It is kept in `cache`. Cost: after a write, a
    /// sort of the new samples of the newest pane and a pass over the centroids; after a pane has closed or expired, also merges
    /// of about the square root of the number of panes; otherwise none.
    ///
    /// # Errors
    /// [`OutOfMemory`] if the allocator refuses.
    pub fn compressed_at<'c>(
        &self,
        panes: Panes,
        cache: &'c mut WindowCache,
    ) -> Result<&'c Compressed, OutOfMemory> {
        let live = self.live_in(panes);
        let key = (
            self.stamp.number(),
            live.positions.start,
            live.positions.end,
            live.newest.is_some(),
        );
        cache.answers(panes, key, self.stamp.value(), |compressed, merges| {
            self.update(&live, compressed, merges)
        })
    }

    /// [`TDigestWindow::compressed_at`] without a cache.
    ///
    /// # Errors
    /// [`OutOfMemory`] if the allocator refuses.
    pub fn compressed_once(&self, panes: Panes) -> Result<Compressed, OutOfMemory> {
        let mut compressed = Compressed::default();
        self.update(
            &self.live_in(panes),
            &mut compressed,
            &mut Merges::default(),
        )?;
        Ok(compressed)
    }
}

impl PartialEq for TDigestWindow {
    /// Bitwise equality of the logical state, as [`Stored::digest`](crate::stored::Stored::digest) feeds it.
    fn eq(&self, other: &Self) -> bool {
        self.timeline == other.timeline
            && self.newest == other.newest
            && self.newest.unmerged == other.newest.unmerged
            && self.closed == other.closed
    }
}

impl Blocks for TDigestWindow {
    fn for_each_block(&self, visitor: &mut impl BlockVisitor) {
        self.newest.for_each_block(visitor);
        visitor.visit(&self.reserve);
        self.closed.visit(visitor);
        for pane in self.closed.all() {
            visitor.visit(&pane.content.centroids);
        }
    }

    fn relocate_block(&mut self, index: usize, mover: &mut impl BlockMover) -> bool {
        // The blocks of a digest, as TDigest::relocate_block numbers them.
        const DIGEST_BLOCKS: usize = 2;
        let Some(index) = index.checked_sub(DIGEST_BLOCKS) else {
            return self.newest.relocate_block(index, mover);
        };
        match index {
            0 => mover.relocate(&mut self.reserve),
            1 => self.closed.relocate(mover),
            _ => match self.closed.contents_mut().nth(index - 2) {
                Some(pane) => mover.relocate(&mut pane.centroids),
                None => return false,
            },
        }
        true
    }
}
