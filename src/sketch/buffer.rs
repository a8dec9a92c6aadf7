//! Memory whose size a user chose: zeroed, and refused rather than fatal when it cannot be had.
//!
//! One of the two places in `sketch` with `unsafe`. Also here: the visit of a structure's heap
//! blocks, which memory accounting and active defragmentation need and which keeps the server out of
//! this floor.

pub use crate::blocks::{BlockMover, Blocks};
use std::alloc::{Layout, alloc_zeroed};
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// The allocator could not or may not give the memory asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not enough memory for {bytes} bytes")]
pub struct OutOfMemory {
    /// Size of the refused block in bytes, `u64::MAX` where it does not fit in 64 bits.
    pub bytes: u64,
}

/// A block of bytes of fixed length on the heap, zeroed when made.
///
/// Zeroed memory comes from the allocator's `alloc_zeroed`, so the pages of a large buffer are not
/// touched before they are used.
#[derive(PartialEq, Eq, Debug, Default)]
pub struct Buffer {
    // Capacity and length are equal: made so by every constructor, and no method changes either.
    bytes: Vec<u8>,
}

impl Buffer {
    /// A buffer of `len` zero bytes. Costs no page until it is touched.
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
        // SAFETY: the layout's size is not zero.
        let block = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or(refused)?;
        // SAFETY: the block comes from the global allocator with the layout of `len` bytes at
        // alignment 1, which is that of a Vec<u8> of this capacity; all `len` bytes are initialised.
        let bytes = unsafe { Vec::from_raw_parts(block.as_ptr(), len, len) };
        Ok(Self { bytes })
    }

    /// A copy of `bytes`.
    ///
    /// # Errors
    /// [`OutOfMemory`] if the allocator refuses.
    pub fn copy_of(bytes: &[u8]) -> Result<Self, OutOfMemory> {
        let mut copy = Vec::new();
        copy.try_reserve_exact(bytes.len())
            .map_err(|_| OutOfMemory {
                bytes: bytes.len() as u64,
            })?;
        copy.extend_from_slice(bytes);
        Ok(Self { bytes: copy })
    }

    /// Lets `mover` put the block elsewhere; the contents stay the same.
    pub fn relocate(&mut self, mover: &mut dyn BlockMover) {
        relocate_vec(&mut self.bytes, mover);
    }
}

impl From<Vec<u8>> for Buffer {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes }
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

/// Lets `mover` put a vector's block elsewhere. An empty vector has none.
pub fn relocate_vec<T>(vec: &mut Vec<T>, mover: &mut dyn BlockMover) {
    if vec.capacity() == 0 || size_of::<T>() == 0 {
        return;
    }
    let mut old = std::mem::take(vec);
    let (len, capacity) = (old.len(), old.capacity());
    let Some(block) = NonNull::new(old.as_mut_ptr()) else {
        return;
    };
    match mover.moved(block.cast()) {
        None => *vec = old,
        Some(new) => {
            std::mem::forget(old);
            // SAFETY: by BlockMover's contract the new block has the old one's layout and contents
            // and is ours; the old vector was forgotten, so nothing is freed or dropped twice.
            *vec = unsafe { Vec::from_raw_parts(new.cast().as_ptr(), len, capacity) };
        }
    }
}

/// Calls `visit` with a vector's block, if it has one.
pub fn visit_vec<T>(vec: &Vec<T>, visit: &mut dyn FnMut(*const u8)) {
    if vec.capacity() > 0 && size_of::<T>() > 0 {
        visit(vec.as_ptr().cast());
    }
}

impl Buffer {
    /// Calls `visit` with the buffer's block, if it has one.
    pub fn visit(&self, visit: &mut dyn FnMut(*const u8)) {
        visit_vec(&self.bytes, visit);
    }
}

/// A mover for tests: moves every block it is offered, and counts them.
#[cfg(test)]
#[derive(Debug, Default)]
pub struct MovesAll {
    /// Blocks moved.
    pub moves: usize,
}

// SAFETY: tests run on the system's allocator, which is malloc: the new block has at least the old
// one's usable size, its natural alignment and its contents, and the old one is freed.
#[cfg(test)]
unsafe impl BlockMover for MovesAll {
    fn moved(&mut self, block: NonNull<u8>) -> Option<NonNull<u8>> {
        self.moves += 1;
        // SAFETY: `block` is a live block of malloc's; the two are distinct.
        unsafe {
            let size = libc::malloc_usable_size(block.as_ptr().cast());
            let new = NonNull::new(libc::malloc(size))?.cast::<u8>();
            std::ptr::copy_nonoverlapping(block.as_ptr(), new.as_ptr(), size);
            libc::free(block.as_ptr().cast());
            Some(new)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
