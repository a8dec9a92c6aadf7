//! The server's log.

use redis_module::raw;
use std::ffi::{CStr, CString};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// A context that tells the log which module speaks; null before the module is loaded.
static CONTEXT: AtomicPtr<raw::RedisModuleCtx> = AtomicPtr::new(ptr::null_mut());

/// Lets log lines name the module. Called once, while it is loaded.
///
/// # Safety
/// `ctx` must be that of the running load function.
pub(super) unsafe fn name_module(ctx: *mut raw::RedisModuleCtx) {
    if let Some(detached) = optional_api!(RedisModule_GetDetachedThreadSafeContext) {
        // SAFETY: by the promise above. The context is kept as long as the process lives.
        CONTEXT.store(unsafe { detached(ctx) }, Ordering::Relaxed);
    }
}

fn write(level: &CStr, text: &str) {
    let Some(log) = optional_api!(RedisModule_Log) else {
        return;
    };
    let text = CString::new(text.replace('\0', "?")).unwrap_or_default();
    // SAFETY: a null context is allowed, and the kept one is never freed; the format takes one C
    // string, which lives until the return.
    unsafe {
        log(
            CONTEXT.load(Ordering::Relaxed),
            level.as_ptr(),
            c"%s".as_ptr(),
            text.as_ptr(),
        );
    }
}

/// Something an operator should know about but need not act on.
pub fn notice(text: &str) {
    write(c"notice", text);
}

/// Something an operator should act on.
pub fn warning(text: &str) {
    write(c"warning", text);
}
