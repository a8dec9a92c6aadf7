//! [`Buffer`]: a zeroed block of bytes whose allocation can be refused. [`NarrowVec`]: a vector in 16 bytes.
//!
//! One of the two files of the crate with `unsafe`.

use crate::blocks::{BlockMover, BlockVisitor};
use crate::memory::{OutOfMemory, copy_of, optional};
use crate::refusable::refusable;
use std::alloc::{Layout, alloc_zeroed, dealloc, realloc};
use std::mem::{ManuallyDrop, take};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// A heap block of fixed length, initially zero.
///
/// Allocated with `alloc_zeroed`, so the system provides the pages of a large buffer only when they are first used.
#[derive(PartialEq, Eq, Debug, Default)]
pub struct Buffer {
    bytes: Box<[u8]>,
}

impl Buffer {
    /// A buffer of `len` zero bytes. The system provides pages when they are first used.
    ///
    /// # Errors
    /// [`OutOfMemory`] if the allocator refuses or the length exceeds the address space.
    pub fn zeroed(len: u64) -> Result<Self, OutOfMemory> {
        let refused = OutOfMemory { bytes: len };
        let len = usize::try_from(len).map_err(|_| refused)?;
        let layout = Layout::array::<u8>(len).map_err(|_| refused)?;
        if len == 0 {
            return Ok(Self::default());
        }
        let allocate = || {
            // SAFETY: the layout's size is not zero.
            NonNull::new(unsafe { alloc_zeroed(layout) })
        };
        let block = refusable(refused.bytes, allocate).ok_or(refused)?;
        // SAFETY: the block comes from the global allocator with the layout of `len` bytes at
        // alignment 1, which is that of a Vec<u8> of this capacity; all `len` bytes are initialized.
        let bytes = unsafe { Vec::from_raw_parts(block.as_ptr(), len, len) };
        Ok(bytes.into())
    }

    /// A copy of `bytes`.
    ///
    /// # Errors
    /// [`OutOfMemory`] if the allocator refuses.
    pub fn copy_of(bytes: &[u8]) -> Result<Self, OutOfMemory> {
        copy_of(bytes).map(Self::from)
    }

    /// Frees the bytes from `len` on, or all bytes if the allocator refuses the smaller block. It shrinks most large blocks in
    /// place.
    pub fn free_from(&mut self, len: usize) {
        let Ok(layout) = Layout::array::<u8>(self.bytes.len()) else {
            return;
        };
        if len >= layout.size() {
            return;
        }
        let old = take(&mut self.bytes);
        if len == 0 {
            return;
        }
        let start = Box::into_raw(old).cast::<u8>();
        let shrink = || {
            // SAFETY: the block is that of the old box, which has this layout and at least one byte, and is not used again
            // if it has moved.
            NonNull::new(unsafe { realloc(start, layout, len) })
        };
        match optional(|| refusable(len as u64, shrink)) {
            Some(moved) => {
                // SAFETY: the block has `len` initialized bytes and no other owner, because the old box is not dropped.
                let bytes = unsafe { Vec::from_raw_parts(moved.as_ptr(), len, len) };
                self.bytes = bytes.into_boxed_slice();
            }
            // SAFETY: the block is still that of the old box, which has this layout.
            None => unsafe { dealloc(start, layout) },
        }
    }

    /// Passes the block to `visitor`.
    pub fn visit(&self, visitor: &mut impl BlockVisitor) {
        let start = self.bytes.as_ptr().cast_mut();
        let len = self.bytes.len();
        // SAFETY: the block has this length. The vector is only read, and it is not dropped.
        let vec = ManuallyDrop::new(unsafe { Vec::from_raw_parts(start, len, len) });
        visitor.visit(&*vec);
    }

    /// Passes the block to `mover`, which may move it. The contents stay the same.
    pub fn relocate(&mut self, mover: &mut impl BlockMover) {
        let mut vec = Vec::from(take(&mut self.bytes));
        mover.relocate(&mut vec);
        self.bytes = vec.into_boxed_slice();
    }
}

/// A vector whose length and capacity have 32 bits, so that a small value has space for one.
#[derive(Debug)]
pub struct NarrowVec<T> {
    start: NonNull<T>,
    len: u32,
    capacity: u32,
}

// SAFETY: it owns its elements, as a vector does.
unsafe impl<T: Send> Send for NarrowVec<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for NarrowVec<T> {}

impl<T> NarrowVec<T> {
    /// A vector with the same block.
    fn vec(&self) -> ManuallyDrop<Vec<T>> {
        let (len, capacity) = (self.len as usize, self.capacity as usize);
        // SAFETY: these are the parts of a vector (see `from`), which was not dropped. Whoever drops this one replaces them.
        ManuallyDrop::new(unsafe { Vec::from_raw_parts(self.start.as_ptr(), len, capacity) })
    }

