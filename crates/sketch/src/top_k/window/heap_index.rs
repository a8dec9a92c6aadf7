//! The positions of a candidate in the two heaps of a sketch.

/// The position of a candidate that is not in a heap.
pub(super) const NONE: u32 = u32::MAX;

/// A heap: the index of its position in a candidate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HeapIndex {
    /// The most frequent items of the newest pane.
    Heap = 0,
    /// The most frequent items of the window.
    List = 1,
}
