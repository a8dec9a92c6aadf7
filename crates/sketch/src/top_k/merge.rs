//! The merge of sketches without a window.
//!
//! The buckets are merged one by one: the counts of equal fingerprints are added, and of different ones the larger count remains.
//! If two items share a bucket, the one with the smaller count loses its count. Therefore the buckets of the most frequent items of
//! both lists are set to the sums of their estimates afterwards. No estimate exceeds the number of occurrences, except for items of equal fingerprints.

use super::heap::Heap;
use super::item_hash::{Buckets, ItemHash};
use super::parameters::Parameters;
use super::{Table, TopK};
use crate::blocks::BlockChanges;
use crate::memory::{Budget, OutOfMemory, with_capacity};
use crate::merge::{Difference, check_equal};
use std::cmp::Reverse;

/// Why sketches were not merged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// The sketches have different parameters.
    #[error("TopK: {0}")]
    Differ(#[from] Difference),
    /// A sum of counts exceeds 32 bits.
    #[error("TopK: a count would exceed 4,294,967,295")]
    Overflow,
    /// The memory for the merged sketch was refused.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
}

/// A listed item.
struct Candidate<'a> {
    item: &'a [u8],
    hash: ItemHash,
    /// The sum of its estimates.
    count: u32,
}

impl TopK {
    /// Adds the counts of another sketch with the same k, width, depth and decay. The list then has the `k` items of both lists
    /// with the largest sums of their estimates. The random state stays.
    ///
    /// Cost: one step per bucket, and a sort of both lists. Allocates as much memory as a new sketch, and 88 bytes for each item of
    /// the lists.
    ///
    /// # Errors
    /// [`MergeError`]; then nothing has changed.
    pub fn merge(&mut self, other: &Self) -> Result<(), MergeError> {
        self.check_parameters(other)?;
        let rows = self.rows();
        let candidates = self.candidates(other)?;
        let mut table = self.table.try_clone()?;
        table.merge(&other.table)?;
        let mut heap = Heap::new(self.parameters().k)?;
        let mut uncounted = BlockChanges::<()>::default();
        // The largest first, for which the root is vacant.
        for Candidate { item, hash, count } in &candidates {
            heap.reserve(item.len(), Budget::UNLIMITED, &mut uncounted)?;
            heap.replace_root(item, hash.fingerprint, *count, &mut uncounted);
        }
        // The largest last, so that they keep the buckets that they share with smaller ones.
        for Candidate { item, hash, count } in candidates.iter().rev() {
            table.raise(Buckets { item, hash, rows }, *count);
        }
        heap.trim()?;
        (self.table, self.heap) = (table, heap);
        Ok(())
    }

    /// The items that the list has after a merge, the largest count first; of equal counts, in the order of the items.
    fn candidates<'a>(&'a self, other: &'a Self) -> Result<Vec<Candidate<'a>>, MergeError> {
        let rows = self.rows();
        let mut candidates = with_capacity(self.item_count() + other.item_count())?;
        let items = self.heap.iter().map(|element| element.item).chain(
            other
                .heap
                .iter()
                .filter(|element| self.heap.find(element.item, element.fingerprint).is_none())
                .map(|element| element.item),
        );
        for item in items {
            let hash = ItemHash::new(item, rows);
            let count = self
                .max_estimate(item, &hash)
                .checked_add(other.max_estimate(item, &hash))
                .ok_or(MergeError::Overflow)?;
            if count > 0 {
                candidates.push(Candidate { item, hash, count });
            }
        }
        candidates.sort_unstable_by_key(|candidate| (Reverse(candidate.count), candidate.item));
        candidates.truncate(self.heap.len());
        Ok(candidates)
    }

    /// The count of the item in the list or in its buckets, whichever is larger: counts in buckets can have decayed.
    fn max_estimate(&self, item: &[u8], hash: &ItemHash) -> u32 {
        let rows = self.rows();
        let in_buckets = self.table.estimate(Buckets { item, hash, rows });
        let position = self.heap.find(item, hash.fingerprint);
        let listed = position.and_then(|position| self.heap.element(position));
        in_buckets.max(listed.map_or(0, |element| element.count))
    }

    fn check_parameters(&self, other: &Self) -> Result<(), MergeError> {
        let (Parameters { k, .. }, Parameters { k: other_k, .. }) =
            (self.parameters(), other.parameters());
        check_equal("k", k, other_k)?;
        check_equal("width", self.width, other.width)?;
        check_equal("depth", self.depth, other.depth)?;
        check_equal("decay", self.decay(), other.decay())?;
        Ok(())
    }
}

impl Table {
    /// Adds the counts of another table of the same dimensions, bucket by bucket: those of equal fingerprints are added, and of
    /// different ones the larger count remains, or this one if they are equal.
    ///
    /// # Errors
    /// [`MergeError::Overflow`]; then a part of the buckets is merged.
    fn merge(&mut self, other: &Self) -> Result<(), MergeError> {
        for bucket in 0..self.buckets.len() {
            let (owner, count) = self.buckets.get(bucket);
            let (other_owner, other_count) = other.buckets.get(bucket);
            let merged = if owner == other_owner {
                let sum = count.checked_add(other_count);
                (owner, sum.ok_or(MergeError::Overflow)?)
            } else if other_count > count {
                (other_owner, other_count)
            } else {
                (owner, count)
            };
            self.buckets.set(bucket, merged);
        }
        Ok(())
    }

    /// Sets the buckets of the item to `count`, except for those with a larger count.
    fn raise(&mut self, item: Buckets<'_>, count: u32) {
        let fingerprint = item.fingerprint();
        item.for_each(|bucket| {
            if self.buckets.get(bucket).1 < count {
                self.buckets.set(bucket, (fingerprint, count));
            }
        });
    }
}
