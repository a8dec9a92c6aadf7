//! Access to the keys of a command.
//!
//! A handler opens a key for reading ([`Call::read`], [`Call::read_all`]), for writing ([`Call::write`]), or a
//! destination and its sources ([`Call::merge`]). References to values live only while their key is open, and no other
//! code runs while a reference exists: `access` counts the open keys, and a new value is put into its key by
//! [`Entry::store`], after the last use of a reference.

mod access;
mod entry;
mod lookup;
mod lookup_result;
mod merge;
mod one_of;
mod opened;
mod present;

pub use entry::Entry;
pub use lookup::{Found, Key, ReadKey, WriteKey};
pub use lookup_result::Lookup;
pub use merge::MergeKeys;
pub(crate) use one_of::one_of;
pub use one_of::{AnyMut, AnyRef, OneOf, OneOfMut};

use super::call::Call;
use super::data_type::Registration;
use access::{Reader, Writer};
use opened::{FOR_WRITING, OpenedKey, try_collect};
use redis_module::raw;
use roughly_sketch::memory::OutOfMemory;
use std::ops::Range;

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
    /// [`OutOfMemory`] if there is no memory for a list of the keys.
    ///
    /// # Panics
    /// If a key is open for writing.
    pub fn read_all(
        &self,
        indexes: impl Iterator<Item = usize> + Clone,
    ) -> Result<Vec<ReadKey>, OutOfMemory> {
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
    /// [`OutOfMemory`] if there is no memory for a list of the keys.
    ///
    /// # Panics
    /// If another key is open.
    pub fn merge(
        &self,
        types: &'static [&'static Registration],
        destination: usize,
        sources: Range<usize>,
    ) -> Result<MergeKeys, OutOfMemory> {
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
