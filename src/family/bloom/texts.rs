//! Error texts and keyspace events that several commands share.

use roughly_sketch::memory::OutOfMemory;
use roughly_sketch::valkey_bloom;
use std::ffi::CStr;

/// Not enough memory for a filter.
pub const NO_MEMORY: &CStr = c"ERR Insufficient memory to create filter";
/// RedisBloom's error for a capacity.
pub const BAD_CAPACITY: &CStr = c"ERR capacity must be in the range [1, 1073741824]";
/// RedisBloom's error for a growth factor.
pub const BAD_EXPANSION: &CStr = c"ERR expansion must be in the range [0, 32768]";
/// A command needs a key that does not exist.
pub const NOT_FOUND: &CStr = c"ERR not found";

/// What valkey-bloom replies if a filter would be larger than `bf.bloom-memory-usage-limit`.
pub const TOO_LARGE: &CStr = c"ERR operation exceeds bloom object memory limit";
/// valkey-bloom's error for a capacity.
pub const BAD_VALKEY_CAPACITY: &CStr = c"ERR bad capacity";

/// The keyspace event of items that were added to valkey-bloom's type.
pub const VALKEY_ADD_EVENT: &CStr = c"bloom.add";
/// The keyspace event of a new key of valkey-bloom's type.
pub const VALKEY_CREATION_EVENT: &CStr = c"bloom.reserve";

/// The error texts that only valkey-bloom has; `other` if there is none.
pub fn valkey_error(error: valkey_bloom::Error, other: &'static CStr) -> &'static CStr {
    match error {
        valkey_bloom::Error::Full => c"ERR non scaling filter is full",
        valkey_bloom::Error::ErrorRate => c"ERR false positive degrades to 0 on scale out",
        valkey_bloom::Error::Capacity => BAD_VALKEY_CAPACITY,
        valkey_bloom::Error::Size => TOO_LARGE,
        valkey_bloom::Error::Hashes => c"ERR bloom object reached max number of filters",
        valkey_bloom::Error::OutOfMemory(OutOfMemory { .. }) => other,
    }
}
