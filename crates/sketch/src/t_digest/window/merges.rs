//! The kept merges of the closed panes.
//!
//! Neighboring panes of the same level form groups. The merge of each group is kept, and the merge of all groups. A step changes
//! at most a few groups, those of the youngest panes mostly, so that a read merges few nodes again.
//!
//! A read of a part of the panes uses the groups that it includes as a whole, and merges the rest of the first and of the last one.
//!
//! The merges depend on the state only, and not on what is kept.

use super::Centroid;
use super::pane::{ClosedPane, pane_form};
use crate::blocks::{BlockMover, BlockVisitor};
use crate::memory::{OutOfMemory, reserve_exact, shrink, with_capacity};
use crate::t_digest::centroid::in_order;
use crate::t_digest::runs::compress_to_vec;
use crate::window::{StoredPane, Timeline, Window};
use std::ops::Range;

type Pane = StoredPane<ClosedPane>;

/// The maximum number of panes of a group: about the square root of the number of panes. The panes of a level above
/// [`Window::panes`] need not be more groups.
fn group_len(window: Window) -> u64 {
    let root = (window.live_panes() as u64).isqrt();
    match window.levels() {
        0 => root.max(1),
        _ => 2 * root,
    }
}

/// Identifies neighboring panes of a digest: no others have the same first unit, end and number. Closed panes change only when
/// two of them are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Key {
    first: u64,
    /// The unit after the last one.
    end: u64,
    len: usize,
}

/// The compressed nodes of neighboring panes.
#[derive(Debug)]
struct Merge<K> {
    key: K,
    centroids: Vec<Centroid>,
}

/// Neighboring panes.
#[derive(Clone, Copy)]
struct Group<'a> {
    key: Key,
    panes: &'a [Pane],
}

/// Merges the nodes of panes, which `runs` has in order.
fn merge(
    panes: &[Pane],
    runs: &[&[Centroid]],
    compression: u32,
) -> Result<Vec<Centroid>, OutOfMemory> {
    let weights = panes.iter().map(|pane| pane.content.extent.weight);
    let nodes = merge_runs(runs)?;
    let (count, form) = (nodes.len(), pane_form(compression, usize::MAX));
    let mut merged = compress_to_vec(nodes.iter().copied(), count, weights.sum(), form)?;
    let len = merged.len();
    shrink(&mut merged, len);
    Ok(merged)
}

/// The panes in groups, oldest first.
fn groups_of<'a>(panes: &'a [Pane], timeline: &Timeline) -> Result<Vec<Group<'a>>, OutOfMemory> {
    let group_len = group_len(timeline.window());
    let mut groups = with_capacity(panes.len())?;
    let mut level_of = timeline.ascending();
    let (mut start, mut previous) = (0, None);
    for (at, pane) in panes.iter().enumerate() {
        // Each stored pane is live.
        let Some((range, level)) = level_of(pane.first) else {
            continue;
        };
        let number = (level, (pane.first >> level) / group_len);
        if previous != Some(number) {
            start = at;
            previous = Some(number);
        } else {
            groups.pop();
        }
        let key = Key {
            first: panes[start].first,
            end: range.end,
            len: at + 1 - start,
        };
        groups.push(Group {
            key,
            panes: &panes[start..=at],
        });
    }
    Ok(groups)
}

/// The newest pane, and the positions of the closed panes that are merged. Closed panes change only with the newest pane.
type ClosedPanes = (u64, Range<usize>);

/// The kept merges of the closed panes.
#[derive(Debug, Default)]
pub(super) struct Merges {
    /// Those of the groups that have at least two panes.
    groups: Vec<Merge<Key>>,
    /// That of the panes of the last read that did not include all, and that of all panes, if there are at least two groups.
    merged: [Option<Merge<ClosedPanes>>; 2],
}

