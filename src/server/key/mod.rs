//! Access to the keys of a command.
//!
//! A handler opens keys for reading ([`ReadKey`]), a key for writing ([`WriteKey`]), or a destination and its sources
//! ([`MergeKeys`]). References to values live only while their key is open, and no other
//! code runs while a reference exists: `Reader` and `Writer` count the open keys, and a new value is put into its key by
//! [`Entry::store`], after the last use of a reference.

mod entry;
mod lookup;
mod opened;
mod present;

pub use entry::{Advance, Entry};
pub use lookup::{Lookup, OneOf, Type, state_mut, value};
pub(crate) use lookup::{either, one_of};
pub(super) use opened::assert_none_open;
use opened::{FOR_WRITING, OpenedKey, Reader, Writer};
pub use opened::{Key, ReadKey, WriteKey};

use super::call::Call;
use super::data_type::{AnyValue, DataType, Registration, Value};
use super::error::Error;
use super::window;
use redis_module::raw;
use roughly_sketch::memory::{OutOfMemory, try_collect};
use std::ffi::c_void;
use std::marker::PhantomData;
use std::ops::Range;
use std::ptr::NonNull;

impl ReadKey {
    /// Opens the key in argument `index` for reading, whatever it holds. For several keys at once, see [`ReadKey::open_all`].
    ///
    /// # Panics
    /// If a key is open.
    pub fn open(call: &Call<'_>, index: usize) -> Self {
        assert_none_open();
        Self {
            opened: OpenedKey::new(call, index, raw::REDISMODULE_READ),
            access: Reader::begin(),
        }
    }

    /// Opens the keys in these arguments for reading, whatever they hold.
    ///
    /// # Errors
    /// [`OutOfMemory`] if there is no memory for a list of the keys.
    ///
    /// # Panics
    /// If a key is open.
    pub fn open_all(
        call: &Call<'_>,
        indexes: impl Iterator<Item = usize> + Clone,
    ) -> Result<Vec<Self>, OutOfMemory> {
        assert_none_open();
        let opened = OpenedKey::all(call, indexes)?.into_iter();
        try_collect(opened.map(|opened| Self {
            opened,
            access: Reader::begin(),
        }))
    }
}

impl<Access> Key<Access> {
    /// Whether the key is missing.
    pub fn is_missing(&self) -> bool {
        self.opened.present().is_none()
    }

    /// What the key holds, for a family.
    #[inline(always)]
    pub fn get<T: OneOf>(&self) -> Lookup<T::Ref<'_>> {
        self.opened.get::<T>()
    }

    /// The state of the value, if its type is `T`.
    pub fn state<T: DataType>(&self) -> Option<&T> {
        let (_, value) = self.opened.find_in([T::REGISTRATION]).found()?;
        // SAFETY: as in `OpenedKey::get`.
        Some(unsafe { self::value(value) })
    }

    /// The value of the key, if it has one of these types.
    pub fn value(
        &self,
        types: impl IntoIterator<Item = &'static Registration>,
    ) -> Lookup<&dyn AnyValue> {
        // SAFETY: the value lives while the key is open, and no key is open for writing beside it (see `opened.rs`).
        self.opened
            .find_in(types)
            .map(|(of, value)| unsafe { (of.value)(value).as_ref() })
    }
}

impl WriteKey {
    /// As [`ReadKey::open`], for writing. A command that also reads other keys reads them first, or uses [`MergeKeys::open`].
    ///
    /// # Panics
    /// If a key is open.
    pub fn open(call: &Call<'_>, index: usize) -> Self {
        assert_none_open();
        Self {
            opened: OpenedKey::new(call, index, FOR_WRITING),
            access: Writer::begin(),
        }
    }

    /// The value of the key, if it has one of the types of a family, or the key itself if it is missing.
    ///
    /// # Errors
    /// [`Error::WrongType`] for another type.
    #[inline(always)]
    pub fn find<T: OneOf>(self, call: &Call<'_>) -> Result<Found<T>, Error> {
        self.found(call, OpenedKey::find)
    }

