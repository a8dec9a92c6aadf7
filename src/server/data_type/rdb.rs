//! The value streams of RDB files, DUMP payloads and full synchronizations, and saves that fail.
//!
//! A save fails when a value cannot be saved.
//! The module API cannot report such an error, so a file or payload that lacks values would look complete. Instead:
//!
//! - A child process (BGSAVE, full synchronization, AOF rewrite) ends with an error. The server keeps the old file, or
//!   ends the synchronization.
//! - A file that the main process writes (SAVE, SHUTDOWN, DEBUG RELOAD) is removed while it still has its temporary
//!   name. The server then fails to rename it, reports the error, and keeps the old file. If there is no such file, the
//!   process aborts.
//! - A payload in memory (DUMP, MIGRATE) ends with a value that RESTORE refuses.

use crate::server::argument::Argument;
use crate::server::context::Subscription;
use crate::server::huge_pages;
use crate::server::injected;
use crate::server::log::{self, quoted};
use redis_module::raw;
use roughly_sketch::buffer::Buffer;
use roughly_sketch::format::{FormatError, Sink, Source};
use std::ffi::{CString, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

/// Reads values. The module handles I/O errors (HANDLE_IO_ERRORS): each read reports whether it failed.
#[derive(Debug)]
pub struct RdbReader {
    io: *mut raw::RedisModuleIO,
}

impl RdbReader {
    /// # Safety
    /// `io` must be that of the running load callback.
    pub(super) unsafe fn new(io: *mut raw::RedisModuleIO) -> Self {
        Self { io }
    }

    fn checked<V>(&self, value: V) -> Result<V, FormatError> {
        // SAFETY: the stream is the running callback's.
        if unsafe { api!(RedisModule_IsIOError)(self.io) } == 0 {
            Ok(value)
        } else {
            Err(FormatError::Truncated)
        }
    }

    /// The key of the value; `None` if the server does not specify it.
    pub(super) fn key(&self) -> Option<Argument<'_>> {
        // SAFETY: the stream is the running callback's. The name lives as long as the callback.
        let key = unsafe { api!(RedisModule_GetKeyNameFromIO)(self.io) };
        // SAFETY: as above.
        (!key.is_null()).then(|| unsafe { Argument::new(key.cast_mut()) })
    }

    /// Logs why a value is refused. Clients can send such values with RESTORE, so at most one line per second is logged.
    pub(super) fn log_refusal(&self, why: &str) {
        let key = self
            .key()
            .map(|key| format!(" of key {}", quoted(key.bytes())));
        let text = || format!("value{} refused: {why}", key.as_deref().unwrap_or_default());
        let Some(line) = log::OF_INPUT.line(text) else {
            return;
        };
        let line = CString::new(line).unwrap_or_default();
        // SAFETY: the format takes one C string, which lives until the return.
        unsafe {
            api!(RedisModule_LogIOError)(
                self.io,
                c"warning".as_ptr(),
                c"%s".as_ptr(),
                line.as_ptr(),
            );
        }
    }
}

impl Source for RdbReader {
    fn read_unsigned(&mut self) -> Result<u64, FormatError> {
        // SAFETY: the stream is the running callback's.
        let value = unsafe { api!(RedisModule_LoadUnsigned)(self.io) };
        self.checked(value)
    }

    fn read_double(&mut self) -> Result<f64, FormatError> {
        // SAFETY: as above.
        let value = unsafe { api!(RedisModule_LoadDouble)(self.io) };
        self.checked(value)
    }

    /// Checks for an error once, after the last value: after an error, the server returns zeros and keeps the error.
    fn read_doubles(&mut self, values: &mut [f64]) -> Result<(), FormatError> {
        let load = api!(RedisModule_LoadDouble);
        for value in values {
            // SAFETY: as above.
            *value = unsafe { load(self.io) };
        }
        self.checked(())
    }

    /// Returns the server's buffer without copying it.
    fn read_bytes(&mut self) -> Result<Buffer, FormatError> {
        let mut len = 0;
        // SAFETY: as above.
        let block = unsafe { api!(RedisModule_LoadStringBuffer)(self.io, &raw mut len) };
        if block.is_null() {
            return Err(FormatError::Truncated);
        }
        if len == 0 {
            // SAFETY: the block belongs to this function and is not used any more.
            unsafe { api!(RedisModule_Free)(block.cast()) };
            return self.checked(Buffer::default());
        }
        huge_pages::track(block.cast(), len);
        // SAFETY: the block is from the server's allocator, which is the global allocator, and holds `len`
        // initialized bytes; the allocator needs only the layout's alignment, and the size for the list of large blocks.
        let bytes = unsafe { Vec::from_raw_parts(block.cast(), len, len) };
        self.checked(bytes.into())
    }
}

