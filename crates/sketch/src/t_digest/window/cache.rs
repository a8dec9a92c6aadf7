//! What reads of a digest with a window keep.

use super::merges::Merges;
use super::{Compressed, TDigestWindow};
use crate::blocks::{BlockMover, BlockVisitor, Blocks};
use crate::cache::{Cache, StampNumber};
use crate::memory::{OutOfMemory, reserve_exact};

/// The stamp of the state, the number of the closed panes that count, and whether the newest one counts.
type Key = (StampNumber, usize, bool);

/// The cache of a [`TDigestWindow`]. A digest that is not read has no block for it.
#[derive(Debug, Default)]
pub struct WindowCache {
    /// At most one.
    kept: Vec<Kept>,
    changes: u64,
}

#[derive(Debug, Default)]
struct Kept {
    /// Kept across additions. The panes identify a merge, as long as the value is the same.
    merges: Merges,
    /// The value of the merges; see [`Stamp::value`](crate::cache::Stamp::value).
    merged: u64,
    /// What the compressed form was computed from; `None` if there is none.
    key: Option<Key>,
    compressed: Compressed,
}

impl WindowCache {
    /// The compressed form with this key, which `update` computes if it is not kept. `value` identifies the value.
    pub(super) fn answers(
        &mut self,
        key: Key,
        value: u64,
        update: impl FnOnce(&mut Compressed, &mut Merges) -> Result<(), OutOfMemory>,
    ) -> Result<&Compressed, OutOfMemory> {
        if self.kept.first().is_none_or(|kept| kept.key != Some(key)) {
            self.changes += 1;
            if self.kept.first().is_none_or(|kept| kept.merged != value) {
                self.kept.clear();
                reserve_exact(&mut self.kept, 1)?;
                self.kept.push(Kept {
                    merged: value,
                    ..Kept::default()
                });
            }
            let kept = &mut self.kept[0];
            kept.key = None;
            update(&mut kept.compressed, &mut kept.merges)?;
            kept.key = Some(key);
        }
        Ok(&self.kept[0].compressed)
    }
}

impl Cache<TDigestWindow> for WindowCache {
    /// Keeps the merges of live panes, and a compressed form to which samples can be added.
    fn forget(&mut self, digest: &TDigestWindow, freed: &mut impl BlockVisitor) {
        let Some(kept) = self.kept.first_mut() else {
            return;
        };
        let (list, pane) = (digest.newest.samples.list(), digest.timeline.newest());
        let nodes = kept.compressed.nodes().key();
        if nodes.is_none_or(|(of_list, of_pane, _)| (of_list, of_pane) != (list, pane)) {
            kept.compressed.visit(freed);
            (kept.key, kept.compressed) = (None, Compressed::default());
        }
        kept.merges.forget_before(&digest.timeline, freed);
        if kept.merges.is_empty() && kept.compressed.block_bytes() == 0 {
            freed.visit(&self.kept);
            self.kept = Vec::new();
        }
    }

    #[inline]
    fn changes(&self) -> u64 {
        self.changes
    }
}

impl Blocks for WindowCache {
    fn for_each_block(&self, visitor: &mut impl BlockVisitor) {
        visitor.visit(&self.kept);
        for kept in &self.kept {
            kept.compressed.visit(visitor);
            kept.merges.for_each_block(visitor);
        }
    }

    fn relocate_block(&mut self, index: usize, mover: &mut impl BlockMover) -> bool {
        if index == 0 {
            mover.relocate(&mut self.kept);
            return true;
        }
        let Some(kept) = self.kept.first_mut() else {
            return false;
        };
        match index - 1 {
            index if index < Compressed::BLOCKS => kept.compressed.relocate(index, mover),
            index => {
                return kept
                    .merges
                    .relocate_block(index - Compressed::BLOCKS, mover);
            }
        }
        true
    }
}
