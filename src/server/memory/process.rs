//! The memory that the process can have: that of the machine, or less if a control group (cgroup) limits it.
//!
//! The limit of a group applies to the groups below it. systemd sets `MemoryMax=` on the service's own group. A
//! container runtime sets the limit on a group that may look like the root from inside the container. So the limits of
//! the process's own group and of all its visible ancestors are read. `/proc/self/cgroup` names the group in each
//! hierarchy, and `/proc/self/mountinfo` lists where the hierarchies are mounted (cgroups(7), proc_pid_mountinfo(5)).
//!
//! Custom code, because no crate reads this: `procfs-core` 0.18 does not decode escaped paths of `mountinfo`, `cgroups-rs` 0.5 depends
//! on D-Bus, and `sysinfo` 0.40 requires Rust 1.95 and reports no limit if a group has a file that it cannot read.

use crate::server::injected;
use crate::server::stats::MemoryRefusal;
use std::fs;
use std::path::{Component, Path};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The memory that a command may take in total.
#[derive(Debug, Clone, Copy)]
pub(in crate::server) struct MemoryLimit {
    pub(in crate::server) bytes: u64,
    /// What sets this limit. In the log, the bytes follow it.
    pub(super) source: &'static str,
    pub(super) refusal: MemoryRefusal,
}

impl MemoryLimit {
    /// The other limit if it is smaller. Of equal limits, the first is named in the log.
    pub(super) fn or_less(self, other: Self) -> Self {
        match other.bytes < self.bytes {
            true => other,
            false => self,
        }
    }
}

/// The memory that the process can have at most.
///
/// Cost: at most once a second, reads `/proc/self/mountinfo` and one file per group.
pub(in crate::server) fn of_process() -> MemoryLimit {
    let machine = MemoryLimit {
        bytes: injected::bytes_of("machine").unwrap_or_else(machine_bytes),
        source: "the machine has",
        refusal: MemoryRefusal::Machine,
    };
    machine.or_less(MemoryLimit {
        bytes: injected::bytes_of("control-group").unwrap_or_else(control_group_bytes),
        source: "the control group allows",
        refusal: MemoryRefusal::ControlGroup,
    })
}

/// Bytes of memory of the machine; `u64::MAX` if the operating system does not report them.
fn machine_bytes() -> u64 {
    // SAFETY: sysconf takes any name.
    let [pages, page] =
        [libc::_SC_PHYS_PAGES, libc::_SC_PAGESIZE].map(|name| unsafe { libc::sysconf(name) });
    match (u64::try_from(pages), u64::try_from(page)) {
        (Ok(pages), Ok(page)) if pages > 0 => pages.saturating_mul(page),
        _ => u64::MAX,
    }
}

/// The time after which a limit is read again.
const MAX_AGE: Duration = Duration::from_secs(1);

/// Bytes that all processes in the control groups of this process may use together; `u64::MAX` if there is no limit.
fn control_group_bytes() -> u64 {
    static LAST: Mutex<Option<(Instant, u64)>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    match *last {
        Some((read, bytes)) if read.elapsed() < MAX_AGE => bytes,
        _ => {
            let bytes = limit_below(Path::new("/"));
            *last = Some((Instant::now(), bytes));
            bytes
        }
    }
}

/// [`control_group_bytes`], read from the files below `root`.
fn limit_below(root: &Path) -> u64 {
    let read = |path| fs::read(root.join(path)).unwrap_or_default();
    let (groups, mounts) = (read("proc/self/cgroup"), read("proc/self/mountinfo"));
    let groups = String::from_utf8_lossy(&groups);
    let mounts = String::from_utf8_lossy(&mounts);
    let limits = (mounts.lines()).filter_map(|mount| limit_of_mount(root, &groups, mount));
    limits.min().unwrap_or(u64::MAX)
}

/// The smallest limit of the process's groups below a mount point, which a line of `/proc/self/mountinfo` describes. `None` for
/// other file systems, and without a limit.
fn limit_of_mount(root: &Path, groups: &str, mount: &str) -> Option<u64> {
    // Optional fields end with a hyphen; file system, source and options follow.
    let (mount, file_system) = mount.split_once(" - ")?;
    let mut mount = mount.split(' ').skip(3).map(unescaped);
    let (group_of_mount, point) = (mount.next()?, mount.next()?);
    let mut file_system = file_system.split(' ');
    let has_memory = |names: &str| names.split(',').any(|name| name == "memory");
    let is_unified = match file_system.next()? {
        "cgroup2" => true,
        "cgroup" if has_memory(file_system.nth(1)?) => false,
        _ => return None,
    };
    // Each line is `number:controllers:path`.
    let group = groups.lines().find_map(|line| {
        let mut fields = line.splitn(3, ':');
        let (number, controllers, path) = (fields.next()?, fields.next()?, fields.next()?);
        let is_this = match is_unified {
            true => number == "0" && controllers.is_empty(),
            false => has_memory(controllers),
        };
        is_this.then_some(Path::new(path))
    })?;
    // The path of a group outside of the process's namespace begins with `/..`. A group that is not visible below the mount
    // point has the limit of the group there.
    let is_plain =
        |path: &&Path| (path.components()).all(|part| matches!(part, Component::Normal(_)));
    let below = group.strip_prefix(group_of_mount).ok().filter(is_plain);
    let point = root.join(point.trim_start_matches('/'));
    let file = match is_unified {
        true => "memory.max",
        false => "memory.limit_in_bytes",
    };
    let limits = below
        .unwrap_or(Path::new(""))
        .ancestors()
        .filter_map(|group| {
            let text = fs::read_to_string(point.join(group).join(file)).ok()?;
            // The text `max`, which is not a number, means no limit.
            text.trim().parse().ok()
        });
    limits.min()
}

