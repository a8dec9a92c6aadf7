//! The compressed form of a digest, which answers queries.
//!
//! Each centroid is stored with the sum of the weights before it, so that quantile, cdf and rank are binary searches.
//! Means and sums are in separate arrays, since a search reads only one of them. Every returned value is in
//! [min, max], even if a difference or product of extreme samples is not finite.

use super::Centroid;
use super::centroid::{clamp, in_order};
use super::nodes::{NodesKey, SortedNodes};
use super::runs::{Form, compress_to_vec};
use super::samples::Samples;
use crate::blocks::{BlockMover, BlockVisitor};
use crate::memory::{OutOfMemory, reserve_exact};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// A centroid and the sum of the weights before it.
#[derive(Clone, Copy)]
struct Ranked {
    mean: f64,
    weight: i64,
    before: i64,
}

impl Ranked {
    /// The rank of its center.
    fn center(&self) -> f64 {
        center(self.before, self.weight)
    }
}

/// The rank of the center of a centroid.
fn center(before: i64, weight: i64) -> f64 {
    before as f64 + weight as f64 / 2.0
}

/// The smallest and the largest of some samples, and their number.
#[derive(Debug, Clone, Copy)]
pub(super) struct Extent {
    /// `f64::MAX` if there are no samples.
    pub(super) min: f64,
    /// `f64::MIN` if there are no samples.
    pub(super) max: f64,
    /// The sum of the weights.
    pub(super) weight: i64,
}

impl Default for Extent {
    fn default() -> Self {
        Self::EMPTY
    }
}

impl Extent {
    /// The extent of no samples.
    pub(super) const EMPTY: Self = Self {
        min: f64::MAX,
        max: f64::MIN,
        weight: 0,
    };

    /// The extent of both sets of samples. The sum of the weights is at most 2^63 - 1. Of two equal extremes (0.0 and
    /// -0.0) the first one counts, as in [`TDigest::add`](super::TDigest::add).
    pub(super) fn and(self, later: Self) -> Self {
        Self {
            min: if later.min < self.min {
                later.min
            } else {
                self.min
            },
            max: if later.max > self.max {
                later.max
            } else {
                self.max
            },
            weight: self.weight + later.weight,
        }
    }
}

/// The nodes of a digest after a compression; see [`TDigest::compressed`](super::TDigest::compressed).
#[derive(Debug, Default)]
pub struct Compressed {
    /// Means of the centroids, ascending.
    means: Vec<Mean>,
    /// For each centroid, the sum of the weights before it.
    before: Vec<i64>,
    /// The nodes from which means are computed when a query first reads them. None if all means are computed.
    pub(super) nodes: SortedNodes,
    /// For each centroid, the number of nodes up to its end, if means are computed from nodes.
    ends: Vec<u32>,
    /// The extent of the samples.
    pub(super) extent: Extent,
}

/// A mean, or nan if it is not computed yet.
#[derive(Debug)]
struct Mean(AtomicU64);

impl From<f64> for Mean {
    fn from(mean: f64) -> Self {
        Self(AtomicU64::new(mean.to_bits()))
    }
}

impl Mean {
    fn get(&self) -> f64 {
        f64::from_bits(self.0.load(Ordering::Relaxed))
    }

    fn set(&self, mean: f64) {
        self.0.store(mean.to_bits(), Ordering::Relaxed);
    }
}

impl Compressed {
    /// Compresses elements (packed.rs) of `count` nodes in stable order.
    pub(super) fn new(
        elements: impl Iterator<Item = Centroid> + Clone,
        count: usize,
        extent: Extent,
        compression: u32,
    ) -> Result<Self, OutOfMemory> {
        let form = Form::of(compression);
        let centroids = compress_to_vec(elements, count, extent.weight, form)?;
        let mut compressed = Self {
            extent,
            ..Self::default()
        };
        compressed.set(&centroids)?;
        Ok(compressed)
    }

