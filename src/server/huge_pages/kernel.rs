//! What the kernel permits and does: whether the setting and the system permit huge pages, which pages of the process are in
//! memory, and the system call that replaces ordinary pages by a huge page.

use crate::server::config::{Setting, store_boolean};
use std::ffi::{c_int, c_void};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The setting.
pub(in crate::server) const SETTINGS: &[Setting] = &[Setting {
    name: c"sketch-huge-pages",
    default: c"yes",
    set: |text| store_boolean(text, &IS_ENABLED),
    ..Setting::TEMPLATE
}];

static IS_ENABLED: AtomicBool = AtomicBool::new(true);

/// The status of the process is determined at most once in this time: it takes several system calls.
const INTERVAL: Duration = Duration::from_secs(1);

/// The kernel's settings (admin-guide/mm/transhuge in the kernel's documentation).
const DIRECTORY: &str = "/sys/kernel/mm/transparent_hugepage";

/// Whether large arrays get huge pages, or why not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    /// They do.
    Active,
    /// The setting is `no`.
    Setting,
    /// The kernel has no huge pages, or its settings cannot be read.
    Missing,
    /// Huge pages are larger than [`MAX_PAGE_BYTES`].
    PageSize,
    /// The kernel does not have the system call.
    Kernel,
    /// The kernel's mode is `never`, which the system call ignores.
    Never,
    /// The process has disabled them. The server does so in the mode `always`, unless `disable-thp` is `no`.
    Process,
    /// The kernel does not report which pages are in use.
    Pagemap,
}

/// Whether the setting and the system permit huge pages. The answer about the system is up to one second old.
pub(super) fn status() -> Status {
    static LAST: Mutex<Option<(Instant, Status)>> = Mutex::new(None);
    if !IS_ENABLED.load(Ordering::Relaxed) {
        return Status::Setting;
    }
    let now = Instant::now();
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    match *last {
        Some((time, status)) if now < time + INTERVAL => status,
        _ => {
            let status = Status::of_process();
            *last = Some((now, status));
            status
        }
    }
}

impl Status {
    /// The status of this process. The mode and the flag of the process can change while it runs.
    pub(super) fn of_process() -> Self {
        // SAFETY: the operation has no arguments.
        let flag = unsafe { libc::prctl(libc::PR_GET_THP_DISABLE, 0, 0, 0, 0) };
        let status = Self::of(Path::new(DIRECTORY), page_bytes(), is_supported(), flag);
        match status {
            Self::Active if Pagemap::open().is_err() => Self::Pagemap,
            other => other,
        }
    }

    /// `is_supported`: whether the kernel has the system call. `flag`: the result of `PR_GET_THP_DISABLE`.
    fn of(directory: &Path, page_bytes: usize, is_supported: bool, flag: i32) -> Self {
        let mode = Mode::read(directory, page_bytes);
        if page_bytes == 0 || mode == Mode::Missing {
            Self::Missing
        } else if page_bytes > MAX_PAGE_BYTES {
            Self::PageSize
        } else if !is_supported {
            Self::Kernel
        } else if mode == Mode::Never {
            Self::Never
        } else if flag == 1 {
            // Since Linux 6.18, 3 disables them except on request.
            Self::Process
        } else {
            Self::Active
        }
    }

    /// Whether the status can become [`Active`](Self::Active) while the process runs.
    pub(super) fn can_change(self) -> bool {
        matches!(
            self,
            Self::Active | Self::Setting | Self::Never | Self::Process
        )
    }

    /// The value of the field in INFO.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Setting => "disabled-by-setting",
            Self::Missing => "not-supported",
            Self::PageSize => "page-size-above-2mb",
            Self::Kernel => "kernel-before-6.1",
            Self::Never => "mode-never",
            Self::Process => "disabled-for-process",
            Self::Pagemap => "pagemap-not-readable",
        }
    }
}

/// What the kernel permits to all processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Missing,
    Never,
    /// Huge pages on request (`madvise`) or everywhere (`always`).
    Permitted,
}

impl Mode {
    /// Reads the mode of the page size, which Linux 6.8 introduced. By default, it is `inherit`: the mode of all sizes.
    fn read(directory: &Path, page_bytes: usize) -> Self {
        let of_size = format!("hugepages-{}kB/enabled", page_bytes >> 10);
        let mut modes = [&of_size, "enabled"]
            .into_iter()
            .filter_map(|file| Self::of_file(&directory.join(file)));
        modes.next().unwrap_or(Self::Missing)
    }

    /// The mode in a file; `None` if there is no such file, or it is `inherit`.
    fn of_file(file: &Path) -> Option<Self> {
        // The file has the names of all modes, the selected one in brackets.
        let text = fs::read_to_string(file).ok()?;
        let (_, selected) = text.split_once('[')?;
        match selected.split_once(']')?.0 {
            "always" | "madvise" => Some(Self::Permitted),
            "never" => Some(Self::Never),
            _ => None,
        }
    }
}

