//! Active defragmentation: moves the blocks of a value to fuller pages, a few at a time.

use crate::server::allocator::NATURAL_ALIGNMENT;
use crate::server::data_type::DataType;
use crate::server::huge_pages;
use crate::server::value::Value;
use redis_module::raw;
use roughly_sketch::blocks::BlockMover;
use std::ffi::{c_int, c_ulong, c_void};
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

/// The server's defragmenter for one value.
struct Defragmenter {
    ctx: *mut raw::RedisModuleDefragCtx,
}

impl Defragmenter {
    /// Moves a block of the server's allocator with this size. Returns `None` if the block stays.
    ///
    /// # Safety
    /// `block` must be a live block of the global allocator with an alignment of at most [`NATURAL_ALIGNMENT`]. If
    /// another block is returned, it has the same size and contents, and `block` is freed.
    unsafe fn moved(&mut self, block: NonNull<u8>, bytes: usize) -> Option<NonNull<u8>> {
        let moved = huge_pages::track_resize(block.as_ptr(), [bytes, bytes], || {
            // SAFETY: the context is the running callback's; the block is live by the function's contract.
            let moved = unsafe { api!(RedisModule_DefragAlloc)(self.ctx, block.as_ptr().cast()) };
            moved.cast()
        });
        NonNull::new(moved)
    }
}

impl BlockMover for Defragmenter {
    fn relocate<T>(&mut self, vec: &mut Vec<T>) {
        const { assert!(align_of::<T>() <= NATURAL_ALIGNMENT) };
        if vec.capacity() == 0 || size_of::<T>() == 0 {
            return;
        }
        let mut old = ManuallyDrop::new(std::mem::take(vec));
        let (start, len, capacity) = (old.as_mut_ptr(), old.len(), old.capacity());
        // SAFETY: a vector with capacity has a block of the global allocator, here of natural
        // alignment. Whether it moves or stays, the block has the vector's layout and contents, and no other
        // owner, because the old vector is not dropped.
        unsafe {
            let moved = NonNull::new(start.cast())
                .and_then(|block| self.moved(block, capacity * size_of::<T>()));
            let start = moved.map_or(start, |block| block.cast().as_ptr());
            *vec = Vec::from_raw_parts(start, len, capacity);
        }
    }
}

/// Defragments a value: moves its blocks one by one, stops when the server's time limit is reached, and continues from
/// there in the next call. Returns 0 when all blocks were moved, 1 otherwise.
///
/// # Safety
/// `value` must point to a `Value<T>` created by [`Value::new`] and be the server's only pointer to it.
pub(super) unsafe fn defragment<T: DataType>(
    ctx: *mut raw::RedisModuleDefragCtx,
    value: *mut *mut c_void,
) -> c_int {
    let mut defragmenter = Defragmenter { ctx };
    let mut cursor: c_ulong = 0;
    // SAFETY: the context is the running callback's. If there is no cursor yet, it is 0.
    unsafe {
        if api!(RedisModule_DefragCursorGet)(ctx, &raw mut cursor) != raw::REDISMODULE_OK as c_int {
            cursor = 0;
        }
        // The value's own block is moved first, and only once.
        if cursor == 0
            && let Some(own) = NonNull::new((*value).cast())
            && let Some(moved) = defragmenter.moved(own, size_of::<Value<T>>())
        {
            *value = moved.as_ptr().cast();
        }
        let value = &mut *(*value).cast::<Value<T>>();
        while value.relocate_blocks(cursor as usize, &mut defragmenter) {
            cursor += 1;
            if api!(RedisModule_DefragShouldStop)(ctx) != 0
                && api!(RedisModule_DefragCursorSet)(ctx, cursor) == raw::REDISMODULE_OK as c_int
            {
                return 1;
            }
        }
    }
    0
}
