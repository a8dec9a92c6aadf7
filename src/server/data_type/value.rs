//! A value: its state, the cache of its reads, and its counted memory usage.

use super::registration::{AnyValue, DataType, Registration};
use super::usage::StoredUsage;
use crate::server::call::Call;
use crate::server::error::Error;
use crate::server::memory::{MemoryUsage, NATURAL_ALIGNMENT};
use crate::server::stats::Statistic;
use roughly_sketch::accuracy::Field;
use roughly_sketch::blocks::{BlockChanges, BlockMover, Blocks};
use roughly_sketch::cache::{Cache, with_taken};
use roughly_sketch::format::FormatError;
use roughly_sketch::format::chunks::ChunkError;
use roughly_sketch::memory::{Budget, OutOfMemory};
use roughly_sketch::window::{EXPIRED_BYTES, Panes, Timeline};
use std::cell::Cell;
use std::fmt::{self, Debug, Formatter};
use std::mem;
use std::ops::Deref;
use std::ptr;

/// Bytes per unit of the effort to free a value. Each block adds one more unit. The server frees values of more than
/// 64 units in the background, and defragments them in steps.
const EFFORT_BYTES: usize = 4096;

/// A value owned by the server, with its memory usage as counted in INFO.
///
/// Code that may run on another thread than the commands, which are callbacks that save or copy, uses only the state: it has
/// no reference to the whole value.
pub struct Value<T: DataType> {
    pub(in crate::server) state: T,
    cache: Cell<T::Cache>,
    usage: T::Usage,
}

impl<T: DataType> Value<T> {
    /// Boxes a value for the server, and counts it.
    pub fn new(state: T) -> Box<Self> {
        let value = Box::new(Self {
            state,
            cache: Cell::default(),
            usage: T::Usage::default(),
        });
        let usage = value.measure();
        T::REGISTRATION.stats.count_value(1, usage.bytes());
        value.usage.set(usage);
        value
    }

    /// As [`Value::new`], for a value that is put into a key without a check of its size.
    pub(in crate::server) fn of_key(state: T) -> Box<Self> {
        let value = Self::new(state);
        value.raise_peak();
        value
    }

    /// Raises the high-water mark of the bytes of one key. Not part of [`Value::new`], because the limit of a key may
    /// refuse a new value.
    fn raise_peak(&self) {
        let stats = &T::REGISTRATION.stats;
        stats.raise_key_bytes_peak(self.bytes());
    }

    /// The memory usage of all its blocks, its own included. Cost: one call into the server per block.
    fn measure(&self) -> MemoryUsage {
        const { assert!(align_of::<Self>() <= NATURAL_ALIGNMENT) };
        let mut usage = MemoryUsage::default();
        // SAFETY: every `Value` is in a box of its own (see `new`), also while it is dropped.
        unsafe { usage.add(ptr::from_ref(self).cast()) };
        self.state.for_each_block(&mut usage);
        with_taken(&self.cache, |cache| cache.for_each_block(&mut usage));
        usage
    }

    /// Calls `read` with the state and the cache, and counts the memory of the cache if it has changed.
    pub fn with_cache<R>(&self, read: impl FnOnce(&T, &mut T::Cache) -> R) -> R {
        let (result, has_changed) = with_taken(&self.cache, |cache| {
            let before = cache.changes();
            (read(&self.state, cache), cache.changes() != before)
        });
        if has_changed {
            self.measure_again();
        }
        result
    }

    /// The place of the cache, for reads that do not fill it.
    pub fn cache(&self) -> &Cell<T::Cache> {
        &self.cache
    }

    /// The state, for writing. Frees what the cache cannot use any more.
    #[inline(always)]
    pub(in crate::server) fn state_mut(&mut self) -> &mut T {
        self.forget();
        &mut self.state
    }

    /// Frees what the cache cannot use after a write.
    #[inline(always)]
    fn forget(&mut self) {
        if !<T::Cache as Cache<T>>::IS_EMPTY {
            let mut changes = BlockChanges::<MemoryUsage>::default();
            (self.cache.get_mut()).forget(&self.state, &mut changes.freed);
            if changes.freed.blocks > 0 {
                self.count_changes(&changes);
            }
        }
    }

    /// Passes the blocks with this number of the state and of the cache to `mover`. Returns false if there are none.
    pub(in crate::server) fn relocate_blocks(
        &mut self,
        number: usize,
        mover: &mut impl BlockMover,
    ) -> bool {
        let in_state = self.state.relocate_block(number, mover);
        self.cache.get_mut().relocate_block(number, mover) || in_state
    }