/// Writes values. The server detects errors of the stream.
#[derive(Debug)]
pub struct RdbWriter {
    io: *mut raw::RedisModuleIO,
}

impl RdbWriter {
    /// # Safety
    /// `io` must be that of the running save callback.
    pub(super) unsafe fn new(io: *mut raw::RedisModuleIO) -> Self {
        Self { io }
    }
}

impl Sink for RdbWriter {
    fn write_unsigned(&mut self, value: u64) {
        injected::point("rdb_save integer");
        // SAFETY: the stream is the running callback's.
        unsafe { api!(RedisModule_SaveUnsigned)(self.io, value) }
    }

    fn write_double(&mut self, value: f64) {
        injected::point("rdb_save double");
        // SAFETY: as above.
        unsafe { api!(RedisModule_SaveDouble)(self.io, value) }
    }

    fn write_bytes(&mut self, value: &[u8]) {
        injected::point("rdb_save bytes");
        // The pointer of an empty slice may dangle; the server gets a null pointer instead.
        let start = if value.is_empty() {
            ptr::null()
        } else {
            value.as_ptr()
        };
        // SAFETY: as above; the bytes are read before the return.
        unsafe { api!(RedisModule_SaveStringBuffer)(self.io, start.cast(), value.len()) }
    }
}

/// Whether the main process writes a file now.
static WRITES_FILE: AtomicBool = AtomicBool::new(false);

/// The subscription to the server event that sets [`WRITES_FILE`].
pub(in crate::server) const FILE_EVENTS: Subscription =
    (raw::REDISMODULE_EVENT_PERSISTENCE, on_persistence);

unsafe extern "C" fn on_persistence(
    _ctx: *mut raw::RedisModuleCtx,
    _event: raw::RedisModuleEvent,
    subevent: u64,
    _data: *mut c_void,
) {
    let starts = [
        raw::REDISMODULE_SUBEVENT_PERSISTENCE_SYNC_RDB_START,
        raw::REDISMODULE_SUBEVENT_PERSISTENCE_SYNC_AOF_START,
    ];
    WRITES_FILE.store(starts.contains(&subevent), Ordering::Relaxed);
}

/// Call this when a value could not be written to an RDB stream, after logging the reason. Does not return in a child
/// process.
///
/// # Safety
/// `io` must be that of the running save callback.
pub(super) unsafe fn fail_rdb(io: *mut raw::RedisModuleIO) {
    // SAFETY: by the function's contract, as in all calls here.
    unsafe {
        end_child(io);
        // No type of the module contains a float, so every loader rejects the value, whatever was written before.
        api!(RedisModule_SaveFloat)(io, 0.0);
    }
    if !WRITES_FILE.load(Ordering::Relaxed) {
        log::warning("a value could not be saved: RESTORE will refuse this payload");
    } else if remove_temporary_file() {
        log::warning(
            "a value could not be saved: the new file is discarded and the old file is kept",
        );
    } else {
        log::warning(
            "a value could not be saved, and the incomplete file cannot be removed: ending the process",
        );
        std::process::abort();
    }
}

/// Call this when a value could not be written to an AOF, after logging the reason. Does not return in a child
/// process.
///
/// # Safety
/// `io` must be that of the running rewrite callback.
pub(super) unsafe fn fail_aof(io: *mut raw::RedisModuleIO) {
    // SAFETY: by the function's contract; the format takes no arguments. The server fails the rewrite because there is
    // no such command.
    unsafe {
        end_child(io);
        api!(RedisModule_EmitAOF)(io, c"ROUGHLY.FAILED".as_ptr(), c"".as_ptr());
    }
}

/// Ends the process with an error if it is a child of the server.
///
/// # Safety
/// `io` must be that of a running callback.
unsafe fn end_child(io: *mut raw::RedisModuleIO) {
    // SAFETY: by the function's contract.
    let flags = unsafe {
        let ctx = api!(RedisModule_GetContextFromIO)(io);
        api!(RedisModule_GetContextFlags)(ctx)
    };
    if flags & raw::REDISMODULE_CTX_FLAGS_IS_CHILD as c_int == 0 {
        return;
    }
    // The server expects a child that ends with an error to remove its RDB file itself.
    remove_temporary_file();
    log::warning("a value could not be saved: this child process ends with an error");
    // SAFETY: ends the process; nothing of it is left to clean up.
    unsafe { libc::_exit(1) };
}

/// Removes the temporary file that this process writes. Returns false if there is none.
fn remove_temporary_file() -> bool {
    std::fs::remove_file(format!("temp-{}.rdb", std::process::id())).is_ok()
}
