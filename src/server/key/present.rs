//! The value of an open key.

use redis_module::raw;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr::NonNull;

/// Proof that an open key has a value. The functions of the module API that need one are methods of this type, because
/// servers differ in what they do without: RedisModule_GetAbsExpire of Redis 8.6 crashes.
#[derive(Debug, Clone, Copy)]
pub struct Present<'a> {
    key: NonNull<raw::RedisModuleKey>,
    open: PhantomData<&'a ()>,
}

impl Present<'_> {
    /// # Safety
    /// The key must be open for the lifetime, and have a value.
    #[inline(always)]
    pub(super) unsafe fn new(key: NonNull<raw::RedisModuleKey>) -> Self {
        Self {
            key,
            open: PhantomData,
        }
    }

    /// The address of the value; `None` if its type is one of the server.
    #[inline(always)]
    pub(super) fn address(self) -> Option<NonNull<c_void>> {
        // SAFETY: the key is open.
        NonNull::new(unsafe { api!(RedisModule_ModuleTypeGetValue)(self.key.as_ptr()) })
    }

    /// When the key expires, in milliseconds since the Unix epoch; `None` if it does not.
    pub(super) fn expires_at(self) -> Option<i64> {
        // SAFETY: the key is open and has a value.
        let unix_ms = unsafe { api!(RedisModule_GetAbsExpire)(self.key.as_ptr()) };
        (unix_ms >= 0).then_some(unix_ms)
    }

    /// Removes the time to live. The key is open for writing.
    pub(super) fn persist(self) {
        if self.expires_at().is_some() {
            // SAFETY: the key is open and has a value.
            unsafe {
                api!(RedisModule_SetExpire)(self.key.as_ptr(), raw::REDISMODULE_NO_EXPIRE.into());
            }
        }
    }
}
