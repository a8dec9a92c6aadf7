//! An array of pairs of 32-bit numbers in zeroed memory. Buckets, heap elements and index entries are such pairs; for
//! buckets this is also the stored form.

use crate::buffer::Buffer;
use crate::memory::OutOfMemory;
use std::cmp::Ordering;

/// Bytes of one pair.
pub(super) const PAIR_BYTES: u64 = 8;

/// Pairs of little-endian 32-bit numbers, eight bytes per pair.
#[derive(Debug, PartialEq, Eq, Default)]
pub(super) struct Pairs {
    /// The stored form. Any contents are valid.
    pub bytes: Buffer,
}

impl Pairs {
    /// `len` pairs of zeros. The operating system provides pages when they are first used.
    pub fn zeroed(len: u64) -> Result<Self, OutOfMemory> {
        let bytes = len
            .checked_mul(PAIR_BYTES)
            .ok_or(OutOfMemory { bytes: u64::MAX })?;
        Buffer::zeroed(bytes).map(Self::from)
    }

    /// A copy with separate memory.
    pub fn try_clone(&self) -> Result<Self, OutOfMemory> {
        Buffer::copy_of(&self.bytes).map(Self::from)
    }

    /// Number of pairs.
    #[inline]
    pub fn len(&self) -> usize {
        self.bytes.as_chunks::<8>().0.len()
    }

    /// The pair at `index`.
    #[inline]
    pub fn get(&self, index: usize) -> (u32, u32) {
        decoded(self.bytes.as_chunks().0[index])
    }

    /// Replaces the pair at `index`.
    #[inline]
    pub fn set(&mut self, index: usize, pair: (u32, u32)) {
        self.bytes.as_chunks_mut().0[index] = encoded(pair);
    }

    /// Sorts the pairs from `first` on.
    pub fn sort_from(
        &mut self,
        first: usize,
        compare: impl Fn((u32, u32), (u32, u32)) -> Ordering,
    ) {
        let pairs = &mut self.bytes.as_chunks_mut::<8>().0[first..];
        pairs.sort_unstable_by(|left, right| compare(decoded(*left), decoded(*right)));
    }
}

/// The stored form of a pair.
#[inline]
fn encoded((first, second): (u32, u32)) -> [u8; 8] {
    let [a, b, c, d] = first.to_le_bytes();
    let [e, f, g, h] = second.to_le_bytes();
    [a, b, c, d, e, f, g, h]
}

/// The pair with this stored form.
#[inline]
fn decoded([a, b, c, d, e, f, g, h]: [u8; 8]) -> (u32, u32) {
    (
        u32::from_le_bytes([a, b, c, d]),
        u32::from_le_bytes([e, f, g, h]),
    )
}

impl From<Buffer> for Pairs {
    /// Bytes after the last whole pair are ignored.
    fn from(bytes: Buffer) -> Self {
        Self { bytes }
    }
}

/// Sifts the element at `position` down and returns its new position. Calls `moved` with the number and the new
/// position of each element that it writes. The second part of a pair is the number plus 1; 0 marks an element without
/// an item.
///
/// Of two children with equal counts the left one moves up. A child whose count equals the parent's moves up in the
/// first step only. This is the order of RedisBloom.
#[inline]
pub(super) fn sift_down(
    elements: &mut Pairs,
    mut position: usize,
    mut moved: impl FnMut(u32, u32),
) -> usize {
    let sifted = elements.get(position);
    let mut moves_up: fn(u32, u32) -> bool = |child, parent| child <= parent;
    while let Some((child_position, child)) = smaller_child(elements, position) {
        if !moves_up(child.0, sifted.0) {
            break;
        }
        moves_up = |child, parent| child < parent;
        set_element(elements, position, child, &mut moved);
        position = child_position;
    }
    set_element(elements, position, sifted, &mut moved);
    position
}

/// The child with the smaller count, and its position.
#[inline]
fn smaller_child(elements: &Pairs, position: usize) -> Option<(usize, (u32, u32))> {
    let (left_position, right_position) = (2 * position + 1, 2 * position + 2);
    if left_position >= elements.len() {
        return None;
    }
    let left = elements.get(left_position);
    if right_position < elements.len() {
        let right = elements.get(right_position);
        if right.0 < left.0 {
            return Some((right_position, right));
        }
    }
    Some((left_position, left))
}

/// Writes an element to `position` and reports its position.
#[inline]
fn set_element(
    elements: &mut Pairs,
    position: usize,
    element: (u32, u32),
    moved: &mut impl FnMut(u32, u32),
) {
    elements.set(position, element);
    if let Some(number) = element.1.checked_sub(1) {
        // A position is below k, which has 32 bits.
        moved(number, position as u32);
    }
}
