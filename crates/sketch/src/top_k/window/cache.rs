//! What reads of a top-k with a window keep.

use super::TopKWindow;
use crate::blocks::{BlockMover, BlockVisitor, Blocks};
use crate::cache::{Cache, StampNumber};
use crate::top_k::pairs::Pairs;
use crate::window::Panes;

/// The cache of a [`TopKWindow`].
#[derive(Debug, Default)]
pub struct RankingCache {
    /// The list of some panes.
    pub(super) ranking: Option<Ranking>,
    pub(super) changes: u64,
}

/// The list of some panes: those at a time after the newest one, or a part of the window.
#[derive(Debug)]
pub(super) struct Ranking {
    /// The stamp of the state, and the panes.
    pub(super) key: (StampNumber, Panes),
    /// The counts of the candidates in the list; 0 for the others. While the list is computed, the sums of those that can be in it.
    pub(super) sums: Vec<u64>,
    /// (count, candidate + 1), the smallest count first; (0, 0) before the first item.
    pub(super) top: Pairs,
}

impl Cache<TopKWindow> for RankingCache {
    #[inline]
    fn forget(&mut self, _: &TopKWindow, freed: &mut impl BlockVisitor) {
        if let Some(ranking) = self.ranking.take() {
            freed.visit(&ranking.sums);
            ranking.top.buffer().visit(freed);
        }
    }

    #[inline]
    fn changes(&self) -> u64 {
        self.changes
    }
}

impl Blocks for RankingCache {
    fn for_each_block(&self, visitor: &mut impl BlockVisitor) {
        if let Some(ranking) = &self.ranking {
            visitor.visit(&ranking.sums);
            ranking.top.buffer().visit(visitor);
        }
    }

    fn relocate_block(&mut self, index: usize, mover: &mut impl BlockMover) -> bool {
        let Some(ranking) = &mut self.ranking else {
            return false;
        };
        match index {
            0 => mover.relocate(&mut ranking.sums),
            1 => ranking.top.buffer_mut().relocate(mover),
            _ => return false,
        }
        true
    }
}
