//! Peak memory of a process.
//!
//! It is the largest resident size (VmHWM) since the last reset. Unlike INFO used_memory_peak, it includes memory that the
//! allocator keeps, and it can be reset without clearing the statistics of the server.

use std::fs;

/// Resets the peak of a process to its present resident size.
///
/// # Panics
/// If /proc does not permit it.
pub fn reset(process: u32) {
    fs::write(format!("/proc/{process}/clear_refs"), "5").expect("a peak that can be reset");
}

/// The largest resident size since the start of the process or the last reset, in bytes.
///
/// # Panics
/// If /proc does not exist.
pub fn bytes(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).expect("a status");
    let kilobytes = status
        .lines()
        .find_map(|line| line.strip_prefix("VmHWM:")?.split_whitespace().next())
        .and_then(|number| number.parse::<u64>().ok());
    kilobytes.expect("a number") << 10
}
