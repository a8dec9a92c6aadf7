//! What reads of a digest keep.

use super::{Compressed, TDigest};
use crate::blocks::{BlockMover, BlockVisitor, Blocks};
use crate::cache::{Cache, StampNumber};
use crate::memory::{OutOfMemory, reserve_exact};

/// The cache of a [`TDigest`]. A digest that is not read has no block for it.
#[derive(Debug, Default)]
pub struct DigestCache {
    /// At most one.
    kept: Vec<Kept>,
    changes: u64,
}

#[derive(Debug, Default)]
struct Kept {
    /// The state of which this is the compressed form; `None` if there is none.
    stamp: Option<StampNumber>,
    compressed: Compressed,
}

impl DigestCache {
    /// Bytes of all its blocks. Cost: constant.
    #[must_use]
    pub fn block_bytes(&self) -> usize {
        let compressed = self.kept.iter().map(|kept| kept.compressed.block_bytes());
        self.kept.capacity() * size_of::<Kept>() + compressed.sum::<usize>()
    }

    /// The kept compressed form, if it is that of this state.
    #[inline]
    pub(super) fn compressed_of(&self, stamp: StampNumber) -> Option<&Compressed> {
        let kept = self.kept.first()?;
        (kept.stamp == Some(stamp)).then_some(&kept.compressed)
    }

    /// Replaces the compressed form with `update`, which gets that of another state or an empty one.
    pub(super) fn update(
        &mut self,
        stamp: StampNumber,
        update: impl FnOnce(&mut Compressed) -> Result<(), OutOfMemory>,
    ) -> Result<(), OutOfMemory> {
        let before = self.block_bytes();
        if self.kept.is_empty() {
            reserve_exact(&mut self.kept, 1)?;
            self.kept.push(Kept::default());
        }
        let kept = &mut self.kept[0];
        kept.stamp = None;
        let updated = update(&mut kept.compressed);
        kept.stamp = updated.is_ok().then_some(stamp);
        self.changes += u64::from(self.block_bytes() != before);
        updated
    }
}

impl Cache<TDigest> for DigestCache {
    /// Keeps a compressed form to which samples can be added.
    #[inline]
    fn forget(&mut self, digest: &TDigest, freed: &mut impl BlockVisitor) {
        if let Some(kept) = self.kept.first()
            && kept.compressed.nodes.key != Some(digest.nodes_key())
        {
            self.for_each_block(freed);
            self.kept = Vec::new();
        }
    }

    #[inline]
    fn changes(&self) -> u64 {
        self.changes
    }
}

impl Blocks for DigestCache {
    fn for_each_block(&self, visitor: &mut impl BlockVisitor) {
        visitor.visit(&self.kept);
        for kept in &self.kept {
            kept.compressed.visit(visitor);
        }
    }

    fn relocate_block(&mut self, index: usize, mover: &mut impl BlockMover) -> bool {
        match index {
            0 => mover.relocate(&mut self.kept),
            1..=Compressed::BLOCKS => {
                for kept in &mut self.kept {
                    kept.compressed.relocate(index - 1, mover);
                }
            }
            _ => return false,
        }
        true
    }
}
