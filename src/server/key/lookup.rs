//! The result of looking up a key: a reference to a value of one type of a family, which is known only at run time.
//!
//! A family is an enum of references to its types, which [`OneOf::of`] creates. The server's handle of the value's type is
//! compared once with those of the family.

use super::opened::OpenedKey;
use super::present::Present;
use crate::server::data_type::{DataType, Registration, Value};
use crate::server::error::Error;
use crate::server::part::Part;
use redis_module::raw;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

/// A value of an open key, of a type that is not known yet.
#[derive(Debug, Clone, Copy)]
pub struct AnyRef<'a> {
    value: Present<'a>,
    /// The server's handle of the type.
    handle: NonNull<raw::RedisModuleType>,
}

impl<'a> AnyRef<'a> {
    /// The state of the value, if its type is `T`.
    ///
    /// # Errors
    /// This reference, for a value of another type.
    #[inline(always)]
    pub fn get<T: DataType>(self) -> Result<&'a T, Self> {
        self.value().map(|value| &value.state)
    }

    /// The value with its cache, if its type is `T`.
    ///
    /// # Errors
    /// This reference, for a value of another type.
    #[inline(always)]
    pub fn value<T: DataType>(self) -> Result<&'a Value<T>, Self> {
        if self.handle.as_ptr() != T::REGISTRATION.handle() {
            return Err(self);
        }
        let Some(value) = self.value.address() else {
            return Err(self);
        };
        // SAFETY: the key is open for 'a and no key is open for writing beside it (see `opened.rs`); a value whose type is that
        // of `T` is a `Value<T>` (see `callbacks`).
        Ok(unsafe { value.cast::<Value<T>>().as_ref() })
    }
}

/// A value that a command changes, of a type that is not known yet.
#[derive(Debug)]
pub struct AnyMut<'a> {
    value: NonNull<c_void>,
    of: &'static Registration,
    borrowed: PhantomData<&'a mut ()>,
}

impl<'a> AnyMut<'a> {
    /// # Safety
    /// `value` must be the address of a `Value<T>`, where `of` is the registration of `T`, without another reference for
    /// `'a`.
    #[inline(always)]
    pub(super) unsafe fn new(value: NonNull<c_void>, of: &'static Registration) -> Self {
        Self {
            value,
            of,
            borrowed: PhantomData,
        }
    }

    /// The value, which must have one of the types of a family.
    ///
    /// # Panics
    /// If the value has another type.
    #[inline(always)]
    pub fn of_family<F: OneOfMut<'a>>(self) -> F {
        // Not `expect`, which the compiler does not inline.
        match F::of(self) {
            Ok(value) => value,
            Err(_) => panic!("a type of another family"),
        }
    }

    /// The state of the value, if its type is `T`.
    ///
    /// # Errors
    /// This reference, for a value of another type.
    #[inline(always)]
    pub fn get<T: DataType>(self) -> Result<&'a mut T, Self> {
        if !ptr::eq(self.of, T::REGISTRATION) {
            return Err(self);
        }
        // SAFETY: by the contract of `new`.
        Ok(unsafe { self.value.cast::<Value<T>>().as_mut() }.state_mut())
    }
}

/// A reference to a value of one of the types of a family.
pub trait OneOf<'a>: Sized {
    /// The types. The first is that of new keys.
    const TYPES: &'static [&'static Registration];

    /// The reference, if the value has one of the types.
    ///
    /// # Errors
    /// `value`, if it has another type.
    fn of(value: AnyRef<'a>) -> Result<Self, AnyRef<'a>>;
}

/// As [`OneOf`], for a command that changes the value.
pub trait OneOfMut<'a>: Sized {
    /// The reference, if the value has one of the types.
    ///
    /// # Errors
    /// `value`, if it has another type.
    fn of(value: AnyMut<'a>) -> Result<Self, AnyMut<'a>>;
}

