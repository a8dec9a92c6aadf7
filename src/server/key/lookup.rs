//! Keys that can hold any type.

use super::access::{Reader, Writer};
use super::entry::Entry;
use super::lookup_result::Lookup;
use super::one_of::OneOf;
use super::opened::OpenedKey;
use crate::server::call::{Call, Error};
use crate::server::data_type::{AnyValue, DataType, NewValue, Registration};
use crate::server::value::Value;

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

impl<Access> Key<Access> {
    /// Whether the key is missing.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        self.opened.present().is_none()
    }

    /// What the key holds, for a family.
    #[must_use]
    #[inline(always)]
    pub fn get<'a, F: OneOf<'a>>(&'a self) -> Lookup<F> {
        self.opened.get()
    }

    /// The value of the key, if it has one of these types.
    pub fn value(
        &self,
        types: impl IntoIterator<Item = &'static Registration>,
    ) -> Lookup<&dyn AnyValue> {
        // SAFETY: the value lives while the key is open, and no key is open for writing beside it (see `access`).
        self.opened
            .find(types)
            .map(|(of, value)| unsafe { (of.value)(value).as_ref() })
    }
}

impl Key<Writer> {
    /// The value of the key, if it has one of these types, or the key itself if it is missing.
    ///
    /// # Errors
    /// [`Error::WrongType`] for another type.
    #[inline(always)]
    pub fn find(
        self,
        call: &Call<'_>,
        types: impl IntoIterator<Item = &'static Registration>,
    ) -> Result<Found, Error> {
        match self.opened.find(types) {
            Lookup::Missing => Ok(Found::Missing(self)),
            Lookup::WrongType => Err(Error::WrongType),
            Lookup::Found((of, value)) => {
                // SAFETY: the key holds a value of this type at this address.
                let mut entry = unsafe { Entry::existing((self.opened, self.access), of, value) };
                entry.set_key_bytes(call);
                Ok(Found::Entry(entry))
            }
        }
    }

    /// An entry with a new value for the key. [`Entry::store`] puts the value into the key, in place of any value that
    /// the key holds by then, and removes the time to live.
    ///
    /// # Errors
    /// [`Error::KeyTooLarge`] if the value takes more bytes than a key may (`sketch-max-key-bytes`). The value is
    /// dropped.
    pub fn create<T: DataType>(self, call: &Call<'_>, value: T) -> Result<Entry, Error> {
        Entry::new(call, (self.opened, self.access), Value::new(value))
    }

    /// Replaces the value of the key, if it is a `T`, and keeps its time to live. If the key is missing,
    /// [`Entry::store`] puts the value into it.
    ///
    /// # Errors
    /// [`Error::WrongType`] for another type; [`Error::KeyTooLarge`] if the new value takes more bytes than a key may
    /// (`sketch-max-key-bytes`) and more than the old value. In both cases the key keeps its old value.
    pub fn replace<T: DataType>(self, call: &Call<'_>, value: T) -> Result<Entry, Error> {
        match self.find(call, [T::REGISTRATION])? {
            Found::Missing(key) => key.create(call, value),
            Found::Entry(mut entry) => {
                entry.replace(call, &mut Value::new(value))?;
                Ok(entry)
            }
        }
    }

    /// When the key expires, in milliseconds since the Unix epoch; `None` if it does not.
    #[must_use]
    pub fn expires_at(&self) -> Option<i64> {
        self.opened.present()?.expires_at()
    }

    /// Removes the time to live.
    pub fn persist(&mut self) {
        if let Some(value) = self.opened.present() {
            value.persist();
        }
    }

    /// As [`Key::create`], for the value that the header of a type describes.
    ///
    /// # Errors
    /// As [`Key::create`].
    pub fn create_boxed(self, call: &Call<'_>, value: NewValue) -> Result<Entry, Error> {
        Entry::new(call, (self.opened, self.access), value)
    }
}

/// What [`Key::find`] found.
#[derive(Debug)]
pub enum Found {
    /// A value.
    Entry(Entry),
    /// The key is missing.
    Missing(Key<Writer>),
}

impl Found {
    /// The value.
    ///
    /// # Errors
    /// `missing` if the key is missing.
    #[inline(always)]
    pub fn or_missing(self, missing: impl Into<Error>) -> Result<Entry, Error> {
        match self {
            Self::Entry(entry) => Ok(entry),
            Self::Missing(_) => Err(missing.into()),
        }
    }
}
