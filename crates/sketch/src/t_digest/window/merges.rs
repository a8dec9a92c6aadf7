//! The kept merges of the closed panes.
//!
//! Neighboring panes form groups: all panes whose numbers, divided by [`group_len`], have the same quotient. The merge
//! of each group is kept, and the merge of all groups. When a pane closes or expires, only its group and the merge of
//! all groups are computed again. Both have about the square root of the number of panes as inputs.

use super::Centroid;
use super::pane::{ClosedPane, pane_compression};
use crate::blocks::{BlockMover, BlockVisitor};
use crate::memory::{OutOfMemory, with_capacity};
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
    /// Those of the groups that have at least two panes, in order.
    groups: Vec<Merge>,
    /// That of all groups, if there are at least two.
    all: Option<Merge>,
}

impl Merges {
    /// The merge of these closed panes, compressed as [`pane_compression`] says. Cost: none if it is kept.
    pub(super) fn of<'a>(
        &'a mut self,
        panes: &'a [ClosedPane],
        window: Window,
        compression: u32,
    ) -> Result<&'a [Centroid], OutOfMemory> {
        let group_len = group_len(window);
        let compression = pane_compression(compression);
        let groups =
            || panes.chunk_by(|one, other| one.number / group_len == other.number / group_len);
        let is_kept = self
            .all
            .as_ref()
            .is_some_and(|all| all.panes == ends(panes));
        if !is_kept {
            self.all = None;
            self.merge(panes, groups, compression)?;
        }
        Ok(match (&self.all, panes) {
            (Some(all), _) => &all.centroids,
            (None, [pane]) => &pane.centroids,
            (None, _) => self.groups.first().map_or(&[], |group| &group.centroids),
        })
    }

    /// Computes the merges that are not kept.
    fn merge<'a, G: Iterator<Item = &'a [ClosedPane]>>(
        &mut self,
        panes: &[ClosedPane],
        groups: impl Fn() -> G,
        compression: u32,
    ) -> Result<(), OutOfMemory> {
        let count = groups().count();
        let mut merges = with_capacity(groups().filter(|group| group.len() > 1).count())?;
        let mut runs = with_capacity(panes.len())?;
        for group in groups().filter(|group| group.len() > 1) {
            let kept = self
                .groups
                .iter()
                .position(|kept| kept.panes == ends(group));
            merges.push(match kept {
                Some(at) => self.groups.swap_remove(at),
                None => {
                    runs.clear();
                    runs.extend(group.iter().map(|pane| pane.centroids.as_slice()));
                    Merge::of(group, &runs, compression)?
                }
            });
        }
        self.groups = merges;
        if count > 1 {
            let mut merges = self.groups.iter();
            let mut runs: Vec<&[Centroid]> = with_capacity(count)?;
            for group in groups() {
                match group {
                    [pane] => runs.push(&pane.centroids),
                    _ => runs.extend(merges.next().map(|merge| merge.centroids.as_slice())),
                }
            }
            self.all = Some(Merge::of(panes, &runs, compression)?);
        }
        Ok(())
    }

    /// Frees the merges that contain panes below `oldest`. `freed` visits their blocks.
    pub(super) fn forget_before(&mut self, oldest: u64, freed: &mut impl BlockVisitor) {
        if let Some(all) = self.all.take_if(|all| all.panes.0 < oldest) {
            freed.visit(&all.centroids);
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
        for merge in self.groups.iter().chain(&self.all) {
            visitor.visit(&merge.centroids);
        }
    }

    pub(super) fn relocate_block(&mut self, index: usize, mover: &mut impl BlockMover) -> bool {
        if index == 0 {
            mover.relocate(&mut self.groups);
            return true;
        }
        let merge = self.groups.iter_mut().chain(&mut self.all).nth(index - 1);
        match merge {
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
