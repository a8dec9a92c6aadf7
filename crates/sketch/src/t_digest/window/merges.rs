//! The kept merges of the closed panes.
//!
//! Neighboring panes form groups: all panes whose numbers, divided by [`group_len`], have the same quotient. The merge
//! of each group is kept, and the merge of all groups. When a pane closes or expires, only its group and the merge of
//! all groups are computed again. Both have about the square root of the number of panes as inputs.
//!
//! A read of the newest panes only uses the groups that it includes as a whole, and merges the rest of the first one.

use super::Centroid;
use super::pane::{ClosedPane, pane_compression};
use crate::blocks::{BlockMover, BlockVisitor};
use crate::memory::{OutOfMemory, reserve_exact, with_capacity};
use crate::t_digest::centroid::{compress_to_vec, in_order};
use crate::window::Window;

/// The number of panes of a group.
fn group_len(window: Window) -> u64 {
    window.panes().isqrt().max(1)
}

/// The compressed nodes of several neighboring panes. Closed panes do not change, so the first and the last one
/// identify the merge.
#[derive(Debug)]
struct Merge {
    /// The numbers of the first and the last pane.
    panes: (u64, u64),
    centroids: Vec<Centroid>,
}

impl Merge {
    /// Merges `runs`, which are the nodes of `panes` in order.
    fn of(
        panes: &[ClosedPane],
        runs: &[&[Centroid]],
        compression: u32,
    ) -> Result<Self, OutOfMemory> {
        let weight = panes.iter().map(|pane| pane.extent.weight).sum();
        let nodes = merge_runs(runs)?;
        let count = nodes.len();
        Ok(Self {
            panes: ends(panes),
            centroids: compress_to_vec(nodes.into_iter(), count, weight, compression)?,
        })
    }
}

/// The numbers of the first and the last pane; `panes` is not empty.
fn ends(panes: &[ClosedPane]) -> (u64, u64) {
    match panes {
        [] => (0, 0),
        [first, .., last] | [first @ last] => (first.number, last.number),
    }
}

/// The kept merges of the closed panes.
#[derive(Debug, Default)]
pub(super) struct Merges {
    /// Those of the groups that have at least two panes.
    groups: Vec<Merge>,
    /// That of all groups, if there are at least two.
    all: Option<Merge>,
    /// That of the newest panes of the last read that did not include all. `None` if it is another one.
    part: Option<Merge>,
}

/// Neighboring panes in groups.
fn groups_of(panes: &[ClosedPane], window: Window) -> impl Iterator<Item = &[ClosedPane]> {
    let group_len = group_len(window);
    panes.chunk_by(move |one, other| one.number / group_len == other.number / group_len)
}

