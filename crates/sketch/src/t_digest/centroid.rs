//! Centroids, their order, and the compression that merges neighbors.

use crate::math;
use crate::memory::{OutOfMemory, try_push};
use std::f64::consts::PI;

/// A node of a digest: a mean and the number of its samples.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Centroid {
    /// The mean of its samples, finite.
    pub mean: f64,
    /// The number of its samples, at least 1.
    pub weight: i64,
}

/// The nodes of two sorted lists in stable order: among equal means those of `earlier` come first.
pub(super) fn in_order(
    earlier: impl IntoIterator<Item: Into<Centroid>, IntoIter: Clone>,
    later: impl IntoIterator<Item: Into<Centroid>, IntoIter: Clone>,
) -> impl Iterator<Item = Centroid> + Clone {
    let mut earlier = earlier.into_iter().map(Into::into);
    let mut later = later.into_iter().map(Into::into);
    let (mut first, mut second): (_, Option<Centroid>) = (earlier.next(), later.next());
    std::iter::from_fn(move || match (first, second) {
        (Some(Centroid { mean, .. }), Some(next)) if next.mean < mean => {
            std::mem::replace(&mut second, later.next())
        }
        (Some(_), _) => std::mem::replace(&mut first, earlier.next()),
        (None, _) => std::mem::replace(&mut second, later.next()),
    })
}

impl From<&Centroid> for Centroid {
    fn from(centroid: &Self) -> Self {
        *centroid
    }
}

impl From<&f64> for Centroid {
    /// A node of one sample.
    fn from(mean: &f64) -> Self {
        Self::from(*mean)
    }
}

impl From<f64> for Centroid {
    /// A node of one sample.
    fn from(mean: f64) -> Self {
        Self { mean, weight: 1 }
    }
}

/// Merges neighbors among sorted nodes as far as the scale function allows (Dunning & Ertl, k2; docs/contributing/formats.md,
/// "t-digests").
///
/// Let q be the fraction of the weight before a position. A centroid may grow as long as its weight times
/// `compression / (2π · total · ln total)` is at most q(1 - q) both at its start and at its end. The first and the last
/// centroid therefore keep weight 1. Merging the result again does not change it. A result of more than `max_len` centroids
/// ends with a heavier one, which the scale function does not allow.
pub(super) struct Walk<'a> {
    scale: &'a Scale,
    max_len: usize,
    /// Of a centroid of several nodes, besides the limit of the scale function.
    max_weight: i64,
    current: Option<Centroid>,
    /// The weight before the current centroid.
    before: i64,
    /// The limit there.
    limit: f64,
}

impl<'a> Walk<'a> {
    pub(super) fn new(scale: &'a Scale, max_len: usize, max_weight: i64) -> Self {
        Self {
            scale,
            max_len,
            max_weight,
            current: None,
            before: 0,
            limit: 0.0,
        }
    }

    /// Merges the next node into the current centroid, or adds that to `result`.
    #[inline(always)]
    pub(super) fn add(
        &mut self,
        node: Centroid,
        result: &mut Vec<Centroid>,
    ) -> Result<(), OutOfMemory> {
        let Some(current) = &mut self.current else {
            self.current = Some(node);
            self.limit = self.scale.limit(self.before);
            return Ok(());
        };
        let weight = current.weight + node.weight;
        let is_allowed = self.scale.allows(self.limit, self.before, weight);
        if is_allowed && weight <= self.max_weight {
            current.merge(node, weight);
            return Ok(());
        }
        let closed = std::mem::replace(current, node);
        self.before += closed.weight;
        self.limit = self.scale.limit(self.before);
        push(closed, result, self.max_len)
    }

    /// Adds the current centroid to `result`. The next one begins after nodes of the weight `skipped`.
    #[inline(always)]
    pub(super) fn close(
        &mut self,
        skipped: i64,
        result: &mut Vec<Centroid>,
    ) -> Result<(), OutOfMemory> {
        if let Some(closed) = self.current.take() {
            self.before += closed.weight;
            push(closed, result, self.max_len)?;
        }
        self.before += skipped;
        Ok(())
    }
}

