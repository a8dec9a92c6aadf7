//! A value with its counted memory usage.

use super::allocator::NATURAL_ALIGNMENT;
use super::call::{Call, Error};
use super::data_type::{AnyValue, DataType, Registration};
use super::memory_usage::MemoryUsage;
use roughly_sketch::blocks::BlockChanges;
use roughly_sketch::format::FormatError;
use roughly_sketch::format::chunks::ChunkError;
use roughly_sketch::memory::{Budget, OutOfMemory};
use roughly_sketch::window::{EXPIRED_BYTES, Timeline};
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
        let MemoryUsage { bytes, blocks } = counted.measure();
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
    fn raise_peak(&self) {
        let stats = &T::registration().stats;
        stats.raise_key_bytes_peak(self.bytes.get());
    }

    /// The memory usage of all its blocks, its own included. Cost: one call into the server per block.
    fn measure(&self) -> MemoryUsage {
        const { assert!(align_of::<Self>() <= NATURAL_ALIGNMENT) };
        let mut usage = MemoryUsage::default();
        // SAFETY: every `Counted` is in a box of its own (see `new`).
        unsafe { usage.add(ptr::from_ref(self).cast()) };
        self.value.for_each_block(&mut usage);
        usage
    }

    /// Adds a change in bytes to the counted memory usage.
    fn count_change(&self, change: i64) {
        if change == 0 {
            return;
        }
        let signed = isize::try_from(change).unwrap_or(0);
        let bytes = self.bytes.get().saturating_add_signed(signed);
        self.bytes.set(bytes);
        T::registration().stats.count_bytes(change);
        self.raise_peak();
    }

    /// The effort to free or defragment it, in the server's units.
    pub(super) fn effort(&self) -> usize {
        self.blocks.get() + self.bytes.get() / EFFORT_BYTES
    }
}

impl<T: DataType> AnyValue for Counted<T> {
    fn registration(&self) -> &'static Registration {
        T::registration()
    }

    fn timeline(&self) -> Option<&Timeline> {
        self.value.timeline()
    }

    fn pane_total(&self, pane: u64) -> u64 {
        self.value.pane_total(pane)
    }

    fn advance(&mut self, pane: u64) -> bool {
        let mut changes = BlockChanges::default();
        let advanced = self.value.advance_recorded(pane, &mut changes);
        if advanced {
            self.count_changes(&changes);
        }
        advanced
    }

    fn release(&mut self) {
        let mut changes = BlockChanges::default();
        if self.value.release_recorded(&mut changes) {
            self.count_changes(&changes);
        }
    }

    fn expire(&mut self) -> bool {
        let mut any = self.value.expire();
        let before = self.value.retired_bytes();
        while before - self.value.retired_bytes() < EXPIRED_BYTES as u64
            && self
                .value
                .release_recorded(&mut BlockChanges::<()>::default())
        {
            any = true;
        }
        self.recount();
        any
    }

    fn bytes(&self) -> u64 {
        self.bytes.get() as u64
    }

    fn live_bytes(&self) -> u64 {
        self.bytes().saturating_sub(self.value.retired_bytes())
    }

    fn memory_usage(&self) -> u64 {
        self.measure().bytes()
    }

    fn recount(&self) {
        let MemoryUsage { bytes, blocks } = self.measure();
        self.blocks.set(blocks);
        self.count_change(bytes as i64 - self.bytes.get() as i64);
    }

    fn count_changes(&self, BlockChanges { freed, allocated }: &BlockChanges<MemoryUsage>) {
        let blocks = self.blocks.get() + allocated.blocks;
        self.blocks.set(blocks.saturating_sub(freed.blocks));
        self.count_change(allocated.bytes as i64 - freed.bytes as i64);
    }

    fn count_creation(&self) {
        self.raise_peak();
        T::registration().stats.count_creation();
    }

    fn check_limit(&self, call: &Call<'_>) -> Result<(), Error> {
        self.value.check_limit(call)
    }

    fn header(&self) -> Result<Vec<u8>, OutOfMemory> {
        self.value.header()
    }

    fn chunk(&self, iterator: i64, max_bytes: usize) -> Option<(i64, &[u8])> {
        self.value.chunk(iterator, max_bytes)
    }

    fn load_chunk(&mut self, iterator: i64, chunk: &[u8]) -> Result<(), ChunkError> {
        let loaded = self.value.load_chunk(iterator, chunk);
        self.recount();
        loaded
    }

    fn load_header(&mut self, header: &[u8]) -> Result<(), FormatError> {
        self.value = T::from_header(header, Budget::UNLIMITED)?;
        self.recount();
        Ok(())
    }
}

impl<T: DataType> Drop for Counted<T> {
    fn drop(&mut self) {
        T::registration().stats.count_value(-1, self.bytes.get());
    }
}
