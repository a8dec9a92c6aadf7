//! Additions of samples with weights.

use super::centroid::{in_order, stored_weight};
use super::runs::compress_within;
use super::{Centroid, DigestError, Nodes, TDigest, Unmerged};
use crate::memory::{Budget, OutOfMemory, with_capacity};
use std::cmp::Ordering;

/// The largest weight of a run.
const EXACT: i64 = 1 << 53;

impl TDigest {
    /// A digest of the centroids of another one, in any order. `min` and `max` are its smallest and largest sample: if they are not
    /// around the means, those of the means count. The samples of a centroid may differ: it is a node like those of a merged digest.
    /// The cost is that of [`TDigest::add_weighted`].
    ///
    /// # Errors
    /// Those of [`TDigest::new`] and [`TDigest::add_weighted`], and [`DigestError::NotFinite`] for `min` and `max`.
    pub fn from_centroids(
        compression: i64,
        centroids: &[Centroid],
        min: f64,
        max: f64,
        budget: Budget<'_>,
    ) -> Result<Self, DigestError> {
        let mut digest = Self::new(compression, budget)?;
        if centroids.is_empty() {
            return Ok(digest);
        }
        refuse_if!(!min.is_finite() || !max.is_finite() => DigestError::NotFinite);
        digest.check_weighted(centroids)?;
        digest.add_as(centroids, one_node, budget)?;
        digest.min = if min < digest.min { min } else { digest.min };
        digest.max = if max > digest.max { max } else { digest.max };
        Ok(digest)
    }

    /// Adds samples with weights, in this order. Each counts as often as its weight, like so many samples: repeated ones are a run
    /// (runs.rs). If all weights are 1, the digest is that of [`TDigest::add`]. A weight above 2^53 is rounded down to a double, and
    /// makes a node as those of a merged digest.
    ///
    /// Cost: as [`TDigest::add`] of three times as many samples, and a pass over all nodes.
    ///
    /// # Errors
    /// [`DigestError::NotFinite`], [`DigestError::InvalidWeight`], [`DigestError::Overflow`] if the sum of all weights would exceed
    /// 2^63 - 1, or [`DigestError::OutOfMemory`]; then nothing has changed.
    pub fn add_weighted(
        &mut self,
        samples: &[Centroid],
        budget: Budget<'_>,
    ) -> Result<(), DigestError> {
        self.check_weighted(samples)?;
        if samples.iter().all(|sample| sample.weight == 1) {
            let mut values = with_capacity(samples.len())?;
            values.extend(samples.iter().map(|sample| sample.mean));
            return self.add_within(&values, budget);
        }
        self.add_as(samples, run, budget)?;
        Ok(())
    }

    /// Checks samples with weights before the first of them is added.
    fn check_weighted(&self, samples: &[Centroid]) -> Result<(), DigestError> {
        refuse_if!(!samples.iter().all(|sample| sample.mean.is_finite()) => DigestError::NotFinite);
        let mut sum = self.observations();
        for sample in samples {
            refuse_if!(sample.weight < 1 => DigestError::InvalidWeight);
            sum = sum
                .checked_add(sample.weight)
                .ok_or(DigestError::Overflow)?;
        }
        Ok(())
    }

    /// Adds checked samples, as nodes with the weights that `nodes_of` returns for the weight of a sample; 0 is no node. The new state is built
    /// beside the old one, so that a refused allocation changes nothing.
    pub(super) fn add_as(
        &mut self,
        mut added: &[Centroid],
        nodes_of: fn(i64) -> [i64; 3],
        budget: Budget<'_>,
    ) -> Result<(), OutOfMemory> {
        let nodes_of = |weight| nodes_of(weight).into_iter().filter(|&weight| weight > 0);
        let capacity = self.capacity();
        let mut present = self.samples.with_sorted(|sorted| {
            let mut nodes = with_capacity(self.nodes())?;
            nodes.extend(in_order(self.centroids.nodes(), sorted));
            Ok(nodes)
        })??;
        let (mut unmerged, mut compressions) = (self.unmerged, self.compressions);
        // After a compression of this call. Not from the number of compressions, which saturates.
        let mut is_compressed = false;
        let mut weight = self.observations();
        let (mut min, mut max) = (self.min, self.max);
        for sample in added {
            // Of two equal extremes (0.0 and -0.0), the first one counts.
            min = if sample.mean < min { sample.mean } else { min };
            max = if sample.mean > max { sample.mean } else { max };
        }
        loop {
            let mut free = self.free_nodes(present.len());
            let fitting = added.iter().take_while(|sample| {
                let left = free.checked_sub(nodes_of(sample.weight).count());
                free = left.unwrap_or(0);
                left.is_some()
            });
            // A compression of a tiny digest may leave too few free nodes. Another one follows if there are too many then.
            let count = fitting.count().max(usize::from(is_compressed));
            let (now, later) = added.split_at(count.min(added.len()));
            let mut numbered = with_capacity(now.len())?;
            numbered.extend(now.iter().zip(0usize..));
            // In stable order: 0.0 and -0.0 are equal. No mean is nan.
            numbered.sort_unstable_by(|(one, number), (other, other_number)| {
                let order = one.mean.partial_cmp(&other.mean);
                order
                    .unwrap_or(Ordering::Equal)
                    .then(number.cmp(other_number))
            });
            let mut run = with_capacity(3 * now.len())?;
            for (&Centroid { mean, weight }, _) in numbered {
                let weights = nodes_of(stored_weight(weight));
                run.extend(weights.map(|weight| Centroid { mean, weight }));
            }
            let sum: i64 = run.iter().map(|sample| sample.weight).sum();
            weight += sum;
            unmerged.nodes += run.len();
            unmerged.weight += sum;
            let mut nodes = with_capacity(present.len() + run.len())?;
            nodes.extend(in_order(&present, &run));
            present = nodes;
            added = later;
            if added.is_empty() && present.len() <= capacity {
                break;
            }
            (present, weight) = compress_within(
                present.iter().copied(),
                present.len(),
                weight,
                self.compression,
                capacity,
            )?;
            compressions = compressions.saturating_add(1);
            unmerged = Unmerged::default();
            is_compressed = true;
        }
        let nodes = Nodes::of(&present, 0, capacity)?;
        self.request_growth(nodes.block_bytes(), budget)?;
        self.set_nodes(nodes);
        (self.unmerged, self.compressions) = (unmerged, compressions);
        (self.min, self.max) = (min, max);
        Ok(())
    }
}

/// The node of a centroid, whose samples may differ.
pub(super) fn one_node(weight: i64) -> [i64; 3] {
    [weight, 0, 0]
}

/// The nodes of equal samples.
fn run(weight: i64) -> [i64; 3] {
    match weight {
        2 => [1, 1, 0],
        3..=EXACT => [1, weight - 2, 1],
        _ => one_node(weight),
    }
}