/// Adds a centroid, or merges it into the last one of `max_len`.
#[inline]
fn push(centroid: Centroid, result: &mut Vec<Centroid>, max_len: usize) -> Result<(), OutOfMemory> {
    let is_full = result.len() >= max_len;
    match result.last_mut().filter(|_| is_full) {
        Some(last) => last.merge(centroid, last.weight + centroid.weight),
        None => try_push(result, centroid)?,
    }
    Ok(())
}

/// The scale function for a sum of weights.
pub(super) struct Scale {
    all: f64,
    /// About 1 / all.
    inverse: f64,
    normalizer: f64,
}

/// More than the difference between a result of [`Scale::limit`] or [`Scale::near_limit`] and the exact number.
const LIMIT_ERROR: f64 = 1.0 / (1u64 << 50) as f64;

impl Scale {
    pub(super) fn new(total: i64, compression: u32) -> Self {
        let all = total as f64;
        Self {
            all,
            inverse: 1.0 / all,
            normalizer: f64::from(compression) / (2.0 * PI * all * math::ln(all)),
        }
    }

    /// Whether two samples in the middle may be merged, if the sum of all weights is `total`.
    pub(super) fn merges_samples(&self, total: i64) -> bool {
        let before = (total - 2) / 2;
        self.allows(self.limit(before), before, 2)
    }

    /// q(1 - q) after this weight.
    #[inline]
    pub(super) fn limit(&self, before: i64) -> f64 {
        let q = before as f64 / self.all;
        q * (1.0 - q)
    }

    /// [`Scale::limit`] without a division.
    #[inline]
    pub(super) fn near_limit(&self, before: i64) -> f64 {
        let q = before as f64 * self.inverse;
        q * (1.0 - q)
    }

    /// Whether a centroid after the weight `before` may have this weight; `limit` is that of `before`.
    #[inline]
    pub(super) fn allows(&self, limit: f64, before: i64, weight: i64) -> bool {
        let scaled = weight as f64 * self.normalizer;
        scaled <= limit && scaled <= self.limit(before + weight)
    }

    /// [`Scale::allows`]; `near_limit` is that of `before`. Most results need no division.
    #[inline]
    pub(super) fn allows_near(&self, near_limit: f64, before: i64, weight: i64) -> bool {
        let scaled = weight as f64 * self.normalizer;
        let distance = near_limit.min(self.near_limit(before + weight)) - scaled;
        if distance.abs() > 4.0 * LIMIT_ERROR {
            return distance > 0.0;
        }
        self.allows(self.limit(before), before, weight)
    }

    /// Whether a centroid that may have a weight may also have each smaller one that is larger than that of its first node. This is
    /// so for exact numbers, because q(1 - q) is concave. It is so for doubles if a step of weight 1 changes the weight that is
    /// scaled by more than twice the error of the limits.
    pub(super) fn is_monotonic(&self) -> bool {
        self.normalizer > 2.0 * LIMIT_ERROR
    }
}

/// A double represents every integer up to this one.
const MAX_EXACT: i64 = 1 << 53;

/// Rounds weights above 2^53 down to doubles, the stored form, so that a digest and its reloaded copy stay equal.
/// Returns the new sum of the weights, which was `total`. Cost: none up to 2^53 samples, otherwise one pass.
pub(super) fn round_weights(centroids: &mut [Centroid], total: i64) -> i64 {
    if total <= MAX_EXACT {
        return total;
    }
    centroids.iter_mut().fold(0, |sum, centroid| {
        centroid.weight = stored_weight(centroid.weight);
        sum + centroid.weight
    })
}

/// The largest integer up to this one that a double represents.
pub(super) fn stored_weight(weight: i64) -> i64 {
    // The number of low bits that do not fit.
    let lost = (i64::BITS - weight.leading_zeros()).saturating_sub(MAX_EXACT.trailing_zeros());
    weight >> lost << lost
}

