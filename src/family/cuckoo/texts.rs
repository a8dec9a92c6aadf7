//! Error texts that several commands share.

use std::ffi::CStr;

/// A command needs a key that does not exist.
pub const NOT_FOUND: &CStr = c"ERR not found";
/// A command creates a key that exists.
pub const EXISTS: &CStr = c"ERR item exists";
/// Not enough memory for an item or a reply.
pub const NO_MEMORY: &CStr = c"ERR Insufficient memory";
