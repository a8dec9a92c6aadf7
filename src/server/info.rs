//! The module's section of INFO.

use super::guard::guarded;
use redis_module::raw;
use std::ffi::{CStr, CString};

/// Writes fields. The server puts the module's name before each.
#[derive(Debug)]
pub struct InfoWriter {
    ctx: *mut raw::RedisModuleInfoCtx,
}

impl InfoWriter {
    /// # Safety
    /// `ctx` must be that of the running INFO callback.
    pub(super) unsafe fn new(ctx: *mut raw::RedisModuleInfoCtx) -> Self {
        Self { ctx }
    }

    /// Begins a section. Returns false if INFO omits the section; the caller then writes no fields.
    pub fn section(&mut self, name: &CStr) -> bool {
        // SAFETY: the context is the running callback's, the name is read before the return, as in
        // all methods here.
        unsafe {
            api!(RedisModule_InfoAddSection)(self.ctx, name.as_ptr()) == raw::REDISMODULE_OK as i32
        }
    }

    /// A number.
    pub fn number(&mut self, name: &str, value: i64) {
        let name = CString::new(name).unwrap_or_default();
        // SAFETY: as above.
        unsafe { api!(RedisModule_InfoAddFieldLongLong)(self.ctx, name.as_ptr(), value) };
    }

    /// A text.
    pub fn text(&mut self, name: &str, value: &str) {
        let name = CString::new(name).unwrap_or_default();
        let value = CString::new(value).unwrap_or_default();
        // SAFETY: as above; the value is only read, although the parameter is not const.
        unsafe {
            api!(RedisModule_InfoAddFieldCString)(self.ctx, name.as_ptr(), value.as_ptr());
        };
    }
}

/// Calls `write` with a writer for the server's INFO callback.
///
/// # Safety
/// `ctx` must be that of the running INFO callback.
pub(super) unsafe fn run(ctx: *mut raw::RedisModuleInfoCtx, write: impl FnOnce(&mut InfoWriter)) {
    // SAFETY: by the function's contract.
    guarded("info", || write(&mut unsafe { InfoWriter::new(ctx) }));
}
