//! Centroids, their order, and the pass that joins neighbours.

use crate::math;
use crate::memory::{OutOfMemory, reserve_exact, try_push};
use std::f64::consts::PI;

/// A node: a mean and the number of samples it stands for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Centroid {
    /// Mean of its samples, finite.
    pub mean: f64,
    /// Number of its samples, at least 1.
    pub weight: i64,
}

/// The nodes of two sorted runs in stable order: among equal means the earlier run's come first.
pub(super) fn in_order<'a, T: Copy + Into<Centroid>>(
    earlier: &'a [Centroid],
    later: &'a [T],
) -> impl Iterator<Item = Centroid> + 'a {
    let (mut earlier, mut later) = (earlier.iter(), later.iter());
    std::iter::from_fn(move || {
        let first = earlier.as_slice().first().copied();
        let second: Option<Centroid> = later.as_slice().first().map(|&node| node.into());
        match (first, second) {
            (Some(first), Some(second)) if second.mean < first.mean => {
                later.next();
                Some(second)
            }
            (Some(first), _) => {
                earlier.next();
                Some(first)
            }
            (None, second) => {
                later.next();
                second
            }
        }
    })
}

impl From<f64> for Centroid {
    /// A node of one sample.
    fn from(mean: f64) -> Self {
        Self { mean, weight: 1 }
    }
}

/// Joins neighbours among nodes that come in order, as far as the scale function allows (Dunning &
/// Ertl, k2; spec: t-digest.md, "Compress"). `total` is the sum of their weights. Every finished
/// centroid goes to `close`, together with the weight before it.
///
/// With q the share of the weight before a place, a centroid may grow while its weight times
/// `compression / (2π · total · ln total)` is at most q(1 - q) both where it starts and where it
/// ends. So the first centroid and the last stay alone. A second pass over what comes out changes
/// nothing. Cost: one pass.
pub(super) fn join(
    mut nodes: impl Iterator<Item = Centroid>,
    total: i64,
    compression: u32,
    mut close: impl FnMut(Centroid, i64) -> Result<(), OutOfMemory>,
) -> Result<(), OutOfMemory> {
    let Some(mut current) = nodes.next() else {
        return Ok(());
    };
    let all = total as f64;
    let normalizer = f64::from(compression) / (2.0 * PI * all * math::ln(all));
    let mut before = 0;
    // q(1 - q) where the current centroid starts.
    let mut limit = 0.0;
    for node in nodes {
        let weight = current.weight + node.weight;
        let scaled = weight as f64 * normalizer;
        let end = (before + weight) as f64 / all;
        if scaled <= limit && scaled <= end * (1.0 - end) {
            current.take_in(node, weight);
        } else {
            close(current, before)?;
            before += current.weight;
            let start = before as f64 / all;
            limit = start * (1.0 - start);
            current = node;
        }
    }
    close(current, before)
}

/// [`join`] into a new vector; `count` is the number of nodes that come.
pub(super) fn joined(
    nodes: impl Iterator<Item = Centroid>,
    count: usize,
    total: i64,
    compression: u32,
) -> Result<Vec<Centroid>, OutOfMemory> {
    let mut centroids = Vec::new();
    // About 2/3 of the compression come out of a full buffer.
    reserve_exact(&mut centroids, count.min(compression as usize))?;
    join(nodes, total, compression, |centroid, _| {
        try_push(&mut centroids, centroid)
    })?;
    Ok(centroids)
}

/// The largest number up to which a double holds every integer.
const EXACT: i64 = 1 << 53;

/// Rounds weights above 2^53 down to what the stored form can hold, a double, so that a digest goes on
/// in memory as it does from a file. Gives back the sum of the weights, which was `total`. Cost:
/// nothing up to 2^53 samples, one pass above.
pub(super) fn round_weights(centroids: &mut [Centroid], total: i64) -> i64 {
    if total <= EXACT {
        return total;
    }
    centroids.iter_mut().fold(0, |sum, centroid| {
        centroid.weight = stored_weight(centroid.weight);
        sum + centroid.weight
    })
}

/// The largest weight up to this one that a double holds.
pub(super) fn stored_weight(weight: i64) -> i64 {
    // So many of the lowest bits are lost: those beyond the 53 below the highest one.
    let lost = (i64::BITS - weight.leading_zeros()).saturating_sub(EXACT.trailing_zeros());
    weight >> lost << lost
}

/// Joins the two lightest neighbours if there are `capacity` centroids or more. Only tiny
/// compressions with weights near 2^63 (or a payload made up so) leave that many: the pass alone
/// would never make room, and a digest over its capacity could not be loaded again. Cost: one pass
/// in that case.
pub(super) fn make_room(centroids: &mut Vec<Centroid>, capacity: usize) {
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
        centroids[at].take_in(node, weight);
    }
}

impl Centroid {
    /// Takes in a node that is not before it; `weight` is the sum of their weights. The new mean
    /// lies between the two, also where rounding or an overflow would lead it astray.
    #[inline]
    fn take_in(&mut self, node: Self, weight: i64) {
        let (low, high) = (self.mean, node.mean);
        let mut mean = low + (high - low) * node.weight as f64 / weight as f64;
        if !mean.is_finite() {
            let share = node.weight as f64 / weight as f64;
            mean = low * (1.0 - share) + high * share;
        }
        self.mean = clamp(mean, low, high);
        self.weight = weight;
    }
}

/// `value` within [low, high]. Unlike `f64::clamp` it never panics, and unlike `f64::max` it leaves
/// the sign of a zero alone.
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

    fn joined_mean(low: (f64, i64), high: (f64, i64)) -> f64 {
        let mut centroid = Centroid {
            mean: low.0,
            weight: low.1,
        };
        let node = Centroid {
            mean: high.0,
            weight: high.1,
        };
        centroid.take_in(node, low.1 + high.1);
        centroid.mean
    }

    #[test]
    fn means_are_weighted_also_at_the_ends_of_the_range() {
        assert_eq!(joined_mean((1.0, 3), (2.0, 1)), 1.25);
        let middle = joined_mean((f64::MIN, 1), (f64::MAX, 3));
        assert!((middle / f64::MAX - 0.5).abs() < 1e-15);
        assert_eq!(joined_mean((0.0, 3), (f64::MAX, 1)), f64::MAX / 4.0);
        // Without care rounding leads this one beyond the higher of the two.
        let high = -0.042_843_000_349_612_86;
        assert_eq!(
            joined_mean((-1.063_009_348_583_295_7, 1), (high, 1 << 55)),
            high
        );
        assert_eq!(joined_mean((-5e-324, 1), (5e-324, 1)), 0.0);
    }

    proptest! {
        #[test]
        fn a_mean_lies_between_those_it_is_made_of(
            mut means in [-1e3..1e3f64, -1e3..1e3f64], near in 0..6u64, weights in [0..62, 0..62],
        ) {
            // Neighbouring numbers, and weights of no proportion, are where rounding could go
            // wrong.
            if near > 2 {
                means[1] = f64::from_bits(means[0].to_bits() ^ near);
            }
            means.sort_by(f64::total_cmp);
            let weights = weights.map(|exponent| 1i64 << exponent);
            let mean = joined_mean((means[0], weights[0]), (means[1], weights[1]));
            prop_assert!(means[0] <= mean && mean <= means[1]);
        }
    }
}
