//! The ground both floors stand on: what a heap block is to memory accounting and defragmentation.
//!
//! A sketch knows which blocks it holds, the server knows how to weigh and move one. These two traits
//! are all that either says of the other, so that neither depends on it.

use std::ptr::NonNull;

/// Something that may move heap blocks: the server's defragmenter.
///
/// # Safety
/// `moved` gets the address of a live block of the global allocator. If it returns an address, that
/// must be a block with the same layout and contents that belongs to the caller from then on, and the
/// old block must have been freed. If it returns `None` the old block must be untouched.
pub unsafe trait BlockMover {
    /// The block's new address, or `None` where it stays.
    fn moved(&mut self, block: NonNull<u8>) -> Option<NonNull<u8>>;
}

/// The heap blocks of a structure: what memory accounting and defragmentation walk over.
pub trait Blocks {
    /// Calls `visit` with the address of every heap block the structure holds (not of the structure
    /// itself). Cost: one call a block.
    fn for_each_block(&self, visit: &mut dyn FnMut(*const u8));

    /// Offers block number `index` (in a fixed order of the structure's own) to `mover`. Returns false
    /// where there is no block of that number, which ends the walk.
    fn relocate_block(&mut self, index: usize, mover: &mut dyn BlockMover) -> bool;
}
