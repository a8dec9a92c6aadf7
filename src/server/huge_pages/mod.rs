//! Transparent huge pages for large arrays.
//!
//! A huge page takes one entry of the processor's address translation cache instead of 512, and one entry of the page
//! tables, which a fork copies. The kernel provides huge pages where a process asks for them (`madvise`). The global
//! allocator asks for them for each new block ([`advise`]) and withdraws the request before it frees the block
//! ([`retract`]), so all large arrays have them, however they were created.

mod advice;
mod arrays;
mod mappings;
mod restorer;
mod status;

use super::info::InfoWriter;
use super::log;
use advice::{ARRAYS, ERRORS};
pub(super) use advice::{SETTINGS, advise, retract};
pub(super) use restorer::watch_children;
use status::Status;
use std::sync::atomic::Ordering;

/// [`advise`] for a block that the server has allocated and filled.
///
/// # Safety
/// As [`advise`].
pub(super) unsafe fn advise_filled(block: *mut u8, bytes: usize) {
    if bytes >= advice::MIN_BYTES {
        // SAFETY: by the function's contract.
        unsafe { advise(block, bytes) }
        restorer::restore();
    }
}

/// Logs at load why arrays get no huge pages, and the remedy.
pub(super) fn log_status() {
    let why = match advice::status() {
        Status::Active | Status::Setting => return,
        Status::Missing => "the kernel does not support them or /sys is not mounted",
        Status::PageSize => "those of this kernel have more than 2 MB",
        Status::Kernel => {
            "this kernel would copy whole huge pages after a fork: use Linux 5.8 or later"
        }
        Status::Never => {
            "the kernel's mode is never: run echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"
        }
        Status::Process => {
            "the server has disabled them for its process: run echo madvise > /sys/kernel/mm/transparent_hugepage/enabled and restart it"
        }
    };
    log::notice(&format!("large keys do not use huge pages: {why}"));
}

/// Writes the fields of INFO.
pub(super) fn write_info(info: &mut InfoWriter) {
    info.text("huge_pages", advice::status().name());
    for (name, value) in [
        (
            "huge_page_arrays",
            i64::try_from(ARRAYS.len()).unwrap_or(i64::MAX),
        ),
        ("huge_page_errors", ERRORS.load(Ordering::Relaxed)),
    ] {
        info.number(name, value);
    }
}
