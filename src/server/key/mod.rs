//! Access to the keys of a command.
//!
//! A handler opens a key for reading ([`Call::read`], [`Call::read_all`]), for writing ([`Call::write`]), or a
//! destination and its sources ([`Call::merge`]). References to values live only while their key is open, and no other
//! code runs while a reference exists: `access` counts the open keys, and a new value is put into its key by
//! [`Entry::store`], after the last use of a reference.

mod access;
mod entry;
mod lookup;
mod merge;
mod one_of;
mod opened;

pub use entry::Entry;
pub use lookup::{Found, Key, ReadKey, WriteKey};
pub use merge::MergeKeys;
pub use one_of::{AnyMut, AnyRef, OneOf, OneOfMut};

use super::call::{Call, Error};
use super::data_type::Registration;
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

impl Call<'_> {
    /// Opens the key in argument `index` for reading, whatever it holds. For several keys at once, see [`Call::read_all`].
    ///
    /// # Panics
    /// If a key is open for writing.
    #[must_use]
    pub fn read(&self, index: usize) -> ReadKey {
        Reader::check();
        let opened = OpenedKey::new(self, index, raw::REDISMODULE_READ);
        Key {
            opened,
            access: Reader::begin(),
        }
    }

    /// Opens the keys in these arguments for reading, whatever they hold.
    ///
    /// # Errors
    /// [`TryReserveError`] if there is no memory for a list of the keys.
    ///
    /// # Panics
    /// If a key is open for writing.
    pub fn read_all(
        &self,
        indexes: impl Iterator<Item = usize> + Clone,
    ) -> Result<Vec<ReadKey>, TryReserveError> {
        Reader::check();
        let opened = OpenedKey::all(self, indexes)?.into_iter();
        try_collect(opened.map(|opened| Key {
            opened,
            access: Reader::begin(),
        }))
    }

    /// As [`Call::read`], for writing. A command that also reads other keys reads them first, or uses [`Call::merge`].
    ///
    /// # Panics
    /// If another key is open.
    #[must_use]
    pub fn write(&self, index: usize) -> WriteKey {
        Writer::check();
        let opened = OpenedKey::new(self, index, FOR_WRITING);
        Key {
            opened,
            access: Writer::begin(),
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
        drop(OpenedKey::new(self, destination, FOR_WRITING));
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
