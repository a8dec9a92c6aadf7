//! What reads of a top-k with a window keep.

use super::TopKWindow;
use crate::blocks::{BlockMover, BlockVisitor, Blocks};
use crate::cache::{Cache, StampNumber};
use crate::top_k::pairs::Pairs;
use crate::window::Panes;

/// The cache of a [`TopKWindow`].
#[derive(Debug, Default)]
pub struct RankingCache {
    /// The list of some panes; that of a period that ends before the time of the read is the second one, so that it replaces
    /// nothing that other reads keep.
    pub(super) rankings: [Option<Ranking>; 2],
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
    /// The ranks of the items; empty until comparisons of items have taken the work of a few passes over all: the rows of a series would
    /// compare long items again and again.
    pub(super) ranks: Vec<u32>,
    /// The work of these comparisons ([`Order::compared`](super::largest::Order::compared)).
    pub(super) compared: u64,
}

impl Ranking {
    fn visit(&self, visitor: &mut impl BlockVisitor) {
        visitor.visit(&self.sums);
        visitor.visit(&self.ranks);
        self.top.bytes.visit(visitor);
    }
}

impl Cache<TopKWindow> for RankingCache {
    #[inline]
    fn forget(&mut self, _: &TopKWindow, freed: &mut impl BlockVisitor) {
        for ranking in self.rankings.iter_mut().filter_map(Option::take) {
            ranking.visit(freed);
        }
    }

    #[inline]
    fn changes(&self) -> u64 {
        self.changes
    }
}

impl Blocks for RankingCache {
    fn for_each_block(&self, visitor: &mut impl BlockVisitor) {
        for ranking in self.rankings.iter().flatten() {
            ranking.visit(visitor);
        }
    }

    fn relocate_block(&mut self, index: usize, mover: &mut impl BlockMover) -> bool {
        let Some(ranking) = self.rankings.iter_mut().flatten().nth(index / 3) else {
            return false;
        };
        match index % 3 {
            0 => mover.relocate(&mut ranking.sums),
            1 => mover.relocate(&mut ranking.ranks),
            _ => ranking.top.bytes.relocate(mover),
        }
        true
    }
}
