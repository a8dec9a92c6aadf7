//! What reads of a digest with a window keep.

use super::merges::Merges;
use super::{Compressed, TDigestWindow};
use crate::blocks::{BlockMover, BlockVisitor, Blocks};
use crate::cache::{Cache, StampNumber};
use crate::memory::{OutOfMemory, reserve_exact};
use crate::window::Panes;

/// The stamp of the state, the positions of the first closed pane that counts and of the one after the last, and whether the newest one
/// counts.
type Key = (StampNumber, usize, usize, bool);

/// The cache of a [`TDigestWindow`]. A digest that is not read has no block for it.
#[derive(Debug, Default)]
pub struct WindowCache {
    /// At most two: the second is that of periods that end before the time of the read, so that these replace nothing that other reads
    /// keep.
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
    /// The compressed form of these panes with this key, which `update` computes if it is not kept. `value` identifies the value.
    pub(super) fn answers(
        &mut self,
        panes: Panes,
        key: Key,
        value: u64,
        update: impl FnOnce(&mut Compressed, &mut Merges) -> Result<(), OutOfMemory>,
    ) -> Result<&Compressed, OutOfMemory> {
        let place = usize::from(panes.is_past());
        if self
            .kept
            .get(place)
            .is_none_or(|kept| kept.key != Some(key))
        {
            self.changes += 1;
            if self.kept.first().is_none_or(|kept| kept.merged != value) {
                self.kept.clear();
            }
            while self.kept.len() <= place {
                reserve_exact(&mut self.kept, 1)?;
                self.kept.push(Kept {
                    merged: value,
                    ..Kept::default()
                });
            }
            let kept = &mut self.kept[place];
            kept.key = None;
            update(&mut kept.compressed, &mut kept.merges)?;
            kept.key = Some(key);
        }
        Ok(&self.kept[place].compressed)
    }
}

impl Kept {
    /// Keeps the merges of live panes, and a compressed form to which samples can be added. Returns whether anything is kept.
    fn forget(&mut self, digest: &TDigestWindow, freed: &mut impl BlockVisitor) -> bool {
        let (list, pane) = (digest.newest.samples.list, digest.timeline.newest());
        let nodes = self.compressed.nodes.key;
        if nodes.is_none_or(|(of_list, of_pane, _)| (of_list, of_pane) != (list, pane)) {
            self.compressed.visit(freed);
            (self.key, self.compressed) = (None, Compressed::default());
        }
        self.merges.forget_before(&digest.timeline, freed);
        !self.merges.is_empty() || self.compressed.block_bytes() > 0
    }

    fn relocate_block(&mut self, index: usize, mover: &mut impl BlockMover) -> bool {
        if let Some(index) = index.checked_sub(Compressed::BLOCKS) {
            return self.merges.relocate_block(index, mover);
        }
        self.compressed.relocate(index, mover);
        true
    }
}

impl Cache<TDigestWindow> for WindowCache {
    fn forget(&mut self, digest: &TDigestWindow, freed: &mut impl BlockVisitor) {
        let mut any = false;
        for kept in &mut self.kept {
            any |= kept.forget(digest, freed);
        }
        if !any {
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

    /// Moves the blocks with this number in all elements.
    fn relocate_block(&mut self, index: usize, mover: &mut impl BlockMover) -> bool {
        let Some(index) = index.checked_sub(1) else {
            mover.relocate(&mut self.kept);
            return true;
        };
        let mut any = false;
        for kept in &mut self.kept {
            any |= kept.relocate_block(index, mover);
        }
        any
    }
}
