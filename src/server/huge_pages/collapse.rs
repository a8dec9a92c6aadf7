//! The system call that replaces ordinary pages by a huge page.

use std::ffi::{c_int, c_void};
use std::io;
use std::ptr;

/// `MADV_COLLAPSE` of Linux 6.1 (include/uapi/asm-generic/mman-common.h). The crate libc has no such constant for musl.
const MADV_COLLAPSE: c_int = 25;

/// The largest size of a huge page. Writes to it wait while the kernel copies it. With ordinary pages of 64 KiB, huge pages
/// have 512 MiB.
pub(super) const MAX_PAGE_BYTES: usize = 2 << 20;

/// Copies memory into a huge page, if it is not in one.
///
/// The owner of the memory may write to it, free it or use it for something else meanwhile: the call does not change the
/// contents, and fails if nothing is mapped there. If the allocator has just returned the pages to the system, the call may
/// take them again, at most one huge page, until the allocator uses or returns them.
///
/// # Errors
/// The kernel's error.
pub(super) fn collapse(address: usize, page_bytes: usize) -> Result<(), c_int> {
    let address = ptr::without_provenance_mut::<c_void>(address);
    // SAFETY: the call does not change the contents of memory, whatever it is used for now.
    match unsafe { libc::madvise(address, page_bytes, MADV_COLLAPSE) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error().raw_os_error().unwrap_or(0)),
    }
}

/// Whether the kernel has the call.
pub(super) fn is_supported() -> bool {
    // SAFETY: a range without bytes; the kernel reports only whether it knows the advice (madvise(2)).
    unsafe { libc::madvise(ptr::null_mut(), 0, MADV_COLLAPSE) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::slice;
    use std::sync::atomic::{AtomicBool, Ordering};

    const PAGE: usize = MAX_PAGE_BYTES;

    /// Memory of the system that contains a whole huge page.
    struct Mapping {
        start: *mut c_void,
        page: *mut u8,
    }

    impl Mapping {
        fn new() -> Self {
            // SAFETY: a new mapping.
            let start = unsafe {
                let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
                let access = libc::PROT_READ | libc::PROT_WRITE;
                libc::mmap(ptr::null_mut(), 2 * PAGE, access, flags, -1, 0)
            };
            assert_ne!(start, libc::MAP_FAILED);
            let page = start.cast::<u8>();
            let page = page.wrapping_add(page.align_offset(PAGE));
            Self { start, page }
        }

        fn bytes(&mut self) -> &mut [u8] {
            // SAFETY: the bytes are mapped, and the mapping is borrowed as long as they are.
            unsafe { slice::from_raw_parts_mut(self.page, PAGE) }
        }

        fn fill(&mut self, byte: u8) {
            self.bytes().fill(byte);
        }

        /// Returns the pages to the system, as the allocator does with free memory.
        fn purge(&self) {
            // SAFETY: no reference to the bytes exists.
            let result = unsafe { libc::madvise(self.page.cast(), PAGE, libc::MADV_DONTNEED) };
            assert_eq!(result, 0);
        }
    }

    impl Drop for Mapping {
        fn drop(&mut self) {
            // SAFETY: the mapping is not used any more.
            unsafe { libc::munmap(self.start, 2 * PAGE) };
        }
    }

    #[test]
    fn memory_that_another_owner_uses_keeps_its_contents() {
        let mut mapping = Mapping::new();
        mapping.fill(1);
        // The former owner's contents were returned, and the next owner has written other ones.
        mapping.purge();
        mapping.fill(2);
        _ = collapse(mapping.page.addr(), PAGE);
        assert!(mapping.bytes().iter().all(|&byte| byte == 2));
    }

    #[test]
    fn memory_that_was_returned_stays_zero() {
        let mut mapping = Mapping::new();
        mapping.fill(1);
        mapping.purge();
        _ = collapse(mapping.page.addr(), PAGE);
        assert!(mapping.bytes().iter().all(|&byte| byte == 0));
        // The allocator can return it again.
        mapping.fill(1);
        mapping.purge();
        assert!(mapping.bytes().iter().all(|&byte| byte == 0));
    }

    #[test]
    fn memory_that_is_not_mapped_is_an_error() {
        let mapping = Mapping::new();
        let address = mapping.page.addr();
        drop(mapping);
        // Other tests may map memory there at the same time.
        let results: Vec<_> = (0..10).map(|_| collapse(address, PAGE)).collect();
        assert!(results.iter().any(Result::is_err), "{results:?}");
    }

    /// Writes, purges and collapses of the same page at the same time.
    #[test]
    fn a_race_with_the_owner_changes_no_contents() {
        let mut mapping = Mapping::new();
        let address = mapping.page.addr();
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while !is_done.load(Ordering::Relaxed) {
                    _ = collapse(address, PAGE);
                }
            });
            for round in 0..200 {
                let byte = 1 + round % 200;
                mapping.fill(byte);
                assert!(mapping.bytes().iter().all(|&other| other == byte));
                mapping.purge();
                assert!(mapping.bytes().iter().all(|&other| other == 0));
            }
            is_done.store(true, Ordering::Relaxed);
        });
    }
}
