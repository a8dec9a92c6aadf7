//! A filter as its keeper sees it: heap blocks, copies, a digest.

use super::CuckooFilter;
use crate::blocks::{BlockMover, BlockVisitor, Blocks};

impl Blocks for CuckooFilter {
    fn for_each_block(&self, visitor: &mut impl BlockVisitor) {
        visitor.visit(&self.sub_filters);
        for sub_filter in &self.sub_filters {
            sub_filter.slots().visit(visitor);
        }
    }

    /// Block 0 is the list of sub-filters, block i the slots of sub-filter i - 1.
    fn relocate_block(&mut self, index: usize, mover: &mut impl BlockMover) -> bool {
        let Some(sub_filter) = index.checked_sub(1) else {
            mover.relocate(&mut self.sub_filters);
            return true;
        };
        let Some(sub_filter) = self.sub_filters.get_mut(sub_filter) else {
            return false;
        };
        sub_filter.slots_mut().relocate(mover);
        true
    }
}