    /// Passes the vector to `change`.
    pub fn change<R>(&mut self, change: impl FnOnce(&mut Vec<T>) -> R) -> R {
        let mut vec = ManuallyDrop::into_inner(ManuallyDrop::new(take(self)).vec());
        let result = change(&mut vec);
        *self = vec.into();
        result
    }

    /// Passes the block to `visitor`.
    pub fn visit(&self, visitor: &mut impl BlockVisitor) {
        visitor.visit(&*self.vec());
    }
}

impl<T> From<Vec<T>> for NarrowVec<T> {
    /// # Panics
    /// If the capacity is above 2^32 - 1.
    fn from(vec: Vec<T>) -> Self {
        assert!(
            vec.capacity() <= u32::MAX as usize,
            "the vector is too long"
        );
        let mut vec = ManuallyDrop::new(vec);
        Self {
            len: vec.len() as u32,
            capacity: vec.capacity() as u32,
            // SAFETY: the pointer of a vector is not null.
            start: unsafe { NonNull::new_unchecked(vec.as_mut_ptr()) },
        }
    }
}

impl<T> Default for NarrowVec<T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<T> Drop for NarrowVec<T> {
    fn drop(&mut self) {
        drop(ManuallyDrop::into_inner(self.vec()));
    }
}

impl<T> Deref for NarrowVec<T> {
    type Target = [T];
    #[inline(always)]
    fn deref(&self) -> &[T] {
        // SAFETY: the parts are those of a vector.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len as usize) }
    }
}

impl<T> DerefMut for NarrowVec<T> {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len as usize) }
    }
}

impl From<Vec<u8>> for Buffer {
    /// Without a new block if the capacity of the vector is its length.
    fn from(bytes: Vec<u8>) -> Self {
        Self {
            bytes: bytes.into_boxed_slice(),
        }
    }
}

impl From<Buffer> for Vec<u8> {
    fn from(buffer: Buffer) -> Self {
        buffer.bytes.into()
    }
}

impl Deref for Buffer {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl DerefMut for Buffer {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::MovesAll;
    use std::sync::Arc;

    #[test]
    fn a_zeroed_buffer_is_zero_and_has_its_length() {
        for len in [0, 1, 63, 4096, 1 << 20] {
            let buffer = Buffer::zeroed(len).unwrap();
            assert_eq!(buffer.len() as u64, len);
            assert!(buffer.iter().all(|&byte| byte == 0));
        }
    }

    #[test]
    fn impossible_sizes_are_refused() {
        for len in [u64::MAX, i64::MAX as u64, 1 << 62] {
            assert_eq!(Buffer::zeroed(len), Err(OutOfMemory { bytes: len }));
        }
    }

    #[test]
    fn a_truncated_buffer_keeps_its_first_bytes() {
        for len in [0, 1, 63, 100, 200] {
            let mut buffer = Buffer::copy_of(&[7; 100]).unwrap();
            buffer.free_from(len);
            assert_eq!(*buffer, vec![7; len.min(100)]);
        }
    }

    #[test]
    fn a_narrow_vector_is_the_vector_that_it_was() {
        let element = Arc::new(7);
        for len in 0..5 {
            let mut vec = Vec::with_capacity(len + 1);
            vec.resize(len, Arc::clone(&element));
            let mut narrow = NarrowVec::from(vec);
            assert_eq!(narrow.len(), len);
            (narrow.iter_mut()).for_each(|each| *each = Arc::clone(&element));
            let mut mover = MovesAll::default();
            narrow.change(|vec| mover.relocate(vec));
            assert_eq!(mover.moves, 1);
            let vec = narrow.change(take);
            assert_eq!((vec.len(), vec.capacity(), narrow.len()), (len, len + 1, 0));
            // Dropping a narrow vector drops its elements.
            narrow = vec.into();
            assert_eq!(Arc::strong_count(&element), len + 1);
            drop(narrow);
            assert_eq!(Arc::strong_count(&element), 1);
        }
    }

    #[test]
    fn a_moved_buffer_keeps_its_contents() {
        let mut buffer = Buffer::copy_of(&[7; 100]).unwrap();
        let mut mover = MovesAll::default();
        buffer.relocate(&mut mover);
        assert_eq!(*buffer, [7; 100]);
        assert_eq!(mover.moves, 1);
        Buffer::default().relocate(&mut mover);
        assert_eq!(mover.moves, 1);
    }
}
