//! Time limits of tests, and numbers of repeated cases.

use std::sync::LazyLock;
use std::time::Duration;

/// The value of `ROUGHLY_TIME_FACTOR` (default: 1): how many times longer a command takes than on a processor of its own, for
/// servers in an emulator or under a memory checker.
///
/// # Panics
/// If the variable is not a positive integer.
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

/// The number of random cases to test, of `count` on a processor of its own. A quarter of them if `ROUGHLY_SAMPLE` is set.
pub fn cases(count: usize) -> usize {
    let parts = match std::env::var_os("ROUGHLY_SAMPLE") {
        Some(_) => 4,
        None => 1,
    };
    count / factor() as usize / parts
}
