//! A key that is open for writing, and the value that a command changes or creates.

use super::Slot;
use super::access::Writer;
use super::any::AnyKey;
use super::entry::AnyEntry;
use super::opened::OpenedKey;
use crate::server::call::{Call, Error};
use crate::server::data_type::AnyValue;
use crate::server::data_type::DataType;
use crate::server::memory_usage::MemoryUsage;
use crate::server::value::Counted;
use roughly_sketch::blocks::BlockChanges;
use std::ptr::NonNull;

/// A key that is open for writing.
#[derive(Debug)]
pub struct WriteKey<T: DataType> {
    opened: OpenedKey<T>,
    /// Bytes that it may take, if keys are limited.
    max_bytes: Option<u64>,
    writer: Writer,
}

impl<T: DataType> WriteKey<T> {
    #[inline(always)]
    pub(super) fn new(call: &Call<'_>, opened: OpenedKey<T>, writer: Writer) -> Self {
        opened.set_key_bytes(call);
        Self {
            opened,
            max_bytes: call.max_key_bytes(),
            writer,
        }
    }

    /// The same key, for values of another type.
    #[must_use]
    pub fn typed<V: DataType>(self, call: &Call<'_>) -> WriteKey<V> {
        WriteKey::new(call, self.opened.typed(), self.writer)
    }

    /// The same key, for values of another type, if it holds one. Otherwise the key itself.
    ///
    /// # Errors
    /// The key, if it does not hold such a value.
    #[inline(always)]
    pub fn typed_if_found<V: DataType>(self, call: &Call<'_>) -> Result<WriteKey<V>, Self> {
        match self.opened.typed_if_found() {
            Ok(opened) => Ok(WriteKey::new(call, opened, self.writer)),
            Err(opened) => Err(Self { opened, ..self }),
        }
    }

    /// What the key holds.
    #[inline]
    pub fn get(&self) -> Slot<&T> {
        // SAFETY: the value lives while the key is open, no other key is open (see `access`), and `self` is borrowed.
        let value = |counted: *mut Counted<T>| unsafe { &(*counted).value };
        self.opened.value().map(value)
    }

    /// Changes the value, and measures its memory again. Returns what `change` returns. Cost: one call into the server per
    /// block. A command that rarely allocates or frees a block uses [`WriteKey::find`].
    pub fn change<R>(&mut self, change: impl FnOnce(&mut T) -> R) -> Slot<R> {
        self.opened.value().map(|counted| {
            // SAFETY: the value lives while the key is open, no other key is open (see `access`), and `self` is borrowed
            // mutably.
            let counted = unsafe { &mut *counted };
            let result = change(&mut counted.value);
            counted.recount();
            result
        })
    }

    /// Advances the value to the current pane, if it has a window, and replicates the advance. The key is that of
    /// argument 1. Must be called before a command changes the value and before it is replicated, when no error of its
    /// arguments is possible any more.
    pub fn advance(&mut self, call: &mut Call<'_>) {
        if T::registration().has_window()
            && let Slot::Found(counted) = self.opened.value()
        {
            // SAFETY: as in `change`.
            call.advance(unsafe { &mut *counted });
        }
    }

    /// The value of the key, or a new one that `create` returns if the key is missing.
    ///
    /// # Errors
    /// [`Error::WrongType`] for another type, and the errors of `create` and of [`WriteKey::create`].
    #[inline(always)]
    pub fn find_or_create(
        self,
        call: &Call<'_>,
        create: impl FnOnce() -> Result<T, Error>,
    ) -> Result<Entry<T>, Error> {
        match self.find()? {
            Found::Entry(entry) => Ok(entry),
            Found::Missing(key) => {
                let entry = key.create(create()?)?;
                if let (Some(_), Place::New(counted)) = (entry.key.max_bytes, &entry.place) {
                    call.set_key_bytes(counted.bytes());
                }
                Ok(entry)
            }
        }
    }

    /// The value of the key, or the key itself if it is missing.
    ///
    /// # Errors
    /// [`Error::WrongType`] for another type.
    #[inline(always)]
    pub fn find(self) -> Result<Found<T>, Error> {
        match self.opened.value() {
            Slot::Found(counted) => Ok(Found::Entry(self.existing(counted))),
            Slot::WrongType => Err(Error::WrongType),
            Slot::Missing => Ok(Found::Missing(self)),
        }
    }

    /// An entry with a new value for the key. [`Entry::store`] puts the value into the key, in place of any value that
    /// the key holds by then, and removes the time to live. To keep the time to live, use [`WriteKey::replace`].
    ///
    /// # Errors
    /// [`Error::KeyTooLarge`] if the value takes more bytes than a key may (`sketch-max-key-bytes`). The value is
    /// dropped.
    pub fn create(self, value: T) -> Result<Entry<T>, Error> {
        let counted = Counted::new(value);
        self.check(counted.bytes())?;
        Ok(Entry {
            place: Place::New(counted),
            key: self,
        })
    }

