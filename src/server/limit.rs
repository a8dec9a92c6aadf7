//! The limit of the memory that one key may hold: the setting `sketch-max-key-bytes`.
//!
//! It is the operator's answer to a user who may write, but not without end. It holds for commands of
//! clients, and not for what must be obeyed (a primary's stream, the AOF), nor for what the server itself
//! makes a key from: RDB files, RESTORE and COPY.

use super::config::{Setting, store_integer};
use std::ffi::CString;
use std::sync::atomic::{AtomicI64, Ordering};

/// The setting, for the server: bytes from 1 to 2^63 - 1, or 0 for no limit.
pub(super) const SETTINGS: &[Setting] = &[Setting {
    name: c"sketch-max-key-bytes",
    old_name: None,
    default: c"0",
    set: |text| store_integer(text, 0..=i64::MAX, &MAX_BYTES),
    fits: |_| Ok(()),
}];

/// 0: no limit.
static MAX_BYTES: AtomicI64 = AtomicI64::new(0);

/// Bytes that a key may hold, the allocator's rounding included, as MEMORY USAGE counts them (without the
/// key's name and the server's own objects); `None` where there is no limit.
#[inline]
pub(super) fn most_bytes() -> Option<u64> {
    let max = MAX_BYTES.load(Ordering::Relaxed).unsigned_abs();
    (max > 0).then_some(max)
}

/// What a command answers whose key would hold more than `most` bytes.
pub(super) fn error_text(most: u64) -> CString {
    let text =
        format!("ERR the key would hold more bytes than sketch-max-key-bytes allows ({most})");
    CString::new(text).unwrap_or_default()
}
