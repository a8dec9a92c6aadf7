//! Typed access to the keys of a command.
//!
//! A handler opens a key for reading ([`Call::read`], [`Call::read_all`]), for writing ([`Call::write`]), or a
//! destination and its sources ([`Call::merge`]). References to values live only while their key is open, and no other
//! code runs while a reference exists: `access` counts the open keys, and a new value is put into its key by
//! [`Entry::store`], after the last use of a reference.

mod access;
mod any;
mod entry;
mod merge;
mod opened;
mod write;

pub use any::{AnyKey, AnyMut, AnyReadKey, AnyRef, AnyWriteKey, OneOf, OneOfMut};
pub use entry::{AnyEntry, FoundAny};
pub use merge::MergeKeys;
pub use write::{Entry, Found, WriteKey};

use super::call::{Call, Error};
use super::data_type::{AnyValue, DataType, Registration};
use access::{Reader, Writer};
use opened::{FOR_WRITING, OpenedKey, try_collect};
use redis_module::raw;
use std::collections::TryReserveError;
use std::ops::Range;

/// What a key holds.
#[derive(Debug)]
pub enum Slot<V> {
    /// The key is missing.
    Missing,
    /// A value of another type.
    WrongType,
    /// A value of the expected type.
    Found(V),
}

impl<V> Slot<V> {
    /// The value.
    ///
    /// # Errors
    /// `missing` if the key is missing, [`Error::WrongType`] for another type.
    pub fn or_missing(self, missing: impl Into<Error>) -> Result<V, Error> {
        match self {
            Self::Missing => Err(missing.into()),
            Self::WrongType => Err(Error::WrongType),
            Self::Found(value) => Ok(value),
        }
    }

    /// The value, or `None` if the key is missing.
    ///
    /// # Errors
    /// [`Error::WrongType`] for another type.
    pub fn optional(self) -> Result<Option<V>, Error> {
        match self {
            Self::Missing => Ok(None),
            Self::WrongType => Err(Error::WrongType),
            Self::Found(value) => Ok(Some(value)),
        }
    }

    /// The value, or `None` if the key is missing or holds another type.
    ///
    /// # Errors
    /// [`Error::WrongType`] for another type if the command reads a part of a window.
    #[inline(always)]
    pub fn lenient(self, call: &Call<'_>) -> Result<Option<V>, Error> {
        match self {
            Self::Found(value) => Ok(Some(value)),
            Self::WrongType if call.is_within() => Err(Error::WrongType),
            _ => Ok(None),
        }
    }

    /// The value, or `None` if the key is missing or holds another type.
    pub fn found(self) -> Option<V> {
        match self {
            Self::Found(value) => Some(value),
            _ => None,
        }
    }

    /// The same slot with another value.
    fn map<W>(self, map: impl FnOnce(V) -> W) -> Slot<W> {
        match self {
            Self::Missing => Slot::Missing,
            Self::WrongType => Slot::WrongType,
            Self::Found(value) => Slot::Found(map(value)),
        }
    }
}

/// Something of a type without windows, or of its counterpart with windows.
#[derive(Debug)]
pub enum Either<P, W> {
    /// Without a window.
    Plain(P),
    /// With a window.
    Windowed(W),
}

/// A key that is open for reading, of a type with and without windows.
pub type EitherReadKey<P, W> = Either<ReadKey<P>, ReadKey<W>>;

/// Runs the same code for both variants of an [`Either`].
macro_rules! for_either {
    ($either:expr, $name:pat => $code:expr) => {
        match $either {
            $crate::server::key::Either::Plain($name) => $code,
            $crate::server::key::Either::Windowed($name) => $code,
        }
    };
}
pub(crate) use for_either;

/// A key that is open for reading.
#[derive(Debug)]
pub struct ReadKey<T: DataType>(OpenedKey<T>, Reader);