/// Bytes of a huge page; 0 if there are none.
pub(super) fn page_bytes() -> usize {
    static BYTES: OnceLock<usize> = OnceLock::new();
    *BYTES.get_or_init(|| {
        let file = Path::new(DIRECTORY).join("hpage_pmd_size");
        let text = fs::read_to_string(file).unwrap_or_default();
        text.trim().parse().unwrap_or(0)
    })
}

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

/// A huge page that is returned to the system before each [`collapse`], which takes a free one.
///
/// On a virtual machine, the host may have to provide the memory of a free page first, which takes milliseconds. That
/// happens here, where only this thread waits for it: during a collapse, all threads wait that need memory of this process.
#[derive(Debug)]
pub(super) struct FreePage {
    page: *mut u8,
    page_bytes: usize,
}

impl FreePage {
    /// Reserves addresses, which are never returned. `None` if the system refuses.
    pub(super) fn new(page_bytes: usize) -> Option<Self> {
        let access = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping.
        let start = unsafe { libc::mmap(ptr::null_mut(), 2 * page_bytes, access, flags, -1, 0) };
        if start == libc::MAP_FAILED {
            return None;
        }
        let page = start.cast::<u8>();
        // SAFETY: the mapping has a whole huge page from this address on.
        unsafe {
            let page = page.add(page.align_offset(page_bytes));
            libc::madvise(page.cast(), page_bytes, libc::MADV_HUGEPAGE);
            Some(Self { page, page_bytes })
        }
    }

    /// Takes a huge page from the system and returns it.
    pub(super) fn prepare(&self) {
        // SAFETY: the page is mapped, and only this thread uses it.
        unsafe {
            self.page.write_volatile(1);
            libc::madvise(self.page.cast(), self.page_bytes, libc::MADV_DONTNEED);
        }
    }
}

/// Lets all other threads run before the current one.
pub(super) fn run_after_others() {
    // SAFETY: the calling thread's own priority, which the call can always lower (sched(7): on Linux, it is per thread).
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, LOWEST_PRIORITY) };
}

/// The largest nice value.
const LOWEST_PRIORITY: c_int = 19;

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

    /// The status with these files below [`DIRECTORY`].
    fn status(
        files: &[(&str, &str)],
        page_bytes: usize,
        is_supported: bool,
        flag: i32,
    ) -> &'static str {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{text}\n")).unwrap();
        }
        Status::of(root.path(), page_bytes, is_supported, flag).name()
    }

    #[test]
    fn the_mode_decides_on_a_suitable_system() {
        for (mode, expected) in [
            ("always [madvise] never", "active"),
            ("[always] madvise never", "active"),
            ("always madvise [never]", "mode-never"),
            ("", "not-supported"),
        ] {
            let files = [("enabled", mode)];
            assert_eq!(status(&files, MAX_PAGE_BYTES, true, 0), expected);
        }
        assert_eq!(status(&[], MAX_PAGE_BYTES, true, 0), "not-supported");
    }

    #[test]
    fn the_mode_of_the_page_size_precedes() {
        for (of_size, of_all, expected) in [
            (
                "always [inherit] madvise never",
                "[madvise] never",
                "active",
            ),
            ("always [inherit] madvise never", "[never]", "mode-never"),
            ("always inherit madvise [never]", "[madvise]", "mode-never"),
            ("always inherit [madvise] never", "[never]", "active"),
        ] {
            let files = [
                ("hugepages-2048kB/enabled", of_size),
                ("hugepages-64kB/enabled", "[always]"),
                ("enabled", of_all),
            ];
            assert_eq!(status(&files, MAX_PAGE_BYTES, true, 0), expected);
        }
    }

    #[test]
    fn unsuitable_systems_are_reported() {
        let status = |page_bytes, is_supported, flag| {
            status(&[("enabled", "[madvise]")], page_bytes, is_supported, flag)
        };
        assert_eq!(status(MAX_PAGE_BYTES, false, 0), "kernel-before-6.1");
        assert_eq!(status(MAX_PAGE_BYTES, true, 1), "disabled-for-process");
        assert_eq!(status(MAX_PAGE_BYTES, true, 3), "active");
        assert_eq!(status(MAX_PAGE_BYTES, true, -1), "active");
        assert_eq!(status(512 << 20, true, 0), "page-size-above-2mb");
        assert_eq!(status(0, true, 0), "not-supported");
    }

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
    fn a_free_page_takes_no_memory_after_it_was_prepared() {
        let free = FreePage::new(PAGE).unwrap();
        let pagemap = Pagemap::open().unwrap();
        assert_eq!(free.page.align_offset(PAGE), 0);
        for _ in 0..3 {
            free.prepare();
            assert_eq!(pagemap.resident(free.page.addr(), PAGE).unwrap(), 0);
        }
    }

    #[test]
    fn only_the_thread_that_asks_runs_after_others() {
        // SAFETY: the priority of the calling thread.
        let priority = || unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) };
        let before = priority();
        let of_other = std::thread::spawn(move || {
            run_after_others();
            priority()
        });
        assert_eq!(of_other.join().unwrap(), LOWEST_PRIORITY);
        assert_eq!(priority(), before);
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
