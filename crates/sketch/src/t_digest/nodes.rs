//! The nodes of a digest in stable order, which reads keep and add new samples to, and the borders between the centroids of
//! their compressed form.
//!
//! A compression divides the nodes by their weights only. So after an addition, the borders are found without the means, and a
//! query computes the means of the few centroids that it reads. Most borders are as many nodes apart as before the addition:
//! that is tried first.

use super::Centroid;
use super::centroid::Scale;
use super::runs::is_run;
use super::samples::{Samples, with_sorted_copy};
use crate::blocks::{BlockMover, BlockVisitor};
use crate::memory::{OutOfMemory, reserve_exact, reserve_for, try_push};
use std::ops::Range;

/// Identifies the nodes that are not samples, and the list of the samples; see [`Samples::list`].
pub(super) type NodesKey = (u64, u64, usize);

/// The nodes of a digest in stable order.
#[derive(Debug, Default)]
pub(super) struct SortedNodes {
    /// `None` if the nodes are incomplete.
    key: Option<NodesKey>,
    /// The number of samples among the nodes: the first ones of the list.
    samples: usize,
    means: Vec<f64>,
    /// Whether there are runs of equal means.
    has_runs: bool,
    /// The nodes that are not samples, and one after all nodes.
    heavy: Vec<Heavy>,
}

/// A node that may have several samples.
#[derive(Debug, Clone, Copy)]
struct Heavy {
    /// Its number among all nodes.
    at: usize,
    /// The weight of the nodes before it, less their number.
    excess: i64,
}

/// The mean of the first nodes of a centroid.
struct PartialMean<'a> {
    merged: Centroid,
    /// The other nodes.
    nodes: &'a [f64],
    /// The number of nodes before them.
    at: usize,
    /// The next ones that are not samples.
    heavy: &'a [Heavy],
}

impl<'a> PartialMean<'a> {
    /// The mean of the first node.
    fn new(all: &'a SortedNodes, nodes: Range<u32>) -> Self {
        let (start, end) = (nodes.start as usize, nodes.end as usize);
        let from = all.heavy.partition_point(|node| node.at < start);
        let mut mean = Self {
            merged: Centroid::from(all.means[start]),
            nodes: &all.means[start + 1..end],
            at: start,
            heavy: &all.heavy[from..],
        };
        mean.merged.weight = mean.next_weight().unwrap_or(1);
        mean
    }

    /// The weight of the next node if it is not a sample. Moves to the next node.
    #[inline(always)]
    fn next_weight(&mut self) -> Option<i64> {
        let at = self.at;
        self.at += 1;
        match self.heavy {
            [node, rest @ ..] if node.at == at => {
                self.heavy = rest;
                Some(1 + rest.first().map_or(0, |next| next.excess - node.excess))
            }
            _ => None,
        }
    }

    /// Merges the next node, if there is one.
    #[inline(always)]
    fn step(&mut self) {
        let Some((&mean, rest)) = self.nodes.split_first() else {
            return;
        };
        self.nodes = rest;
        match self.next_weight() {
            None => self.merged.merge_sample(mean),
            Some(weight) => {
                let node = Centroid { mean, weight };
                self.merged.merge(node, self.merged.weight + weight);
            }
        }
    }

    fn finish(mut self) -> f64 {
        while !self.nodes.is_empty() {
            self.step();
        }
        self.merged.mean
    }
}

/// A place between two nodes.
#[derive(Debug, Clone, Copy, Default)]
struct Place {
    /// The number of nodes before it.
    at: usize,
    /// The number of those that are not samples.
    heavy: usize,
}

impl SortedNodes {
    /// What identifies the nodes, except for the number of samples.
    pub(super) fn key(&self) -> Option<NodesKey> {
        self.key
    }

    /// Whether there are runs of equal means, which the division does not keep.
    pub(super) fn has_runs(&self) -> bool {
        self.has_runs
    }

