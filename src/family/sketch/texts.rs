//! Error texts that several commands share.

use std::ffi::CStr;

pub const NO_KEY: &CStr = c"ERR no such key";
/// Not enough memory for a reply.
pub const NO_MEMORY: &CStr = c"ERR Insufficient memory";
