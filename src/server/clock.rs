//! The server's clock.
//!
//! Only sketches with a window use it: for the pane of a write, and for the panes that a read leaves out.

use super::call::Call;

impl Call<'_> {
    /// The time in milliseconds since the Unix epoch: the time that the server has cached for the running command, so
    /// that all commands of a script or transaction see the same time. Redis 7.0 does not offer the cached time to
    /// modules; there it is the current time.
    #[must_use]
    pub fn unix_ms(&self) -> u64 {
        // SAFETY: both functions take no arguments.
        let ms = unsafe {
            match optional_api!(RedisModule_CachedMicroseconds) {
                Some(cached) => cached() / 1000,
                None => api!(RedisModule_Milliseconds)(),
            }
        };
        test_clock::adjusted(u64::try_from(ms).unwrap_or(0))
    }
}

/// The clock of tests. Not in release builds.
///
/// The tests write a time in milliseconds to the file `roughly-clock` in the server's working directory. With a sign in
/// front, it is added to the time of the server; without a sign, it replaces it. The rate limits of the log use the same clock.
pub(super) mod test_clock {
    #[cfg(debug_assertions)]
    pub(in crate::server) fn adjusted(ms: u64) -> u64 {
        let Ok(text) = std::fs::read_to_string("roughly-clock") else {
            return ms;
        };
        let text = text.trim();
        let number = |text: &str| text.parse().unwrap_or(0);
        match (text.strip_prefix('+'), text.strip_prefix('-')) {
            (Some(later), _) => ms.saturating_add(number(later)),
            (_, Some(earlier)) => ms.saturating_sub(number(earlier)),
            _ => number(text),
        }
    }

    #[cfg(not(debug_assertions))]
    pub(in crate::server) fn adjusted(ms: u64) -> u64 {
        ms
    }
}
