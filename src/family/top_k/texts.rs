//! Error texts that several commands share.

use std::ffi::CStr;

pub const NOT_FOUND: &CStr = c"TopK: key does not exist";
/// Not enough memory for an item or a reply.
pub const NO_MEMORY: &CStr = c"ERR Insufficient memory";
pub const TOO_MUCH: &CStr = c"TopK: too much work for the depth of the sketch";
