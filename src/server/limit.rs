//! The limit of the memory that one key may hold: the setting `sketch-max-key-bytes`.
//!
//! It is the operator's answer to a user who may write, but not without end. It holds for commands of
//! clients, and not for what must be obeyed (a primary's stream, the AOF), nor for what the server itself
//! makes a key from: RDB files, RESTORE and COPY.

use super::argument::Argument;
use super::config::{Accepted, Rejection, Setting, integer_in};
use std::ffi::CString;
use std::sync::atomic::{AtomicU64, Ordering};

/// The setting, for the server: bytes from 1 to 2^63 - 1, or 0 for no limit.
pub(super) const SETTINGS: &[Setting] = &[Setting {
    name: c"sketch-max-key-bytes",
    old_name: None,
    default: c"0",
    set,
    fits: |_| Ok(()),
}];

/// 0: no limit.
static MOST_BYTES: AtomicU64 = AtomicU64::new(0);

fn set(text: Argument<'_>) -> Result<Accepted, Rejection> {
    let bytes = integer_in(text, 0..=i64::MAX)?;
    MOST_BYTES.store(bytes.unsigned_abs(), Ordering::Relaxed);
    Ok(Accepted::AsGiven)
}

/// Bytes that a key may hold, the allocator's rounding included, as MEMORY USAGE counts them (without the
/// key's name and the server's own objects); `None` where there is no limit.
#[inline]
pub(super) fn most_bytes() -> Option<u64> {
    Some(MOST_BYTES.load(Ordering::Relaxed)).filter(|&most| most > 0)
}

/// What a command answers whose key would hold more than `most` bytes.
pub(super) fn error_text(most: u64) -> CString {
    let text =
        format!("ERR the key would hold more bytes than sketch-max-key-bytes allows ({most})");
    CString::new(text).unwrap_or_default()
}