    /// All nodes.
    pub(super) fn iter(&self) -> impl Iterator<Item = Centroid> + Clone + '_ {
        let mut heavy = self.heavy.windows(2);
        let mut next = heavy.next();
        self.means.iter().enumerate().map(move |(at, &mean)| {
            let Some([node, after]) = next.filter(|pair| pair[0].at == at) else {
                return mean.into();
            };
            next = heavy.next();
            let weight = 1 + after.excess - node.excess;
            Centroid { mean, weight }
        })
    }

    /// Number of nodes.
    pub(super) fn len(&self) -> usize {
        self.means.len()
    }

    /// Adopts the nodes `others`, of which there are `others_len`, and the samples. Cost: a sort of the samples that are new, and
    /// a pass over the nodes.
    pub(super) fn update(
        &mut self,
        key: NodesKey,
        others: impl Iterator<Item = Centroid>,
        others_len: usize,
        samples: &Samples,
    ) -> Result<(), OutOfMemory> {
        let is_known = self.key.take() == Some(key);
        let len = others_len + samples.len();
        let max_len = others_len + samples.capacity();
        if !is_known {
            (self.samples, self.means, self.heavy) = (0, Vec::new(), Vec::new());
            self.has_runs = false;
            reserve_exact(&mut self.heavy, others_len + 1)?;
            reserve_for(&mut self.means, len, max_len)?;
            let (mut previous, mut excess) = (Centroid::from(f64::NAN), 0);
            for (at, node) in others.enumerate() {
                self.has_runs |= is_run(previous, node);
                previous = node;
                self.means.push(node.mean);
                self.heavy.push(Heavy { at, excess });
                excess += node.weight - 1;
            }
            let at = others_len;
            self.heavy.push(Heavy { at, excess });
        }
        reserve_for(&mut self.means, len, max_len)?;
        let sorted = samples.sorted().saturating_sub(self.samples);
        match &samples.values()[self.samples..] {
            new if new.len() <= 1.max(sorted) => self.insert(new),
            new => with_sorted_copy(new, sorted, |new| self.insert(new))?,
        }
        self.samples = samples.len();
        self.key = Some(key);
        Ok(())
    }

    /// Inserts samples that are in stable order, after the nodes of equal mean. Memory is reserved.
    fn insert(&mut self, samples: &[f64]) {
        let (mut end, mut heavy) = (self.means.len(), self.heavy.len());
        let (mut has_runs, mut later) = (self.has_runs, f64::NAN);
        self.means.resize(end + samples.len(), 0.0);
        for (before, &sample) in samples.iter().enumerate().rev() {
            let at = self.means[..end].partition_point(|&mean| mean <= sample);
            let follows_equal = self.means[..at].last() == Some(&sample);
            has_runs |= sample == later;
            later = sample;
            self.means.copy_within(at..end, at + before + 1);
            self.means[at + before] = sample;
            end = at;
            while let Some(node) = self.heavy[..heavy].last_mut()
                && node.at >= at
            {
                node.at += before + 1;
                heavy -= 1;
            }
            // A run continues, or the node before the sample begins one.
            if follows_equal {
                has_runs |= self.weight_of(at - 1, heavy) == 1;
            }
        }
        self.has_runs = has_runs;
    }

    /// The weight of a node, after which `heavy` is the next node that is not a sample.
    fn weight_of(&self, at: usize, heavy: usize) -> i64 {
        match &self.heavy[..=heavy] {
            [.., node, after] if node.at == at => 1 + after.excess - node.excess,
            _ => 1,
        }
    }

    /// Moves a place to a later one.
    #[inline]
    fn forward(&self, mut place: Place, at: usize) -> Place {
        place.at = at;
        while self.heavy[place.heavy].at < at {
            place.heavy += 1;
        }
        place
    }

    /// Moves a place to an earlier one.
    fn back(&self, mut place: Place, at: usize) -> Place {
        place.at = at;
        while place.heavy > 0 && self.heavy[place.heavy - 1].at >= at {
            place.heavy -= 1;
        }
        place
    }

    /// The weight of the nodes before a place.
    #[inline]
    fn weight_before(&self, place: Place) -> i64 {
        place.at as i64 + self.heavy[place.heavy].excess
    }

    /// The means of the centroids of these nodes, as [`compress`](super::centroid::compress) computes them. Several are computed
    /// at the same time, because each step depends on the one before.
    pub(super) fn means_of<const N: usize>(&self, centroids: [Range<u32>; N]) -> [f64; N] {
        let mut partial = centroids.map(|nodes| PartialMean::new(self, nodes));
        while partial.iter().all(|mean| !mean.nodes.is_empty()) {
            for mean in &mut partial {
                mean.step();
            }
        }
        partial.map(PartialMean::finish)
    }

    /// Divides the nodes as [`compress`](super::centroid::compress) does. `ends` has the number of nodes up to each centroid, and
    /// `before` the weight before it. Before the call, `ends` has those of former nodes, from which the search begins. Cost: one
    /// step per centroid whose number of nodes is the same, otherwise one step per node.
    pub(super) fn divide(
        &self,
        scale: &Scale,
        ends: &mut Vec<u32>,
        before: &mut Vec<i64>,
    ) -> Result<(), OutOfMemory> {
        before.clear();
        let (mut start, mut former_start) = (Place::default(), 0);
        while start.at < self.len() {
            let former_end = ends.get(before.len()).map_or(former_start, |&end| end);
            let count = match scale.is_monotonic() {
                true => (former_end - former_start) as usize,
                false => 0,
            };
            former_start = former_end;
            let weight = self.weight_before(start);
            let end = self.end_of(start, weight, count.max(1), scale);
            match ends.get_mut(before.len()) {
                Some(place) => *place = end.at as u32,
                None => try_push(ends, end.at as u32)?,
            }
            try_push(before, weight)?;
            start = end;
        }
        ends.truncate(before.len());
        Ok(())
    }

    /// The end of the centroid that begins at `start`, after this weight. The search begins at `count` nodes.
    #[inline]
    fn end_of(&self, start: Place, before: i64, count: usize, scale: &Scale) -> Place {
        let limit = scale.near_limit(before);
        let allows = |end| scale.allows_near(limit, before, self.weight_before(end) - before);
        let first = start.at + 1;
        let mut end = self.forward(start, (start.at + count).min(self.len()));
        while end.at > first && !allows(end) {
            end = self.back(end, end.at - 1);
        }
        while end.at < self.len() {
            let next = self.forward(end, end.at + 1);
            if !allows(next) {
                break;
            }
            end = next;
        }
        end
    }

    /// Bytes of its blocks.
    pub(super) fn block_bytes(&self) -> usize {
        self.means.capacity() * size_of::<f64>() + self.heavy.capacity() * size_of::<Heavy>()
    }

    pub(super) fn visit(&self, visitor: &mut impl BlockVisitor) {
        visitor.visit(&self.means);
        visitor.visit(&self.heavy);
    }

    pub(super) fn relocate_means(&mut self, mover: &mut impl BlockMover) {
        mover.relocate(&mut self.means);
    }

    pub(super) fn relocate_heavy(&mut self, mover: &mut impl BlockMover) {
        mover.relocate(&mut self.heavy);
    }
}
