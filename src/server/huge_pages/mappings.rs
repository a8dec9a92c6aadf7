//! The mappings of the process. The kernel limits their number; at the limit, allocations fail and the server ends.
//!
//! Advice splits mappings. When it is withdrawn, the kernel does not merge them again: the flags of memory that once was
//! advised differ from those of memory that never was. So the number of advised arrays does not limit the number of
//! mappings, and this file counts them.

use std::fs::{self, File};
use std::io::Read;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The mappings are counted once per this many new arrays. Each array adds at most two.
const INTERVAL: usize = 2048;

/// The kernel's default limit.
const DEFAULT_MAX: usize = 65_530;

/// The limit: the kernel's (`vm.max_map_count`), or its default if that is less or the limit cannot be read.
pub(super) fn max() -> usize {
    static MAX: OnceLock<usize> = OnceLock::new();
    *MAX.get_or_init(|| {
        let text = fs::read_to_string("/proc/sys/vm/max_map_count").unwrap_or_default();
        let max = text.trim().parse().unwrap_or(DEFAULT_MAX);
        max.min(DEFAULT_MAX)
    })
}

/// Whether the process had at most half of the permitted mappings when they were last counted. Call this once for each
/// new array.
pub(super) fn leave_room() -> bool {
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    static LEAVE_ROOM: AtomicBool = AtomicBool::new(false);
    if CALLS
        .fetch_add(1, Ordering::Relaxed)
        .is_multiple_of(INTERVAL)
    {
        let leave_room = count().is_some_and(|mappings| mappings <= max() / 2);
        LEAVE_ROOM.store(leave_room, Ordering::Relaxed);
    }
    LEAVE_ROOM.load(Ordering::Relaxed)
}

/// The number of mappings: the lines of a file. It can have several megabytes, so it is read in parts.
fn count() -> Option<usize> {
    let mut file = File::open("/proc/self/maps").ok()?;
    let mut part = [0; 4096];
    let mut lines = 0;
    loop {
        match file.read(&mut part).ok()? {
            0 => return Some(lines),
            len => lines += part[..len].iter().filter(|&&byte| byte == b'\n').count(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mappings_are_counted() {
        let text = fs::read_to_string("/proc/self/maps").unwrap();
        let (lines, mappings) = (text.lines().count(), count().unwrap());
        // Other tests map memory at the same time.
        assert!(mappings > 5 && mappings.abs_diff(lines) < 1000);
        assert!(mappings < max() && leave_room());
    }
}
