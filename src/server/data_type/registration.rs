//! A data type of the module: what the server layer needs of a sketch, and its registration with the server.

use super::usage::StoredUsage;
use crate::server::call::Call;
use crate::server::error::Error;
use crate::server::memory::MemoryUsage;
use crate::server::stats::Stats;
use redis_module::raw;
use roughly_sketch::accuracy::{Accuracy, Field};
use roughly_sketch::blocks::BlockChanges;
use roughly_sketch::format::FormatError;
use roughly_sketch::format::chunks::ChunkError;
use roughly_sketch::memory::{Budget, OutOfMemory};
use roughly_sketch::stored::Stored;
use roughly_sketch::window::{Panes, Timeline};
use std::ffi::{CStr, c_void};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The registration of a type: its handle in the server, its counters, and its functions.
#[derive(Debug)]
pub struct Registration {
    /// The name of the type.
    pub name: &'static CStr,
    /// What the fields of the type in INFO have after the category of the family.
    pub info_suffix: &'static str,
    /// [`Timed::MAX_PANES`](roughly_sketch::window::Timed::MAX_PANES).
    pub max_panes: u64,
    /// [`Stored::HEADER_MARK`].
    pub(super) header_mark: &'static [u8],
    /// Registers the type with the server.
    pub(in crate::server) register: unsafe fn(*mut raw::RedisModuleCtx) -> bool,
    /// The value at an address, which must be that of a value of the type.
    pub(in crate::server) value: unsafe fn(NonNull<c_void>) -> NonNull<dyn AnyValue>,
    /// The value that a header describes: [`Stored::from_header`].
    pub from_header: fn(&[u8], Budget<'_>) -> Result<NewValue, FormatError>,
    pub(super) handle: AtomicPtr<raw::RedisModuleType>,
    /// Its counters.
    pub stats: Stats,
}

impl Registration {
    /// The server's handle of the type; null before it is registered.
    #[inline]
    pub(in crate::server) fn handle(&self) -> *mut raw::RedisModuleType {
        self.handle.load(Ordering::Relaxed)
    }

    pub(in crate::server) fn set_handle(&self, handle: *mut raw::RedisModuleType) {
        self.handle.store(handle, Ordering::Relaxed);
    }

    /// Whether [`Stored::HEADER_MARK`] of the type begins this header.
    pub fn marks(&self, header: &[u8]) -> bool {
        !self.header_mark.is_empty() && header.starts_with(self.header_mark)
    }

    /// Whether values have a window.
    pub fn has_window(&self) -> bool {
        self.max_panes > 0
    }
}

/// A value that is not in a key yet, whatever its type.
pub type NewValue = Box<dyn AnyValue>;

/// A value in a key, whatever its type.
pub trait AnyValue {
    /// The registration of its type.
    fn registration(&self) -> &'static Registration;

    /// Its window and newest pane; `None` without a window.
    fn timeline(&self) -> Option<&Timeline>;

    /// The total of a pane.
    fn pane_total(&self, pane: u64) -> u64;

    /// [`Accuracy::accuracy`].
    ///
    /// # Errors
    /// [`OutOfMemory`].
    fn accuracy(&self, panes: Panes) -> Result<Vec<Field>, OutOfMemory>;

    /// [`AnyValue::accuracy`] for the rows of a series, which share a cache of their own.
    fn accuracy_of_rows(&self) -> Box<dyn FnMut(Panes) -> Result<Vec<Field>, OutOfMemory> + '_>;

    /// Advances it to a pane. Returns whether the pane is a new one.
    fn advance(&mut self, pane: u64) -> bool;

    /// Frees a part of the memory that expired panes have left.
    fn release(&mut self);

    /// Removes what expired panes have left, and frees at least [`EXPIRED_BYTES`](roughly_sketch::window::EXPIRED_BYTES) of
    /// it, or all. Returns whether there was anything.
    fn expire(&mut self) -> bool;

    /// The counted memory usage in bytes.
    fn bytes(&self) -> u64;

    /// The counted memory usage without what is freed step by step.
    fn live_bytes(&self) -> u64;

    /// The memory usage in bytes, measured now. Cost: one call into the server per block.
    fn memory_usage(&self) -> u64;

    /// Measures the memory again, for INFO. Cost: one call into the server per block.
    fn recount(&self);

    /// Counts blocks that were freed and allocated.
    fn count_changes(&self, changes: &BlockChanges<MemoryUsage>);

    /// Counts the value as a key that a command has created.
    fn count_creation(&self);

    /// Checks a new value; see [`DataType::check_limit`].
    ///
    /// # Errors
    /// If the value is above the limit.
    fn check_limit(&self, call: &Call<'_>) -> Result<(), Error>;

    /// [`Stored::header`].
    ///
    /// # Errors
    /// [`OutOfMemory`].
    fn header(&self) -> Result<Vec<u8>, OutOfMemory>;

    /// [`Stored::chunk`].
    fn chunk(&self, iterator: i64, max_bytes: usize) -> Option<(i64, &[u8])>;

    /// [`Stored::load_chunk`].
    ///
    /// # Errors
    /// [`ChunkError`].
    fn load_chunk(&mut self, iterator: i64, chunk: &[u8]) -> Result<(), ChunkError>;

    /// Replaces the value by the one that a header describes.
    ///
    /// # Errors
    /// [`FormatError`]; the value has not changed.
    fn load_header(&mut self, header: &[u8]) -> Result<(), FormatError>;
}

/// A sketch that is a type of the server. A value may be freed on another thread than the one that created it.
pub trait DataType: Stored + Accuracy + 'static {
    /// The registration of this type: a static that no other type uses.
    const REGISTRATION: &'static Registration;
    /// What values store about their memory usage.
    type Usage: StoredUsage;
    /// The command that loads a chunk, for AOF rewrite.
    const LOADCHUNK: &'static CStr;
    /// Maximum size in bytes of a payload that AOF rewrite emits as one RESTORE. 64 MiB is well below the server's
    /// limit for an argument (proto-max-bulk-len, 512 MB by default), so that servers with a lower limit can load the
    /// AOF.
    const MAX_RESTORE_BYTES: u64 = 64 << 20;

    /// A command that recreates a value, which AOF rewrite emits instead of RESTORE.
    const PAYLOAD_COMMAND: Option<PayloadCommand<Self>> = None;

    /// The options of [`Stored::load`]. `is_limited`: a client sent the values with RESTORE, so the limits of this server apply.
    fn load_options(_is_limited: bool) -> Self::LoadOptions {
        Self::LoadOptions::default()
    }

    /// Checks a new value against a limit of the type.
    ///
    /// # Errors
    /// If the value is above the limit.
    fn check_limit(&self, _call: &Call<'_>) -> Result<(), Error> {
        Ok(())
    }

    /// Whether active defragmentation moves the values.
    fn is_defragmented() -> bool {
        true
    }
}

/// A command `name key payload` that recreates a value.
#[derive(Debug)]
pub struct PayloadCommand<T> {
    /// Its name.
    pub name: &'static CStr,
    /// The length of the payload in bytes.
    pub payload_bytes: fn(&T) -> u64,
    /// The payload.
    pub payload: fn(&T) -> Result<Vec<u8>, OutOfMemory>,
}