impl Merges {
    /// The merge of the closed panes without the first `skipped`, compressed as [`pane_compression`] says. It does not
    /// depend on what is kept. Cost: none if it is kept.
    pub(super) fn of<'a>(
        &'a mut self,
        closed: &'a [ClosedPane],
        skipped: usize,
        window: Window,
        compression: u32,
    ) -> Result<&'a [Centroid], OutOfMemory> {
        let panes = &closed[skipped..];
        let is_merge = |kept: &Merge| kept.panes == ends(panes);
        let is_kept = self.all.as_ref().is_some_and(is_merge)
            || self.part.as_ref().is_some_and(is_merge)
            || self.groups.iter().any(is_merge);
        if !is_kept && panes.len() > 1 {
            match skipped {
                0 => self.all = None,
                _ => self.part = None,
            }
            self.merge(closed, skipped, window, pane_compression(compression))?;
        }
        let mut kept = (self.groups.iter()).chain(&self.all).chain(&self.part);
        Ok(match panes {
            [] => &[],
            [pane] => &pane.centroids,
            _ => kept
                .find(|kept| is_merge(kept))
                .map_or(&[], |merge| &merge.centroids),
        })
    }

    /// Computes the merges that are not kept, of at least two panes.
    fn merge(
        &mut self,
        closed: &[ClosedPane],
        skipped: usize,
        window: Window,
        compression: u32,
    ) -> Result<(), OutOfMemory> {
        let panes = &closed[skipped..];
        let is_complete =
            |panes: (u64, u64)| groups_of(closed, window).any(|group| ends(group) == panes);
        self.groups.retain(|kept| is_complete(kept.panes));
        // The first group, if it has lost panes.
        let mut first = None;
        let (mut count, mut runs) = (0, with_capacity(panes.len())?);
        for group in groups_of(panes, window) {
            count += 1;
            if group.len() == 1 || self.groups.iter().any(|kept| kept.panes == ends(group)) {
                continue;
            }
            runs.clear();
            runs.extend(group.iter().map(|pane| pane.centroids.as_slice()));
            let merge = Merge::of(group, &runs, compression)?;
            if is_complete(merge.panes) {
                reserve_exact(&mut self.groups, 1)?;
                self.groups.push(merge);
            } else {
                first = Some(merge);
            }
        }
        if count > 1 {
            runs.clear();
            runs.extend(groups_of(panes, window).map(|group| {
                let mut merges = self.groups.iter().chain(&first);
                match merges.find(|merge| merge.panes == ends(group)) {
                    Some(merge) => merge.centroids.as_slice(),
                    None => &group[0].centroids,
                }
            }));
            first = Some(Merge::of(panes, &runs, compression)?);
        }
        match skipped {
            0 => self.all = first,
            _ => self.part = first,
        }
        Ok(())
    }

    /// Frees the merges that contain panes below `oldest`. `freed` visits their blocks.
    pub(super) fn forget_before(&mut self, oldest: u64, freed: &mut impl BlockVisitor) {
        if let Some(all) = self.all.take_if(|all| all.panes.0 < oldest) {
            freed.visit(&all.centroids);
        }
        if let Some(part) = self.part.take_if(|part| part.panes.0 < oldest) {
            freed.visit(&part.centroids);
        }
        self.groups.retain(|merge| {
            let is_live = merge.panes.0 >= oldest;
            if !is_live {
                freed.visit(&merge.centroids);
            }
            is_live
        });
        if self.groups.is_empty() {
            freed.visit(&self.groups);
            self.groups = Vec::new();
        }
    }

    pub(super) fn for_each_block(&self, visitor: &mut impl BlockVisitor) {
        visitor.visit(&self.groups);
        for merge in self.groups.iter().chain(&self.all).chain(&self.part) {
            visitor.visit(&merge.centroids);
        }
    }

    pub(super) fn relocate_block(&mut self, index: usize, mover: &mut impl BlockMover) -> bool {
        if index == 0 {
            mover.relocate(&mut self.groups);
            return true;
        }
        let mut merges = (self.groups.iter_mut())
            .chain(&mut self.all)
            .chain(&mut self.part);
        match merges.nth(index - 1) {
            Some(merge) => mover.relocate(&mut merge.centroids),
            None => return false,
        }
        true
    }
}

/// The nodes of several sorted runs in stable order: among equal means those of earlier runs come first. Cost: one pass
/// over the nodes per doubling of the number of runs.
pub(super) fn merge_runs(runs: &[&[Centroid]]) -> Result<Vec<Centroid>, OutOfMemory> {
    let count = runs.iter().map(|run| run.len()).sum();
    let mut merged: Vec<Centroid> = with_capacity(count)?;
    let mut ends = with_capacity(runs.len().div_ceil(2))?;
    for pair in runs.chunks(2) {
        match pair {
            [one, other] => merged.extend(in_order(one, other)),
            _ => pair.iter().for_each(|run| merged.extend_from_slice(run)),
        }
        ends.push(merged.len());
    }
    if ends.len() > 1 {
        let mut next = with_capacity(count)?;
        while ends.len() > 1 {
            next.clear();
            let mut start = 0;
            for pair in 0..ends.len().div_ceil(2) {
                let middle = ends[2 * pair];
                let end = ends.get(2 * pair + 1).copied().unwrap_or(middle);
                next.extend(in_order(&merged[start..middle], &merged[middle..end]));
                ends[pair] = end;
                start = end;
            }
            ends.truncate(ends.len().div_ceil(2));
            std::mem::swap(&mut merged, &mut next);
        }
    }
    Ok(merged)
}