/// Merges the two lightest neighbors if there are `capacity` centroids or more. Only tiny compressions with weights
/// near 2^63, or crafted payloads, leave that many. Without this the digest would stay full, and a digest above its
/// capacity could not be loaded. Cost: one pass in that case.
pub(super) fn merge_lightest_if_full(centroids: &mut Vec<Centroid>, capacity: usize) {
    if centroids.len() < capacity {
        return;
    }
    let lightest = centroids
        .windows(2)
        .enumerate()
        .min_by_key(|(_, pair)| i128::from(pair[0].weight) + i128::from(pair[1].weight));
    if let Some((at, _)) = lightest {
        let node = centroids.remove(at + 1);
        let weight = centroids[at].weight + node.weight;
        centroids[at].merge(node, weight);
    }
}

impl Centroid {
    /// Merges a node whose mean is not below this one's; `weight` is the sum of their weights. The new mean is always
    /// between the two means, despite rounding or overflow.
    #[inline]
    pub(super) fn merge(&mut self, node: Self, weight: i64) {
        let moment = (node.mean - self.mean) * node.weight as f64;
        self.merge_moment(moment, node, weight);
    }

    /// Merges a sample that is not below the mean. The result is that of [`Centroid::merge`].
    #[inline]
    pub(super) fn merge_sample(&mut self, sample: f64) {
        self.merge_moment(sample - self.mean, sample.into(), self.weight + 1);
    }

    /// [`Centroid::merge`]; `moment` is the distance of the means times the weight of the node.
    #[inline]
    fn merge_moment(&mut self, moment: f64, node: Self, weight: i64) {
        let (low, high) = (self.mean, node.mean);
        let mut mean = low + moment / weight as f64;
        if !mean.is_finite() {
            let share = node.weight as f64 / weight as f64;
            mean = low * (1.0 - share) + high * share;
        }
        self.mean = clamp(mean, low, high);
        self.weight = weight;
    }
}

/// `value` limited to [low, high]. Unlike `f64::clamp` it does not panic, and unlike `f64::max` it keeps the sign of a
/// zero.
#[inline]
pub(super) fn clamp(value: f64, low: f64, high: f64) -> f64 {
    if value < low {
        low
    } else if value > high {
        high
    } else {
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn merged_mean(low: (f64, i64), high: (f64, i64)) -> f64 {
        let mut centroid = Centroid {
            mean: low.0,
            weight: low.1,
        };
        let node = Centroid {
            mean: high.0,
            weight: high.1,
        };
        centroid.merge(node, low.1 + high.1);
        centroid.mean
    }

    #[test]
    fn the_mean_is_weighted_for_extreme_values() {
        assert_eq!(merged_mean((1.0, 3), (2.0, 1)), 1.25);
        let middle = merged_mean((f64::MIN, 1), (f64::MAX, 3));
        assert!((middle / f64::MAX - 0.5).abs() < 1e-15);
        assert_eq!(merged_mean((0.0, 3), (f64::MAX, 1)), f64::MAX / 4.0);
        // Without the clamp, rounding would put this mean above the higher one.
        let high = -0.042_843_000_349_612_86;
        let mean = merged_mean((-1.063_009_348_583_295_7, 1), (high, 1 << 55));
        assert_eq!(mean, high);
        assert_eq!(merged_mean((-5e-324, 1), (5e-324, 1)), 0.0);
    }

    proptest! {
        #[test]
        fn the_merged_mean_is_between_the_two_means(
            mut means in [-1e3..1e3f64, -1e3..1e3f64], near in 0..6u64, weights in [0..62, 0..62],
        ) {
            // Adjacent doubles and very different weights are the worst cases for rounding.
            if near > 2 {
                means[1] = f64::from_bits(means[0].to_bits() ^ near);
            }
            means.sort_by(f64::total_cmp);
            let weights = weights.map(|exponent| 1i64 << exponent);
            let mean = merged_mean((means[0], weights[0]), (means[1], weights[1]));
            prop_assert!(means[0] <= mean && mean <= means[1]);
        }
    }
}
