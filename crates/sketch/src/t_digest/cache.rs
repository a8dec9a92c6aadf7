//! What reads of a digest keep.

use super::samples::{Samples, sort_after};
use super::{Compressed, TDigest};
use crate::blocks::{BlockMover, BlockVisitor, Blocks};
use crate::cache::{Cache, StampNumber};
use crate::memory::{OutOfMemory, reserve_for};

/// The cache of a [`TDigest`].
#[derive(Debug, Default)]
pub struct DigestCache {
    pub(super) sorted: SortedSamples,
    /// The compressed form, and the stamp of its state.
    pub(super) compressed: Option<(StampNumber, Compressed)>,
    pub(super) changes: u64,
}

impl DigestCache {
    /// Bytes of all its blocks. Cost: constant.
    #[must_use]
    pub fn block_bytes(&self) -> usize {
        let compressed = self.compressed.as_ref();
        self.sorted.values.capacity() * size_of::<f64>()
            + compressed.map_or(0, |(_, compressed)| compressed.block_bytes())
    }

    /// The kept compressed form, if it is that of this state.
    #[inline]
    pub(super) fn compressed_of(&self, stamp: StampNumber) -> Option<&Compressed> {
        match &self.compressed {
            Some((of, compressed)) if *of == stamp => Some(compressed),
            _ => None,
        }
    }
}

impl Cache<TDigest> for DigestCache {
    #[inline]
    fn forget(&mut self, digest: &TDigest, freed: &mut impl BlockVisitor) {
        if let Some((_, compressed)) = self.compressed.take() {
            compressed.visit(freed);
        }
        self.sorted.forget(&digest.samples, freed);
    }

    #[inline]
    fn changes(&self) -> u64 {
        self.changes
    }
}

impl Blocks for DigestCache {
    fn for_each_block(&self, visitor: &mut impl BlockVisitor) {
        visitor.visit(&self.sorted.values);
        if let Some((_, compressed)) = &self.compressed {
            compressed.visit(visitor);
        }
    }

    fn relocate_block(&mut self, index: usize, mover: &mut impl BlockMover) -> bool {
        match index {
            0 => mover.relocate(&mut self.sorted.values),
            1 | 2 => {
                if let Some((_, compressed)) = &mut self.compressed {
                    match index {
                        1 => compressed.relocate_means(mover),
                        _ => compressed.relocate_weights(mover),
                    }
                }
            }
            _ => return false,
        }
        true
    }
}

/// A sorted copy of the samples of a digest.
#[derive(Debug, Default)]
pub(super) struct SortedSamples {
    /// The list of samples whose first ones are here; see [`Samples::list`]. 0 before the first use.
    list: u64,
    pub(super) values: Vec<f64>,
}

impl SortedSamples {
    /// Frees the copy of another list. That of the present one is kept: only the samples that are added are inserted later.
    #[inline]
    pub(super) fn forget(&mut self, samples: &Samples, freed: &mut impl BlockVisitor) {
        if self.list != samples.list() && self.list != 0 {
            freed.visit(&self.values);
            *self = Self::default();
        }
    }

    /// The samples in stable order. Cost: O(n log n); linear if only a few samples are new. No copy is made of samples that are
    /// in order.
    pub(super) fn of<'a>(&'a mut self, samples: &'a Samples) -> Result<&'a [f64], OutOfMemory> {
        if samples.is_sorted() {
            return Ok(samples.values());
        }
        if self.list != samples.list() {
            *self = Self {
                list: samples.list(),
                values: Vec::new(),
            };
        }
        let known = self.values.len();
        if known < samples.len() {
            reserve_for(&mut self.values, samples.len(), samples.capacity())?;
            self.values.extend_from_slice(&samples.values()[known..]);
            sort_after(&mut self.values, known.max(samples.sorted()));
        }
        Ok(&self.values)
    }
}
