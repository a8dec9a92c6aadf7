//! How far the ranks of the answers are from the quantiles that they answer.

use super::{Compressed, TDigest, TDigestWindow};
use crate::accuracy::{Accuracy, Field, Figure};
use crate::math;
use crate::memory::OutOfMemory;
use crate::stored::Stored;
use crate::window::Panes;

impl Compressed {
    /// A typical limit of the distance between a quantile and the range of the ranks of its answer, as a share of the samples: at
    /// least the distance for 95 % of the digests in docs/commands/sketch.accuracy.md. Cost: a binary search.
    ///
    /// The answer is interpolated between two centroids. It is accurate if the distances of the means around them are equal:
    /// additions and compressions then move as many samples up as down. Otherwise, the error is a share of their weight that grows with
    /// the logarithm of the ratio of the distances. The second term is that of the random order of the nodes that were added, with
    /// their mean weight. The constants are those of a simulation.
    fn rank_error(&self, quantile: f64, added_weight: f64) -> f64 {
        let max = quantile.max(1.0 - quantile);
        let extent = self.extent;
        let all = extent.weight as f64;
        let Some(right) = self.right_of(quantile * all) else {
            let is_exact = extent.weight <= 1 || extent.min == extent.max;
            return if is_exact { 0.0 } else { max };
        };
        let pair = [right - 1, right].map(|at| self.centroid(at));
        let weight = pair[0].weight.max(pair[1].weight) as f64;
        // A run has a node of weight 1 at each end.
        let is_equal = pair[0].mean == pair[1].mean;
        if weight == 1.0 || (is_equal && pair.iter().any(|each| each.weight == 1)) {
            return 0.0;
        }
        let between = self.ln_distance(right);
        let ratio = [right - 1, right + 1]
            .into_iter()
            .filter(|&other| 0 < other && other < self.centroids().len())
            .map(|other| (self.ln_distance(other) - between).abs())
            .fold(f64::NAN, f64::max);
        // Infinite or nan beside equal means, and if there are only two centroids.
        let share = match ratio.is_finite() {
            true => 0.4 * ratio,
            // Of digests with the same contents, whose errors add up.
            false if is_equal => 4.0,
            false => 1.0,
        };
        let order = 0.6 * (weight * weight.min(added_weight)).sqrt();
        ((share * weight + order) / all).min(max)
    }

    /// The logarithm of half of the distance between the mean of this centroid and that of the one before it. The whole
    /// distance can be infinite.
    fn ln_distance(&self, right: usize) -> f64 {
        let [left, right] = [right - 1, right].map(|at| self.centroid(at).mean);
        math::ln(right / 2.0 - left / 2.0)
    }

    /// `added_weight` is the mean weight of the nodes that were added.
    fn fields(&self, added_weight: f64) -> Vec<Field> {
        let error = |quantile| Figure::Ratio(self.rank_error(quantile, added_weight));
        vec![
            (c"rank error p50", error(0.5)),
            (c"rank error p90", error(0.9)),
            (c"rank error p99", error(0.99)),
            (
                c"samples",
                Figure::Count(self.extent.weight.cast_unsigned()),
            ),
        ]
    }
}

impl TDigest {
    /// The mean weight of the nodes that were added. It is 1 if the number of samples fits that of compressions, each of which is due
    /// at the capacity and leaves fewer centroids than the compression. Otherwise, nodes of other digests were added, of which a
    /// compression reads those of one digest: about 2/3 of the compression.
    fn added_weight(&self) -> f64 {
        let (all, compressions) = (self.observations() as f64, self.compressions as f64);
        let (capacity, compression) = (self.capacity() as f64, f64::from(self.compression));
        let least = compressions * (capacity - 1.0 - compression);
        if (least..=(compressions + 1.0) * capacity).contains(&all) {
            return 1.0;
        }
        let read = compressions * compression * 2.0 / 3.0;
        (all / (self.nodes() as f64 + read)).max(1.0)
    }
}

impl Accuracy for TDigest {
    fn accuracy(
        &self,
        _: Panes,
        cache: &mut <Self as Stored>::Cache,
    ) -> Result<Vec<Field>, OutOfMemory> {
        let compressed = self.compressed_with(cache)?;
        Ok(compressed.fields(self.added_weight()))
    }
}

impl Accuracy for TDigestWindow {
    fn accuracy(
        &self,
        panes: Panes,
        cache: &mut <Self as Stored>::Cache,
    ) -> Result<Vec<Field>, OutOfMemory> {
        let compressed = self.compressed_at(panes, cache)?;
        Ok(compressed.fields(1.0))
    }
}
