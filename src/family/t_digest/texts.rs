//! Error texts that several commands share.

use std::ffi::CStr;

pub const NOT_FOUND: &CStr = c"ERR T-Digest: key does not exist";
/// The weights would sum to more than 2^63 - 1.
pub const OVERFLOW: &CStr = c"ERR T-Digest: overflow detected";
/// Not enough memory.
pub const NO_MEMORY: &CStr = c"ERR T-Digest: allocation failed";
/// Unknown option.
pub const WRONG_KEYWORD: &CStr = c"ERR T-Digest: wrong keyword";
