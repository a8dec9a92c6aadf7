//! [`Buffer`]: a zeroed block of bytes whose allocation can be refused.
//!
//! One of the two files of the crate with `unsafe`.

use crate::blocks::{BlockMover, BlockVisitor};
use crate::memory::{OutOfMemory, with_capacity};
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
        let mut copy = with_capacity(bytes.len())?;
        copy.extend_from_slice(bytes);
        Ok(copy.into())
    }

    /// Frees the bytes from `len` on, or all bytes if the allocator refuses the smaller block. It shrinks most large blocks in
    /// place.
    pub fn truncate(&mut self, len: usize) {
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
        match refusable(len as u64, shrink) {
            // SAFETY: the block has `len` initialized bytes and no other owner, because the old box is not dropped.
            Some(moved) => {
                let bytes = unsafe { Vec::from_raw_parts(moved.as_ptr(), len, len) };
                self.bytes = bytes.into_boxed_slice();
            }
            // SAFETY: the block is still that of the old box, which has this layout.
            None => unsafe { dealloc(start, layout) },
        }
    }

    /// Passes the block to `visitor`.
    pub fn visit(&self, visitor: &mut impl BlockVisitor) {
        visit_slice(&self.bytes, visitor);
    }

    /// Passes the block to `mover`, which may move it. The contents stay the same.
    pub fn relocate(&mut self, mover: &mut impl BlockMover) {
        relocate_slice(&mut self.bytes, mover);
    }
}

/// Passes the block of a boxed slice to `visitor`.
pub fn visit_slice<T>(slice: &Box<[T]>, visitor: &mut impl BlockVisitor) {
    let start = slice.as_ptr().cast_mut();
    // SAFETY: the box owns a block for this number of elements, all initialized. The vector is shared, so it is only read, and
    // it is not dropped.
    let vec = ManuallyDrop::new(unsafe { Vec::from_raw_parts(start, slice.len(), slice.len()) });
    visitor.visit(&vec);
}

/// Passes the block of a boxed slice to `mover`, which may move it. The contents stay the same.
pub fn relocate_slice<T>(slice: &mut Box<[T]>, mover: &mut impl BlockMover) {
    let mut vec = Vec::from(take(slice));
    mover.relocate(&mut vec);
    *slice = vec.into_boxed_slice();
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
