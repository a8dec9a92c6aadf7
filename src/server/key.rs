//! Typed access to the key that a command names.

use super::call::{Call, Error};
use super::datatype::{self, DataType, Held};
use super::limit;
use super::memory::Weighed;
use crate::blocks::BlockChanges;
use redis_module::raw;
use std::ffi::c_int;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::atomic::{AtomicI32, Ordering};

/// Keys that are open now: how many for reading, or -1 for one that is open for writing.
///
/// Commands run one at a time, so this is a plain number; it is atomic only because statics must be, and
/// changed by a load and a store, which take less than a locked instruction (`add` in stats.rs).
/// It makes sure that no reference to a value is handed out beside a mutable one, even if a command of
/// ours were run from inside another by way of some other module.
static OPEN: AtomicI32 = AtomicI32::new(0);
const WRITER: i32 = -1;

/// What is at a key.
#[derive(Debug)]
pub enum Slot<V> {
    /// Nothing.
    Missing,
    /// A value of another type.
    WrongType,
    /// A value of the wanted type.
    Found(V),
}

impl<V> Slot<V> {
    /// The value; nothing and another type are errors, the former with `missing`.
    ///
    /// # Errors
    /// `missing`, or [`Error::WrongType`].
    pub fn or_missing(self, missing: impl Into<Error>) -> Result<V, Error> {
        match self {
            Self::Missing => Err(missing.into()),
            Self::WrongType => Err(Error::WrongType),
            Self::Found(value) => Ok(value),
        }
    }

    /// The value, or `None` at an empty key.
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

    /// The value, if there is one of the wanted type.
    pub fn found(self) -> Option<V> {
        match self {
            Self::Found(value) => Some(value),
            _ => None,
        }
    }
}

/// One of the keys that are open for reading, as [`OPEN`] counts them.
#[derive(Debug)]
struct Reading;

impl Reading {
    /// # Panics
    /// If a key is open for writing.
    fn check() {
        assert!(
            OPEN.load(Ordering::Relaxed) >= 0,
            "a key is open for writing"
        );
    }

    /// To be called when the key is open, and not before: opening it may run another module, and
    /// through it a command of ours, which leaves the count as it was.
    fn begin() -> Self {
        OPEN.store(OPEN.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        Self
    }
}

impl Drop for Reading {
    fn drop(&mut self) {
        OPEN.store(OPEN.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
    }
}

/// The one key that is open for writing, and the only user of any key.
#[derive(Debug)]
struct Writing;

impl Writing {
    /// # Panics
    /// If a key is open.
    fn check() {
        assert!(OPEN.load(Ordering::Relaxed) == 0, "a key is open");
    }

    /// To be called when the key is open; see [`Reading::begin`].
    fn begin() -> Self {
        OPEN.store(WRITER, Ordering::Relaxed);
        Self
    }
}

impl Drop for Writing {
    fn drop(&mut self) {
        OPEN.store(0, Ordering::Relaxed);
    }
}

/// An open key; closed when dropped. Not counted: see [`Reading`] and [`Writing`].
#[derive(Debug)]
struct Opened<T> {
    key: *mut raw::RedisModuleKey,
    of: PhantomData<T>,
}

impl<T: DataType> Opened<T> {
    fn new(call: &Call<'_>, index: usize, mode: u32) -> Self {
        // SAFETY: context and name are the running command's.
        let key = unsafe {
            api!(RedisModule_OpenKey)(call.ctx(), call.arg(index).as_raw(), mode as c_int)
        };
        Self {
            key,
            of: PhantomData,
        }
    }

    /// The value's address, if it is one of `T`.
    fn value(&self) -> Slot<*mut Held<T>> {
        if self.key.is_null() {
            return Slot::Missing;
        }
        // SAFETY: the key is open. A value whose type is that of `T` was set by `WriteKey::set` or by
        // the callbacks of `datatype`, which make `Held<T>` only.
        unsafe {
            let held = api!(RedisModule_ModuleTypeGetType)(self.key);
            if !held.is_null() && held == datatype::handle::<T>() {
                return Slot::Found(api!(RedisModule_ModuleTypeGetValue)(self.key).cast());
            }
            if api!(RedisModule_KeyType)(self.key) == raw::REDISMODULE_KEYTYPE_EMPTY as c_int {
                Slot::Missing
            } else {
                Slot::WrongType
            }
        }
    }
}

impl<T> Drop for Opened<T> {
    fn drop(&mut self) {
        if !self.key.is_null() {
            // SAFETY: opened by `new`, closed once.
            unsafe { api!(RedisModule_CloseKey)(self.key) };
        }
    }
}

/// A key that is open for reading.
#[derive(Debug)]
pub struct ReadKey<T: DataType>(Opened<T>, Reading);

impl<T: DataType> ReadKey<T> {
    /// What is at the key.
    #[must_use]
    pub fn get(&self) -> Slot<&T> {
        match self.0.value() {
            // SAFETY: the value lives while the key is open, and no key is open for writing meanwhile
            // (see OPEN).
            Slot::Found(held) => Slot::Found(unsafe { &(*held).value }),
            Slot::Missing => Slot::Missing,
            Slot::WrongType => Slot::WrongType,
        }
    }