/// A path of `/proc/self/mountinfo`, where spaces and backslashes are written as a backslash and three octal digits.
fn unescaped(path: &str) -> String {
    let mut parts = path.split('\\');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| {
        let digits = part.get(..3).map(|digits| u8::from_str_radix(digits, 8));
        match digits {
            Some(Ok(character)) => format!("{text}{}{}", char::from(character), &part[3..]),
            _ => format!("{text}\\{part}"),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIFIED: &str =
        "30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate";

    /// The limit in a file system with these files.
    fn limit(groups: &str, mounts: &str, files: &[(&str, &str)]) -> u64 {
        let root = tempfile::tempdir().unwrap();
        let own = [
            ("proc/self/cgroup", groups),
            ("proc/self/mountinfo", mounts),
        ];
        for (path, text) in own.iter().chain(files) {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{text}\n")).unwrap();
        }
        limit_below(root.path())
    }

    #[test]
    fn a_service_has_the_limit_of_its_own_group() {
        let files = [
            ("sys/fs/cgroup/system.slice/memory.max", "max"),
            (
                "sys/fs/cgroup/system.slice/redis.service/memory.max",
                "536870912",
            ),
            ("sys/fs/cgroup/system.slice/other.service/memory.max", "1"),
        ];
        let group = "0::/system.slice/redis.service";
        assert_eq!(limit(group, UNIFIED, &files), 536_870_912);
    }

    #[test]
    fn the_smallest_limit_of_all_ancestors_applies() {
        for smallest in ["a", "a/b", "a/b/c", "a/b/c/d"] {
            let paths = ["a", "a/b", "a/b/c", "a/b/c/d"];
            let paths = paths.map(|path| {
                let bytes = if path == smallest { "1000" } else { "2000" };
                (format!("sys/fs/cgroup/{path}/memory.max"), bytes)
            });
            let files: Vec<_> = (paths.iter().map(|(path, text)| (&path[..], *text))).collect();
            assert_eq!(limit("0::/a/b/c/d", UNIFIED, &files), 1000, "{smallest}");
        }
    }

    #[test]
    fn a_container_has_the_limit_of_the_group_at_its_mount_point() {
        // Version 2 in a separate namespace.
        let files = [("sys/fs/cgroup/memory.max", "4096")];
        assert_eq!(limit("0::/", UNIFIED, &files), 4096);
        // Version 1 without a separate namespace: the group's path is that of the host.
        let mounts = "\
            739 738 0:31 /docker/1f2e /sys/fs/cgroup/cpu ro,nosuid master:15 - cgroup cgroup rw,cpu\n\
            740 738 0:32 /docker/1f2e /sys/fs/cgroup/memory ro,nosuid master:16 - cgroup cgroup rw,memory";
        let files = [
            ("sys/fs/cgroup/cpu/memory.limit_in_bytes", "1"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "8192"),
        ];
        let groups = "5:cpu:/docker/1f2e\n4:memory:/docker/1f2e\n0::/docker/1f2e";
        assert_eq!(limit(groups, mounts, &files), 8192);
        // The group was created below that of the container.
        let files = [
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "8192"),
            ("sys/fs/cgroup/memory/below/memory.limit_in_bytes", "4096"),
        ];
        assert_eq!(limit("4:memory:/docker/1f2e/below", mounts, &files), 4096);
        // A group that is not visible.
        assert_eq!(limit("4:memory:/elsewhere", mounts, &files), 8192);
        let files = [
            ("sys/fs/cgroup/memory.max", "4096"),
            ("sys/fs/memory.max", "1"),
        ];
        assert_eq!(limit("0::/../other", UNIFIED, &files), 4096);
    }

    #[test]
    fn both_versions_count_side_by_side() {
        let mounts = "\
            35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,cpu,memory\n\
            41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw";
        let groups = "4:cpu,memory:/one\n1:name=systemd:/three\n0::/two";
        let first = ("sys/fs/cgroup/memory/one/memory.limit_in_bytes", "1000");
        let second = ("sys/fs/cgroup/unified/two/memory.max", "2000");
        assert_eq!(limit(groups, mounts, &[first, second]), 1000);
        assert_eq!(limit(groups, mounts, &[second]), 2000);
    }

    #[test]
    fn without_a_readable_limit_there_is_none() {
        assert_eq!(limit("", "", &[]), u64::MAX);
        assert_eq!(limit("0::/a", UNIFIED, &[]), u64::MAX);
        assert_eq!(limit_below(Path::new("/nowhere")), u64::MAX);
        for text in ["max", "", "-1", "many"] {
            let files = [("sys/fs/cgroup/a/memory.max", text)];
            assert_eq!(limit("0::/a", UNIFIED, &files), u64::MAX, "{text}");
        }
        for mounts in [
            "-",
            " - ",
            "1 2 3 / - cgroup2",
            "1 2 3 / /a - cgroup",
            "1 2 3 / /a - cgroup a",
        ] {
            let found = limit("0::/a\n1:memory:/a\n::\n:", mounts, &[]);
            assert_eq!(found, u64::MAX, "{mounts}");
        }
    }

    #[test]
    fn escaped_mount_points_are_read() {
        assert_eq!(unescaped(r"/c\134d\011\x\1"), "/c\\d\t\\x\\1");
        let mounts = r"1 2 0:3 /a\040b /c\134d\011\x rw - cgroup2 none rw";
        let files = [("c\\d\t\\x/below/memory.max", "4096")];
        assert_eq!(limit("0::/a b/below", mounts, &files), 4096);
    }
}
