//! The nodes of a digest in stable order, which reads keep and add new samples to, and the borders between the centroids of
//! their compressed form.
//!
//! A compression divides the nodes by their weights only. So after an addition, the borders are found without the means, and a
//! query computes the means of the few centroids that it reads. Most borders are as many nodes apart as before the addition:
//! that is tried first.
//!
//! A run of at least three samples (runs.rs) is one node here. A sample of its mean increases its weight.

use super::Centroid;
use super::centroid::{Scale, in_order};
use super::runs::{Form, Kept, Run, rank, runs};
use super::samples::{Samples, with_sorted_copy};
use crate::blocks::{BlockMover, BlockVisitor};
use crate::memory::{OutOfMemory, reserve_exact, reserve_for, try_push, with_capacity};
use std::ops::Range;

/// Identifies the nodes that are not samples, and the list of the samples; see [`Samples::list`].
pub(super) type NodesKey = (u64, u64, usize);

/// The nodes of a digest in stable order.
#[derive(Debug, Default)]
pub(super) struct SortedNodes {
    /// What identifies the nodes, except for the number of samples; `None` if they are incomplete.
    pub(super) key: Option<NodesKey>,
    /// The number of samples among the nodes: the first ones of the list.
    samples: usize,
    means: Vec<f64>,
    /// Whether any samples are equal.
    has_runs: bool,
    /// Whether there are nodes of several samples that may differ.
    has_centroids: bool,
    /// Which runs are kept, unless they are all; `None` if that is not computed.
    kept: Option<Kept>,
    /// The nodes that are not samples, and one after all nodes.
    heavy: Vec<Heavy>,
}

