//! A filter as its keeper sees it: heap blocks, copies, a digest.

use super::{CuckooFilter, MAX_SUB_FILTERS};
use crate::buffer::{BlockMover, BlockVisitor, Blocks, OutOfMemory, reserve_for};

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

impl CuckooFilter {
    /// A copy of the filter.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let mut sub_filters = Vec::new();
        reserve_for(&mut sub_filters, self.sub_filters.len(), MAX_SUB_FILTERS)?;
        for sub_filter in &self.sub_filters {
            sub_filters.push(sub_filter.try_clone()?);
        }
        Ok(Self {
            sub_filters,
            ..*self
        })
    }

    /// Feeds the whole state, in a form that is equal for equal filters: the header, which fixes the
    /// length of all that follows, and the slots.
    pub fn digest(&self, feed: &mut impl FnMut(&[u8])) {
        feed(&self.header());
        for sub_filter in &self.sub_filters {
            feed(sub_filter.slots());
        }
    }
}
