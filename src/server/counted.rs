//! A value with its counted memory usage.

use super::allocator::NATURAL_ALIGNMENT;
use super::datatype::DataType;
use super::memory_usage::MemoryUsage;
use roughly_sketch::blocks::BlockChanges;
use std::cell::Cell;
use std::ptr;

/// Bytes per unit of the effort to free a value. Each block adds one more unit. The server frees values of more than
/// 64 units in the background, and defragments them in steps.
const EFFORT_BYTES: usize = 4096;

/// A value owned by the server, with its memory usage as counted in INFO.
#[derive(Debug)]
pub struct Counted<T: DataType> {
    pub(super) value: T,
    // Cells, because a value may allocate memory for caches while it is read.
    bytes: Cell<usize>,
    blocks: Cell<usize>,
}

impl<T: DataType> Counted<T> {
    /// Boxes a value for the server, and counts it.
    pub(super) fn new(value: T) -> Box<Self> {
        let counted = Box::new(Self {
            value,
            bytes: Cell::new(0),
            blocks: Cell::new(0),
        });
        let MemoryUsage { bytes, blocks } = counted.memory_usage();
        counted.bytes.set(bytes);
        counted.blocks.set(blocks);
        T::registration().stats.count_value(1, bytes);
        counted
    }

    /// As [`Counted::new`], for a value that is put into a key without a check of its size.
    pub(super) fn of_key(value: T) -> Box<Self> {
        let counted = Self::new(value);
        counted.raise_peak();
        counted
    }

    /// Raises the high-water mark of the bytes of one key. Not part of [`Counted::new`], because the limit of a key may
    /// refuse a new value.
    pub(super) fn raise_peak(&self) {
        let stats = &T::registration().stats;
        stats.raise_key_bytes_peak(self.bytes.get());
    }

    /// The memory usage of all its blocks, its own included. Cost: one call into the server per block.
    pub(super) fn memory_usage(&self) -> MemoryUsage {
        const { assert!(align_of::<Self>() <= NATURAL_ALIGNMENT) };
        let mut usage = MemoryUsage::default();
        // SAFETY: every `Counted` is in a box of its own (see `new`).
        unsafe { usage.add(ptr::from_ref(self).cast()) };
        self.value.for_each_block(&mut usage);
        usage
    }

    /// The counted memory usage in bytes, including the value's own block.
    pub(super) fn bytes(&self) -> usize {
        self.bytes.get()
    }

    /// The counted memory usage without what is freed step by step.
    pub(super) fn live_bytes(&self) -> u64 {
        (self.bytes() as u64).saturating_sub(self.value.retired_bytes())
    }

    /// Measures its blocks again. Cost: one call into the server per block.
    pub(super) fn recount(&self) {
        let MemoryUsage { bytes, blocks } = self.memory_usage();
        self.blocks.set(blocks);
        self.count_change(bytes as i64 - self.bytes.get() as i64);
    }

    /// Adds a change in bytes to the counted memory usage.
    pub(super) fn count_change(&self, change: i64) {
        if change == 0 {
            return;
        }
        let signed = isize::try_from(change).unwrap_or(0);
        let bytes = self.bytes.get().saturating_add_signed(signed);
        self.bytes.set(bytes);
        T::registration().stats.count_bytes(change);
        self.raise_peak();
    }

    /// Counts blocks that were freed and allocated.
    pub(super) fn count_changes(
        &self,
        BlockChanges { freed, allocated }: &BlockChanges<MemoryUsage>,
    ) {
        let blocks = self.blocks.get() + allocated.blocks;
        self.blocks.set(blocks.saturating_sub(freed.blocks));
        self.count_change(allocated.bytes as i64 - freed.bytes as i64);
    }

    /// The effort to free or defragment it, in the server's units.
    pub(super) fn effort(&self) -> usize {
        self.blocks.get() + self.bytes.get() / EFFORT_BYTES
    }
}

impl<T: DataType> Drop for Counted<T> {
    fn drop(&mut self) {
        T::registration().stats.count_value(-1, self.bytes.get());
    }
}
