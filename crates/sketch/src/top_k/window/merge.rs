//! Two sibling panes become one.
//!
//! The tables are merged bucket by bucket. Then the counts of the most frequent items of both panes are restored: without it,
//! the count of an item whose cells became another item's would be lost.

use super::candidates::{Candidates, saturated};
use super::order::rank_of;
use super::table::Buckets;
use super::{Pane, Shape, Window, max_listed};
use crate::blocks::{BlockMover, BlockVisitor};
use crate::memory::{OutOfMemory, with_capacity};
use std::cmp::Reverse;

/// A candidate of some panes.
#[derive(Debug)]
struct Ranked {
    /// The sum of its estimates in these panes.
    sum: u64,
    hash: u64,
    number: u32,
    /// Its rank in the order of items.
    rank: u32,
}

/// Merges panes. Has memory for the candidates of two panes, so that a merge needs no other.
#[derive(Debug)]
pub(super) struct Merger(Vec<Ranked>);

impl Merger {
    /// The number of candidates of two panes; 0 if panes of this window are never merged.
    fn capacity(shape: Shape, window: Window) -> usize {
        match window.levels() {
            0 => 0,
            _ => 2 * max_listed(shape, window),
        }
    }

    /// Bytes of its memory.
    pub fn bytes(shape: Shape, window: Window) -> u64 {
        (Self::capacity(shape, window) * size_of::<Ranked>()) as u64
    }

    /// Allocates the memory for panes of this shape and window.
    pub fn new(shape: Shape, window: Window) -> Result<Self, OutOfMemory> {
        with_capacity(Self::capacity(shape, window)).map(Self)
    }

    /// Adds a younger pane to an older one, which then lists at most k candidates. Both are closed, and the candidates that they
    /// list have ranks ([`rank`](super::order::rank)). The result depends on both panes and the items only.
    ///
    /// Cost: one step per cell, and six buckets for each candidate that the panes list.
    pub fn merge(
        &mut self,
        older: &mut Pane,
        mut younger: Pane,
        candidates: &mut Candidates,
        k: u32,
        buckets: Buckets,
    ) {
        self.select([&*older, &younger], candidates, k, buckets);
        older.table.merge(&mut younger.table);
        for &Ranked { sum, hash, .. } in self.0.iter().rev() {
            older.table.raise(buckets.places(hash), saturated(sum));
        }
        older.total = older.total.saturating_add(younger.total);
        self.write_list(older, candidates);
    }

    /// Reduces the list of a pane of level 0 to k candidates, as a merge does: for a pane that becomes longer without one.
    ///
    /// Cost: two buckets for each candidate that the pane lists.
    pub fn shorten(
        &mut self,
        pane: &mut Pane,
        candidates: &mut Candidates,
        k: u32,
        buckets: Buckets,
    ) {
        self.select([&*pane], candidates, k, buckets);
        self.write_list(pane, candidates);
    }

    /// Selects the k candidates of these panes with the largest sums, and removes all from the lists that are counted.
    fn select<const N: usize>(
        &mut self,
        panes: [&Pane; N],
        candidates: &mut Candidates,
        k: u32,
        buckets: Buckets,
    ) {
        let Self(ranked) = self;
        ranked.clear();
        for &number in panes.iter().flat_map(|pane| &pane.listed) {
            candidates.apart_mut(number).lists -= 1;
            let candidate = candidates.get(number);
            let (hash, rank) = (candidate.hash, rank_of(candidate));
            let item = buckets.places(hash);
            let estimates = panes.map(|pane| u64::from(pane.table.estimate(item)));
            ranked.push(Ranked {
                sum: estimates.iter().sum(),
                hash,
                number,
                rank,
            });
        }
        ranked.sort_unstable_by_key(|ranked| (Reverse(ranked.sum), ranked.rank));
        // Candidates of both panes are there twice.
        ranked.dedup_by_key(|ranked| ranked.number);
        ranked.truncate(k as usize);
    }

    /// The selected candidates become the list of a pane.
    fn write_list(&self, pane: &mut Pane, candidates: &mut Candidates) {
        pane.listed.clear();
        pane.listed
            .extend(self.0.iter().map(|ranked| ranked.number));
        pane.listed.sort_unstable();
        for &number in &pane.listed {
            candidates.apart_mut(number).lists += 1;
        }
    }

    /// Passes the block to `visitor`, if there is one.
    pub fn visit(&self, visitor: &mut impl BlockVisitor) {
        visitor.visit(&self.0);
    }

    /// Passes the block to `mover`, which may move it.
    pub fn relocate(&mut self, mover: &mut impl BlockMover) {
        mover.relocate(&mut self.0);
    }
}