impl Merges {
    /// The merge of the closed panes at these positions, compressed as [`pane_form`] says. Cost: none if it is kept.
    pub(super) fn of<'a>(
        &'a mut self,
        closed: &'a [Pane],
        positions: Range<usize>,
        timeline: &Timeline,
        compression: u32,
    ) -> Result<&'a [Centroid], OutOfMemory> {
        let panes = &closed[positions.clone()];
        let place = usize::from(panes.len() == closed.len());
        let key = (timeline.newest(), positions);
        let kept = self.merged[place].as_ref();
        if panes.len() > 1 && kept.is_none_or(|kept| kept.key != key) {
            self.merged[place] = None;
            let groups = groups_of(panes, timeline)?;
            self.merge_groups(closed, &groups, timeline, compression)?;
            let mut runs = with_capacity(groups.len())?;
            runs.extend(groups.iter().map(|group| self.run(group)));
            let centroids = match runs[..] {
                // A copy of the only one.
                [run] => merge_runs(&[run])?,
                _ => merge(panes, &runs, compression)?,
            };
            self.merged[place] = Some(Merge { key, centroids });
        }
        Ok(match panes {
            [] => &[],
            [pane] => &pane.content.centroids,
            _ => (self.merged[place].as_ref()).map_or(&[], |kept| &kept.centroids),
        })
    }

    /// The nodes of a group, whose merge is kept if it has several panes.
    fn run<'a>(&'a self, group: &Group<'a>) -> &'a [Centroid] {
        match group.panes {
            [pane] => &pane.content.centroids,
            _ => (self.groups.iter().find(|kept| kept.key == group.key))
                .map_or(&[], |kept| &kept.centroids),
        }
    }

    /// Computes the merges of these groups that are not kept. Frees those that are neither of them nor groups of all closed panes:
    /// the first and the last group of a part may be the rest of one.
    fn merge_groups(
        &mut self,
        closed: &[Pane],
        of_part: &[Group<'_>],
        timeline: &Timeline,
        compression: u32,
    ) -> Result<(), OutOfMemory> {
        let groups = groups_of(closed, timeline)?;
        self.groups.retain(|kept| {
            let mut used = groups.iter().chain(of_part);
            used.any(|group| group.key == kept.key)
        });
        let mut runs = with_capacity(closed.len())?;
        for &Group { key, panes } in of_part {
            if panes.len() == 1 || self.groups.iter().any(|kept| kept.key == key) {
                continue;
            }
            runs.clear();
            runs.extend(panes.iter().map(|pane| pane.content.centroids.as_slice()));
            let centroids = merge(panes, &runs, compression)?;
            reserve_exact(&mut self.groups, 1)?;
            self.groups.push(Merge { key, centroids });
        }
        Ok(())
    }

    /// Frees the merges that contain expired panes, and those of another newest pane. `freed` visits their blocks.
    pub(super) fn forget_before(&mut self, timeline: &Timeline, freed: &mut impl BlockVisitor) {
        for kept in &mut self.merged {
            if let Some(former) = kept.take_if(|kept| kept.key.0 != timeline.newest()) {
                freed.visit(&former.centroids);
            }
        }
        let oldest = timeline.oldest();
        self.groups.retain(|merge| {
            let is_live = merge.key.first >= oldest;
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

    /// Whether nothing is kept.
    pub(super) fn is_empty(&self) -> bool {
        self.groups.is_empty() && self.merged.iter().all(Option::is_none)
    }

    pub(super) fn for_each_block(&self, visitor: &mut impl BlockVisitor) {
        visitor.visit(&self.groups);
        let groups = self.groups.iter().map(|merge| &merge.centroids);
        let merged = self.merged.iter().flatten();
        let blocks = groups.chain(merged.map(|merge| &merge.centroids));
        blocks.for_each(|centroids| visitor.visit(centroids));
    }

    pub(super) fn relocate_block(&mut self, index: usize, mover: &mut impl BlockMover) -> bool {
        if index == 0 {
            mover.relocate(&mut self.groups);
            return true;
        }
        let groups = self.groups.iter_mut().map(|merge| &mut merge.centroids);
        let merged = self.merged.iter_mut().flatten();
        let mut blocks = groups.chain(merged.map(|merge| &mut merge.centroids));
        match blocks.nth(index - 1) {
            Some(centroids) => mover.relocate(centroids),
            None => return false,
        }
        true
    }
}

/// The nodes of several sorted runs in stable order: among equal means those of earlier runs come first. Cost: one pass
/// over the nodes per doubling of the number of runs.
fn merge_runs(runs: &[&[Centroid]]) -> Result<Vec<Centroid>, OutOfMemory> {
    let count = runs.iter().map(|run| run.len()).sum();
    let mut merged: Vec<Centroid> = with_capacity(count)?;
    let mut ends = with_capacity(runs.len().div_ceil(2))?;
    for pair in runs.chunks(2) {
        match pair {
            [one, other] => merged.extend(in_order(*one, *other)),
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