/// A node that may have several samples.
#[derive(Debug, Clone, Copy)]
struct Heavy {
    /// Its number among all nodes.
    at: u32,
    is_run: bool,
    /// Whether it is a run that is kept, unless they all are.
    is_kept: bool,
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
        let from = all.heavy.partition_point(|node| node.at < nodes.start);
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
            [node, rest @ ..] if node.at as usize == at => {
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
    /// Number of nodes, with runs as one.
    pub(super) fn len(&self) -> usize {
        self.means.len()
    }

    /// The node that is not a sample and has this number among those.
    #[inline]
    fn run(&self, heavy: usize) -> Run {
        let (node, next) = (self.heavy[heavy], self.heavy[heavy + 1]);
        Run {
            node: Centroid {
                mean: self.means[node.at as usize],
                weight: 1 + next.excess - node.excess,
            },
            is_run: node.is_run,
        }
    }

    /// Adopts the elements `others` (packed.rs), at most `others_len`, and the samples. Cost: a sort of
    /// the samples that are new, and a pass over the nodes.
    pub(super) fn update(
        &mut self,
        key: NodesKey,
        others: impl IntoIterator<Item: Into<Centroid>, IntoIter: Clone>,
        others_len: usize,
        samples: &Samples,
    ) -> Result<(), OutOfMemory> {
        if self.key.take() == Some(key) {
            let max_len = self.len() + samples.capacity() - self.samples;
            let sorted = samples.sorted.saturating_sub(self.samples);
            match &samples.values()[self.samples..] {
                &[new] => self.insert(&mut [new], max_len)?,
                new => with_sorted_copy(new, sorted, |new| self.insert(new, max_len))??,
            }
        } else {
            let max_len = others_len + samples.capacity();
            let set = |sorted: &[f64]| {
                self.set(in_order(others, sorted), others_len, sorted.len(), max_len)
            };
            samples.with_sorted(set)??;
        }
        self.samples = samples.len();
        self.key = Some(key);
        Ok(())
    }

    /// Replaces all nodes by those of elements in stable order. At most `others_len` are no samples.
    fn set(
        &mut self,
        elements: impl Iterator<Item = Centroid> + Clone,
        others_len: usize,
        samples_len: usize,
        max_len: usize,
    ) -> Result<(), OutOfMemory> {
        *self = Self::default();
        reserve_exact(&mut self.heavy, others_len + 1)?;
        reserve_for(&mut self.means, others_len + samples_len, max_len)?;
        let mut excess = 0;
        for Run { node, is_run } in runs(elements) {
            let at = self.means.len() as u32;
            self.means.push(node.mean);
            self.has_runs |= is_run;
            if is_run && node.weight == 2 {
                self.means.push(node.mean);
            } else if node.weight > 1 {
                self.has_centroids |= !is_run;
                let heavy = Heavy {
                    at,
                    is_run,
                    is_kept: false,
                    excess,
                };
                try_push(&mut self.heavy, heavy)?;
                excess += node.weight - 1;
            }
        }
        let at = self.means.len() as u32;
        let end = Heavy {
            at,
            is_run: false,
            is_kept: true,
            excess,
        };
        try_push(&mut self.heavy, end)
    }

    /// Inserts samples that are in stable order, after the nodes of equal mean.
    fn insert(&mut self, samples: &mut [f64], max_len: usize) -> Result<(), OutOfMemory> {
        let len = self.add_to_runs(samples);
        let samples = &samples[..len];
        let present = self.len();
        reserve_for(&mut self.means, present + len, max_len)?;
        let (mut end, mut heavy) = (self.means.len(), self.heavy.len());
        let (mut any_equal, mut later) = (false, f64::NAN);
        self.means.resize(end + samples.len(), 0.0);
        for (before, &sample) in samples.iter().enumerate().rev() {
            let at = self.means[..end].partition_point(|&mean| mean <= sample);
            any_equal |= sample == later || self.means[..at].last() == Some(&sample);
            later = sample;
            self.means.copy_within(at..end, at + before + 1);
            self.means[at + before] = sample;
            end = at;
            while let Some(node) = self.heavy[..heavy].last_mut()
                && node.at >= at as u32
            {
                node.at += before as u32 + 1;
                heavy -= 1;
            }
        }
        if any_equal {
            for equal in samples.chunk_by(|one, other| one == other) {
                self.join_equal(equal[0])?;
            }
        }
        Ok(())
    }

    /// Adds samples to the runs of their means. Moves the others to the front and returns their number.
    fn add_to_runs(&mut self, samples: &mut [f64]) -> usize {
        let last = self.heavy.len() - 1;
        if samples.is_empty() || !self.has_runs {
            return samples.len();
        }
        let mean_of = |node: &Heavy| self.means[node.at as usize];
        let mut heavy = self.heavy[..last].partition_point(|node| mean_of(node) <= samples[0]);
        let (mut others, mut added) = (0, 0);
        for number in 0..samples.len() {
            let sample = samples[number];
            while heavy < last && self.means[self.heavy[heavy].at as usize] <= sample {
                self.heavy[heavy].excess += added;
                heavy += 1;
            }
            // Nothing of the same mean follows a run.
            let before = heavy.checked_sub(1).map(|before| self.run(before));
            let Some(Run { mut node, .. }) =
                before.filter(|run| run.is_run && run.node.mean == sample)
            else {
                samples[others] = sample;
                others += 1;
                continue;
            };
            added += 1;
            node.weight += added;
            // A run that reaches the rank of the lowest one that is kept may replace it.
            if !self.heavy[heavy - 1].is_kept
                && matches!(self.kept, Some(Kept::From(lowest)) if rank(&node) >= lowest)
            {
                self.kept = None;
            }
        }
        if added > 0 {
            for node in &mut self.heavy[heavy..] {
                node.excess += added;
            }
        }
        others
    }

    /// Makes a run of the samples with this value, if there are at least three.
    fn join_equal(&mut self, sample: f64) -> Result<(), OutOfMemory> {
        let end = self.means.partition_point(|&mean| mean <= sample);
        if end < 2 || self.means[end - 2] != sample {
            return Ok(());
        }
        let heavy = self.heavy.partition_point(|node| (node.at as usize) < end);
        let mut start = self.means.partition_point(|&mean| mean < sample);
        if let Some(node) = self.heavy[..heavy].last() {
            start = start.max(node.at as usize + 1);
        }
        let more = (end - start).saturating_sub(1);
        self.has_runs |= more > 0;
        if more > 1 {
            let excess = self.heavy[heavy].excess;
            for node in &mut self.heavy[heavy..] {
                node.at -= more as u32;
                node.excess += more as i64;
            }
            let run = Heavy {
                at: start as u32,
                is_run: true,
                is_kept: false,
                excess,
            };
            try_push(&mut self.heavy, run)?;
            self.heavy[heavy..].rotate_right(1);
            self.means.drain(start + 1..end);
            self.kept = None;
        }
        Ok(())
    }

    /// Which runs are kept.
    fn kept(&mut self, total: i64, form: Form) -> Result<Kept, OutOfMemory> {
        let heavy = self.heavy.len() - 1;
        if !self.has_runs {
            return Ok(Kept::None);
        }
        if !self.has_centroids {
            let pairs = self.means.windows(2).filter(|pair| pair[0] == pair[1]);
            let pairs = pairs.count();
            let single = self.len() - heavy - 2 * pairs;
            let (values, len) = (self.len() - pairs, self.len() + 2 * heavy);
            if form.has_few(values, total - single as i64, total, len) {
                return Ok(Kept::All);
            }
        }
        if let Some(kept) = self.kept {
            return Ok(kept);
        }
        let mut heaviest = with_capacity(heavy)?;
        let heavy_runs = (0..heavy).map(|number| self.run(number));
        heaviest.extend(heavy_runs.filter(|run| run.is_run).map(|run| run.node));
        let kept = Kept::heaviest(&mut heaviest, form);
        for number in 0..heavy {
            self.heavy[number].is_kept = kept.keeps(self.run(number));
        }
        Ok(*self.kept.insert(kept))
    }

    /// The place after the next node.
    #[inline]
    fn next(&self, place: Place) -> Place {
        let is_heavy = self.heavy[place.heavy].at as usize == place.at;
        Place {
            at: place.at + 1,
            heavy: place.heavy + usize::from(is_heavy),
        }
    }

    /// Moves a place to a later one.
    #[inline]
    fn forward(&self, mut place: Place, at: usize) -> Place {
        place.at = at;
        while (self.heavy[place.heavy].at as usize) < at {
            place.heavy += 1;
        }
        place
    }

    /// Moves a place to an earlier one.
    fn back(&self, mut place: Place, at: usize) -> Place {
        place.at = at;
        while place.heavy > 0 && self.heavy[place.heavy - 1].at as usize >= at {
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

    /// Divides the nodes of the weight `total` as [`compress`](super::runs::compress) does. `ends` has
    /// the number of nodes up to each centroid, and `before` the weight before it; the three of a run
    /// have the same end. Before the call, `ends` has those of former nodes, from which the search
    /// begins. Returns false if nothing is merged although there are runs, or if there are too many
    /// centroids. Cost: one step per centroid whose number of nodes is the same, otherwise one step per
    /// node.
    pub(super) fn divide(
        &mut self,
        total: i64,
        form: Form,
        ends: &mut Vec<u32>,
        before: &mut Vec<i64>,
    ) -> Result<bool, OutOfMemory> {
        let scale = Scale::new(total, form.compression);
        if self.has_runs && !scale.merges_samples(total) {
            return Ok(false);
        }
        let kept = self.kept(total, form)?;
        let (max_len, max_weight) = kept.limits(total, form);
        let (c, heavy) = (form.compression as usize, self.heavy.len() - 1);
        let (runs, skipped) = match kept {
            Kept::None => (0, heavy),
            _ => (heavy.min(c), 0),
        };
        // Between runs, about 2/3 of the compression, or all nodes.
        let expected = 3 * runs + self.len().min(c * 3 / 4);
        before.clear();
        ends.truncate(before.capacity());
        let keeps_all = matches!(kept, Kept::All);
        let is_monotonic = scale.is_monotonic();
        let (mut start, mut former_start) = (Place::default(), 0);
        let mut room = ends.len();
        for (border, number) in self.heavy[skipped..].iter().zip(skipped..) {
            if !(border.is_kept || keeps_all) {
                continue;
            }
            let border_at = border.at as usize;
            loop {
                let len = before.len();
                if len + 3 > room {
                    reserve_for(ends, expected.max(len + 3), expected)?;
                    reserve_for(before, ends.capacity(), expected)?;
                    room = ends.capacity();
                    ends.resize(room, 0);
                }
                if start.at == border_at {
                    break;
                }
                let (weight, former_end) = (self.weight_before(start), ends[len]);
                start = if start.at + 1 == border_at {
                    Place {
                        at: border_at,
                        heavy: number,
                    }
                } else {
                    let count = match is_monotonic {
                        true => former_end.saturating_sub(former_start).max(1) as usize,
                        false => 1,
                    };
                    self.end_of(start, weight, count, &scale, (border_at, max_weight))
                };
                former_start = former_end;
                ends[len] = start.at as u32;
                before.push(weight);
            }
            if let Some(next) = self.heavy.get(number + 1) {
                let len = before.len();
                let weight = i64::from(border.at) + border.excess;
                let last = i64::from(border.at) + next.excess;
                former_start = ends[len + 2];
                ends[len..len + 3].fill(border.at + 1);
                before.extend_from_slice(&[weight, weight + 1, last]);
                start = Place {
                    at: border_at + 1,
                    heavy: number + 1,
                };
            }
        }
        Ok(before.len() <= max_len)
    }

    /// The end of the centroid that begins at `start`, after this weight, up to the border. The search
    /// begins at `count` nodes.
    #[inline]
    fn end_of(
        &self,
        start: Place,
        before: i64,
        count: usize,
        scale: &Scale,
        (border, max_weight): (usize, i64),
    ) -> Place {
        let limit = scale.near_limit(before);
        let allows = |end| {
            let weight = self.weight_before(end) - before;
            weight <= max_weight && scale.allows_near(limit, before, weight)
        };
        let first = start.at + 1;
        let mut end = self.forward(start, (start.at + count).min(border));
        while end.at > first && !allows(end) {
            end = self.back(end, end.at - 1);
        }
        while end.at < border {
            let next = self.next(end);
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
