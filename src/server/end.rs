//! The end of the process when the allocator has no memory for an operation that must be obeyed.

use super::log;
use super::log_text::{quoted, size};

/// Ends the process, as the server does when it has no memory for a value of its own types: a copy that lacks a key would not
/// be noticed. `operation` is the command or callback.
pub(super) fn without_memory(operation: &str, key: &[u8], bytes: u64) -> ! {
    log::warning(&format!(
        "{operation} must be obeyed, and the allocator has no {} for key {}: the server ends",
        size(bytes),
        quoted(key)
    ));
    std::process::abort()
}
