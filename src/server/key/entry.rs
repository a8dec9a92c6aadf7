//! A value that a command changes or creates.

use super::lookup::{OneOf, Type, state_mut};
use super::opened::WriteKey;
use crate::server::call::Call;
use crate::server::data_type::{AnyValue, DataType, NewValue, Registration, Value};
use crate::server::error::Error;
use crate::server::memory::MemoryUsage;
use crate::server::stats::Statistic;
use crate::server::window;
use roughly_sketch::blocks::BlockChanges;
use roughly_sketch::window::Panes;
use std::ffi::c_void;
use std::ptr::{self, NonNull};

/// A value that a command changes: the value of its key, or a new one that [`Entry::store`] puts there when it is
/// complete.
#[derive(Debug)]
pub struct Entry<T: Type> {
    /// The address of the value, which has the type `of`.
    value: NonNull<c_void>,
    of: T,
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
            of.stats.count(Statistic::Refusals, 1);
            Err(Error::KeyTooLarge { bytes, max })
        }
        _ => Ok(()),
    }
}

/// An advance that a value with a window needs before a command changes it.
#[derive(Debug, Clone, Copy)]
pub struct Advance {
    pane: u64,
    /// The panes that are live after it.
    pub later: Panes,
}

impl<T: Type> Entry<T> {
    /// The entry of the value of a key. Records its size for the limit of a key, if keys are limited.
    ///
    /// # Safety
    /// `key` must hold a value of the type `of` at the address `value`.
    #[inline(always)]
    pub(super) unsafe fn existing(
        call: &Call<'_>,
        key: WriteKey,
        of: T,
        value: NonNull<c_void>,
    ) -> Self {
        let new = None;
        let mut entry = Self {
            value,
            of,
            new,
            key,
        };
        call.memory().set_key_bytes(|| entry.any().live_bytes());
        entry
    }

    /// The entry of a new value, of the type `of`, for a key. [`Entry::store`] puts the value into the key, in place of any
    /// value that the key holds by then, and removes the time to live.
    ///
    /// # Errors
    /// [`Error::KeyTooLarge`] if the value takes more bytes than a key may (`sketch-max-key-bytes`). The value is
    /// dropped.
    ///
    /// # Panics
    /// If the value has another type.
    #[cold]
    pub fn new(call: &Call<'_>, key: WriteKey, of: T, value: NewValue) -> Result<Self, Error> {
        assert!(ptr::eq(of.registration(), value.registration()));
        let bytes = value.bytes();
        check_size(call, of.registration(), bytes)?;
        call.memory().set_key_bytes(|| bytes);
        let value = NonNull::from(Box::leak(value));
        Ok(Self {
            value: value.cast(),
            of,
            new: Some(Owned(value)),
            key,
        })
    }

    /// Whether the value is not in its key yet.
    #[inline(always)]
    pub fn is_new(&self) -> bool {
        self.new.is_some()
    }

    /// The registration of the value's type.
    #[inline(always)]
    pub fn registration(&self) -> &'static Registration {
        self.of.registration()
    }

    /// The type of the value.
    #[inline(always)]
    pub fn of(&self) -> T {
        self.of
    }

    /// The value, whatever its type.
    pub fn any(&mut self) -> &mut dyn AnyValue {
        // SAFETY: as in `get`.
        unsafe { (self.of.registration().value)(self.value).as_mut() }
    }

    /// Begins a change of the value of the key in argument 1. If the value has a window, returns the advance that it needs
    /// first: the command calls [`Entry::advance`], unless it changes nothing. A new value has advanced then.
    ///
    /// Must be called when no error of the arguments is possible any more, and after the creation of a new value was replicated.
    #[inline(always)]
    pub fn begin_write(&mut self, call: &mut Call<'_>) -> Option<Advance> {
        match self.of.registration().has_window() {
            true => Self::begin_write_to_window(self.value, self.of, self.is_new(), call),
            false => None,
        }
    }

    /// [`Entry::begin_write`] for a value with a window. Without a reference to the entry, so that commands on other values can
    /// keep it in registers.
    #[cold]
    #[inline(never)]
    fn begin_write_to_window(
        value: NonNull<c_void>,
        of: T,
        is_new: bool,
        call: &mut Call<'_>,
    ) -> Option<Advance> {
        // SAFETY: as in `get`.
        let value = unsafe { (of.registration().value)(value).as_mut() };
        let pane = window::begin_write(call, value)?;
        if is_new {
            window::advance(call, value, pane);
            return None;
        }
        let later = value.timeline()?.panes_in(pane);
        Some(Advance { pane, later })
    }

    /// Advances the value to the current pane, and replicates the advance, before the command is replicated.
    #[inline(always)]
    pub fn advance(&mut self, call: &mut Call<'_>, advance: Advance) {
        window::advance(call, self.any(), advance.pane);
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
            Some(new) => store_new(new, self.of.registration(), self.value, self.key),
        }
    }
}

impl<T: OneOf> Entry<T> {
    /// The value. A command that allocates or frees a block of it calls [`Entry::recount`] or [`Entry::count_changes`]
    /// afterwards.
    #[inline(always)]
    pub fn get(&mut self) -> T::Mut<'_> {
        // SAFETY: the value has this type. It lives while the entry does, no other key is open (see `opened.rs`), and `self` is
        // borrowed mutably.
        unsafe { self.of.get_mut(self.value) }
    }
}

impl Entry<&'static Registration> {
    /// Replaces the value, which is a `T`, by a new one; see [`WriteKey::replace`].
    pub(super) fn replace<T: DataType>(
        &mut self,
        call: &Call<'_>,
        new: &mut Value<T>,
    ) -> Result<(), Error> {
        assert!(ptr::eq(self.of, T::REGISTRATION));
        let bytes = new.bytes();
        if bytes > self.any().bytes() {
            check_size(call, self.of, bytes)?;
        }
        // SAFETY: as in `get`.
        let state = unsafe { state_mut(self.value) };
        std::mem::swap(state, new.state_mut());
        self.recount();
        Ok(())
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
