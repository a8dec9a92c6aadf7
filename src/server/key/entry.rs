//! A value that a command changes or creates.

use super::access::Writer;
use super::any::{AnyKey, AnyMut, OneOfMut};
use crate::server::call::{Call, Error};
use crate::server::data_type::{AnyValue, DataType, NewValue, Registration};
use crate::server::memory_usage::MemoryUsage;
use crate::server::value::Value;
use roughly_sketch::blocks::BlockChanges;
use std::ffi::c_void;
use std::ptr::NonNull;

/// What [`AnyKey::find`] found.
#[derive(Debug)]
pub enum FoundAny {
    /// A value.
    Entry(AnyEntry),
    /// The key is missing.
    Missing(AnyKey<Writer>),
}

impl FoundAny {
    /// The value.
    ///
    /// # Errors
    /// `missing` if the key is missing.
    #[inline(always)]
    pub fn or_missing(self, missing: impl Into<Error>) -> Result<AnyEntry, Error> {
        match self {
            Self::Entry(entry) => Ok(entry),
            Self::Missing(_) => Err(missing.into()),
        }
    }
}

/// A value that a command changes: the value of its key, or a new one that [`AnyEntry::store`] puts there when it is
/// complete.
#[derive(Debug)]
pub struct AnyEntry {
    /// The address of the value, which has the type `of`.
    value: NonNull<c_void>,
    of: &'static Registration,
    /// The owner of a value that is not in its key yet.
    new: Option<Owned>,
    key: AnyKey<Writer>,
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

impl AnyEntry {
    /// The entry of the value of a key.
    ///
    /// # Safety
    /// `key` must hold a value of the type `of` at the address `value`.
    #[inline(always)]
    pub(super) unsafe fn existing(
        key: AnyKey<Writer>,
        of: &'static Registration,
        value: NonNull<c_void>,
    ) -> Self {
        Self {
            value,
            of,
            new: None,
            key,
        }
    }

    /// Records the size of the value for the limit of a key, if keys are limited.
    #[inline(always)]
    pub(super) fn set_key_bytes(&mut self, call: &Call<'_>) {
        if call.memory().is_key_limited() {
            call.memory().set_key_bytes(self.any().live_bytes());
        }
    }

    /// The entry of a new value.
    #[cold]
    pub(super) fn new(
        call: &Call<'_>,
        key: AnyKey<Writer>,
        value: NewValue,
    ) -> Result<Self, Error> {
        let (of, bytes) = (value.registration(), value.bytes());
        check_size(call, of, bytes)?;
        if call.memory().is_key_limited() {
            call.memory().set_key_bytes(bytes);
        }
        Ok(Self::checked(key, value))
    }

    /// The entry of a new value that is not too large for its key.
    pub(super) fn checked(key: AnyKey<Writer>, value: NewValue) -> Self {
        let of = value.registration();
        let value = NonNull::from(Box::leak(value));
        Self {
            value: value.cast(),
            of,
            new: Some(Owned(value)),
            key,
        }
    }

    /// Replaces the value, which is a `T`, by a new one; see [`AnyKey::replace`].
    pub(super) fn replace<T: DataType>(
        &mut self,
        call: &Call<'_>,
        mut new: Box<Value<T>>,
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
    /// [`AnyEntry::recount`] or [`AnyEntry::count_changes`] afterwards.
    ///
    /// # Panics
    /// If the value has another type.
    #[inline(always)]
    pub fn get<'a, F: OneOfMut<'a>>(&'a mut self) -> F {
        // SAFETY: the value has this type. It lives while the entry does, no other key is open (see `access`), and `self` is
        // borrowed mutably.
        let value = unsafe { AnyMut::new(self.value, self.of) };
        F::of(value).expect("a type of the family")
    }

    /// The value, whatever its type.
    pub fn any(&mut self) -> &mut dyn AnyValue {
        // SAFETY: as in `get`.
        unsafe { (self.of.ops.value)(self.value).as_mut() }
    }

    /// Advances the value to the current pane, if it has a window, and replicates the advance. The key is that of argument 1.
    /// Must be called before a command changes the value and before it is replicated, when no error of its arguments is
    /// possible any more, and after the creation of a new value was replicated.
    #[inline(always)]
    pub fn advance(&mut self, call: &mut Call<'_>) {
        if self.of.has_window() {
            call.advance(self.any());
        }
    }

    /// Measures the value's memory again, for INFO. Must be called after a change that allocated or freed a block.
    /// Cost: one call into the server per block. If a value has many blocks that change often, see
    /// [`AnyEntry::count_changes`].
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
    pub fn store(mut self) {
        if let Some(new) = self.new.take() {
            self.store_new(new);
        }
    }

    #[cold]
    fn store_new(self, new: Owned) {
        let AnyKey { opened, access } = self.key;
        drop(access);
        // SAFETY: as in `get`.
        unsafe { new.0.as_ref() }.count_creation();
        if opened.set(self.of, self.value) {
            // The value belongs to the server now.
            std::mem::forget(new);
        } else {
            panic!("the server did not take a value");
        }
    }
}
