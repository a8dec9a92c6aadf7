//! An open key of the server.

use super::lookup_result::Lookup;
use crate::server::call::Call;
use crate::server::data_type::Registration;
use redis_module::raw;
use roughly_sketch::memory::{OutOfMemory, try_push, with_capacity};
use std::ffi::{c_int, c_void};
use std::ptr::{self, NonNull};

/// The mode that opens a key for writing.
pub(super) const FOR_WRITING: u32 = raw::REDISMODULE_READ | raw::REDISMODULE_WRITE;

/// An open key, which is closed when dropped. Code that uses its value must hold a token of [`super::access`].
#[derive(Debug)]
pub(super) struct OpenedKey {
    key: *mut raw::RedisModuleKey,
}

impl OpenedKey {
    pub(super) fn new(call: &Call<'_>, index: usize, mode: u32) -> Self {
        // SAFETY: context and name are the running command's.
        let key = unsafe {
            api!(RedisModule_OpenKey)(call.ctx(), call.arg(index).as_raw(), mode as c_int)
        };
        Self { key }
    }

    /// A missing key, which is not opened.
    fn missing() -> Self {
        Self {
            key: ptr::null_mut(),
        }
    }

    /// Opens several keys. No other code runs after the first of them is open.
    ///
    /// Opening a key can run other modules, because an expired key is deleted and a missing key is reported, and both
    /// are events. A handler of such an event may delete other keys, including keys that are already open. So all keys
    /// are opened in two passes, and the first pass closes each key again. No handler runs in the second pass: the
    /// clock does not advance during a command, a missing key is not opened again, and a key that is opened for writing
    /// is not reported as missing.
    ///
    /// # Errors
    /// [`OutOfMemory`] if there is no memory for a list of the keys.
    pub(super) fn all(
        call: &Call<'_>,
        indexes: impl Iterator<Item = usize> + Clone,
    ) -> Result<Vec<Self>, OutOfMemory> {
        let read = |index| Self::new(call, index, raw::REDISMODULE_READ);
        let found = indexes.clone().map(|index| !read(index).key.is_null());
        let found = try_collect(found)?;
        let opened = indexes.zip(found).map(|(index, found)| match found {
            true => Self::new(call, index, FOR_WRITING),
            false => Self::missing(),
        });
        try_collect(opened)
    }

    /// When the key expires, in milliseconds since the Unix epoch; `None` if it does not.
    pub(super) fn expires_at(&self) -> Option<i64> {
        if self.key.is_null() {
            return None;
        }
        // SAFETY: the key is open.
        let unix_ms = unsafe { api!(RedisModule_GetAbsExpire)(self.key) };
        (unix_ms >= 0).then_some(unix_ms)
    }

    /// Removes the time to live. The key is open for writing.
    pub(super) fn persist(&self) {
        if self.expires_at().is_some() {
            // SAFETY: the key is open, and not null because it has a time to live.
            unsafe {
                api!(RedisModule_SetExpire)(self.key, raw::REDISMODULE_NO_EXPIRE.into());
            }
        }
    }

    /// Whether the key is missing.
    pub(super) fn is_missing(&self) -> bool {
        // SAFETY: the key is open unless it is null.
        self.key.is_null()
            || unsafe { api!(RedisModule_KeyType)(self.key) }
                == raw::REDISMODULE_KEYTYPE_EMPTY as c_int
    }

    /// The server's key; null if it is missing.
    #[inline(always)]
    pub(super) fn raw(&self) -> *mut raw::RedisModuleKey {
        self.key
    }

    /// What the key holds: `found` returns it for the handle of a value's type, which is not null.
    #[inline(always)]
    pub(super) fn lookup_of<V>(
        &self,
        found: impl FnOnce(*mut raw::RedisModuleType) -> Option<V>,
    ) -> Lookup<V> {
        if self.key.is_null() {
            return Lookup::Missing;
        }
        // SAFETY: the key is open.
        let handle = unsafe { api!(RedisModule_ModuleTypeGetType)(self.key) };
        // The handle is null for a value of a type of the server.
        if !handle.is_null()
            && let Some(found) = found(handle)
        {
            return Lookup::Found(found);
        }
        match self.is_missing() {
            true => Lookup::Missing,
            false => Lookup::WrongType,
        }
    }

    /// The address of the value; `None` without a value of a module.
    #[inline(always)]
    pub(super) fn address(&self) -> Option<NonNull<c_void>> {
        // SAFETY: the key is open, or null; then the function returns null.
        NonNull::new(unsafe { api!(RedisModule_ModuleTypeGetValue)(self.key) })
    }

    /// Puts a value of the type `of`, which is at this address, into a key that is open for writing, and closes the key. The
    /// value belongs to the server then. Returns false if the server does not take it.
    ///
    /// This runs the handlers of other modules for new keys, which may run commands of this module and may replace or
    /// delete the value. So the caller must have dropped its [`super::access::Writer`], and must not use any address of
    /// the value afterwards.
    #[must_use]
    pub(super) fn set(self, of: &Registration, value: NonNull<c_void>) -> bool {
        // SAFETY: the key is open for writing, so not null, and the callbacks of the type take such a value.
        let set =
            unsafe { api!(RedisModule_ModuleTypeSetValue)(self.key, of.handle(), value.as_ptr()) };
        set == raw::REDISMODULE_OK as c_int
    }
}

impl Drop for OpenedKey {
    fn drop(&mut self) {
        if !self.key.is_null() {
            // SAFETY: opened by `new`, closed once.
            unsafe { api!(RedisModule_CloseKey)(self.key) };
        }
    }
}

/// Collects elements, whose number a client chose, into a vector.
///
/// # Errors
/// [`OutOfMemory`] if the allocator refuses memory.
pub(super) fn try_collect<T>(elements: impl Iterator<Item = T>) -> Result<Vec<T>, OutOfMemory> {
    let mut vec = with_capacity(elements.size_hint().0)?;
    for element in elements {
        try_push(&mut vec, element)?;
    }
    Ok(vec)
}
