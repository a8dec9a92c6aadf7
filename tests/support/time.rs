//! Time limits of tests, CPU time of processes, and numbers of repeated cases.

use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, Instant};

/// The value of `ROUGHLY_TIME_FACTOR` (default: 1): how many times longer a command takes than on a processor of its own, for
/// servers in an emulator or under a memory checker.
fn factor() -> u32 {
    static FACTOR: LazyLock<u32> = LazyLock::new(|| {
        std::env::var("ROUGHLY_TIME_FACTOR").map_or(1, |text| match text.parse() {
            Ok(factor @ 1..) => factor,
            _ => panic!("ROUGHLY_TIME_FACTOR is not a positive integer: {text}"),
        })
    });
    *FACTOR
}

/// The time limit for an operation that may take `time` on a processor of its own.
pub fn limit(time: Duration) -> Duration {
    time * factor()
}

/// The longest time between two tests of a condition.
const MAX_INTERVAL: Duration = Duration::from_millis(50);

/// Tests a condition at this interval until it is true. Returns whether it became true in the time of [`limit`].
pub fn becomes_true(
    max: Duration,
    interval: Duration,
    mut condition: impl FnMut() -> bool,
) -> bool {
    let start = Instant::now();
    while !condition() {
        if start.elapsed() >= limit(max) {
            return false;
        }
        thread::sleep(interval.min(MAX_INTERVAL));
    }
    true
}

/// The CPU time that a process has used, in units of 10 ms; 0 if it has ended, or without /proc.
pub fn of_process(id: u32) -> Duration {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
    // The fields utime and stime (proc_pid_stat(5)); the name in parentheses may contain spaces.
    let fields = stat.rsplit_once(')').map_or("", |(_, rest)| rest);
    let ticks = fields.split_whitespace().skip(11).take(2);
    let ticks: u64 = ticks.filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_millis(10 * ticks)
}

/// The number of random cases to test, of `count` on a processor of its own. An eighth of them if `ROUGHLY_SAMPLE` is set.
pub fn cases(count: usize) -> usize {
    let parts = match std::env::var_os("ROUGHLY_SAMPLE") {
        Some(_) => 8,
        None => 1,
    };
    count / factor() as usize / parts
}
