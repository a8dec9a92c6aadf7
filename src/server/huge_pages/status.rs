//! Whether the system permits huge pages to this process.

use std::ffi::CStr;
use std::fs;
use std::mem::MaybeUninit;
use std::path::Path;
use std::sync::OnceLock;

/// The largest size of a huge page. The first write to a page zeroes all of it, which delays all clients. With ordinary
/// pages of 64 KiB, huge pages have 512 MiB.
const MAX_PAGE_BYTES: usize = 2 << 20;

/// The first version of Linux that copies only a part of a huge page when it is written to after a fork.
const MIN_KERNEL: (u32, u32) = (5, 8);

/// The kernel's settings (admin-guide/mm/transhuge in the kernel's documentation).
const DIRECTORY: &str = "/sys/kernel/mm/transparent_hugepage";

/// Whether new arrays get huge pages, or why not.
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
    /// The kernel is older than [`MIN_KERNEL`].
    Kernel,
    /// The kernel's mode is `never`.
    Never,
    /// The process has disabled them. The server does so in the mode `always`, unless `disable-thp` is `no`.
    Process,
}

impl Status {
    /// The status of this process. The mode and the flag of the process can change while it runs.
    pub(super) fn of_process() -> Self {
        // SAFETY: the operation has no arguments.
        let flag = unsafe { libc::prctl(libc::PR_GET_THP_DISABLE, 0, 0, 0, 0) };
        Self::of(Path::new(DIRECTORY), page_bytes(), kernel(), flag)
    }

    /// `flag`: the result of `PR_GET_THP_DISABLE`.
    fn of(directory: &Path, page_bytes: usize, kernel: (u32, u32), flag: i32) -> Self {
        let mode = Mode::read(directory, page_bytes);
        if page_bytes == 0 || mode == Mode::Missing {
            Self::Missing
        } else if page_bytes > MAX_PAGE_BYTES {
            Self::PageSize
        } else if kernel < MIN_KERNEL {
            Self::Kernel
        } else if mode == Mode::Never {
            Self::Never
        } else if flag == 1 {
            // Since Linux 6.18, 3 disables them except in advised ranges.
            Self::Process
        } else {
            Self::Active
        }
    }

    /// The value of the field in INFO.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Setting => "disabled-by-setting",
            Self::Missing => "not-supported",
            Self::PageSize => "page-size-above-2mb",
            Self::Kernel => "kernel-before-5.8",
            Self::Never => "mode-never",
            Self::Process => "disabled-for-process",
        }
    }
}

/// What the kernel permits to all processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Missing,
    Never,
    /// Huge pages in advised ranges (`madvise`) or everywhere (`always`).
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

/// The version of the kernel.
fn kernel() -> (u32, u32) {
    static VERSION: OnceLock<(u32, u32)> = OnceLock::new();
    *VERSION.get_or_init(|| {
        // A service may have no access to /proc/sys.
        let mut names = MaybeUninit::<libc::utsname>::zeroed();
        // SAFETY: the call fills in the names, which end with a null byte; all are empty if it fails.
        let release = unsafe {
            libc::uname(names.as_mut_ptr());
            CStr::from_ptr(names.assume_init_ref().release.as_ptr())
        };
        version(&release.to_string_lossy())
    })
}

/// Major and minor version of a release such as `6.1.0-44-amd64`.
fn version(release: &str) -> (u32, u32) {
    let mut numbers = release
        .split(|character: char| !character.is_ascii_digit())
        .map(|number| number.parse().unwrap_or(0));
    let mut next = || numbers.next().unwrap_or(0);
    (next(), next())
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: (u32, u32) = (6, 1);

    /// The status with these files below [`DIRECTORY`].
    fn status(
        files: &[(&str, &str)],
        page_bytes: usize,
        kernel: (u32, u32),
        flag: i32,
    ) -> &'static str {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{text}\n")).unwrap();
        }
        Status::of(root.path(), page_bytes, kernel, flag).name()
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
            assert_eq!(status(&files, MAX_PAGE_BYTES, KERNEL, 0), expected);
        }
        assert_eq!(status(&[], MAX_PAGE_BYTES, KERNEL, 0), "not-supported");
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
            assert_eq!(status(&files, MAX_PAGE_BYTES, KERNEL, 0), expected);
        }
    }

    #[test]
    fn unsuitable_systems_are_reported() {
        let status = |page_bytes, kernel, flag| {
            status(&[("enabled", "[madvise]")], page_bytes, kernel, flag)
        };
        assert_eq!(status(MAX_PAGE_BYTES, (5, 8), 0), "active");
        assert_eq!(status(MAX_PAGE_BYTES, (5, 7), 0), "kernel-before-5.8");
        assert_eq!(status(MAX_PAGE_BYTES, (4, 19), 0), "kernel-before-5.8");
        assert_eq!(status(MAX_PAGE_BYTES, KERNEL, 1), "disabled-for-process");
        assert_eq!(status(MAX_PAGE_BYTES, KERNEL, 3), "active");
        assert_eq!(status(MAX_PAGE_BYTES, KERNEL, -1), "active");
        assert_eq!(status(512 << 20, KERNEL, 0), "page-size-above-2mb");
        assert_eq!(status(0, KERNEL, 0), "not-supported");
    }

    #[test]
    fn kernel_releases_are_parsed() {
        assert!(kernel() > (0, 0));
        for (release, expected) in [
            ("6.1.0-44-amd64", (6, 1)),
            ("5.15.153.1-microsoft-standard-WSL2", (5, 15)),
            ("4.18.0-553.el8_10.x86_64", (4, 18)),
            ("7", (7, 0)),
            ("", (0, 0)),
        ] {
            assert_eq!(version(release), expected);
        }
    }
}
