//! An open key of the server, and the number of open keys: many for reading, or one for writing.

use super::present::Present;
use crate::server::call::Call;
use crate::server::data_type::Registration;
use redis_module::raw;
use roughly_sketch::memory::{OutOfMemory, try_collect};
use std::ffi::{c_int, c_void};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicI32, Ordering};

/// The mode that opens a key for writing.
pub(super) const FOR_WRITING: u32 = raw::REDISMODULE_READ | raw::REDISMODULE_WRITE;

/// An open key, which is closed when dropped. Code that uses its value must hold a [`Reader`] or a [`Writer`].
///
/// It may have no value: a key that is open for writing can be missing. What needs a value is in [`Present`].
#[derive(Debug)]
pub struct OpenedKey {
    /// `None` if the key is missing and open for reading.
    key: Option<NonNull<raw::RedisModuleKey>>,
}

impl OpenedKey {
    pub(super) fn new(call: &Call<'_>, index: usize, mode: u32) -> Self {
        // SAFETY: context and name are the running command's.
        let key = unsafe {
            api!(RedisModule_OpenKey)(call.ctx(), call.arg(index).as_raw(), mode as c_int)
        };
        Self {
            key: NonNull::new(key),
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
        let found = indexes.clone().map(|index| read(index).key.is_some());
        let found = try_collect(found)?;
        let opened = indexes.zip(found).map(|(index, found)| match found {
            true => Self::new(call, index, FOR_WRITING),
            false => Self { key: None },
        });
        try_collect(opened)
    }

    /// The value; `None` if the key is missing.
    pub(super) fn present(&self) -> Option<Present<'_>> {
        let key = self.key?;
        // SAFETY: the key is open. The function allows a missing key.
        let key_type = unsafe { api!(RedisModule_KeyType)(key.as_ptr()) };
        // SAFETY: a key with a type has a value.
        (key_type != raw::REDISMODULE_KEYTYPE_EMPTY as c_int).then(|| unsafe { Present::new(key) })
    }

    /// The value with the server's handle of its type; `None` without a value of a module.
    #[inline(always)]
    pub(super) fn of_module(&self) -> Option<(NonNull<raw::RedisModuleType>, Present<'_>)> {
        let key = self.key?;
        // SAFETY: the key is open. The function allows a missing key.
        let handle = unsafe { api!(RedisModule_ModuleTypeGetType)(key.as_ptr()) };
        // SAFETY: a key with a type has a value.
        NonNull::new(handle).map(|handle| (handle, unsafe { Present::new(key) }))
    }

    /// Puts a value of the type `of`, which is at this address, into a key that is open for writing, and closes the key. The
    /// value belongs to the server then. Returns false if the server does not take it.
    ///
    /// This runs the handlers of other modules for new keys, which may run commands of this module and may replace or
    /// delete the value. So the caller must have dropped its [`Writer`], and must not use any address of
    /// the value afterwards.
    #[must_use]
    pub(super) fn set(self, of: &Registration, value: NonNull<c_void>) -> bool {
        let Some(key) = self.key else {
            return false;
        };
        // SAFETY: the key is open for writing; it needs no value. The callbacks of the type take such a value.
        let set = unsafe {
            api!(RedisModule_ModuleTypeSetValue)(key.as_ptr(), of.handle(), value.as_ptr())
        };
        set == raw::REDISMODULE_OK as c_int
    }
}

impl Drop for OpenedKey {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            // SAFETY: opened by `new`, closed once.
            unsafe { api!(RedisModule_CloseKey)(key.as_ptr()) };
        }
    }
}

/// An open key that can hold any type.
#[derive(Debug)]
pub struct Key<Access> {
    pub(super) opened: OpenedKey,
    pub(super) access: Access,
}

/// A key of any type, open for reading.
pub type ReadKey = Key<Reader>;

/// A key of any type, open for writing.
pub type WriteKey = Key<Writer>;

/// The number of open keys.
///
/// It ensures that a key is opened only if none is open: opening a key can run other modules, which may delete other keys. So no
/// reference to a value exists beside a mutable one, or after the value is freed, even if another module runs one command of this
/// module from inside another. Commands run one at a time, so the counter is atomic only because statics must be.
static OPEN: AtomicI32 = AtomicI32::new(0);

/// Must be called before keys are opened, and before other code that can run other modules.
///
/// # Panics
/// If a key is open.
// Not marked as inline: OPEN would then be visible outside of the crate, and each access indirect.
pub(in crate::server) fn assert_none_open() {
    assert!(OPEN.load(Ordering::Relaxed) == 0, "a key is open");
}

/// Token: a key is open for reading.
#[derive(Debug)]
pub struct Reader;

impl Reader {
    /// Must be called after the key was opened: opening it can run another module, which can run a command of this
    /// module. That command leaves the count as it was.
    pub(super) fn begin() -> Self {
        OPEN.store(OPEN.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        Self
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        OPEN.store(OPEN.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
    }
}

/// Token: a key is open for writing, and no other key is open, except for the sources of a merge.
#[derive(Debug)]
pub struct Writer;

impl Writer {
    /// Must be called after the key was opened; see [`Reader::begin`].
    pub(super) fn begin() -> Self {
        OPEN.store(1, Ordering::Relaxed);
        Self
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        OPEN.store(0, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::catch_unwind;

    #[test]
    fn keys_are_opened_only_while_none_is_open() {
        let is_refused = || catch_unwind(assert_none_open).is_err();
        assert!(!is_refused());
        let [first, second] = [Reader::begin(), Reader::begin()];
        drop(first);
        assert!(is_refused());
        drop(second);
        assert!(!is_refused());
        let writer = Writer::begin();
        assert!(is_refused());
        drop(writer);
        assert!(!is_refused());
    }
}