    /// Counts the value's memory anew, for INFO: after it has made or dropped something that it keeps
    /// beside its state. Cost: as [`WriteKey::recount`].
    pub fn recount(&self) {
        if let Slot::Found(held) = self.0.value() {
            // SAFETY: as in `get`.
            unsafe { (*held).recount() }
        }
    }
}

/// A key that is open for writing.
#[derive(Debug)]
pub struct WriteKey<T: DataType> {
    opened: Opened<T>,
    /// Bytes that it may hold, if it is limited.
    limit: Option<u64>,
    _writing: Writing,
}

impl<T: DataType> WriteKey<T> {
    /// What is at the key.
    pub fn get(&mut self) -> Slot<&mut T> {
        match self.opened.value() {
            // SAFETY: the value lives while the key is open, no other key is open (see OPEN), and
            // `self` is borrowed mutably.
            Slot::Found(held) => Slot::Found(unsafe { &mut (*held).value }),
            Slot::Missing => Slot::Missing,
            Slot::WrongType => Slot::WrongType,
        }
    }

    /// Puts a value there, in place of what was. A time to live is lost; to keep it, change the value
    /// that is there.
    ///
    /// # Errors
    /// [`Error::Made`] if it holds more than a key may (`sketch-max-key-bytes`); it is dropped then.
    pub fn set(&mut self, value: T) -> Result<&mut T, Error> {
        let held = Held::new(value);
        self.check(held.bytes())?;
        let held = Box::into_raw(held);
        // SAFETY: the key is open for writing (so not null), and the type's callbacks take a `Held<T>`
        // from a box; from here on the server owns it, and it lives while the key is open. Where the
        // server does not take it, it is ours again.
        unsafe {
            let set = api!(RedisModule_ModuleTypeSetValue);
            if set(self.opened.key, datatype::handle::<T>(), held.cast())
                != raw::REDISMODULE_OK as c_int
            {
                drop(Box::from_raw(held));
                panic!("the server did not take a value");
            }
            Ok(&mut (*held).value)
        }
    }

    /// The value, made and put there if there is none; and whether it was.
    ///
    /// # Errors
    /// [`Error::WrongType`] for another type, what `make` answers, or what [`WriteKey::set`] does.
    pub fn get_or_create(
        &mut self,
        call: &Call<'_>,
        make: impl FnOnce() -> Result<T, Error>,
    ) -> Result<(&mut T, bool), Error> {
        match self.opened.value() {
            // SAFETY: as in `get`.
            Slot::Found(held) => Ok((unsafe { &mut (*held).value }, false)),
            Slot::WrongType => Err(Error::WrongType),
            Slot::Missing => {
                self.set(make()?)?;
                self.tell_bytes(call);
                let made = self.get().or_missing(Error::WrongType)?;
                Ok((made, true))
            }
        }
    }

    /// Puts a value in place of the one of this type that is there, whose time to live stays; or sets
    /// it, where there is none.
    ///
    /// # Errors
    /// [`Error::WrongType`] for another type; [`Error::Made`] if the new one holds more than a key may
    /// (`sketch-max-key-bytes`) and more than the old one, which stays then.
    pub fn replace(&mut self, value: T) -> Result<(), Error> {
        match self.opened.value() {
            Slot::WrongType => return Err(Error::WrongType),
            Slot::Missing => {
                self.set(value)?;
            }
            Slot::Found(held) => {
                // SAFETY: as in `get`.
                let held = unsafe { &mut *held };
                let mut new = Held::new(value);
                if new.bytes() > held.bytes() {
                    self.check(new.bytes())?;
                }
                std::mem::swap(&mut held.value, &mut new.value);
                held.recount();
            }
        }
        Ok(())
    }

    /// Tells the call what the key holds now, where that is limited.
    fn tell_bytes(&self, call: &Call<'_>) {
        if self.limit.is_some() {
            let bytes = match self.opened.value() {
                // SAFETY: the value lives while the key is open, and it is only looked at here.
                Slot::Found(held) => unsafe { &*held }.bytes() as u64,
                _ => 0,
            };
            call.set_key_bytes(bytes);
        }
    }

