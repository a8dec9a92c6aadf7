//! Merges.

use super::centroid::{in_order, stored_weight};
use super::runs::compress_within;
use super::{Centroid, Compressed, DigestCache, DigestError, Nodes, TDigest, Unmerged};
use crate::cache::with_taken;
use crate::memory::{Budget, OutOfMemory, try_push, with_capacity};
use crate::merge::{Distinct, check_work};
use std::cell::Cell;
use std::ptr;

/// A digest that is merged, and its cache, if there is one.
pub type Operand<'a> = (&'a TDigest, Option<&'a Cell<DigestCache>>);

/// The share of the work limit for nodes that are read again.
const AGAIN_SHARE: u64 = 8;

impl TDigest {
    /// [`TDigest::merge_within`] without caches and without a work limit.
    ///
    /// # Errors
    /// As [`TDigest::merge_within`].
    pub fn merge(
        compression: i64,
        operands: &[&TDigest],
        budget: Budget<'_>,
    ) -> Result<Self, DigestError> {
        let operands: Vec<_> = operands.iter().map(|&digest| (digest, None)).collect();
        Self::merge_within(compression, &operands, budget, u64::MAX)
    }

    /// A new digest of the given compression with the nodes of all `operands`, in their order. An operand may occur
    /// several times. The compressed form is that of its cache, if there is one.
    ///
    /// For each operand, the nodes merged so far are compressed, except a single one, if any of them is new. Then the
    /// centroids of the operand's compressed form are appended like samples. Those of the last operand stay unmerged.
    /// `max_bytes` limits the bytes of the nodes that are read, see [`check_work`], and an eighth of it those that
    /// are read more often than twice: of operands that occur several times, and of the result, which each operand
    /// compresses again. Cost: one pass over the nodes of each operand, and one or more
    /// compressions of the result per operand.
    ///
    /// # Errors
    /// As [`TDigest::new`], which gets `budget`; [`DigestError::Overflow`]; [`DigestError::TooMuchWork`];
    /// [`DigestError::OutOfMemory`]. The operands do not change.
    pub fn merge_within(
        compression: i64,
        operands: &[Operand<'_>],
        budget: Budget<'_>,
        max_bytes: u64,
    ) -> Result<Self, DigestError> {
        operands
            .iter()
            .try_fold(0i64, |sum, (operand, _)| {
                sum.checked_add(operand.observations())
            })
            .ok_or(DigestError::Overflow)?;
        let mut merger = Merger {
            result: Self::new(compression, budget)?,
            merged: Vec::new(),
            run: Vec::new(),
            run_weight: 0,
        };
        let bytes = work_bytes(operands, &merger.result);
        check_work(operands.len(), bytes, max_bytes)?;
        let distinct = Distinct::of(operands.iter().map(|&(operand, _)| ptr::from_ref(operand)))?;
        let once =
            (distinct.firsts.iter()).map(|&first| node_bytes(operands[first].0.nodes() as u64));
        let again = bytes.saturating_sub(once.fold(0, u64::saturating_add).saturating_mul(2));
        check_work(operands.len(), again, max_bytes / AGAIN_SHARE)?;
        let mut occurrences = with_capacity(distinct.firsts.len())?;
        occurrences.resize(distinct.firsts.len(), 0);
        for &number in &distinct.numbers {
            occurrences[number] += 1;
        }
        // The compressed forms of operands that occur again. They are not kept in the operands: that would cost memory
        // in every source.
        let mut kept = with_capacity(distinct.firsts.len())?;
        kept.resize_with(distinct.firsts.len(), || None);
        for (&(operand, cache), number) in operands.iter().zip(distinct.numbers) {
            let merged = cache.and_then(|cache| {
                with_taken(cache, |cache| {
                    let compressed = cache.compressed_of(operand.stamp.number())?;
                    Some(merger.append(operand, compressed))
                })
            });
            if let Some(merged) = merged {
                merged?;
                continue;
            }
            if let Some(compressed) = &kept[number] {
                merger.append(operand, compressed)?;
                continue;
            }
            let compressed = operand.compressed()?;
            merger.append(operand, &compressed)?;
            if occurrences[number] > 1 {
                budget.request(compressed.block_bytes() as u64)?;
                kept[number] = Some(compressed);
            }
        }
        Ok(merger.finish()?)
    }
}

/// Bytes of the nodes that a merge reads: for each operand its own nodes and an estimate of those of the result.
fn work_bytes(operands: &[Operand<'_>], result: &TDigest) -> u64 {
    let compression = u64::from(result.compression);
    let (mut nodes, mut merged) = (0u64, 0u64);
    for (operand, _) in operands {
        let own = operand.nodes() as u64;
        nodes = nodes.saturating_add(own + merged.min(compression));
        merged = merged.saturating_add(own);
    }
    node_bytes(nodes)
}

/// Bytes of this many nodes.
fn node_bytes(nodes: u64) -> u64 {
    nodes.saturating_mul(size_of::<Centroid>() as u64)
}

/// The state of a merge.
struct Merger {
    /// Without its nodes.
    result: TDigest,
    /// The compressed nodes.
    merged: Vec<Centroid>,
    /// The nodes since the last compression, sorted.
    run: Vec<Centroid>,
    /// Sum of their weights.
    run_weight: i64,
}

impl Merger {
    /// Appends the compressed form of an operand.
    fn append(&mut self, operand: &TDigest, compressed: &Compressed) -> Result<(), OutOfMemory> {
        // One node is not compressed, as in RedisBloom.
        if !self.run.is_empty() && self.nodes() > 1 {
            self.compress()?;
        }
        for centroid in compressed.centroids() {
            if self.result.free_nodes(self.nodes()) == 0 {
                self.compress()?;
            }
            let weight = stored_weight(centroid.weight);
            try_push(&mut self.run, Centroid { weight, ..centroid })?;
            // The node of an earlier operand can follow this one.
            if let [.., before, last] = &mut self.run[..]
                && before.mean > last.mean
            {
                std::mem::swap(before, last);
            }
            self.run_weight += weight;
        }
        // The minimum and maximum of an empty operand never replace others.
        if operand.min < self.result.min {
            self.result.min = operand.min;
        }
        if operand.max > self.result.max {
            self.result.max = operand.max;
        }
        Ok(())
    }

    /// The number of nodes.
    fn nodes(&self) -> usize {
        self.merged.len() + self.run.len()
    }

    /// Merges the run into the result.
    fn compress(&mut self) -> Result<(), OutOfMemory> {
        let result = &mut self.result;
        result.weight += std::mem::take(&mut self.run_weight);
        (self.merged, result.weight) = compress_within(
            in_order(&self.merged, &self.run),
            self.merged.len() + self.run.len(),
            result.weight,
            result.compression,
            result.capacity(),
        )?;
        result.compressions += 1;
        self.run.clear();
        Ok(())
    }

    /// Adds the last run to the result as unmerged nodes.
    fn finish(self) -> Result<TDigest, OutOfMemory> {
        let mut result = self.result;
        let mut centroids = with_capacity(self.merged.len() + self.run.len())?;
        centroids.extend(in_order(&self.merged, &self.run));
        result.set_nodes(Nodes::of(&centroids, 0, result.capacity())?);
        result.unmerged = Unmerged {
            nodes: self.run.len(),
            weight: self.run_weight,
        };
        Ok(result)
    }
}
