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

    /// Begins a section. False where it was not asked for; its fields are then skipped.
    pub fn section(&mut self, name: &CStr) -> bool {
        // SAFETY: the context is the running callback's, the name is read before the return; so in
        // all methods here.
        unsafe {
            api!(RedisModule_InfoAddSection)(self.ctx, name.as_ptr()) == raw::REDISMODULE_OK as i32
        }
    }

    /// A number.
    pub fn number(&mut self, name: &str, value: i64) {
        let name = CString::new(name).unwrap_or_default();
        // SAFETY: see above.
        unsafe { api!(RedisModule_InfoAddFieldLongLong)(self.ctx, name.as_ptr(), value) };
    }

    /// A text.
    pub fn text(&mut self, name: &str, value: &str) {
        let name = CString::new(name).unwrap_or_default();
        let value = CString::new(value).unwrap_or_default();
        // SAFETY: see above; the value is of the non-const type for want of care.
        unsafe {
            api!(RedisModule_InfoAddFieldCString)(self.ctx, name.as_ptr(), value.as_ptr());
        };
    }
}

/// Runs a writer of INFO for the server.
///
/// # Safety
/// `ctx` must be that of the running INFO callback.
pub(super) unsafe fn run(ctx: *mut raw::RedisModuleInfoCtx, write: impl FnOnce(&mut InfoWriter)) {
    // SAFETY: by the promise above.
    guarded("info", || write(&mut unsafe { InfoWriter::new(ctx) }));
}
