//! What reads of a digest with a window keep.

use super::merges::Merges;
use super::{Compressed, SortedSamples, TDigestWindow};
use crate::blocks::{BlockMover, BlockVisitor, Blocks};
use crate::cache::{Cache, StampNumber};
use crate::memory::OutOfMemory;

/// The stamp of the state, the number of the closed panes that count, and whether the newest one counts.
type Key = (StampNumber, usize, bool);

/// The cache of a [`TDigestWindow`].
#[derive(Debug, Default)]
pub struct WindowCache {
    /// Those of the newest pane.
    sorted: SortedSamples,
    /// Kept across additions. The panes identify a merge, as long as the value is the same.
    merges: Merges,
    /// The value of the merges; see [`Stamp::value`](crate::cache::Stamp::value).
    merged: u64,
    answers: Option<(Key, Compressed)>,
    changes: u64,
}

impl WindowCache {
    /// The compressed form with this key, which `compute` computes if it is not kept. `value` identifies the value.
    pub(super) fn answers(
        &mut self,
        key: Key,
        value: u64,
        compute: impl FnOnce(&mut SortedSamples, &mut Merges) -> Result<Compressed, OutOfMemory>,
    ) -> Result<&Compressed, OutOfMemory> {
        if (self.answers.as_ref()).is_none_or(|(kept, _)| *kept != key) {
            self.changes += 1;
            self.answers = None;
            if self.merged != value {
                (self.merges, self.merged) = (Merges::default(), value);
            }
            let computed = compute(&mut self.sorted, &mut self.merges)?;
            self.answers = Some((key, computed));
        }
        let (_, compressed) = self.answers.as_ref().expect("computed above");
        Ok(compressed)
    }
}

impl Cache<TDigestWindow> for WindowCache {
    /// Keeps the merges of live panes.
    fn forget(&mut self, digest: &TDigestWindow, freed: &mut impl BlockVisitor) {
        if let Some((_, compressed)) = self.answers.take() {
            compressed.visit(freed);
        }
        self.sorted.forget(&digest.newest.samples, freed);
        self.merges.forget_before(&digest.timeline, freed);
    }

    #[inline]
    fn changes(&self) -> u64 {
        self.changes
    }
}

impl Blocks for WindowCache {
    fn for_each_block(&self, visitor: &mut impl BlockVisitor) {
        visitor.visit(&self.sorted.values);
        if let Some((_, compressed)) = &self.answers {
            compressed.visit(visitor);
        }
        self.merges.for_each_block(visitor);
    }

    fn relocate_block(&mut self, index: usize, mover: &mut impl BlockMover) -> bool {
        match index {
            0 => mover.relocate(&mut self.sorted.values),
            1 | 2 => {
                if let Some((_, compressed)) = &mut self.answers {
                    match index {
                        1 => compressed.relocate_means(mover),
                        _ => compressed.relocate_weights(mover),
                    }
                }
            }
            _ => return self.merges.relocate_block(index - 3, mover),
        }
        true
    }
}