impl<T: DataType> ReadKey<T> {
    /// What the key holds.
    #[must_use]
    #[inline]
    pub fn get(&self) -> Slot<&T> {
        // SAFETY: the value lives while the key is open, and no key is open for writing meanwhile (see `access`).
        self.0.value().map(|counted| unsafe { &(*counted).value })
    }

    /// The key, for values of another type, if it holds one. Otherwise the key itself.
    ///
    /// # Errors
    /// The key, if it does not hold such a value.
    #[inline]
    pub fn typed_if_found<V: DataType>(self) -> Result<ReadKey<V>, Self> {
        let Self(opened, reader) = self;
        match opened.typed_if_found() {
            Ok(opened) => Ok(ReadKey(opened, reader)),
            Err(opened) => Err(Self(opened, reader)),
        }
    }

    /// Whether the key holds a value of this other type.
    #[must_use]
    pub fn holds(&self, registration: &Registration) -> bool {
        self.0.has_type(registration.handle())
    }

    /// Bytes of all blocks of the value, as MEMORY USAGE counts them; 0 if there is no value. Cost: one call into the server
    /// per block.
    #[must_use]
    pub fn memory_usage(&self) -> usize {
        match self.0.value() {
            // SAFETY: as in `get`.
            Slot::Found(counted) => unsafe { (*counted).memory_usage() as usize },
            Slot::Missing | Slot::WrongType => 0,
        }
    }

    /// Measures the value's memory again, for INFO. Must be called after a read changed what the value caches. Cost: as
    /// [`Entry::recount`].
    pub fn recount(&self) {
        if let Slot::Found(counted) = self.0.value() {
            // SAFETY: as in `get`.
            unsafe { (*counted).recount() }
        }
    }
}

impl<Access> AnyKey<Access> {
    /// Whether it holds a value of this type.
    #[must_use]
    #[inline]
    pub fn holds(&self, registration: &Registration) -> bool {
        self.opened.has_type(registration.handle())
    }
}

impl AnyKey<Reader> {
    /// The key, for values of type `T`.
    #[must_use]
    #[inline]
    pub fn typed<T: DataType>(self) -> ReadKey<T> {
        ReadKey(self.opened.typed(), self.access)
    }
}

impl AnyKey<Writer> {
    /// The key, for values of type `T`.
    #[must_use]
    #[inline]
    pub fn typed<T: DataType>(self, call: &Call<'_>) -> WriteKey<T> {
        WriteKey::new(call, self.opened.typed(), self.access)
    }
}

