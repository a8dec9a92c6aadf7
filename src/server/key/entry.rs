//! A value that a command changes or creates.

use super::lookup::{AnyMut, OneOfMut};
use super::opened::WriteKey;
use crate::server::call::Call;
use crate::server::data_type::{AnyValue, DataType, NewValue, Registration, Value};
use crate::server::error::Error;
use crate::server::memory::MemoryUsage;
use crate::server::window;
use roughly_sketch::blocks::BlockChanges;
use roughly_sketch::window::Panes;
use std::ffi::c_void;
use std::ptr::NonNull;

/// A value that a command changes: the value of its key, or a new one that [`Entry::store`] puts there when it is
/// complete.
#[derive(Debug)]
pub struct Entry {
    /// The address of the value, which has the type `of`.
    value: NonNull<c_void>,
    of: &'static Registration,
    /// The owner of a value that is not in its key yet.
    new: Option<Owned>,
    key: WriteKey,
}

/// A value that is not in a key.
#[derive(Debug)]
struct Owned(NonNull<dyn AnyValue>);

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: the pointer is that of a box that this object owns.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

/// Checks that a key with a value of this type may take this many bytes. If not, counts a refusal.
fn check_size(call: &Call<'_>, of: &Registration, bytes: u64) -> Result<(), Error> {
    match call.memory().max_key_bytes() {
        Some(max) if bytes > max => {
            of.stats.count_refusals(1);
            Err(Error::KeyTooLarge { bytes, max })
        }
        _ => Ok(()),
    }
}

impl Entry {
    /// The entry of the value of a key.
    ///
    /// # Safety
    /// `key` must hold a value of the type `of` at the address `value`.
    #[inline(always)]
    pub(super) unsafe fn existing(
        key: WriteKey,
        of: &'static Registration,
        value: NonNull<c_void>,
    ) -> Self {
        let new = None;
        Self {
            value,
            of,
            new,
            key,
        }
    }

    /// Records the size of the value for the limit of a key, if keys are limited.
    #[inline(always)]
    pub(super) fn set_key_bytes(&mut self, call: &Call<'_>) {
        call.memory().set_key_bytes(|| self.any().live_bytes());
    }

    /// The entry of a new value.
    #[cold]
    pub(super) fn new(call: &Call<'_>, key: WriteKey, value: NewValue) -> Result<Self, Error> {
        let (of, bytes) = (value.registration(), value.bytes());
        check_size(call, of, bytes)?;
        call.memory().set_key_bytes(|| bytes);
        let value = NonNull::from(Box::leak(value));
        Ok(Self {
            value: value.cast(),
            of,
            new: Some(Owned(value)),
            key,
        })
    }

    /// Replaces the value, which is a `T`, by a new one; see [`Key::replace`](super::Key::replace).
    pub(super) fn replace<T: DataType>(
        &mut self,
        call: &Call<'_>,
        new: &mut Value<T>,
    ) -> Result<(), Error> {
        let bytes = new.bytes();
        if bytes > self.any().bytes() {
            check_size(call, self.of, bytes)?;
        }
        // SAFETY: as in `get`.
        let value = unsafe { AnyMut::new(self.value, self.of) };
        let state = value.get().expect("a value of this type");
        std::mem::swap(state, new.state_mut());
        self.recount();
        Ok(())
    }

    /// Whether the value is not in its key yet.
    #[must_use]
    #[inline(always)]
    pub fn is_new(&self) -> bool {
        self.new.is_some()
    }

