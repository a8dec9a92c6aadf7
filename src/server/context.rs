//! The server's context of a running command: flags, clock and random bytes.

use super::test_clock;
use redis_module::raw;

/// The context of a running command.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context(*mut raw::RedisModuleCtx);

impl Context {
    /// # Safety
    /// The pointer must be that of a running command as long as the context is used.
    pub(super) unsafe fn new(ctx: *mut raw::RedisModuleCtx) -> Self {
        Self(ctx)
    }

    #[inline(always)]
    pub(super) fn as_raw(self) -> *mut raw::RedisModuleCtx {
        self.0
    }

    fn has_flag(self, flags: u32) -> bool {
        self.flags() & flags != 0
    }

    /// The flags of RedisModule_GetContextFlags. It takes the server about a hundred instructions.
    pub(super) fn flags(self) -> u32 {
        // SAFETY: the context is the running command's.
        unsafe { api!(RedisModule_GetContextFlags)(self.0) }.cast_unsigned()
    }

    /// Whether the client speaks RESP3.
    pub(super) fn is_resp3(self) -> bool {
        self.has_flag(raw::REDISMODULE_CTX_FLAGS_RESP3)
    }

    /// The time in milliseconds since the Unix epoch: the time that the server has cached for the running command, so
    /// that all commands of a script or transaction see the same time. Redis 7.0 does not offer the cached time to
    /// modules; there it is the current time.
    pub(super) fn unix_ms() -> u64 {
        // SAFETY: both functions take no arguments.
        let ms = unsafe {
            match optional_api!(RedisModule_CachedMicroseconds) {
                Some(cached) => cached() / 1000,
                None => api!(RedisModule_Milliseconds)(),
            }
        };
        test_clock::adjusted(u64::try_from(ms).unwrap_or(0))
    }

    /// Random bytes from the server.
    pub(super) fn random_bytes<const N: usize>() -> [u8; N] {
        let mut bytes = [0; N];
        // SAFETY: the buffer has N bytes.
        unsafe { api!(RedisModule_GetRandomBytes)(bytes.as_mut_ptr(), N) };
        bytes
    }
}