    /// Replaces the value of the key and keeps its time to live. If the key is missing, [`Entry::store`] puts the value
    /// into it.
    ///
    /// # Errors
    /// [`Error::WrongType`] for another type; [`Error::KeyTooLarge`] if the new value takes more bytes than a key may
    /// (`sketch-max-key-bytes`) and more than the old value. In both cases the key keeps its old value.
    pub fn replace(self, value: T) -> Result<Entry<T>, Error> {
        match self.opened.value() {
            Slot::WrongType => Err(Error::WrongType),
            Slot::Missing => self.create(value),
            Slot::Found(counted) => {
                let mut new = Counted::new(value);
                let mut entry = self.existing(counted);
                if new.bytes() > entry.counted().bytes() {
                    entry.key.check(new.bytes())?;
                }
                std::mem::swap(entry.value(), &mut new.value);
                entry.recount();
                Ok(entry)
            }
        }
    }

    /// Puts a new value into the key, and closes the key.
    #[cold]
    fn store(self, counted: Box<Counted<T>>) {
        let Self { opened, writer, .. } = self;
        drop(writer);
        counted.count_creation();
        let value = NonNull::from(Box::leak(counted)).cast();
        assert!(
            opened.set(T::registration(), value),
            "the server did not take a value"
        );
    }

    /// When the key expires, in milliseconds since the Unix epoch; `None` if it does not.
    #[must_use]
    pub fn expires_at(&self) -> Option<i64> {
        self.opened.expires_at()
    }

    /// Removes the time to live.
    pub fn persist(&mut self) {
        self.opened.persist();
    }

    /// The entry of the key's value, which is at this address.
    fn existing(self, counted: *mut Counted<T>) -> Entry<T> {
        let counted = NonNull::new(counted).expect("the server keeps no value at address 0");
        Entry {
            place: Place::InKey(counted),
            key: self,
        }
    }

    /// Checks that the key may take this many bytes. If not, counts a refusal for the family.
    fn check(&self, bytes: u64) -> Result<(), Error> {
        match self.max_bytes {
            Some(max) if bytes > max => {
                T::registration().stats.count_refusals(1);
                Err(Error::KeyTooLarge { bytes, max })
            }
            _ => Ok(()),
        }
    }
}

/// What [`WriteKey::find`] found.
#[derive(Debug)]
pub enum Found<T: DataType> {
    /// A value.
    Entry(Entry<T>),
    /// The key is missing.
    Missing(WriteKey<T>),
}

/// A value that a command changes: the value of its key, or a new one that [`Entry::store`] puts there when it is
/// complete.
#[derive(Debug)]
pub struct Entry<T: DataType> {
    place: Place<T>,
    key: WriteKey<T>,
}

/// Where the value of an [`Entry`] is.
#[derive(Debug)]
enum Place<T: DataType> {
    InKey(NonNull<Counted<T>>),
    New(Box<Counted<T>>),
}

impl<T: DataType> Entry<T> {
    /// Whether the value is not in its key yet.
    #[must_use]
    pub fn is_new(&self) -> bool {
        matches!(self.place, Place::New(_))
    }

    fn counted(&mut self) -> &mut Counted<T> {
        match &mut self.place {
            // SAFETY: the value lives while the key is open, no other key is open (see `access`), and `self` is
            // borrowed mutably.
            Place::InKey(counted) => unsafe { counted.as_mut() },
            Place::New(counted) => counted,
        }
    }

    /// The value. A command that allocates or frees a block of it calls [`Entry::recount`] or [`Entry::count_changes`]
    /// afterwards.
    pub fn value(&mut self) -> &mut T {
        &mut self.counted().value
    }

    /// As [`WriteKey::advance`]. The creation of a new value must be replicated before.
    pub fn advance(&mut self, call: &mut Call<'_>) {
        if T::registration().has_window() {
            call.advance(self.counted());
        }
    }

    /// Measures the value's memory again, for INFO. Must be called after a change that allocated or freed a block.
    /// Cost: one call into the server per block. If a value has many blocks that change often, see
    /// [`Entry::count_changes`].
    pub fn recount(&mut self) {
        self.counted().recount();
    }

    /// Counts the blocks that were freed and allocated since the value was last measured, for INFO.
    pub fn count_changes(&mut self, changes: &BlockChanges<MemoryUsage>) {
        if changes.freed.blocks != 0 || changes.allocated.blocks != 0 {
            self.counted().count_changes(changes);
        }
    }

    /// The same entry, for code that does not depend on the type.
    #[inline(always)]
    #[must_use]
    pub fn into_any(self) -> AnyEntry {
        let Self { place, key } = self;
        let key = AnyKey {
            opened: key.opened.typed(),
            access: key.writer,
        };
        match place {
            // SAFETY: the key holds this value.
            Place::InKey(counted) => unsafe {
                AnyEntry::existing(key, T::registration(), counted.cast())
            },
            Place::New(counted) => AnyEntry::checked(key, counted),
        }
    }

    /// Puts a new value into its key, and closes the key. Must be called after the command was replicated, because
    /// other modules can react to the new key with commands, which are replicated after it.
    ///
    /// # Panics
    /// If the server does not take the value.
    #[inline]
    pub fn store(self) {
        if let Place::New(counted) = self.place {
            self.key.store(counted);
        }
    }
}
