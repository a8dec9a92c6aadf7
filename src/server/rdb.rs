//! The value streams of RDB files, DUMP payloads and full synchronisations.

use super::fault;
use super::log::line_of_input;
use redis_module::raw;
use std::ffi::CString;
use std::ptr;

/// The stream ended early, or what came was not of the wanted type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Truncated;

/// Reads values. The module handles I/O errors (HANDLE_IO_ERRORS): each read says whether it failed.
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

    fn checked<V>(&self, value: V) -> Result<V, Truncated> {
        // SAFETY: the stream is the running callback's; so in all methods here.
        if unsafe { api!(RedisModule_IsIOError)(self.io) } == 0 {
            Ok(value)
        } else {
            Err(Truncated)
        }
    }

    /// An unsigned integer.
    ///
    /// # Errors
    /// [`Truncated`]; so for all methods.
    pub fn unsigned(&mut self) -> Result<u64, Truncated> {
        // SAFETY: see above.
        let value = unsafe { api!(RedisModule_LoadUnsigned)(self.io) };
        self.checked(value)
    }

    /// A double, any bit pattern.
    ///
    /// # Errors
    /// [`Truncated`].
    pub fn double(&mut self) -> Result<f64, Truncated> {
        // SAFETY: see above.
        let value = unsafe { api!(RedisModule_LoadDouble)(self.io) };
        self.checked(value)
    }

    /// A string of bytes: the server's own buffer, not copied.
    ///
    /// # Errors
    /// [`Truncated`].
    pub fn bytes(&mut self) -> Result<Vec<u8>, Truncated> {
        let mut len = 0;
        // SAFETY: see above.
        let block = unsafe { api!(RedisModule_LoadStringBuffer)(self.io, &raw mut len) };
        if block.is_null() {
            return Err(Truncated);
        }
        if len == 0 {
            // SAFETY: the block is ours and not used any more.
            unsafe { api!(RedisModule_Free)(block.cast()) };
            return self.checked(Vec::new());
        }
        // SAFETY: the block was made by the server's allocator, which is the global allocator, and
        // holds `len` initialised bytes; the allocator gets no more of the layout than its pointer.
        let bytes = unsafe { Vec::from_raw_parts(block.cast(), len, len) };
        self.checked(bytes)
    }

    /// Writes to the server's log why the value is refused; clients can send such values as RESTORE, so
    /// one line a second at most.
    pub(super) fn log_refusal(&self, why: &str) {
        let Some(why) = line_of_input(why) else {
            return;
        };
        let why = CString::new(why).unwrap_or_default();
        // SAFETY: the format takes one C string, which lives until the return.
        unsafe {
            api!(RedisModule_LogIOError)(
                self.io,
                c"warning".as_ptr(),
                c"value refused: %s".as_ptr(),
                why.as_ptr(),
            );
        }
    }
}

/// Writes values. The server notices errors of the stream itself.
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

    /// An unsigned integer.
    pub fn unsigned(&mut self, value: u64) {
        fault::point("rdb_save integer");
        // SAFETY: the stream is the running callback's; so in all methods here.
        unsafe { api!(RedisModule_SaveUnsigned)(self.io, value) }
    }

    /// A double.
    pub fn double(&mut self, value: f64) {
        fault::point("rdb_save double");
        // SAFETY: see above.
        unsafe { api!(RedisModule_SaveDouble)(self.io, value) }
    }

    /// A string of bytes.
    pub fn bytes(&mut self, value: &[u8]) {
        fault::point("rdb_save bytes");
        // A slice's pointer may dangle where it is empty; the server gets a null one instead.
        let start = if value.is_empty() {
            ptr::null()
        } else {
            value.as_ptr()
        };
        // SAFETY: the bytes are read before the return.
        unsafe { api!(RedisModule_SaveStringBuffer)(self.io, start.cast(), value.len()) }
    }
}