    /// Replaces the centroids.
    fn set(&mut self, centroids: &[Centroid]) -> Result<(), OutOfMemory> {
        self.ends.clear();
        self.means.clear();
        self.before.clear();
        reserve_exact(&mut self.means, centroids.len())?;
        reserve_exact(&mut self.before, centroids.len())?;
        let mut before = 0;
        for node in centroids {
            self.means.push(node.mean.into());
            self.before.push(before);
            before += node.weight;
        }
        Ok(())
    }

    /// Compresses the `others_len` elements `others` and the samples, with what is kept of them. The result
    /// is that of [`Compressed::new`]. Means are only computed if [`SortedNodes::divide`] returns false.
    /// Cost: a sort of the samples that are new, and the division.
    pub(super) fn update(
        &mut self,
        key: NodesKey,
        (others, others_len): (
            impl IntoIterator<Item: Into<Centroid>, IntoIter: Clone> + Clone,
            usize,
        ),
        samples: &Samples,
        extent: Extent,
        compression: u32,
    ) -> Result<(), OutOfMemory> {
        self.nodes
            .update(key, others.clone(), others_len, samples)?;
        self.extent = extent;
        let form = Form::of(compression);
        let (ends, before) = (&mut self.ends, &mut self.before);
        if !self.nodes.divide(extent.weight, form, ends, before)? {
            return samples.with_sorted(|sorted| {
                let (all, len) = (in_order(others, sorted), others_len + sorted.len());
                self.set(&compress_to_vec(all, len, extent.weight, form)?)
            })?;
        }
        self.means.clear();
        reserve_exact(&mut self.means, self.before.capacity())?;
        self.means
            .extend(self.before.iter().map(|_| Mean::from(f64::NAN)));
        Ok(())
    }

    /// The mean of the centroid at this index.
    #[inline]
    fn mean(&self, at: usize) -> f64 {
        let mean = self.means[at].get();
        if mean.is_nan() {
            self.compute_mean(at)
        } else {
            mean
        }
    }

    fn compute_mean(&self, at: usize) -> f64 {
        let [mean] = self.nodes.means_of([self.nodes_of(at)]);
        self.means[at].set(mean);
        mean
    }

    /// Computes the means of this centroid and of the next one.
    fn compute_means(&self, at: usize) {
        if [at, at + 1].iter().all(|&at| self.means[at].get().is_nan()) {
            let pair = self
                .nodes
                .means_of([self.nodes_of(at), self.nodes_of(at + 1)]);
            self.means[at].set(pair[0]);
            self.means[at + 1].set(pair[1]);
        }
    }

    /// The nodes of the centroid at this index.
    fn nodes_of(&self, at: usize) -> Range<u32> {
        let end = self.ends[at];
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        // Those of a run after the first one begin at its end.
        start.min(end - 1)..end
    }

    /// The number of centroids for whose means `is_before` is true, which are the first ones and at least `from`. Cost: a binary
    /// search.
    fn partition_point(&self, from: usize, is_before: impl Fn(f64) -> bool) -> usize {
        let (mut low, mut high) = (from, self.means.len());
        while low < high {
            let middle = low.midpoint(high);
            match is_before(self.mean(middle)) {
                true => low = middle + 1,
                false => high = middle,
            }
        }
        low
    }

