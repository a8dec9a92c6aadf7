//! Which pages of the process are in memory.

use super::collapse::MAX_PAGE_BYTES;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes of an ordinary page. Kernels with larger ones have huge pages above [`MAX_PAGE_BYTES`].
const PAGE_BYTES: usize = 4096;

/// Bytes of the file per page.
const ENTRY_BYTES: usize = 8;

/// The bits of a page (admin-guide/mm/pagemap in the kernel's documentation). `EXCLUSIVE`: no other process has the page,
/// and it is not the page of zeros that all pages share that were only read. Both bits are visible without privileges.
const PRESENT: u64 = 1 << 63;
const SWAPPED: u64 = 1 << 62;
const EXCLUSIVE: u64 = 1 << 56;

/// The kernel's file about the pages of this process.
#[derive(Debug)]
pub(super) struct Pagemap(File);

impl Pagemap {
    /// # Errors
    /// The file does not exist or is not readable.
    pub(super) fn open() -> io::Result<Self> {
        File::open("/proc/self/pagemap").map(Self)
    }

    /// The number of pages, of those that a huge page would replace, that are in memory and belong to this process alone; 0 if
    /// one of them is swapped out.
    ///
    /// # Errors
    /// The kernel refuses the call. (Addresses that are not mapped are not an error.)
    pub(super) fn resident(&self, address: usize, huge_page_bytes: usize) -> io::Result<usize> {
        let mut buffer = [0; MAX_PAGE_BYTES / PAGE_BYTES * ENTRY_BYTES];
        let bytes = &mut buffer[..huge_page_bytes / PAGE_BYTES * ENTRY_BYTES];
        self.0
            .read_exact_at(bytes, (address / PAGE_BYTES * ENTRY_BYTES) as u64)?;
        let (pages, _) = bytes.as_chunks::<ENTRY_BYTES>();
        Ok(resident(pages.iter().map(|&page| u64::from_ne_bytes(page))))
    }
}

fn resident(pages: impl Iterator<Item = u64>) -> usize {
    let mut resident = 0;
    for page in pages {
        if page & SWAPPED != 0 {
            return 0;
        }
        resident += usize::from(page & (PRESENT | EXCLUSIVE) == PRESENT | EXCLUSIVE);
    }
    resident
}

/// Whether so many resident pages are at least three quarters of those that a huge page would replace.
pub(super) fn is_used(resident: usize, huge_page_bytes: usize) -> bool {
    4 * resident >= 3 * (huge_page_bytes / PAGE_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_quarters_of_the_pages_must_be_resident() {
        let pages = |used, other| {
            let used = std::iter::repeat_n(PRESENT | EXCLUSIVE, used);
            let pages: Vec<_> = used.chain([other; 512]).take(512).collect();
            is_used(resident(pages.into_iter()), 2 << 20)
        };
        // Missing, shared (a child process or the page of zeros), and not present for another reason.
        for other in [0, PRESENT, EXCLUSIVE] {
            assert!(!pages(0, other) && !pages(383, other));
            assert!(pages(384, other) && pages(512, other));
        }
        assert!(!pages(511, SWAPPED));
    }
}
