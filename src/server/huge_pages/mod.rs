//! Transparent huge pages for large arrays.
//!
//! A huge page takes one entry of the processor's address translation cache instead of 512, and one entry of the page
//! tables, which a fork copies. All arrays begin with ordinary pages, so they take only the memory that is written to. The
//! global allocator keeps a list of the large ones, without system calls. A thread ([`collapser`]) replaces their pages by
//! huge pages where most of a huge page is in use, however the memory was written to: by commands, a load, or during a save.

mod arrays;
mod collapser;
mod kernel;

use super::log;
use arrays::ARRAYS;
pub(super) use collapser::{CHILD_EVENTS, LOADING_EVENTS, end, write_info};
pub(super) use kernel::SETTINGS;
use kernel::{Status, status};
use std::process;

/// The minimum size of a large array.
const MIN_BYTES: usize = 32 << 20;

/// Adds a new block to the list if it is large. Call [`forget`] before it is freed.
#[inline]
pub(super) fn track(block: *mut u8, bytes: usize) {
    if bytes >= MIN_BYTES && !block.is_null() {
        add(block, bytes, None);
    }
}

/// Removes a block from the list. `bytes`: the size that it was added with.
#[inline]
pub(super) fn forget(block: *mut u8, bytes: usize) {
    if bytes >= MIN_BYTES {
        ARRAYS.remove(block.addr());
    }
}

/// Runs `resize`, which may change the size and the address of a block. It returns the new address, or null if it changed
/// nothing.
#[inline]
pub(super) fn track_resize(
    block: *mut u8,
    [old_bytes, new_bytes]: [usize; 2],
    resize: impl FnOnce() -> *mut u8,
) -> *mut u8 {
    if old_bytes.max(new_bytes) < MIN_BYTES {
        return resize();
    }
    let id = ARRAYS.remove(block.addr());
    let new = resize();
    let (kept, bytes) = match new.is_null() {
        true => (block, old_bytes),
        false => (new, new_bytes),
    };
    if bytes >= MIN_BYTES {
        add(kept, bytes, id.filter(|_| kept == block));
    }
    new
}

#[cold]
fn add(block: *mut u8, bytes: usize, continued: Option<usize>) {
    if ARRAYS.add(block.addr(), bytes, continued) {
        collapser::wake();
    }
}

/// Call this when the module is loaded. Lets the thread start in this process, and logs why arrays get no huge pages, and the
/// remedy.
pub(super) fn begin() {
    collapser::PROCESS.get_or_init(process::id);
    let why = match status() {
        Status::Active | Status::Setting => return,
        Status::Missing => "the kernel does not support them or /sys is not mounted",
        Status::PageSize => "those of this kernel have more than 2 MB",
        Status::Kernel => "this kernel cannot collapse pages on request: use Linux 6.1 or later",
        Status::Never => {
            "the kernel's mode is never: run echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"
        }
        Status::Process => {
            "the server has disabled them for its process: run echo madvise > /sys/kernel/mm/transparent_hugepage/enabled and restart it"
        }
        Status::Pagemap => "the server's user cannot read /proc/self/pagemap",
    };
    log::notice(&format!("large keys do not use huge pages: {why}"));
}
