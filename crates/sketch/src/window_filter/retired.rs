//! Large arrays that are no longer used, whose memory is freed step by step.

use crate::blocks::{BlockChanges, BlockMover, BlockVisitor};
use crate::buffer::Buffer;
use crate::memory::{optional, try_push};
use crate::window::RELEASED_BYTES;

/// Arrays that a sketch no longer uses. They are not part of its state, so all lists are equal.
#[derive(Debug, Default)]
pub struct Retired(Vec<Buffer>);

impl PartialEq for Retired {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for Retired {}

impl Retired {
    /// Frees a small array now, and a large one step by step.
    pub fn add(&mut self, array: Buffer) {
        if array.len() > 2 * RELEASED_BYTES {
            // Without memory for the list, the array is freed now.
            let _ = optional(|| try_push(&mut self.0, array));
        }
    }

    /// Frees a part of an array. `changes` records the blocks that change. Returns false if there is no array.
    pub fn release(&mut self, changes: &mut BlockChanges<impl BlockVisitor>) -> bool {
        let Some(mut last) = self.0.pop() else {
            return false;
        };
        last.visit(&mut changes.freed);
        if last.len() > RELEASED_BYTES {
            last.free_from(last.len() - RELEASED_BYTES);
            last.visit(&mut changes.allocated);
            self.0.push(last);
        } else if self.0.is_empty() {
            changes.freed.visit(&self.0);
            self.0 = Vec::new();
        }
        true
    }

    /// Bytes of all arrays.
    pub fn bytes(&self) -> u64 {
        self.0.iter().map(|array| array.len() as u64).sum()
    }

    /// Passes the list and its arrays to `visitor`.
    pub fn visit(&self, visitor: &mut impl BlockVisitor) {
        visitor.visit(&self.0);
        self.0.iter().for_each(|array| array.visit(visitor));
    }

    /// Passes block number `index` to `mover`: 0 is the list. Returns false if there is no such block.
    pub fn relocate_block(&mut self, index: usize, mover: &mut impl BlockMover) -> bool {
        match index {
            0 if !self.0.is_empty() => mover.relocate(&mut self.0),
            0 => return false,
            _ => match self.0.get_mut(index - 1) {
                Some(array) => array.relocate(mover),
                None => return false,
            },
        }
        true
    }
}
