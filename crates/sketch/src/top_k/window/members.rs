//! A min-heap of candidates by count.

use super::candidates::{Candidates, HeapIndex, NONE};
use crate::blocks::{BlockMover, BlockVisitor};
use crate::memory::OutOfMemory;
use crate::top_k::pairs::{Pairs, sift_down};

/// k elements in the heap order of the sketch without a window (see [`crate::top_k::heap`]). Each candidate in it stores
/// its position.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Members {
    /// (count, candidate + 1) in heap order; (0, 0) for an element without a candidate.
    pub elements: Pairs,
    pub heap: HeapIndex,
}

impl Members {
    /// A heap of `k` ≥ 1 elements without candidates.
    pub fn new(k: u32, heap: HeapIndex) -> Result<Self, OutOfMemory> {
        Ok(Self {
            elements: Pairs::zeroed(k.into())?,
            heap,
        })
    }

    /// A copy with separate memory.
    pub fn try_clone(&self) -> Result<Self, OutOfMemory> {
        Ok(Self {
            elements: self.elements.try_clone()?,
            heap: self.heap,
        })
    }

    /// Whether the root holds no candidate: then every candidate enters. The root holds none until the heap is full or
    /// a candidate with count 0 becomes the root.
    #[inline]
    pub fn has_vacant_root(&self) -> bool {
        self.elements.get(0).1 == 0
    }

    /// The count of the root.
    #[inline]
    pub fn root_count(&self) -> u32 {
        self.elements.get(0).0
    }

    /// Replaces the count of the element at `position`, and sifts the element down. Returns whether the heap changed.
    #[inline]
    pub fn set_count(&mut self, position: u32, count: u32, candidates: &mut Candidates) -> bool {
        let position = position as usize;
        let (before, number_plus_1) = self.elements.get(position);
        self.elements.set(position, (count, number_plus_1));
        self.sift_down(position, candidates) != position || count != before
    }

    /// Replaces the root by a candidate that is not in the heap, and sifts it down. Returns the candidate that was the
    /// root, if any.
    pub fn replace_root(
        &mut self,
        number: u32,
        count: u32,
        candidates: &mut Candidates,
    ) -> Option<u32> {
        let expelled = self.elements.get(0).1.checked_sub(1);
        if let Some(expelled) = expelled {
            candidates.get_mut(expelled).positions[self.heap as usize] = NONE;
        }
        self.elements.set(0, (count, number + 1));
        self.sift_down(0, candidates);
        expelled
    }

    #[inline]
    fn sift_down(&mut self, position: usize, candidates: &mut Candidates) -> usize {
        let heap = self.heap as usize;
        sift_down(&mut self.elements, position, |number, position| {
            candidates.get_mut(number).positions[heap] = position;
        })
    }

    /// Writes the new number of the candidate with these positions, unless it is not in the heap.
    pub fn renumber(&mut self, positions: [u32; 2], number: u32) {
        let position = positions[self.heap as usize];
        if position != NONE {
            let (count, _) = self.elements.get(position as usize);
            self.elements.set(position as usize, (count, number + 1));
        }
    }

    /// Position, count and candidate of each element that holds a candidate, in heap order. Cost: one step per element.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32, u32)> + Clone {
        // The number of elements is k, which has 32 bits.
        (0..self.elements.len() as u32).filter_map(|position| {
            let (count, number_plus_1) = self.elements.get(position as usize);
            Some((position, count, number_plus_1.checked_sub(1)?))
        })
    }

    /// Passes the block to `visitor`.
    pub fn visit(&self, visitor: &mut impl BlockVisitor) {
        self.elements.bytes.visit(visitor);
    }

    /// Passes the block to `mover`, which may move it.
    pub fn relocate(&mut self, mover: &mut impl BlockMover) {
        self.elements.bytes.relocate(mover);
    }
}
