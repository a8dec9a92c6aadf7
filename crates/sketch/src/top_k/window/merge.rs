//! Two sibling panes become one.
//!
//! The tables are merged bucket by bucket. Then the counts of the most frequent items of both panes are restored: without it,
//! the count of an item whose cells became another item's would be lost.

use super::candidates::{Candidates, saturated};
use super::order::rank_of;
use super::table::Buckets;
use super::{Pane, Parameters, Window, max_listed, sum_of_estimates};
use crate::blocks::{BlockMover, BlockVisitor};
use crate::memory::{OutOfMemory, with_capacity};
use crate::window::StoredPane;
use std::cmp::Reverse;

/// The number of younger panes that a merge reads to select candidates.
pub(super) const YOUNGER: usize = 8;

/// A candidate of some panes.
#[derive(Debug)]
struct Ranked {
    /// The sum of its estimates in these panes and the next younger ones.
    sum: u64,
    /// The sum of its estimates in these panes, at most 2^32 - 1.
    count: u32,
    number: u32,
    /// Its rank in the order of items.
    rank: u32,
}

/// Merges panes. Has memory for the candidates of two panes, so that a merge needs no other.
#[derive(Debug)]
pub(super) struct Merger(Vec<Ranked>);

impl Merger {
    /// The number of candidates of two panes; 0 if panes of this window are never merged.
    fn capacity(parameters: Parameters, window: Window) -> usize {
        match window.levels() {
            0 => 0,
            _ => 2 * max_listed(parameters, window),
        }
    }

    /// Bytes of its memory.
    pub fn bytes(parameters: Parameters, window: Window) -> u64 {
        (Self::capacity(parameters, window) * size_of::<Ranked>()) as u64
    }

    /// Allocates the memory for panes of these parameters and window.
    pub fn new(parameters: Parameters, window: Window) -> Result<Self, OutOfMemory> {
        with_capacity(Self::capacity(parameters, window)).map(Self)
    }

    /// Adds a younger pane to an older one, which then lists at most k candidates. Both are closed, and their candidates
    /// have ranks ([`rank`](super::order::rank)). `rest` are the panes that are younger than both.
    ///
    /// Cost: one step per cell, and the buckets of [`Merger::select`] and four more for each candidate that the panes list.
    pub fn merge(
        &mut self,
        older: &mut Pane,
        mut younger: Pane,
        rest: &[StoredPane<Pane>],
        candidates: &Candidates,
        k: u32,
        buckets: Buckets,
    ) {
        self.select([&*older, &younger], rest, candidates, k, buckets);
        older.table.merge(&mut younger.table);
        for &Ranked { count, number, .. } in self.0.iter().rev() {
            let item = buckets.places(candidates.get(number).hash);
            older.table.raise(item, count);
        }
        older.total = older.total.saturating_add(younger.total);
        self.write_list(older);
    }

    /// Reduces the list of a pane of level 0 to k candidates, as a merge does: for a pane that becomes longer without one.
    ///
    /// Cost: that of [`Merger::select`].
    pub fn shorten(
        &mut self,
        pane: &mut Pane,
        rest: &[StoredPane<Pane>],
        candidates: &Candidates,
        k: u32,
        buckets: Buckets,
    ) {
        self.select([&*pane], rest, candidates, k, buckets);
        self.write_list(pane);
    }

    /// Selects the k candidates of these panes with the largest sums over them and the next [`YOUNGER`] panes: every part of the
    /// window with these panes has the younger ones, too.
    ///
    /// Cost: two buckets of each of these panes for each candidate.
    fn select<const N: usize>(
        &mut self,
        panes: [&Pane; N],
        rest: &[StoredPane<Pane>],
        candidates: &Candidates,
        k: u32,
        buckets: Buckets,
    ) {
        let Self(ranked) = self;
        ranked.clear();
        let next = &rest[..rest.len().min(YOUNGER)];
        for &number in panes.iter().flat_map(|pane| &pane.listed) {
            let candidate = candidates.get(number);
            let item = buckets.places(candidate.hash);
            let estimates = panes.map(|pane| u64::from(pane.table.estimate(item)));
            let count: u64 = estimates.iter().sum();
            ranked.push(Ranked {
                sum: count + sum_of_estimates(next, item),
                count: saturated(count),
                number,
                rank: rank_of(candidate),
            });
        }
        ranked.sort_unstable_by_key(|ranked| (Reverse(ranked.sum), ranked.rank));
        // Candidates of both panes are there twice.
        ranked.dedup_by_key(|ranked| ranked.number);
        ranked.truncate(k as usize);
    }

    /// The selected candidates become the list of a pane.
    fn write_list(&self, pane: &mut Pane) {
        pane.listed.clear();
        pane.listed
            .extend(self.0.iter().map(|ranked| ranked.number));
        pane.listed.sort_unstable();
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
