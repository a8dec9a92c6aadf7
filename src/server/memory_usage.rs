//! The memory usage of a value: the sizes of its heap blocks.

use super::allocator::NATURAL_ALIGNMENT;
use roughly_sketch::blocks::BlockVisitor;

/// Adds up the sizes of blocks of the global allocator, including its rounding.
#[derive(Debug, Default)]
pub struct MemoryUsage {
    /// Bytes of all blocks. 0 without a server.
    pub(super) bytes: usize,
    /// The number of blocks.
    pub(super) blocks: usize,
}

impl MemoryUsage {
    /// Bytes of all blocks that were added.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    /// Adds a block.
    ///
    /// # Safety
    /// `block` must be a live block of the global allocator with an alignment of at most [`NATURAL_ALIGNMENT`].
    pub(super) unsafe fn add(&mut self, block: *const u8) {
        self.blocks += 1;
        if let Some(size) = optional_api!(RedisModule_MallocSize) {
            // SAFETY: by the function's contract; the API function only reads.
            self.bytes += unsafe { size(block.cast_mut().cast()) };
        }
    }
}

impl BlockVisitor for MemoryUsage {
    fn visit<T>(&mut self, vec: &Vec<T>) {
        const { assert!(align_of::<T>() <= NATURAL_ALIGNMENT) };
        if vec.capacity() > 0 && size_of::<T>() > 0 {
            // SAFETY: a vector with capacity has a block of the global allocator, here of natural alignment.
            unsafe { self.add(vec.as_ptr().cast()) }
        }
    }
}
