//! Keys that can hold any type.

use super::Slot;
use super::access::{Reader, Writer};
use super::entry::AnyEntry;
use super::one_of::OneOf;
use super::opened::OpenedKey;
use crate::server::call::{Call, Error};
use crate::server::data_type::{AnyValue, DataType, NewValue, Registration};
use crate::server::value::Counted;

/// An open key that can hold any type.
#[derive(Debug)]
pub struct AnyKey<Access> {
    pub(super) opened: OpenedKey<()>,
    pub(super) access: Access,
}

/// A key of any type, open for reading.
pub type AnyReadKey = AnyKey<Reader>;

/// A key of any type, open for writing.
pub type AnyWriteKey = AnyKey<Writer>;

impl<Access> AnyKey<Access> {
    /// Whether the key is missing.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        self.opened.is_missing()
    }

    /// What the key holds, for a family.
    #[must_use]
    #[inline(always)]
    pub fn get<'a, F: OneOf<'a>>(&'a self) -> Slot<F> {
        self.opened.get()
    }

    /// The value of the key, if it has one of these types.
    pub fn value(
        &self,
        types: impl IntoIterator<Item = &'static Registration>,
    ) -> Slot<&dyn AnyValue> {
        // SAFETY: the value lives while the key is open, and no key is open for writing beside it (see `access`).
        self.opened
            .find(types)
            .map(|(of, value)| unsafe { (of.ops.value)(value).as_ref() })
    }
}

impl AnyKey<Writer> {
    /// The value of the key, if it has one of these types, or the key itself if it is missing.
    ///
    /// # Errors
    /// [`Error::WrongType`] for another type.
    #[inline(always)]
    pub fn find(
        self,
        call: &Call<'_>,
        types: impl IntoIterator<Item = &'static Registration>,
    ) -> Result<FoundAny, Error> {
        match self.opened.find(types) {
            Slot::Missing => Ok(FoundAny::Missing(self)),
            Slot::WrongType => Err(Error::WrongType),
            Slot::Found((of, value)) => {
                // SAFETY: the key holds a value of this type at this address.
                let mut entry =
                    unsafe { AnyEntry::existing((self.opened, self.access), of, value) };
                entry.set_key_bytes(call);
                Ok(FoundAny::Entry(entry))
            }
        }
    }

    /// An entry with a new value for the key. [`AnyEntry::store`] puts the value into the key, in place of any value that
    /// the key holds by then, and removes the time to live.
    ///
    /// # Errors
    /// [`Error::KeyTooLarge`] if the value takes more bytes than a key may (`sketch-max-key-bytes`). The value is
    /// dropped.
    pub fn create<T: DataType>(self, call: &Call<'_>, value: T) -> Result<AnyEntry, Error> {
        AnyEntry::new(call, (self.opened, self.access), Counted::new(value))
    }

    /// As [`AnyKey::create`], for the value that the header of a type describes.
    ///
    /// # Errors
    /// As [`AnyKey::create`].
    pub fn create_any(self, call: &Call<'_>, value: NewValue) -> Result<AnyEntry, Error> {
        AnyEntry::new(call, (self.opened, self.access), value)
    }
}

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
