//! Requests for huge pages.

use super::arrays::Arrays;
use super::mappings;
use super::status::{self, Status};
use crate::server::config::{Setting, store_boolean};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};

/// The minimum size of an advised block. The kernel limits the number of mappings of a process, and an advised block is a
/// mapping of its own.
pub(super) const MIN_BYTES: usize = 32 << 20;

/// The setting, for new arrays.
pub(in crate::server) const SETTINGS: &[Setting] = &[Setting {
    name: c"sketch-huge-pages",
    old_name: None,
    default: c"yes",
    set: |text| store_boolean(text, &IS_ENABLED),
    ..Setting::TEMPLATE
}];

static IS_ENABLED: AtomicBool = AtomicBool::new(true);

/// The advised arrays of the process.
pub(super) static ARRAYS: Arrays = Arrays::new();

/// Calls of `madvise` that failed.
pub(super) static ERRORS: AtomicI64 = AtomicI64::new(0);

/// Asks for huge pages for a new block if it is large. The kernel provides them when the block is first written to.
///
/// # Safety
/// The block must have `bytes` bytes, or be null. [`retract`] must be called before it is freed.
#[inline]
pub(in crate::server) unsafe fn advise(block: *mut u8, bytes: usize) {
    if bytes >= MIN_BYTES && !block.is_null() {
        // SAFETY: by the function's contract.
        unsafe { advise_large(block, bytes) }
    }
}

/// Undoes [`advise`], so that the next user of the memory gets ordinary pages again.
///
/// # Safety
/// The block must be live, with the size that [`advise`] was called with.
#[inline]
pub(in crate::server) unsafe fn retract(block: *mut u8, bytes: usize) {
    if bytes >= MIN_BYTES {
        // SAFETY: by the function's contract.
        unsafe { retract_large(block, bytes) }
    }
}

/// # Safety
/// As [`advise`].
#[cold]
unsafe fn advise_large(block: *mut u8, bytes: usize) {
    if status() != Status::Active {
        return;
    }
    let pages = whole_pages(block.addr(), bytes, status::page_bytes());
    let has_room = mappings::leave_room();
    if pages.is_empty() || !has_room || !ARRAYS.add(block.addr(), bytes, mappings::max() / 4) {
        return;
    }
    // SAFETY: the pages are inside the live block, and the advice does not change their contents.
    if !unsafe { madvise(block, pages, libc::MADV_HUGEPAGE) } {
        ARRAYS.remove(block.addr());
    }
}

/// # Safety
/// As [`retract`].
#[cold]
unsafe fn retract_large(block: *mut u8, bytes: usize) {
    if ARRAYS.remove(block.addr()) {
        let pages = whole_pages(block.addr(), bytes, status::page_bytes());
        // SAFETY: as above.
        unsafe { madvise(block, pages, libc::MADV_NOHUGEPAGE) };
    }
}

/// Whether the setting and the system permit huge pages.
pub(super) fn status() -> Status {
    if IS_ENABLED.load(Ordering::Relaxed) {
        Status::of_process()
    } else {
        Status::Setting
    }
}

/// The offsets of the whole huge pages in a block. Empty if there are none.
pub(super) fn whole_pages(start: usize, bytes: usize, page_bytes: usize) -> Range<usize> {
    let end = (start + bytes) / page_bytes * page_bytes;
    match start.checked_next_multiple_of(page_bytes) {
        Some(first) if first < end => first - start..end - start,
        _ => 0..0,
    }
}

/// Calls the system's `madvise`. Returns whether it was successful, and counts failures.
///
/// # Safety
/// The range must be a part of a live block. The advice must not change its contents.
unsafe fn madvise(block: *mut u8, range: Range<usize>, advice: i32) -> bool {
    // SAFETY: by the function's contract.
    let result = unsafe { libc::madvise(block.add(range.start).cast(), range.len(), advice) };
    if result != 0 {
        ERRORS.fetch_add(1, Ordering::Relaxed);
    }
    result == 0
}

#[cfg(test)]
mod tests {
    use super::whole_pages;

    const PAGE: usize = 2 << 20;

    #[test]
    fn only_whole_pages_are_advised() {
        for (start, bytes, expected) in [
            (PAGE, 3 * PAGE, 0..3 * PAGE),
            (PAGE + 16, 3 * PAGE, PAGE - 16..3 * PAGE - 16),
            (PAGE - 1, 2 * PAGE, 1..PAGE + 1),
            (PAGE, 2 * PAGE - 1, 0..PAGE),
            (PAGE + 1, 2 * PAGE - 2, 0..0),
            (usize::MAX - PAGE, PAGE, 0..0),
        ] {
            assert_eq!(whole_pages(start, bytes, PAGE), expected, "{start} {bytes}");
        }
    }
}
