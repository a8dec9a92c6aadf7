//! What the kernel permits and does: whether the setting and the system permit huge pages, which pages of the process are in
//! memory, and the system call that replaces ordinary pages by a huge page.

use crate::server::config::{Setting, store_boolean};
use std::ffi::{c_int, c_void};
use std::fs::{self, File};
use std::io;
use std::mem::MaybeUninit;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The setting.
pub(in crate::server) const SETTINGS: &[Setting] =
    &[Setting::new(c"sketch-huge-pages", c"yes", |text| {
        store_boolean(text, &IS_ENABLED)
    })];

static IS_ENABLED: AtomicBool = AtomicBool::new(true);

/// The kernel's settings (admin-guide/mm/transhuge in the kernel's documentation).
const DIRECTORY: &str = "/sys/kernel/mm/transparent_hugepage";

/// The status if large arrays get huge pages.
pub(super) const ACTIVE: &str = "active";

/// Whether the setting and the system permit huge pages: the value of the field in INFO, and for the log the reason and the
/// remedy; an empty one if the operator chose the status. The mode and the flag of the process can change while it runs.
pub(super) fn status() -> (&'static str, &'static str) {
    if !IS_ENABLED.load(Ordering::Relaxed) {
        return ("disabled-by-setting", "");
    }
    // SAFETY: the operation has no arguments.
    let flag = unsafe { libc::prctl(libc::PR_GET_THP_DISABLE, 0, 0, 0, 0) };
    let has_pagemap = Pagemap::open().is_ok();
    of_system(Path::new(DIRECTORY), is_supported(), flag, has_pagemap)
}

/// The status of a system. `is_supported`: whether the kernel has the system call. `flag`: the result of
/// `PR_GET_THP_DISABLE`. `has_pagemap`: whether the kernel reports which pages are in use.
fn of_system(
    directory: &Path,
    is_supported: bool,
    flag: i32,
    has_pagemap: bool,
) -> (&'static str, &'static str) {
    let bytes = fs::read_to_string(directory.join("hpage_pmd_size")).unwrap_or_default();
    let bytes: Option<usize> = bytes.trim().parse().ok();
    // The mode of the page size, which Linux 6.8 introduced, is by default `inherit`: that of all sizes.
    let mut modes = ["hugepages-2048kB/enabled", "enabled"].into_iter();
    let is_permitted = modes.find_map(|file| permits(&directory.join(file)));
    if bytes.is_none() || is_permitted.is_none() {
        let why = "the kernel does not support them or /sys is not mounted";
        ("not-supported", why)
    } else if bytes != Some(PAGE_BYTES) {
        let why = "those of this kernel have more than 2 MB";
        ("page-size-above-2mb", why)
    } else if !is_supported {
        let why = "this kernel cannot collapse pages on request: use Linux 6.1 or later";
        ("kernel-before-6.1", why)
    } else if is_permitted == Some(false) {
        let why = "the kernel's mode is never: run echo madvise > /sys/kernel/mm/transparent_hugepage/enabled";
        ("mode-never", why)
    } else if flag == 1 {
        // Since Linux 6.18, 3 disables them except on request.
        let why = "the server has disabled them for its process: run echo madvise > /sys/kernel/mm/transparent_hugepage/enabled and restart it";
        ("disabled-for-process", why)
    } else if !has_pagemap {
        let why = "the server's user cannot read /proc/self/pagemap";
        ("pagemap-not-readable", why)
    } else {
        (ACTIVE, "")
    }
}

/// Whether the mode in a file permits huge pages, on request (`madvise`) or everywhere (`always`); `None` if there is no such file,
/// or it is `inherit`.
fn permits(file: &Path) -> Option<bool> {
    // The file has the names of all modes, the selected one in brackets.
    let text = fs::read_to_string(file).ok()?;
    let (_, selected) = text.split_once('[')?;
    match selected.split_once(']')?.0 {
        "always" | "madvise" => Some(true),
        "never" => Some(false),
        _ => None,
    }
}

/// Bytes of a huge page. Writes to it wait while the kernel copies it: larger ones (512 MiB with ordinary pages of 64 KiB) are
/// not used.
pub(super) const PAGE_BYTES: usize = 2 << 20;

/// Bytes of an ordinary page.
const SMALL_PAGE_BYTES: usize = 4096;

/// The number of ordinary pages that a huge page replaces.
const SMALL_PAGES: usize = PAGE_BYTES / SMALL_PAGE_BYTES;

/// The number of them that are in use if the huge page is: three quarters.
pub(super) const MIN_USED: usize = SMALL_PAGES / 4 * 3;

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

    /// Whether the huge page at this address is in use. (An address that is not mapped is not an error.)
    pub(super) fn is_used(&self, address: usize) -> bool {
        // The file has a number of 64 bits per page.
        let mut buffer = [0; SMALL_PAGES * size_of::<u64>()];
        let offset = address / SMALL_PAGE_BYTES * size_of::<u64>();
        if self.0.read_exact_at(&mut buffer, offset as u64).is_err() {
            return false;
        }
        let (pages, _) = buffer.as_chunks();
        is_used(pages.iter().map(|&page| u64::from_ne_bytes(page)))
    }
}

/// Whether enough of these pages are in memory and belong to this process alone, and none is swapped out.
fn is_used(pages: impl Iterator<Item = u64>) -> bool {
    let mut used = 0;
    for page in pages {
        if page & SWAPPED != 0 {
            return false;
        }
        used += usize::from(page & (PRESENT | EXCLUSIVE) == PRESENT | EXCLUSIVE);
    }
    used >= MIN_USED
}

/// `MADV_COLLAPSE` of Linux 6.1 (include/uapi/asm-generic/mman-common.h). The crate libc has no such constant for musl.
const MADV_COLLAPSE: c_int = 25;

