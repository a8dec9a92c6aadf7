//! How far the ranks of the answers are from the quantiles that they answer.

use super::{Compressed, TDigest, TDigestWindow};
use crate::accuracy::{Accuracy, Field, Figure};
use crate::math;
use crate::memory::OutOfMemory;
use crate::stored::Stored;
use crate::window::Panes;

impl Compressed {
    /// The typical upper limit of the distance between a quantile and the range of the ranks of its answer, as a share of the
    /// samples: at least the distance for 95 % of the digests in docs/commands/sketch.accuracy.md. Cost: a binary search.
    ///
    /// Answers are interpolated between two centroids. If the density of the samples is not constant there, the error is up to a
    /// sixth of their weight times the logarithm of the ratio of the densities beside and between them. The random order of the
    /// samples, and compressions, which start at the smallest sample, move the borders of centroids. The constants are those of a simulation.
    fn rank_error(&self, quantile: f64) -> f64 {
        let max = quantile.max(1.0 - quantile);
        let extent = self.extent();
        let all = extent.weight;
        let Some(right) = self.right_of(quantile * all as f64) else {
            return if all <= 1 || extent.min == extent.max {
                0.0
            } else {
                max
            };
        };
        let pair = [right - 1, right].map(|at| self.centroid(at));
        let weight = pair[0].weight.max(pair[1].weight) as f64;
        if weight == 1.0 || pair[0].mean == pair[1].mean {
            return 0.0;
        }
        let between = self.ln_width(right);
        let neighbors = [right - 1, right + 1].into_iter();
        let logarithm = neighbors
            .filter(|other| (1..self.centroids().len()).contains(other))
            .map(|other| (self.ln_width(other) - between).abs())
            .fold(f64::NAN, f64::max);
        // It is infinite or nan beside equal means, or if there are two centroids only: nothing is known of the density.
        let share = match logarithm.is_finite() {
            true => 0.2 * logarithm + 0.03,
            false => 1.0,
        };
        ((share * weight + 0.8 * weight.sqrt()) / all as f64).min(max)
    }

    /// The logarithm of the mean distance between the samples of this centroid and the one before it. Half of the distance: the
    /// whole one can be infinite.
    fn ln_width(&self, right: usize) -> f64 {
        let [left, right] = [right - 1, right].map(|at| self.centroid(at));
        let width = right.mean / 2.0 - left.mean / 2.0;
        math::ln(width / (left.weight as f64 + right.weight as f64))
    }

    fn fields(&self) -> Vec<Field> {
        let error = |quantile| Figure::Ratio(self.rank_error(quantile));
        vec![
            (c"rank error p50", error(0.5)),
            (c"rank error p90", error(0.9)),
            (c"rank error p99", error(0.99)),
            (
                c"samples",
                Figure::Count(self.extent().weight.cast_unsigned()),
            ),
        ]
    }
}

impl Accuracy for TDigest {
    fn accuracy(
        &self,
        _: Panes,
        cache: &mut <Self as Stored>::Cache,
    ) -> Result<Vec<Field>, OutOfMemory> {
        self.compressed_with(cache).map(Compressed::fields)
    }
}

impl Accuracy for TDigestWindow {
    fn accuracy(
        &self,
        panes: Panes,
        cache: &mut <Self as Stored>::Cache,
    ) -> Result<Vec<Field>, OutOfMemory> {
        self.compressed_at(panes, cache).map(Compressed::fields)
    }
}