    /// The centroids, by ascending mean.
    pub fn centroids(&self) -> impl ExactSizeIterator<Item = Centroid> + '_ {
        (0..self.means.len()).map(|at| self.centroid(at))
    }

    /// The centroid at this index.
    pub(super) fn centroid(&self, at: usize) -> Centroid {
        let Ranked { mean, weight, .. } = self.ranked(at);
        Centroid { mean, weight }
    }

    /// The centroid at this index, with the sum of the weights before it.
    #[inline]
    fn ranked(&self, at: usize) -> Ranked {
        Ranked {
            mean: self.mean(at),
            weight: self.weight(at),
            before: self.before[at],
        }
    }

    /// The weight of the centroid at this index.
    #[inline]
    fn weight(&self, at: usize) -> i64 {
        self.before.get(at + 1).unwrap_or(&self.extent.weight) - self.before[at]
    }

    /// The value below which the fraction `q` of the samples lies; `q` is in [0, 1]. nan if empty. Cost: a binary
    /// search.
    #[must_use]
    pub fn quantile(&self, q: f64) -> f64 {
        self.at_index(q * self.extent.weight as f64)
    }

    /// [`Compressed::quantile`] for lookups by rank: an index below 1 is the minimum.
    fn quantile_of_rank(&self, q: f64) -> f64 {
        let index = q * self.extent.weight as f64;
        if self.means.len() > 1 && index < 1.0 {
            self.extent.min
        } else {
            self.at_index(index)
        }
    }

    /// The value at a position among the ordered samples, from 0 to the number of samples.
    fn at_index(&self, index: f64) -> f64 {
        let last = match self.means.len() {
            0 => return f64::NAN,
            1 => return self.mean(0),
            len => len - 1,
        };
        let all = self.extent.weight as f64;
        let (first_weight, last_weight) = (self.weight(0), self.weight(last));
        let half_first = first_weight as f64 / 2.0;
        let half_last = last_weight as f64 / 2.0;
        let value = if first_weight > 1 && index < half_first {
            let fraction = (index - 1.0) / (half_first - 1.0);
            interpolate(self.extent.min, self.mean(0), fraction)
        } else if index > all - 1.0 {
            self.extent.max
        } else if last_weight > 1 && all - index <= half_last {
            let fraction = (all - index - 1.0) / (half_last - 1.0);
            interpolate(self.extent.max, self.mean(last), fraction)
        } else {
            self.between_centers(index)
        };
        clamp(value, self.extent.min, self.extent.max)
    }

    /// The first centroid whose center is above an index, or the second or the last one beyond the centers; `None` if there are
    /// fewer than two centroids. Cost: a binary search.
    pub(super) fn right_of(&self, index: f64) -> Option<usize> {
        let last = self.means.len().checked_sub(1).filter(|&last| last > 0)?;
        // A centroid's center is between its start and its end. So the last centroid that starts at or before the index
        // is the left or the right neighbor of the index.
        let whole = index as i64;
        let started = self.before.partition_point(|&before| before <= whole);
        let last_started = started.clamp(1, self.means.len()) - 1;
        let (before, weight) = (self.before[last_started], self.weight(last_started));
        let right = if center(before, weight) <= index {
            last_started + 1
        } else {
            last_started
        };
        Some(right.clamp(1, last))
    }

    /// The value at an index between the centers of the first and the last centroid. The callers exclude indexes outside
    /// the centers, except for rounding near 2^63.
    fn between_centers(&self, index: f64) -> f64 {
        let Some(right) = self.right_of(index) else {
            return f64::NAN;
        };
        self.compute_means(right - 1);
        let (left, right) = (self.ranked(right - 1), self.ranked(right));
        let from_left = index - left.center();
        let to_right = right.center() - index;
        // A centroid of one sample is exact within half a rank.
        if left.weight == 1 && from_left < 0.5 {
            return left.mean;
        }
        if right.weight == 1 && to_right <= 0.5 {
            return right.mean;
        }
        let from_left = from_left - if left.weight == 1 { 0.5 } else { 0.0 };
        let to_right = to_right - if right.weight == 1 { 0.5 } else { 0.0 };
        let distance = from_left + to_right;
        let mut mean = (left.mean * to_right + right.mean * from_left) / distance;
        if !mean.is_finite() {
            let fraction = if distance > 0.0 {
                from_left / distance
            } else {
                0.0
            };
            mean = interpolate(left.mean, right.mean, fraction);
        }
        clamp(mean, left.mean, right.mean)
    }

    /// The fraction of the samples below `x`, counting half of those equal to it; nan if empty. Cost: a binary search.
    #[must_use]
    pub fn cdf(&self, x: f64) -> f64 {
        if self.means.is_empty() || x.is_nan() {
            return f64::NAN;
        }
        if x < self.extent.min {
            return 0.0;
        }
        if x > self.extent.max {
            return 1.0;
        }
        let last = self.means.len() - 1;
        if last == 0 {
            return 0.5;
        }
        let (first, last) = (self.ranked(0), self.ranked(last));
        let all = self.extent.weight as f64;
        if x < first.mean {
            return tail(x, self.extent.min, first, all);
        }
        if x > last.mean {
            // The first centroid of the negated samples.
            let mean = -last.mean;
            return 1.0 - tail(-x, -self.extent.max, Ranked { mean, ..last }, all);
        }
        let from = self.partition_point(0, |mean| mean < x);
        let at = self.ranked(from);
        if at.mean == x {
            let end = self.ranked(self.partition_point(from, |mean| mean <= x) - 1);
            let weight = end.before - at.before + end.weight;
            return (at.before as f64 + weight as f64 / 2.0) / all;
        }
        let left = self.ranked(from - 1);
        if left.weight == 1 && at.weight == 1 {
            return (left.before + 1) as f64 / all;
        }
        let left_part = if left.weight == 1 { 0.5 } else { 0.0 };
        let right_part = if at.weight == 1 { 0.5 } else { 0.0 };
        let between = (left.weight as f64 + at.weight as f64) / 2.0 - left_part - right_part;
        let start = left.before as f64 + left.weight as f64 / 2.0 + left_part;
        let width = at.mean - left.mean;
        let mut inside = between * (x - left.mean) / width;
        if !(width.is_finite() && inside.is_finite()) {
            inside = between * fraction_between(x, left.mean, at.mean);
        }
        (start + inside) / all
    }

    /// The mean of the samples between the quantiles `low` and `high`, 0 ≤ low < high ≤ 1; nan if empty. Cost: one pass
    /// over the centroids.
    #[must_use]
    pub fn trimmed_mean(&self, low: f64, high: f64) -> f64 {
        match self.means.len() {
            0 => return f64::NAN,
            1 => return self.mean(0),
            _ => {}
        }
        let all = self.extent.weight as f64;
        let (low, high) = ((all * low).floor(), (all * high).ceil());
        let parts = || {
            (0..self.means.len()).filter_map(move |at| {
                let node = self.ranked(at);
                let before = node.before as f64;
                let part = (before + node.weight as f64).min(high) - before.max(low);
                (part > 0.0).then_some((node.mean, part))
            })
        };
        let (mut sum, mut count) = (0.0, 0.0);
        for (mean, part) in parts() {
            sum += mean * part;
            count += part;
        }
        if !sum.is_finite() {
            return clamp(
                parts().map(|(mean, part)| mean * (part / count)).sum(),
                self.extent.min,
                self.extent.max,
            );
        }
        clamp(sum / count, self.extent.min, self.extent.max)
    }

    /// The estimated number of samples below `x`, counting half of those equal to it: -2 if empty, -1 below the
    /// minimum, the number of samples above the maximum. Cost: a binary search.
    #[must_use]
    pub fn rank(&self, x: f64) -> i64 {
        if self.means.is_empty() {
            -2
        } else if x < self.extent.min {
            -1
        } else if x > self.extent.max {
            self.extent.weight
        } else {
            // Rounds to the nearest integer, halves towards zero.
            (self.cdf(x) * self.extent.weight as f64 - 0.5).ceil() as i64
        }
    }

    /// The estimated number of samples above `x`, counting half of those equal to it: -2 if empty, the number of
    /// samples below the minimum, -1 above the maximum. Cost: a binary search.
    #[must_use]
    pub fn revrank(&self, x: f64) -> i64 {
        if self.means.is_empty() {
            -2
        } else if x < self.extent.min {
            self.extent.weight
        } else if x > self.extent.max {
            -1
        } else {
            let all = self.extent.weight as f64;
            (all - (self.cdf(x) * all).round()).round() as i64
        }
    }

    /// The estimated value with `rank` ≥ 0 samples below it: nan if empty, the minimum for 0, infinity for the number
    /// of samples or more. Cost: a binary search.
    #[must_use]
    pub fn by_rank(&self, rank: i64) -> f64 {
        if self.means.is_empty() {
            f64::NAN
        } else if rank <= 0 {
            self.extent.min
        } else if rank >= self.extent.weight {
            f64::INFINITY
        } else {
            self.quantile_of_rank(rank as f64 / self.extent.weight as f64)
        }
    }

    /// The estimated value with `rank` ≥ 0 samples above it: nan if empty, the maximum for 0, minus infinity for the
    /// number of samples or more. Cost: a binary search.
    #[must_use]
    pub fn by_revrank(&self, rank: i64) -> f64 {
        if self.means.is_empty() {
            f64::NAN
        } else if rank <= 0 {
            self.extent.max
        } else if rank >= self.extent.weight {
            f64::NEG_INFINITY
        } else {
            self.quantile_of_rank(
                (self.extent.weight - rank - 1) as f64 / self.extent.weight as f64,
            )
        }
    }

    /// Bytes of its blocks.
    pub(super) fn block_bytes(&self) -> usize {
        self.means.capacity() * size_of::<Mean>()
            + self.before.capacity() * size_of::<i64>()
            + self.ends.capacity() * size_of::<u32>()
            + self.nodes.block_bytes()
    }

    pub(super) fn visit(&self, visitor: &mut impl BlockVisitor) {
        visitor.visit(&self.means);
        visitor.visit(&self.before);
        visitor.visit(&self.ends);
        self.nodes.visit(visitor);
    }

    /// Passes block number `index`, of [`Compressed::BLOCKS`], to `mover`.
    pub(super) fn relocate(&mut self, index: usize, mover: &mut impl BlockMover) {
        match index {
            0 => mover.relocate(&mut self.means),
            1 => mover.relocate(&mut self.before),
            2 => mover.relocate(&mut self.ends),
            3 => self.nodes.relocate_means(mover),
            _ => self.nodes.relocate_heavy(mover),
        }
    }

    /// The number of its blocks.
    pub(super) const BLOCKS: usize = 5;
}

