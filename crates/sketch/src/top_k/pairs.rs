//! An array of pairs of 32-bit numbers in zeroed memory: buckets, heap elements and index entries all
//! have this form, and for the buckets it is the stored form as well.

use crate::blocks::{BlockMover, BlockVisitor};
use crate::buffer::Buffer;
use crate::memory::OutOfMemory;

/// Bytes of one pair.
pub(super) const PAIR_BYTES: u64 = 8;

/// Pairs of little-endian 32-bit numbers, eight bytes each, end to end.
#[derive(Debug, PartialEq, Eq, Default)]
pub(super) struct Pairs {
    bytes: Buffer,
}

impl Pairs {
    /// `len` pairs of zeros. Costs no page until it is touched.
    pub fn zeroed(len: u64) -> Result<Self, OutOfMemory> {
        let bytes = len
            .checked_mul(PAIR_BYTES)
            .ok_or(OutOfMemory { bytes: u64::MAX })?;
        Buffer::zeroed(bytes).map(Self::from)
    }

    /// A copy in memory of its own.
    pub fn try_clone(&self) -> Result<Self, OutOfMemory> {
        Buffer::copy_of(&self.bytes).map(Self::from)
    }

    /// How many pairs there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.bytes.as_chunks::<8>().0.len()
    }

    /// The pair at `index`.
    #[inline]
    pub fn get(&self, index: usize) -> (u32, u32) {
        let [a, b, c, d, e, f, g, h] = self.bytes.as_chunks().0[index];
        (
            u32::from_le_bytes([a, b, c, d]),
            u32::from_le_bytes([e, f, g, h]),
        )
    }

    /// Replaces the pair at `index`.
    #[inline]
    pub fn set(&mut self, index: usize, (first, second): (u32, u32)) {
        let [a, b, c, d] = first.to_le_bytes();
        let [e, f, g, h] = second.to_le_bytes();
        self.bytes.as_chunks_mut().0[index] = [a, b, c, d, e, f, g, h];
    }

    /// The stored form.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The stored form, to be overwritten in place. Every content is a valid one.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// Calls `visit` with the heap block, if there is one.
    pub fn visit(&self, visitor: &mut impl BlockVisitor) {
        self.bytes.visit(visitor);
    }

    /// Lets `mover` put the block elsewhere.
    pub fn relocate(&mut self, mover: &mut impl BlockMover) {
        self.bytes.relocate(mover);
    }
}

impl From<Buffer> for Pairs {
    /// Bytes after the last whole pair are never read.
    fn from(bytes: Buffer) -> Self {
        Self { bytes }
    }
}