    /// Whether the key may hold so many bytes. If not, that counts as a refusal of the family.
    fn check(&self, bytes: usize) -> Result<(), Error> {
        match self.limit {
            Some(most) if bytes as u64 > most => {
                T::registration().stats.count_refusals(1);
                Err(limit::refusal(most))
            }
            _ => Ok(()),
        }
    }

    /// Counts the value's memory anew, for INFO: after a change that took or gave back a block. Cost:
    /// one call of the server's a block; where there are many and they change often, see
    /// [`WriteKey::count_changes`].
    pub fn recount(&mut self) {
        if let Slot::Found(held) = self.opened.value() {
            // SAFETY: as in `get`.
            unsafe { (*held).recount() }
        }
    }

    /// Counts the blocks that went and came since the value was last counted, for INFO.
    pub fn count_changes(&mut self, changes: &BlockChanges<Weighed>) {
        if changes.gone.blocks == 0 && changes.came.blocks == 0 {
            return;
        }
        if let Slot::Found(held) = self.opened.value() {
            // SAFETY: as in `get`.
            unsafe { (*held).count_changes(changes) }
        }
    }
}

/// A key that is open for writing, and others that it is made from, open for reading. Some of them may
/// be the same.
#[derive(Debug)]
pub struct MergeKeys<T: DataType> {
    destination: Opened<T>,
    sources: Vec<Opened<T>>,
    _writing: Writing,
}

impl<T: DataType> MergeKeys<T> {
    /// What is at the destination, and at each source; a source that is the destination itself is found
    /// as `None`.
    #[allow(clippy::type_complexity)]
    pub fn get(&mut self) -> (Slot<&mut T>, Vec<Slot<Option<&T>>>) {
        let destination = self.destination.value();
        let sources = self.sources.iter().map(|source| match source.value() {
            Slot::Missing => Slot::Missing,
            Slot::WrongType => Slot::WrongType,
            Slot::Found(held) if matches!(destination, Slot::Found(same) if same == held) => {
                Slot::Found(None)
            }
            // SAFETY: the value lives while the key is open, no key is open besides these (see OPEN),
            // `self` is borrowed, and the destination is another value.
            Slot::Found(held) => Slot::Found(Some(unsafe { &(*held).value })),
        });
        let sources = sources.collect();
        let destination = match destination {
            Slot::Missing => Slot::Missing,
            Slot::WrongType => Slot::WrongType,
            // SAFETY: as above; `self` is borrowed mutably, and no source refers to this value.
            Slot::Found(held) => Slot::Found(unsafe { &mut (*held).value }),
        };
        (destination, sources)
    }

    /// As [`WriteKey::recount`], for the destination.
    pub fn recount(&mut self) {
        if let Slot::Found(held) = self.destination.value() {
            // SAFETY: as in `get`.
            unsafe { (*held).recount() }
        }
    }
}

impl Call<'_> {
    /// Opens the key in word `index` for reading. Several may be open at once.
    ///
    /// # Panics
    /// If a [`WriteKey`] is open.
    #[must_use]
    pub fn read<T: DataType>(&self, index: usize) -> ReadKey<T> {
        Reading::check();
        let opened = Opened::new(self, index, raw::REDISMODULE_READ);
        ReadKey(opened, Reading::begin())
    }

    /// Opens the key in word `index` for writing, alone: a command that reads other keys does so
    /// before, or with [`Call::merge`].
    ///
    /// # Panics
    /// If another key is open.
    #[must_use]
    pub fn write<T: DataType>(&self, index: usize) -> WriteKey<T> {
        Writing::check();
        let mode = raw::REDISMODULE_READ | raw::REDISMODULE_WRITE;
        let opened = Opened::new(self, index, mode);
        let key = WriteKey {
            opened,
            limit: self.key_limit(),
            _writing: Writing::begin(),
        };
        key.tell_bytes(self);
        key
    }

    /// Opens the key in word `destination` for writing and those in the words `sources` for reading,
    /// for a value that is made from others in place.
    ///
    /// # Panics
    /// If another key is open.
    #[must_use]
    pub fn merge<T: DataType>(&self, destination: usize, sources: Range<usize>) -> MergeKeys<T> {
        Writing::check();
        let sources: Vec<ReadKey<T>> = sources.map(|index| self.read(index)).collect();
        let mode = raw::REDISMODULE_READ | raw::REDISMODULE_WRITE;
        let destination = Opened::new(self, destination, mode);
        // All are open: from here on they count as one that is written.
        let sources = sources.into_iter().map(|ReadKey(opened, _)| opened);
        MergeKeys {
            destination,
            sources: sources.collect(),
            _writing: Writing::begin(),
        }
    }
}
