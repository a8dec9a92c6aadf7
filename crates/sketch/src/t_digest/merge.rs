//! One digest of several.

use super::centroid::{in_order, joined, make_room, round_weights, stored_weight};
use super::{Centroid, Compressed, DigestError, Layout, TDigest, Unmerged};
use crate::memory::{Budget, OutOfMemory, reserve_exact, try_push, with_capacity};
use crate::merge::{Distinct, check_work};
use std::ptr;

impl TDigest {
    /// As [`TDigest::merge_within`], without a limit of the work.
    ///
    /// # Errors
    /// As [`TDigest::merge_within`].
    pub fn merge(
        compression: i64,
        operands: &[&TDigest],
        budget: Budget<'_>,
    ) -> Result<Self, DigestError> {
        Self::merge_within(compression, operands, budget, u64::MAX)
    }

    /// A new digest of the given compression of all that `operands` hold, in their order. A digest
    /// may stand among them several times. For each operand the nodes so far are compressed, unless
    /// none is new, and then the centroids of its compressed form are appended as samples are;
    /// those of the last one stay unmerged (spec: t-digest.md, "Merge"). Cost: one pass over each
    /// distinct operand's nodes, and a compression an operand or more where the capacity is reached.
    /// `max_bytes` limits the nodes that are passed over, see [`check_work`].
    ///
    /// # Errors
    /// As [`TDigest::new`], whose `budget` it takes; [`DigestError::Overflow`];
    /// [`DigestError::TooMuchWork`]; [`DigestError::OutOfMemory`]. The operands stay as they were in any
    /// case.
    pub fn merge_within(
        compression: i64,
        operands: &[&TDigest],
        budget: Budget<'_>,
        max_bytes: u64,
    ) -> Result<Self, DigestError> {
        operands
            .iter()
            .try_fold(0i64, |sum, operand| sum.checked_add(operand.observations()))
            .ok_or(DigestError::Overflow)?;
        let mut merging = Merging {
            result: Self::new(compression, budget)?,
            run: Vec::new(),
            run_weight: 0,
        };
        let bytes = work_bytes(operands, &merging.result);
        check_work(operands.len(), bytes, max_bytes)?;
        let distinct = Distinct::of(operands.iter().map(|&operand| ptr::from_ref(operand)))?;
        let mut occurrences = with_capacity(distinct.firsts.len())?;
        occurrences.resize(distinct.firsts.len(), 0);
        for &number in &distinct.numbers {
            occurrences[number] += 1;
        }
        // Only those of digests that stand among the operands again. None is kept in its digest: it would
        // cost memory in every source.
        let mut kept = with_capacity(distinct.firsts.len())?;
        kept.resize_with(distinct.firsts.len(), || None);
        for (operand, number) in operands.iter().zip(distinct.numbers) {
            if let Some(compressed) = operand.compressed.get().or(kept[number].as_ref()) {
                merging.append(operand, compressed)?;
                continue;
            }
            let compressed = operand.compress()?;
            merging.append(operand, &compressed)?;
            if occurrences[number] > 1 {
                budget.request(compressed.block_bytes() as u64)?;
                kept[number] = Some(compressed);
            }
        }
        Ok(merging.finish()?)
    }
}

/// Bytes of the nodes that a merge passes over: of each operand its own, and those that the result has
/// about.
fn work_bytes(operands: &[&TDigest], result: &TDigest) -> u64 {
    let compression = u64::from(result.compression);
    let (mut nodes, mut merged) = (0u64, 0u64);
    for operand in operands {
        let own = (operand.centroids.len() + operand.samples.borrow().len()) as u64;
        nodes = nodes.saturating_add(own + merged.min(compression));
        merged = merged.saturating_add(own);
    }
    nodes.saturating_mul(size_of::<Centroid>() as u64)
}

/// A merge under way.
struct Merging {
    /// Holds what has been compressed, all of it as centroids.
    result: TDigest,
    /// The centroids of the present operand that came after the last compression, in order.
    run: Vec<Centroid>,
    run_weight: i64,
}

impl Merging {
    /// Appends an operand's compressed form.
    fn append(&mut self, operand: &TDigest, compressed: &Compressed) -> Result<(), OutOfMemory> {
        if !self.run.is_empty() {
            self.compress()?;
        }
        for centroid in compressed.centroids() {
            if self
                .result
                .room(self.result.centroids.len(), self.run.len())
                == 0
            {
                self.compress()?;
            }
            let weight = stored_weight(centroid.weight);
            try_push(&mut self.run, Centroid { weight, ..centroid })?;
            self.run_weight += weight;
        }
        // An empty operand's values are beyond all others.
        if operand.min < self.result.min {
            self.result.min = operand.min;
        }
        if operand.max > self.result.max {
            self.result.max = operand.max;
        }
        Ok(())
    }

    fn compress(&mut self) -> Result<(), OutOfMemory> {
        let result = &mut self.result;
        result.weight += std::mem::take(&mut self.run_weight);
        let mut centroids = joined(
            in_order(&result.centroids, &self.run),
            result.centroids.len() + self.run.len(),
            result.weight,
            result.compression,
        )?;
        make_room(&mut centroids, result.capacity());
        result.weight = round_weights(&mut centroids, result.weight);
        result.centroids = centroids;
        result.compressions += 1;
        self.run.clear();
        Ok(())
    }

    /// Lays the last run among the other centroids, unjoined.
    fn finish(self) -> Result<TDigest, OutOfMemory> {
        let mut result = self.result;
        let mut centroids = Vec::new();
        reserve_exact(&mut centroids, result.centroids.len() + self.run.len())?;
        centroids.extend(in_order(&result.centroids, &self.run));
        result.set_nodes(Layout::of(&centroids, 0, result.capacity())?);
        result.unmerged = Unmerged {
            nodes: self.run.len(),
            weight: self.run_weight,
        };
        Ok(result)
    }
}
