//! The result of looking up a key: a value of one type of a family, which is known only at run time.
//!
//! The types of a family are an enum. The server's handle of the value's type is compared once with theirs; from then on, the
//! type is a variant of the enum.

use super::opened::OpenedKey;
use crate::server::data_type::{DataType, Registration, Value};
use crate::server::error::Error;
use crate::server::part::Part;
use redis_module::raw;
use std::ffi::c_void;
use std::ptr::NonNull;

/// A type: one of a family ([`OneOf`]), or any.
///
/// # Safety
/// The registration must always be the same.
pub unsafe trait Type: Copy {
    /// Its registration.
    fn registration(self) -> &'static Registration;
}

// SAFETY: it is the registration.
unsafe impl Type for &'static Registration {
    fn registration(self) -> Self {
        self
    }
}

/// One of the types of a family; declared by `one_of!`.
///
/// # Safety
/// `get` and `get_mut` must take values of the type that [`Type::registration`] returns, and `find` must return a type whose
/// registration it passed to `is`.
pub unsafe trait OneOf: Type + 'static {
    /// A reference to a value, whatever its type.
    type Ref<'a>;
    /// A reference to a value that a command changes.
    type Mut<'a>;
    /// The registrations of the types. The first is that of new keys.
    const TYPES: &'static [&'static Registration];

    /// The first type for whose registration `is` returns true.
    fn find(is: impl Fn(&'static Registration) -> bool) -> Option<Self>;

    /// The value at an address.
    ///
    /// # Safety
    /// A `Value` of this type must be there, which does not change for `'a`.
    unsafe fn get<'a>(self, value: NonNull<c_void>) -> Self::Ref<'a>;

    /// The value at an address.
    ///
    /// # Safety
    /// A `Value` of this type must be there, without another reference for `'a`.
    unsafe fn get_mut<'a>(self, value: NonNull<c_void>) -> Self::Mut<'a>;
}

/// The value at an address.
///
/// # Safety
/// A `Value<T>` must be there, which does not change for `'a`.
#[inline(always)]
pub unsafe fn value<'a, T: DataType>(value: NonNull<c_void>) -> &'a Value<T> {
    // SAFETY: by the function's contract.
    unsafe { value.cast().as_ref() }
}

/// The state of the value at an address, for a command that changes it.
///
/// # Safety
/// A `Value<T>` must be there, without another reference for `'a`.
#[inline(always)]
pub unsafe fn state_mut<'a, T: DataType>(value: NonNull<c_void>) -> &'a mut T {
    // SAFETY: by the function's contract.
    unsafe { value.cast::<Value<T>>().as_mut() }.state_mut()
}

/// Declares the types of a family, and the references to their values: an enum for reads and one for commands that change the
/// value. Each variant has the type, and the type that the reference for reads refers to.
macro_rules! one_of {
    (
        #[doc = $types_doc:literal] $types:ident,
        #[doc = $name_doc:literal] $name:ident, #[doc = $changed_doc:literal] $changed:ident {
            $( #[doc = $doc:literal] $variant:ident: $type:ty, $read:ty; )+
        }
    ) => {
        #[doc = $types_doc]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(usize)] // an entry has no padding, which moves would copy
        pub enum $types {
            $( #[doc = $doc] $variant, )+
        }

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

        #[allow(unsafe_code)] // as below
        // SAFETY: each variant has one registration.
        unsafe impl $crate::server::key::Type for $types {
            #[inline(always)]
            fn registration(self) -> &'static $crate::server::data_type::Registration {
                match self {
                    $( Self::$variant => <$type as $crate::server::data_type::DataType>::REGISTRATION, )+
                }
            }
        }

        #[allow(unsafe_code)] // the text of the macro is part of the server layer
        // SAFETY: each variant has one type.
        unsafe impl $crate::server::key::OneOf for $types {
            type Ref<'a> = $name<'a>;
            type Mut<'a> = $changed<'a>;
            const TYPES: &'static [&'static $crate::server::data_type::Registration] =
                &[$( <$type as $crate::server::data_type::DataType>::REGISTRATION, )+];

            #[inline(always)]
            fn find(
                is: impl Fn(&'static $crate::server::data_type::Registration) -> bool,
            ) -> Option<Self> {
                $(
                    if is(<$type as $crate::server::data_type::DataType>::REGISTRATION) {
                        return Some(Self::$variant);
                    }
                )+
                None
            }

            #[inline(always)]
            unsafe fn get<'a>(self, value: std::ptr::NonNull<std::ffi::c_void>) -> $name<'a> {
                // SAFETY: by the function's contract.
                unsafe {
                    match self {
                        $( Self::$variant => {
                            $name::$variant($crate::server::key::value::<$type>(value))
                        } )+
                    }
                }
            }

            #[inline(always)]
            unsafe fn get_mut<'a>(self, value: std::ptr::NonNull<std::ffi::c_void>) -> $changed<'a> {
                // SAFETY: by the function's contract.
                unsafe {
                    match self {
                        $( Self::$variant => {
                            $changed::$variant($crate::server::key::state_mut::<$type>(value))
                        } )+
                    }
                }
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

/// What the types without and with a window have under the same name.
macro_rules! either {
    ($value:expr, |$sketch:ident| $result:expr) => {
        match $value {
            Self::Classic($sketch) => $result,
            Self::Windowed($sketch) => $result,
        }
    };
}

pub(crate) use either;

impl OpenedKey {
    /// The address of the value with what `of` returns for the server's handle of its type, if it returns something.
    #[inline(always)]
    fn found<T>(
        &self,
        of: impl FnOnce(*mut raw::RedisModuleType) -> Option<T>,
    ) -> Lookup<(T, NonNull<c_void>)> {
        if let Some((handle, value)) = self.of_module()
            && let Some(of) = of(handle.as_ptr())
            && let Some(value) = value.address()
        {
            return Lookup::Found((of, value));
        }
        match self.present() {
            None => Lookup::Missing,
            Some(_) => Lookup::WrongType,
        }
    }

    /// The type and the address of the value, if it has one of the types of a family.
    #[inline(always)]
    pub(super) fn find<T: OneOf>(&self) -> Lookup<(T, NonNull<c_void>)> {
        self.found(|handle| T::find(|of| of.handle() == handle))
    }

    /// The type and the address of the value, if it has one of these types.
    #[inline(always)]
    pub(super) fn find_in(
        &self,
        types: impl IntoIterator<Item = &'static Registration>,
    ) -> Lookup<(&'static Registration, NonNull<c_void>)> {
        self.found(|handle| types.into_iter().find(|of| of.handle() == handle))
    }

    /// What the key holds, for a family.
    #[inline(always)]
    pub(super) fn get<T: OneOf>(&self) -> Lookup<T::Ref<'_>> {
        // SAFETY: the key is open, and no key is open for writing beside it (see `opened.rs`); a value whose type has this handle
        // is a `Value` of the type (see `callbacks`).
        (self.find::<T>()).map(|(of, value)| unsafe { of.get(value) })
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
    pub fn lenient(self, part: Part<'_>) -> Result<Option<V>, Error> {
        match self {
            Self::WrongType if !matches!(part, Part::Whole) => Err(Error::WrongType),
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