    /// As [`WriteKey::find`], for these types.
    ///
    /// # Errors
    /// [`Error::WrongType`] for another type.
    pub fn find_in(
        self,
        call: &Call<'_>,
        types: impl IntoIterator<Item = &'static Registration>,
    ) -> Result<Found<&'static Registration>, Error> {
        self.found(call, |opened| opened.find_in(types))
    }

    #[inline(always)]
    fn found<T: Type>(
        self,
        call: &Call<'_>,
        find: impl FnOnce(&OpenedKey) -> Lookup<(T, NonNull<c_void>)>,
    ) -> Result<Found<T>, Error> {
        match find(&self.opened) {
            Lookup::Missing => Ok(Found::Missing(self)),
            Lookup::WrongType => Err(Error::WrongType),
            // SAFETY: the key holds a value of this type at this address.
            Lookup::Found((of, value)) => Ok(Found::Entry(unsafe {
                Entry::existing(call, self, of, value)
            })),
        }
    }

    /// Replaces the value of the key, if it is a `T`, and keeps its time to live. If the key is missing,
    /// [`Entry::store`] puts the value into it.
    ///
    /// # Errors
    /// [`Error::WrongType`] for another type; [`Error::KeyTooLarge`] if the new value takes more bytes than a key may
    /// (`sketch-max-key-bytes`) and more than the old value. In both cases the key keeps its old value.
    pub fn replace<T: DataType>(self, call: &Call<'_>, value: T) -> Result<AnyEntry, Error> {
        match self.find_in(call, [T::REGISTRATION])? {
            Found::Missing(key) => Entry::new(call, key, T::REGISTRATION, Value::new(value)),
            Found::Entry(mut entry) => {
                entry.replace(call, &mut Value::new(value))?;
                Ok(entry)
            }
        }
    }

    /// When the key expires, in milliseconds since the Unix epoch; `None` if it does not.
    pub fn expires_at(&self) -> Option<i64> {
        self.opened.present()?.expires_at()
    }

    /// Removes the time to live.
    pub fn persist(&mut self) {
        if let Some(value) = self.opened.present() {
            value.persist();
        }
    }
}

/// A value of any type.
pub type AnyEntry = Entry<&'static Registration>;

/// What [`WriteKey::find`] found.
#[derive(Debug)]
pub enum Found<T: Type> {
    /// A value.
    Entry(Entry<T>),
    /// The key is missing.
    Missing(WriteKey),
}

impl<T: Type> Found<T> {
    /// The value.
    ///
    /// # Errors
    /// `missing` if the key is missing.
    #[inline(always)]
    pub fn or_missing(self, missing: impl Into<Error>) -> Result<Entry<T>, Error> {
        match self {
            Self::Entry(entry) => Ok(entry),
            Self::Missing(_) => Err(missing.into()),
        }
    }
}

/// A destination that is open for writing and sources that are open for reading. Some of them may be the same key.
#[derive(Debug)]
pub struct MergeKeys<T> {
    types: PhantomData<T>,
    destination: OpenedKey,
    sources: Vec<OpenedKey>,
    _writer: Writer,
}

impl<T: OneOf> MergeKeys<T> {
    /// Opens the key in argument `destination` for writing and those in the arguments `sources` for reading.
    ///
    /// # Errors
    /// [`OutOfMemory`] if there is no memory for a list of the keys.
    ///
    /// # Panics
    /// If a key is open.
    pub fn open(
        call: &Call<'_>,
        destination: usize,
        sources: Range<usize>,
    ) -> Result<Self, OutOfMemory> {
        assert_none_open();
        // Opened and closed first, so that an expired destination is deleted now: see `OpenedKey::all`.
        drop(OpenedKey::new(call, destination, FOR_WRITING));
        let sources = OpenedKey::all(call, sources)?;
        let destination = OpenedKey::new(call, destination, FOR_WRITING);
        let mut keys = Self {
            types: PhantomData,
            destination,
            sources,
            _writer: Writer::begin(),
        };
        call.memory()
            .set_key_bytes(|| keys.destination().map_or(0, |value| value.live_bytes()));
        Ok(keys)
    }

    /// What the destination and each source hold, for a family. A source that is the destination itself is `Found(None)`.
    pub fn get(
        &mut self,
    ) -> (
        Lookup<T::Mut<'_>>,
        impl Iterator<Item = Lookup<Option<T::Ref<'_>>>>,
    ) {
        let destination = self.destination.find::<T>();
        let own = match destination {
            Lookup::Found((_, value)) => Some(value),
            Lookup::Missing | Lookup::WrongType => None,
        };
        let sources = self.sources.iter().map(move |source| {
            let address = |source: &OpenedKey| source.of_module()?.1.address();
            if own.is_some() && address(source) == own {
                return Lookup::Found(None);
            }
            source.get::<T>().map(Some)
        });
        let destination = destination.map(|(of, value)| {
            // SAFETY: the value lives while the key is open, no key is open besides these (see `opened.rs`), `self` is borrowed
            // mutably, and no source refers to this value.
            unsafe { of.get_mut(value) }
        });
        (destination, sources)
    }

    /// The value of the destination, if it has one of the types.
    pub fn destination(&mut self) -> Option<&mut dyn AnyValue> {
        let (of, value) = self.destination.find::<T>().found()?;
        // SAFETY: as in `get`.
        Some(unsafe { (of.registration().value)(value).as_mut() })
    }

    /// As [`Entry::advance`], for the destination, which is the key in argument 1: unless `check`, which is called with
    /// the pane, returns an error.
    ///
    /// # Errors
    /// That of `check`.
    pub fn advance_if<E>(
        &mut self,
        call: &mut Call<'_>,
        check: impl FnOnce(&mut Self, &Call<'_>, u64) -> Result<(), E>,
    ) -> Result<(), E> {
        let pane = self
            .destination()
            .and_then(|value| window::begin_write(call, value));
        let Some(pane) = pane else {
            return Ok(());
        };
        check(self, call, pane)?;
        if let Some(destination) = self.destination() {
            window::advance(call, destination, pane);
        }
        Ok(())
    }
}
