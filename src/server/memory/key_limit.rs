//! The setting `sketch-max-key-bytes`: the memory that one key may take.
//!
//! It lets an operator limit users who may write. It applies to commands of clients. It does not apply to commands that
//! must be obeyed (from a primary or the AOF), nor to RDB files, RESTORE and COPY, with which the server creates keys.

use crate::server::config::{Setting, store_integer};
use std::ffi::CString;
use std::sync::atomic::{AtomicI64, Ordering};

/// The setting: bytes from 1 to 2^63 - 1, or 0 for no limit.
pub(in crate::server) const SETTINGS: &[Setting] = &[Setting {
    name: c"sketch-max-key-bytes",
    old_name: None,
    default: c"0",
    set: |text| store_integer(text, 0..=i64::MAX, &MAX_BYTES),
    ..Setting::TEMPLATE
}];

/// 0: no limit.
static MAX_BYTES: AtomicI64 = AtomicI64::new(0);

/// Bytes that a key may take; `None` if there is no limit. Counted as by MEMORY USAGE, including the allocator's
/// rounding, but without the key's name and the server's own objects.
#[inline]
pub(in crate::server) fn max_bytes() -> Option<u64> {
    let max = MAX_BYTES.load(Ordering::Relaxed).unsigned_abs();
    (max > 0).then_some(max)
}

/// The error of a command whose key would take more than `max` bytes.
pub(in crate::server) fn error_text(max: u64) -> CString {
    let text =
        format!("ERR the key would hold more bytes than sketch-max-key-bytes allows ({max})");
    CString::new(text).unwrap_or_default()
}
