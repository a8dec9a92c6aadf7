//! What reads of a digest with a window keep.

use super::merges::Merges;
use super::{Compressed, TDigestWindow};
use crate::blocks::{BlockMover, BlockVisitor, Blocks};
use crate::cache::{Cache, StampNumber};
use crate::memory::{OutOfMemory, reserve_exact};
use crate::window::Panes;
use std::ops::Range;

/// The stamp of the state, the positions of the closed panes that count, and whether the newest one counts.
type Key = (StampNumber, Range<usize>, bool);

/// The cache of a [`TDigestWindow`]. A digest that is not read has no block for it.
#[derive(Debug, Default)]
pub struct WindowCache {
    recent: Slot,
    /// Of periods that end before the time of the read, so that they replace nothing that other reads keep.
    past: Slot,
    changes: u64,
}

/// What reads of some kind keep: at most one element.
#[derive(Debug, Default)]
struct Slot(Vec<Kept>);

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
    /// The compressed form of these panes with this key, which `update` computes if it is not kept. `value` identifies the value.
    pub(super) fn answers(
        &mut self,
        panes: Panes,
        key: Key,
        value: u64,
        update: impl FnOnce(&mut Compressed, &mut Merges) -> Result<(), OutOfMemory>,
    ) -> Result<&Compressed, OutOfMemory> {
        let Slot(slot) = match panes.is_past() {
            true => &mut self.past,
            false => &mut self.recent,
        };
        if slot
            .first()
            .is_none_or(|kept| kept.key.as_ref() != Some(&key))
        {
            self.changes += 1;
            if slot.first().is_none_or(|kept| kept.merged != value) {
                slot.clear();
                reserve_exact(slot, 1)?;
                slot.push(Kept {
                    merged: value,
                    ..Kept::default()
                });
            }
            let kept = &mut slot[0];
            kept.key = None;
            update(&mut kept.compressed, &mut kept.merges)?;
            kept.key = Some(key);
        }
        Ok(&slot[0].compressed)
    }
}

impl Slot {
    /// Keeps the merges of live panes, and a compressed form to which samples can be added.
    fn forget(&mut self, digest: &TDigestWindow, freed: &mut impl BlockVisitor) {
        let Some(kept) = self.0.first_mut() else {
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
            freed.visit(&self.0);
            self.0 = Vec::new();
        }
    }
}

impl Blocks for Slot {
    fn for_each_block(&self, visitor: &mut impl BlockVisitor) {
        visitor.visit(&self.0);
        for kept in &self.0 {
            kept.compressed.visit(visitor);
            kept.merges.for_each_block(visitor);
        }
    }

    fn relocate_block(&mut self, index: usize, mover: &mut impl BlockMover) -> bool {
        if index == 0 {
            mover.relocate(&mut self.0);
            return true;
        }
        let Some(kept) = self.0.first_mut() else {
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

impl Cache<TDigestWindow> for WindowCache {
    #[inline]
    fn forget(&mut self, digest: &TDigestWindow, freed: &mut impl BlockVisitor) {
        self.recent.forget(digest, freed);
        self.past.forget(digest, freed);
    }

    #[inline]
    fn changes(&self) -> u64 {
        self.changes
    }
}

impl Blocks for WindowCache {
    fn for_each_block(&self, visitor: &mut impl BlockVisitor) {
        self.recent.for_each_block(visitor);
        self.past.for_each_block(visitor);
    }

    /// Moves the blocks with this number in both slots.
    fn relocate_block(&mut self, index: usize, mover: &mut impl BlockMover) -> bool {
        let in_recent = self.recent.relocate_block(index, mover);
        self.past.relocate_block(index, mover) || in_recent
    }
}