    /// The registration of the value's type.
    #[must_use]
    #[inline(always)]
    pub fn registration(&self) -> &'static Registration {
        self.of
    }

    /// The value, which must have one of the types of a family. A command that allocates or frees a block of it calls
    /// [`Entry::recount`] or [`Entry::count_changes`] afterwards.
    ///
    /// # Panics
    /// If the value has another type.
    #[inline(always)]
    pub fn get<'a, F: OneOfMut<'a>>(&'a mut self) -> F {
        // SAFETY: the value has this type. It lives while the entry does, no other key is open (see `opened.rs`), and `self` is
        // borrowed mutably.
        unsafe { AnyMut::new(self.value, self.of) }.of_family()
    }

    /// The value, whatever its type.
    pub fn any(&mut self) -> &mut dyn AnyValue {
        // SAFETY: as in `get`.
        unsafe { (self.of.value)(self.value).as_mut() }
    }

    /// Advances the value to the current pane, if it has a window, and replicates the advance. The key is that of argument 1.
    /// Must be called before a command changes the value and before it is replicated, when no error of its arguments is
    /// possible any more, and after the creation of a new value was replicated.
    #[inline(always)]
    pub fn advance(&mut self, call: &mut Call<'_>) {
        self.advance_unless(call, |_, _, _| None::<()>);
    }

    /// As [`Entry::advance`], unless the command changes nothing: before an advance, calls `unchanged` with the value and the
    /// panes that are live after it. If `unchanged` returns a result, the value does not advance, and the result is returned:
    /// the command must not change the value. A new value always advances.
    #[inline(always)]
    pub fn advance_unless<'a, R>(
        &mut self,
        call: &mut Call<'a>,
        unchanged: impl FnOnce(AnyMut<'_>, &Call<'a>, Panes) -> Option<R>,
    ) -> Option<R> {
        if !self.of.has_window() {
            return None;
        }
        let is_new = self.is_new();
        Self::advance_window(
            self.value,
            self.of,
            call,
            |value, call, later| match is_new {
                true => None,
                false => unchanged(value, call, later),
            },
        )
    }

    /// [`Entry::advance_unless`] for a value with a window. Without a reference to the entry, so that commands on other values can
    /// keep it in registers.
    #[cold]
    #[inline(never)]
    fn advance_window<'a, R>(
        value: NonNull<c_void>,
        of: &'static Registration,
        call: &mut Call<'a>,
        unchanged: impl FnOnce(AnyMut<'_>, &Call<'a>, Panes) -> Option<R>,
    ) -> Option<R> {
        // SAFETY: as in `get`; no two of these references exist at a time.
        let any = || unsafe { (of.value)(value).as_mut() };
        let pane = window::begin_write(call, any())?;
        let later = any().timeline()?.panes_in(pane);
        // SAFETY: as above.
        let result = unchanged(unsafe { AnyMut::new(value, of) }, call, later);
        if result.is_none() {
            window::advance(call, any(), pane);
        }
        result
    }

    /// Measures the value's memory again, for INFO. Must be called after a change that allocated or freed a block.
    /// Cost: one call into the server per block. If a value has many blocks that change often, see
    /// [`Entry::count_changes`].
    pub fn recount(&mut self) {
        self.any().recount();
    }

    /// Counts the blocks that were freed and allocated since the value was last measured, for INFO.
    pub fn count_changes(&mut self, changes: &BlockChanges<MemoryUsage>) {
        if changes.freed.blocks != 0 || changes.allocated.blocks != 0 {
            self.any().count_changes(changes);
        }
    }

    /// Puts a new value into its key, and closes the key. Must be called after the command was replicated, because
    /// other modules can react to the new key with commands, which are replicated after it.
    ///
    /// # Panics
    /// If the server does not take the value.
    #[inline(always)]
    pub fn store(self) {
        match self.new {
            None => drop(self.key),
            Some(new) => Self::store_new(new, self.of, self.value, self.key),
        }
    }

    #[cold]
    fn store_new(new: Owned, of: &Registration, value: NonNull<c_void>, key: WriteKey) {
        drop(key.access);
        // SAFETY: as in `get`.
        unsafe { new.0.as_ref() }.count_creation();
        if key.opened.set(of, value) {
            // The value belongs to the server now.
            std::mem::forget(new);
        } else {
            panic!("the server did not take a value");
        }
    }
}
