//! Error texts that several commands share.

use std::ffi::CStr;

pub const NOT_FOUND: &CStr = c"TopK: key does not exist";
/// Not enough memory for an item or a reply.
pub const NO_MEMORY: &CStr = c"ERR Insufficient memory";
/// The candidates of a sketch with a window have too many bytes for another item.
pub const NO_ROOM: &CStr =
    c"TopK: the items of a sketch with a window can have at most 16 MiB in total";
pub const TOO_MUCH: &CStr = c"TopK: too much work for the depth of the sketch";
