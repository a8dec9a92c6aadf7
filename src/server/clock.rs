//! The server's clock.
//!
//! Only sketches with a window use it: for the pane of a write, and for the panes that a read leaves out.

use super::call::Call;
use super::test_clock;

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
