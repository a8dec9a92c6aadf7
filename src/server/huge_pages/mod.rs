//! Transparent huge pages for large arrays.
//!
//! A huge page takes one entry of the processor's address translation cache instead of 512, and one entry of the page
//! tables, which a fork copies. All arrays begin with ordinary pages, so they take only the memory that is written to. The
//! global allocator keeps a list of the large ones, without system calls. A timer of the server ([`collapser`]) replaces their
//! pages by huge pages where most of a huge page is in use, however the memory was written to: by commands, a load, or during a
//! save.

mod arrays;
mod collapser;
mod kernel;

use super::log;
use arrays::{ARRAYS, MIN_BYTES};
pub(super) use collapser::{CHILD_EVENTS, CRON_EVENTS, write_info};
pub(super) use kernel::SETTINGS;
use kernel::status;

/// Adds a new block to the list if it is large. Call [`forget`] before it is freed.
#[inline]
pub(super) fn track(block: *mut u8, bytes: usize) {
    if bytes >= MIN_BYTES && !block.is_null() {
        ARRAYS.add(block.addr(), bytes);
    }
}

/// Removes a block from the list. `bytes`: the size that it was added with.
#[inline]
pub(super) fn forget(block: *mut u8, bytes: usize) {
    if bytes >= MIN_BYTES {
        ARRAYS.remove(block.addr());
    }
}

/// Adopts the result of a function that may change the size and the address of a block: the new address, or null if it changed
/// nothing.
#[inline]
pub(super) fn track_resized(block: *mut u8, new: *mut u8, [old_bytes, new_bytes]: [usize; 2]) {
    if !new.is_null() {
        forget(block, old_bytes);
        track(new, new_bytes);
    }
}

/// Call this when the module is loaded. Logs why arrays get no huge pages, and the remedy.
pub(super) fn log_status() {
    let (_, why) = status();
    if !why.is_empty() {
        log::notice(&format!("large keys do not use huge pages: {why}"));
    }
}
