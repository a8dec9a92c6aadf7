//! Memory whose size a user chose: zeroed, and refused rather than fatal when it cannot be had.
//!
//! One of the two places in `sketch` with `unsafe`.

#[cfg(test)]
pub use crate::blocks::{Addresses, MovesAll};
pub use crate::blocks::{BlockChanges, BlockMover, BlockVisitor, Blocks};
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

/// Room for elements in a growing vector of `len`, which never has more than `most`: the next power of two.
///
/// It depends on these two numbers only, not on how the vector grew. So a copy of a sketch, and the sketch as it is
/// loaded from a file, take the memory that the original takes.
pub fn capacity_for(len: usize, most: usize) -> usize {
    match len {
        0 => 0,
        _ => len.next_power_of_two().min(most).max(len),
    }
}

/// Makes sure that `vec` has room for `len` elements without another allocation: [`capacity_for`] of them, where it
/// must grow.
///
/// # Errors
/// [`OutOfMemory`] if the allocator refuses.
pub fn reserve_for<T>(vec: &mut Vec<T>, len: usize, most: usize) -> Result<(), OutOfMemory> {
    if len <= vec.capacity() {
        return Ok(());
    }
    let capacity = capacity_for(len, most);
    vec.try_reserve_exact(capacity - vec.len())
        .map_err(|_| OutOfMemory {
            bytes: (capacity as u64).saturating_mul(size_of::<T>() as u64),
        })
}

/// Gives back the room that is left after elements were removed, down to [`capacity_for`]. Without memory for the
/// smaller block the larger one stays.
pub fn shrink<T>(vec: &mut Vec<T>, most: usize) {
    let capacity = capacity_for(vec.len(), most);
    let mut smaller = Vec::new();
    if capacity < vec.capacity() && smaller.try_reserve_exact(capacity).is_ok() {
        smaller.append(vec);
        *vec = smaller;
    }
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

    /// Shows `visitor` the block.
    pub fn visit(&self, visitor: &mut impl BlockVisitor) {
        visitor.visit(&self.bytes);
    }

    /// Lets `mover` put the block elsewhere; the contents stay the same.
    pub fn relocate(&mut self, mover: &mut impl BlockMover) {
        mover.relocate(&mut self.bytes);
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
    fn a_vector_has_the_capacity_of_its_length_however_it_grew() {
        for most in [1, 3, 100, 128] {
            let mut one_by_one = Vec::new();
            for len in 1..=most {
                reserve_for(&mut one_by_one, len, most).unwrap();
                one_by_one.push(len);
                let mut at_once: Vec<usize> = Vec::new();
                reserve_for(&mut at_once, len, most).unwrap();
                assert_eq!(one_by_one.capacity(), capacity_for(len, most));
                assert_eq!(at_once.capacity(), capacity_for(len, most));
                let mut shrunk = Vec::with_capacity(most);
                shrunk.extend_from_slice(&one_by_one);
                shrink(&mut shrunk, most);
                assert_eq!(shrunk, one_by_one);
                assert_eq!(shrunk.capacity(), capacity_for(len, most));
            }
            assert_eq!(one_by_one.capacity(), most);
        }
        assert_eq!(capacity_for(0, 100), 0);
        assert_eq!(capacity_for(5, 3), 5);
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
