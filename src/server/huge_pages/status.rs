//! Whether the setting and the system permit huge pages.

use super::collapse::{MAX_PAGE_BYTES, is_supported};
use super::pagemap::Pagemap;
use crate::server::config::{Setting, store_boolean};
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// The setting.
pub(in crate::server) const SETTINGS: &[Setting] = &[Setting {
    name: c"sketch-huge-pages",
    old_name: None,
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
