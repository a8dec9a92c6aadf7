//! Time limits of tests.

use std::sync::LazyLock;
use std::time::Duration;

/// The time limit for an operation that may take `time` on a processor of its own. `ROUGHLY_TIME_FACTOR` multiplies it
/// (default: 1), for servers in an emulator or under a memory checker.
///
/// # Panics
/// If the variable is not a positive integer.
pub fn limit(time: Duration) -> Duration {
    static FACTOR: LazyLock<u32> = LazyLock::new(|| {
        std::env::var("ROUGHLY_TIME_FACTOR").map_or(1, |text| match text.parse() {
            Ok(factor @ 1..) => factor,
            _ => panic!("ROUGHLY_TIME_FACTOR is not a positive integer: {text}"),
        })
    });
    time * *FACTOR
}
