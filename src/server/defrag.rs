//! Active defragmentation: moving a value's blocks to fuller pages, some at a time.

use super::allocator::NATURAL_ALIGNMENT;
use super::datatype::{DataType, Held};
use redis_module::raw;
use roughly_sketch::blocks::BlockMover;
use std::ffi::{c_int, c_ulong, c_void};
use std::mem::ManuallyDrop;
use std::ptr::NonNull;

/// The server's defragmenter, for one value.
struct Defragmenter {
    ctx: *mut raw::RedisModuleDefragCtx,
}

impl Defragmenter {
    /// Moves a block of the server's allocator; `None` where it stays.
    ///
    /// # Safety
    /// `block` must be a live block of the global allocator without more than its natural alignment.
    /// It is gone if another is returned, which has its size and contents.
    unsafe fn moved(&mut self, block: NonNull<u8>) -> Option<NonNull<u8>> {
        // SAFETY: the context is the running callback's; the block is as promised.
        let moved = unsafe { api!(RedisModule_DefragAlloc)(self.ctx, block.as_ptr().cast()) };
        NonNull::new(moved.cast())
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
        // alignment. Whichever block there is afterwards has the vector's layout and contents and no
        // other owner, since the old vector is not dropped.
        unsafe {
            let moved = NonNull::new(start.cast()).and_then(|block| self.moved(block));
            let start = moved.map_or(start, |block| block.cast().as_ptr());
            *vec = Vec::from_raw_parts(start, len, capacity);
        }
    }
}

/// What the server calls to defragment a value: moves its blocks one by one, stops when the time is
/// up, and goes on from there the next time. Answers 0 when it is through, 1 when there is more.
///
/// # Safety
/// `value` must point to a `Held<T>` made by [`Held::new`] and be the server's only pointer to it.
pub(super) unsafe fn defragment<T: DataType>(
    ctx: *mut raw::RedisModuleDefragCtx,
    value: *mut *mut c_void,
) -> c_int {
    let mut defragmenter = Defragmenter { ctx };
    let mut cursor: c_ulong = 0;
    // SAFETY: the context is the running callback's. Where there is no cursor yet it stays 0.
    unsafe {
        if api!(RedisModule_DefragCursorGet)(ctx, &raw mut cursor) != raw::REDISMODULE_OK as c_int {
            cursor = 0;
        }
        // The value's own block comes first, and only once.
        if cursor == 0
            && let Some(moved) =
                NonNull::new((*value).cast()).and_then(|own| defragmenter.moved(own))
        {
            *value = moved.as_ptr().cast();
        }
        let held = &mut *(*value).cast::<Held<T>>();
        while held
            .value
            .relocate_block(cursor as usize, &mut defragmenter)
        {
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