/// The fraction of the samples below `x`, where `x` is between the smallest sample and the mean of the first centroid.
fn tail(x: f64, min: f64, first: Ranked, all: f64) -> f64 {
    let width = first.mean - min;
    if width <= 0.0 {
        return 0.0;
    }
    if x == min {
        return 0.5 / all;
    }
    (1.0 + fraction_between(x, min, first.mean) * (first.weight as f64 / 2.0 - 1.0)) / all
}

/// The fraction of the distance from `low` to `high` at which `x` is; low ≤ x ≤ high, low < high.
fn fraction_between(x: f64, low: f64, high: f64) -> f64 {
    let width = high - low;
    if width.is_finite() {
        (x - low) / width
    } else {
        (x / 2.0 - low / 2.0) / (high / 2.0 - low / 2.0)
    }
}

/// The value at this fraction of the distance from `from` to `to`; `from` if the fraction is not finite, which occurs
/// for a first or last centroid of weight 2.
fn interpolate(from: f64, to: f64, fraction: f64) -> f64 {
    if !fraction.is_finite() {
        return from;
    }
    let value = from + fraction * (to - from);
    if value.is_finite() {
        return value;
    }
    let fraction = clamp(fraction, 0.0, 1.0);
    from * (1.0 - fraction) + to * fraction
}
