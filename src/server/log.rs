//! The server's log.

use std::ffi::{CStr, CString};
use std::ptr;

fn write(level: &CStr, text: &str) {
    let Some(log) = optional_api!(RedisModule_Log) else {
        return;
    };
    let text = CString::new(text.replace('\0', "?")).unwrap_or_default();
    // SAFETY: a null context is allowed; the format takes one C string, which lives until the return.
    unsafe {
        log(
            ptr::null_mut(),
            level.as_ptr(),
            c"%s".as_ptr(),
            text.as_ptr(),
        )
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
