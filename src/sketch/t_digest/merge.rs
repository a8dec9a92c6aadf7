//! One digest of several.

use super::centroid::{in_order, joined, make_room, round_weights, stored_weight};
use super::{Centroid, Compressed, DigestError, TDigest, Unmerged, try_push};
use crate::sketch::buffer::OutOfMemory;

impl TDigest {
    /// A new digest of the given compression of all that `operands` hold, in their order. A digest
    /// may stand among them several times. For each operand the nodes so far are compressed, unless
    /// none is new, and then the centroids of its compressed form are appended as samples are;
    /// those of the last one stay unmerged (spec: t-digest.md, "Merge"). Cost: one pass over each
    /// operand's nodes, and a compression an operand or more where the capacity is reached.
    ///
    /// # Errors
    /// As [`TDigest::new`], whose `allows` it takes; [`DigestError::Overflow`];
    /// [`DigestError::OutOfMemory`]. The operands stay as they were in any case.
    pub fn merge(
        compression: i64,
        operands: &[&TDigest],
        allows: &dyn Fn(u64) -> bool,
    ) -> Result<Self, DigestError> {
        operands
            .iter()
            .try_fold(0i64, |sum, operand| sum.checked_add(operand.observations()))
            .ok_or(DigestError::Overflow)?;
        let mut merging = Merging {
            result: Self::new(compression, allows)?,
            run: Vec::new(),
            run_weight: 0,
        };
        for operand in operands {
            match operand.compressed.get() {
                Some(compressed) => merging.append(operand, compressed)?,
                // Not kept: it would cost memory in every source.
                None => merging.append(operand, &operand.compress()?)?,
            }
        }
        Ok(merging.finish()?)
    }
}

/// A merge under way.
struct Merging {
    /// Holds what has been compressed.
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
            in_order(&result.centroids, self.run.iter().copied()),
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
        super::try_reserve(&mut centroids, result.centroids.len() + self.run.len())?;
        centroids.extend(in_order(&result.centroids, self.run.iter().copied()));
        result.centroids = centroids;
        result.weight += self.run_weight;
        result.unmerged = Unmerged {
            nodes: self.run.len(),
            weight: self.run_weight,
        };
        Ok(result)
    }
}