    /// The counted memory usage.
    fn usage(&self) -> MemoryUsage {
        self.usage.get(|| self.measure())
    }

    /// Measures its memory usage and counts the change.
    fn measure_again(&self) {
        let before = self.bytes();
        self.usage.set(self.measure());
        self.count_change(self.bytes() as i64 - before as i64);
    }

    /// Adds a change in bytes to the statistics.
    fn count_change(&self, change: i64) {
        if change != 0 {
            T::REGISTRATION.stats.count_bytes(change);
        }
        self.raise_peak();
    }

    /// The effort to free or defragment it, in the server's units.
    pub(in crate::server) fn effort(&self) -> usize {
        let MemoryUsage { bytes, blocks } = self.usage();
        blocks + bytes / EFFORT_BYTES
    }
}

impl<T: DataType> AnyValue for Value<T> {
    fn registration(&self) -> &'static Registration {
        T::REGISTRATION
    }

    fn timeline(&self) -> Option<&Timeline> {
        self.state.timeline()
    }

    fn pane_total(&self, pane: u64) -> u64 {
        self.state.pane_total(pane)
    }

    fn accuracy(&self, panes: Panes) -> Result<Vec<Field>, OutOfMemory> {
        self.with_cache(|state, cache| state.accuracy(panes, cache))
    }

    fn accuracy_of_rows(&self) -> Box<dyn FnMut(Panes) -> Result<Vec<Field>, OutOfMemory> + '_> {
        let mut cache = T::Cache::default();
        Box::new(move |panes| self.state.accuracy(panes, &mut cache))
    }

    fn advance(&mut self, pane: u64) -> bool {
        let mut changes = BlockChanges::default();
        let advanced = self.state.advance_recorded(pane, &mut changes);
        if advanced {
            self.count_changes(&changes);
            self.forget();
        }
        advanced
    }

    fn release(&mut self) {
        let mut changes = BlockChanges::default();
        if self.state.release_recorded(&mut changes) {
            self.count_changes(&changes);
        }
    }

    fn expire(&mut self) -> bool {
        let mut any = self.state.expire();
        let before = self.state.retired_bytes();
        while before - self.state.retired_bytes() < EXPIRED_BYTES as u64
            && self
                .state
                .release_recorded(&mut BlockChanges::<()>::default())
        {
            any = true;
        }
        self.recount();
        any
    }

    fn bytes(&self) -> u64 {
        self.usage().bytes()
    }

    fn live_bytes(&self) -> u64 {
        self.bytes().saturating_sub(self.state.retired_bytes())
    }

    fn memory_usage(&self) -> u64 {
        self.measure().bytes()
    }

    fn recount(&self) {
        with_taken(&self.cache, |cache| cache.forget(&self.state, &mut ()));
        self.measure_again();
    }

    fn count_changes(&self, changes: &BlockChanges<MemoryUsage>) {
        self.usage.change(changes);
        self.count_change(changes.allocated.bytes as i64 - changes.freed.bytes as i64);
    }

    fn count_creation(&self) {
        self.raise_peak();
        T::REGISTRATION.stats.count(Statistic::KeysCreated, 1);
    }

    fn check_limit(&self, call: &Call<'_>) -> Result<(), Error> {
        self.state.check_limit(call)
    }

    fn header(&self) -> Result<Vec<u8>, OutOfMemory> {
        self.state.header()
    }

    fn chunk(&self, iterator: i64, max_bytes: usize) -> Option<(i64, &[u8])> {
        self.state.chunk(iterator, max_bytes)
    }

    fn load_chunk(&mut self, iterator: i64, chunk: &[u8]) -> Result<(), ChunkError> {
        let loaded = self.state_mut().load_chunk(iterator, chunk);
        self.recount();
        loaded
    }

    fn load_header(&mut self, header: &[u8]) -> Result<(), FormatError> {
        let mut loaded = Self::new(T::from_header(header, Budget::UNLIMITED)?);
        mem::swap(&mut self.state, &mut loaded.state);
        drop(loaded);
        self.cache = Cell::default();
        self.recount();
        Ok(())
    }
}

impl<T: DataType> Debug for Value<T> {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        let name = T::TYPE_NAME.to_string_lossy();
        formatter.debug_struct(&name).finish_non_exhaustive()
    }
}

impl<T: DataType> Deref for Value<T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        &self.state
    }
}

impl<T: DataType> Drop for Value<T> {
    fn drop(&mut self) {
        T::REGISTRATION.stats.count_value(-1, self.bytes());
    }
}
