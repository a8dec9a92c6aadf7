//! Error texts that several commands share.

use std::ffi::CStr;

/// Not enough memory for a filter.
pub const NO_MEMORY: &CStr = c"ERR Insufficient memory to create filter";
/// RedisBloom's error for a capacity.
pub const BAD_CAPACITY: &CStr = c"ERR capacity must be in the range [1, 1073741824]";
/// RedisBloom's error for a growth factor.
pub const BAD_EXPANSION: &CStr = c"ERR expansion must be in the range [0, 32768]";
/// A command needs a key that does not exist.
pub const NOT_FOUND: &CStr = c"ERR not found";
