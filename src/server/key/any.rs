//! Keys whose type is one of a family, which is known only at run time.
//!
//! A family is an enum of references to its types, which [`OneOf::of`] creates. [`AnyKey::get`] compares the server's handle of
//! the value's type once with those of the family.

use super::Slot;
use super::access::{Reader, Writer};
use super::entry::{AnyEntry, FoundAny};
use super::opened::OpenedKey;
use crate::server::call::{Call, Error};
use crate::server::data_type::{AnyValue, DataType, NewValue, Registration};
use crate::server::value::Value;
use redis_module::raw;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::ptr::{self, NonNull};

/// A value of an open key, of a type that is not known yet.
#[derive(Debug, Clone, Copy)]
pub struct AnyRef<'a> {
    key: *mut raw::RedisModuleKey,
    /// The server's handle of the type, which is not null.
    handle: *mut raw::RedisModuleType,
    open: PhantomData<&'a ()>,
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
        if self.handle != T::registration().handle() {
            return Err(self);
        }
        // SAFETY: the key is open for 'a and no key is open for writing beside it (see `access`); a value whose type is that
        // of `T` is a `Value<T>` (see `callbacks`).
        Ok(unsafe { &*api!(RedisModule_ModuleTypeGetValue)(self.key).cast::<Value<T>>() })
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

    /// The state of the value, if its type is `T`.
    ///
    /// # Errors
    /// This reference, for a value of another type.
    #[inline(always)]
    pub fn get<T: DataType>(self) -> Result<&'a mut T, Self> {
        if !ptr::eq(self.of, T::registration()) {
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

impl OpenedKey {
    /// What the key holds, for a family.
    #[inline(always)]
    pub(super) fn get<'a, F: OneOf<'a>>(&'a self) -> Slot<F> {
        self.slot_of(|handle| {
            let value = AnyRef {
                key: self.raw(),
                handle,
                open: PhantomData,
            };
            F::of(value).ok()
        })
    }

    /// The type and the address of the value, if it has one of these types.
    #[inline(always)]
    pub(super) fn find(
        &self,
        types: impl IntoIterator<Item = &'static Registration>,
    ) -> Slot<(&'static Registration, NonNull<c_void>)> {
        self.slot_of(|handle| {
            let of = types.into_iter().find(|of| of.handle() == handle)?;
            Some((of, self.address()?))
        })
    }
}

/// An open key that can hold any type.
#[derive(Debug)]
pub struct AnyKey<Access> {
    pub(super) opened: OpenedKey,
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
                let mut entry = unsafe { AnyEntry::existing(self, of, value) };
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
        AnyEntry::new(call, self, Value::new(value))
    }

    /// Replaces the value of the key, if it is a `T`, and keeps its time to live. If the key is missing,
    /// [`AnyEntry::store`] puts the value into it.
    ///
    /// # Errors
    /// [`Error::WrongType`] for another type; [`Error::KeyTooLarge`] if the new value takes more bytes than a key may
    /// (`sketch-max-key-bytes`) and more than the old value. In both cases the key keeps its old value.
    pub fn replace<T: DataType>(self, call: &Call<'_>, value: T) -> Result<AnyEntry, Error> {
        match self.find(call, [T::registration()])? {
            FoundAny::Missing(key) => key.create(call, value),
            FoundAny::Entry(mut entry) => {
                entry.replace(call, Value::new(value))?;
                Ok(entry)
            }
        }
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

    /// As [`AnyKey::create`], for the value that the header of a type describes.
    ///
    /// # Errors
    /// As [`AnyKey::create`].
    pub fn create_any(self, call: &Call<'_>, value: NewValue) -> Result<AnyEntry, Error> {
        AnyEntry::new(call, self, value)
    }
}