/// Copies memory into a huge page, if it is not in one.
///
/// The owner of the memory may write to it, free it or use it for something else meanwhile: the call does not change the
/// contents, and fails if nothing is mapped there. If the allocator has just returned the pages to the system, the call may
/// take them again, at most one huge page, until the allocator uses or returns them.
///
/// # Errors
/// The kernel's error.
pub(super) fn collapse(address: usize) -> Result<(), c_int> {
    let address = ptr::without_provenance_mut::<c_void>(address);
    // SAFETY: the call does not change the contents of memory, whatever it is used for now.
    match unsafe { libc::madvise(address, PAGE_BYTES, MADV_COLLAPSE) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error().raw_os_error().unwrap_or(0)),
    }
}

/// The CPU time of the current thread.
pub(super) fn cpu_time() -> Duration {
    let (tv_sec, tv_nsec) = (0, 0);
    let mut time = libc::timespec { tv_sec, tv_nsec };
    // SAFETY: the call fills in the time; it remains zero if the call fails.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    let seconds = Duration::from_secs(time.tv_sec.unsigned_abs());
    seconds + Duration::from_nanos(time.tv_nsec.unsigned_abs())
}

/// The number of ordinary pages that the current thread has got.
pub(super) fn page_faults() -> usize {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the call fills in the usage; it remains zero if the call fails.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_THREAD, usage.as_mut_ptr());
        usage.assume_init()
    };
    usage.ru_minflt.unsigned_abs() as usize
}

/// Whether the kernel has the call.
fn is_supported() -> bool {
    // SAFETY: a range without bytes; the kernel reports only whether it knows the advice (madvise(2)).
    unsafe { libc::madvise(ptr::null_mut(), 0, MADV_COLLAPSE) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::slice;

    const SIZE: (&str, &str) = ("hpage_pmd_size", "2097152");
    const MADVISE: (&str, &str) = ("enabled", "always [madvise] never");

    /// The status with these files below [`DIRECTORY`].
    fn status(
        files: &[(&str, &str)],
        is_supported: bool,
        flag: i32,
        has_pagemap: bool,
    ) -> &'static str {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{text}\n")).unwrap();
        }
        of_system(root.path(), is_supported, flag, has_pagemap).0
    }

    #[test]
    fn the_mode_decides_on_a_suitable_system() {
        let of_size = "hugepages-2048kB/enabled";
        for (files, expected) in [
            (&[MADVISE][..], "active"),
            (&[("enabled", "[always] madvise never")], "active"),
            (&[("enabled", "always madvise [never]")], "mode-never"),
            (&[("enabled", "")], "not-supported"),
            (&[], "not-supported"),
            // The mode of the page size precedes.
            (&[(of_size, "always [inherit]"), MADVISE], "active"),
            (
                &[(of_size, "always [inherit]"), ("enabled", "[never]")],
                "mode-never",
            ),
            (&[(of_size, "always [never]"), MADVISE], "mode-never"),
            (
                &[(of_size, "always [madvise]"), ("enabled", "[never]")],
                "active",
            ),
        ] {
            let files = [files, &[SIZE]].concat();
            assert_eq!(status(&files, true, 0, true), expected, "{files:?}");
        }
    }

    #[test]
    fn unsuitable_systems_are_reported() {
        let files = [SIZE, MADVISE];
        assert_eq!(status(&files, false, 0, true), "kernel-before-6.1");
        assert_eq!(status(&files, true, 0, false), "pagemap-not-readable");
        assert_eq!(status(&files, true, 1, true), "disabled-for-process");
        assert_eq!(status(&files, true, 3, true), "active");
        assert_eq!(status(&files, true, -1, true), "active");
        let large = [("hpage_pmd_size", "536870912"), MADVISE];
        assert_eq!(status(&large, true, 0, true), "page-size-above-2mb");
        assert_eq!(status(&[MADVISE], true, 0, true), "not-supported");
    }

    #[test]
    fn three_quarters_of_the_pages_must_be_resident() {
        let pages = |used, other| {
            let used = std::iter::repeat_n(PRESENT | EXCLUSIVE, used);
            is_used(used.chain([other; SMALL_PAGES]).take(SMALL_PAGES))
        };
        // Missing, shared (a child process or the page of zeros), and not present for another reason.
        for other in [0, PRESENT, EXCLUSIVE] {
            assert!(!pages(0, other) && !pages(383, other));
            assert!(pages(384, other) && pages(512, other));
        }
        assert!(!pages(511, SWAPPED));
    }

    /// The owner may have freed the memory, and another one may use it.
    #[test]
    fn a_collapse_changes_no_contents() {
        // SAFETY: a new mapping, which contains a whole huge page. Its bytes are used through one reference at a time.
        unsafe {
            let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
            let access = libc::PROT_READ | libc::PROT_WRITE;
            let start = libc::mmap(ptr::null_mut(), 2 * PAGE_BYTES, access, flags, -1, 0);
            assert_ne!(start, libc::MAP_FAILED);
            let page = start.cast::<u8>();
            let page = page.add(page.align_offset(PAGE_BYTES));
            let bytes = || slice::from_raw_parts_mut(page, PAGE_BYTES);
            for byte in 1..20 {
                bytes().fill(byte);
                _ = collapse(page.addr());
                assert!(bytes().iter().all(|&other| other == byte));
                libc::madvise(page.cast(), PAGE_BYTES, libc::MADV_DONTNEED);
                _ = collapse(page.addr());
                assert!(bytes().iter().all(|&other| other == 0));
            }
            libc::munmap(start, 2 * PAGE_BYTES);
            assert!(collapse(0).is_err());
        }
    }
}