impl Call<'_> {
    /// Opens the key in argument `index` for reading. For several keys at once, see [`Call::read_all`].
    ///
    /// # Panics
    /// If a [`WriteKey`] is open.
    #[must_use]
    pub fn read<T: DataType>(&self, index: usize) -> ReadKey<T> {
        Reader::check();
        let opened = OpenedKey::new(self, index, raw::REDISMODULE_READ);
        ReadKey(opened, Reader::begin())
    }

    /// Opens the key in argument `index` for reading, whatever it holds.
    ///
    /// # Panics
    /// If a [`WriteKey`] is open.
    #[must_use]
    pub fn read_any(&self, index: usize) -> AnyReadKey {
        Reader::check();
        let opened = OpenedKey::new(self, index, raw::REDISMODULE_READ);
        AnyKey {
            opened,
            access: Reader::begin(),
        }
    }

    /// Opens the key in argument `index` for reading, for a command of a type with and without windows. A missing key
    /// and one of another type are [`Either::Plain`].
    ///
    /// # Panics
    /// If a [`WriteKey`] is open.
    #[must_use]
    #[inline(always)]
    pub fn read_either<P: DataType, W: DataType>(
        &self,
        index: usize,
    ) -> Either<ReadKey<P>, ReadKey<W>> {
        Reader::check();
        let opened = OpenedKey::<()>::new(self, index, raw::REDISMODULE_READ);
        match opened.either() {
            Either::Plain(opened) => Either::Plain(ReadKey(opened, Reader::begin())),
            Either::Windowed(opened) => Either::Windowed(ReadKey(opened, Reader::begin())),
        }
    }

    /// Opens the key in argument `index` for writing. A command that also reads other keys reads them first, or uses
    /// [`Call::merge`].
    ///
    /// # Panics
    /// If another key is open.
    #[must_use]
    pub fn write<T: DataType>(&self, index: usize) -> WriteKey<T> {
        Writer::check();
        let opened = OpenedKey::new(self, index, FOR_WRITING);
        WriteKey::new(self, opened, Writer::begin())
    }

    /// Opens the keys in these arguments for reading, for a command of a type with and without windows. A missing key and
    /// one of another type are [`Either::Plain`].
    ///
    /// # Errors
    /// [`TryReserveError`] if there is no memory for a list of the keys.
    ///
    /// # Panics
    /// If a [`WriteKey`] is open.
    pub fn read_all<P: DataType, W: DataType>(
        &self,
        indexes: impl Iterator<Item = usize> + Clone,
    ) -> Result<Vec<EitherReadKey<P, W>>, TryReserveError> {
        Reader::check();
        let opened = OpenedKey::<()>::all(self, indexes)?.into_iter();
        try_collect(opened.map(|opened| match opened.either() {
            Either::Plain(opened) => Either::Plain(ReadKey(opened, Reader::begin())),
            Either::Windowed(opened) => Either::Windowed(ReadKey(opened, Reader::begin())),
        }))
    }

    /// Opens the keys in these arguments for reading, whatever they hold.
    ///
    /// # Errors
    /// [`TryReserveError`] if there is no memory for a list of the keys.
    ///
    /// # Panics
    /// If a [`WriteKey`] is open.
    pub fn read_all_any(
        &self,
        indexes: impl Iterator<Item = usize> + Clone,
    ) -> Result<Vec<AnyReadKey>, TryReserveError> {
        Reader::check();
        let opened = OpenedKey::all(self, indexes)?.into_iter();
        try_collect(opened.map(|opened| AnyKey {
            opened,
            access: Reader::begin(),
        }))
    }

    /// As [`Call::read_any`], for writing.
    ///
    /// # Panics
    /// If another key is open.
    #[must_use]
    pub fn write_any(&self, index: usize) -> AnyWriteKey {
        Writer::check();
        let opened = OpenedKey::new(self, index, FOR_WRITING);
        AnyKey {
            opened,
            access: Writer::begin(),
        }
    }

    /// As [`Call::read_either`], for writing.
    ///
    /// # Panics
    /// If another key is open.
    #[must_use]
    #[inline(always)]
    pub fn write_either<P: DataType, W: DataType>(
        &self,
        index: usize,
    ) -> Either<WriteKey<P>, WriteKey<W>> {
        Writer::check();
        let opened = OpenedKey::<()>::new(self, index, FOR_WRITING);
        match opened.either() {
            Either::Plain(opened) => Either::Plain(WriteKey::new(self, opened, Writer::begin())),
            Either::Windowed(opened) => {
                Either::Windowed(WriteKey::new(self, opened, Writer::begin()))
            }
        }
    }

    /// Opens the key in argument `destination`, for a value of one of these types, for writing and those in the arguments
    /// `sources` for reading.
    ///
    /// # Errors
    /// [`TryReserveError`] if there is no memory for a list of the keys.
    ///
    /// # Panics
    /// If another key is open.
    pub fn merge(
        &self,
        types: &'static [&'static Registration],
        destination: usize,
        sources: Range<usize>,
    ) -> Result<MergeKeys, TryReserveError> {
        Writer::check();
        // Opened and closed first, so that an expired destination is deleted now: see `OpenedKey::all`.
        drop(OpenedKey::<()>::new(self, destination, FOR_WRITING));
        let sources = OpenedKey::all(self, sources)?;
        let destination = OpenedKey::new(self, destination, FOR_WRITING);
        Ok(MergeKeys::new(
            self,
            types,
            destination,
            sources,
            Writer::begin(),
        ))
    }
}