/// Declares the references to the values of a family: an enum for reads and one for commands that change the value. Each
/// variant has the type, the method of [`AnyRef`] that returns the reference for reads, the type that it refers to, and the
/// registration.
macro_rules! one_of {
    (
        #[doc = $name_doc:literal] $name:ident, #[doc = $changed_doc:literal] $changed:ident {
            $( #[doc = $doc:literal] $variant:ident: $type:ty, $get:ident $read:ty, $registration:ident; )+
        }
    ) => {
        #[doc = $name_doc]
        #[derive(Debug, Clone, Copy)]
        pub enum $name<'a> {
            $( #[doc = $doc] $variant(&'a $read), )+
        }

        #[doc = $changed_doc]
        #[derive(Debug)]
        pub enum $changed<'a> {
            $( #[doc = $doc] $variant(&'a mut $type), )+
        }

        impl<'a> $crate::server::key::OneOf<'a> for $name<'a> {
            const TYPES: &'static [&'static $crate::server::data_type::Registration] =
                &[$( &$registration, )+];

            #[inline(always)]
            fn of(
                value: $crate::server::key::AnyRef<'a>,
            ) -> Result<Self, $crate::server::key::AnyRef<'a>> {
                $(
                    let value = match value.$get() {
                        Ok(found) => return Ok(Self::$variant(found)),
                        Err(value) => value,
                    };
                )+
                Err(value)
            }
        }

        impl<'a> $crate::server::key::OneOfMut<'a> for $changed<'a> {
            #[inline(always)]
            fn of(
                value: $crate::server::key::AnyMut<'a>,
            ) -> Result<Self, $crate::server::key::AnyMut<'a>> {
                $(
                    let value = match value.get() {
                        Ok(found) => return Ok(Self::$variant(found)),
                        Err(value) => value,
                    };
                )+
                Err(value)
            }
        }

        impl $name<'_> {
            /// The panes that count for a read.
            ///
            /// # Errors
            /// Those of [`panes`](crate::server::panes::panes).
            #[inline(always)]
            pub fn panes(
                self,
                call: &$crate::server::call::Call<'_>,
                part: $crate::server::part::Part,
            ) -> Result<roughly_sketch::window::Panes, $crate::server::call::Error> {
                $crate::server::panes::panes(call, part, match self {
                    $( Self::$variant(value) => {
                        <$type as roughly_sketch::window::Timed>::timeline(value)
                    } )+
                })
            }
        }
    };
}

pub(crate) use one_of;

impl OpenedKey {
    /// What the key holds: `found` returns it for the value and the handle of its type.
    #[inline(always)]
    pub(super) fn lookup_of<'a, V>(
        &'a self,
        found: impl FnOnce(NonNull<raw::RedisModuleType>, Present<'a>) -> Option<V>,
    ) -> Lookup<V> {
        if let Some((handle, value)) = self.of_module()
            && let Some(found) = found(handle, value)
        {
            return Lookup::Found(found);
        }
        match self.present() {
            None => Lookup::Missing,
            Some(_) => Lookup::WrongType,
        }
    }

    /// What the key holds, for a family.
    #[inline(always)]
    pub(super) fn get<'a, F: OneOf<'a>>(&'a self) -> Lookup<F> {
        self.lookup_of(|handle, value| F::of(AnyRef { value, handle }).ok())
    }

    /// The type and the address of the value, if it has one of these types.
    #[inline(always)]
    pub(super) fn find(
        &self,
        types: impl IntoIterator<Item = &'static Registration>,
    ) -> Lookup<(&'static Registration, NonNull<c_void>)> {
        self.lookup_of(|handle, value| {
            let of = types
                .into_iter()
                .find(|of| of.handle() == handle.as_ptr())?;
            Some((of, value.address()?))
        })
    }
}

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
    pub fn lenient(self, part: Part) -> Result<Option<V>, Error> {
        match self {
            Self::WrongType if !part.is_whole() => Err(Error::WrongType),
            other => Ok(other.found()),
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
