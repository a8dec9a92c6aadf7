//! The result of looking up a key.

use crate::server::call::{Call, Error};

/// The result of looking up a key.
#[derive(Debug)]
pub enum Lookup<V> {
    /// The key is missing.
    Missing,
    /// A value of another type.
    WrongType,
    /// A value of the expected type.
    Found(V),
}

impl<V> Lookup<V> {
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

    /// The same result with another value.
    pub(super) fn map<W>(self, map: impl FnOnce(V) -> W) -> Lookup<W> {
        match self {
            Self::Missing => Lookup::Missing,
            Self::WrongType => Lookup::WrongType,
            Self::Found(value) => Lookup::Found(map(value)),
        }
    }
}
