//! Typed access to the key that a command names.

use super::call::{Call, Error};
use super::datatype::{self, DataType, Held};
use super::memory::Weighed;
use redis_module::raw;
use roughly_sketch::blocks::BlockChanges;
use std::collections::TryReserveError;
use std::ffi::c_int;
use std::marker::PhantomData;
use std::ops::Range;
use std::ptr::{self, NonNull};
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

/// How a key is opened that may be changed.
const FOR_WRITING: u32 = raw::REDISMODULE_READ | raw::REDISMODULE_WRITE;

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

    /// Stands for a key that is missing.
    fn missing() -> Self {
        Self {
            key: ptr::null_mut(),
            of: PhantomData,
        }
    }

    /// Opens several keys; no other code runs once the first of them is open.
    ///
    /// Opening a key can run other modules: the key may have expired, and is deleted then, or it may be
    /// missing, and both are events. They may delete keys, also those that are open already. So each key is
    /// opened and closed once before. Nothing can run the second time: the clock stands still during a
    /// command, a missing key is not opened again, and to open a key for writing does not report it as
    /// missing.
    ///
    /// # Errors
    /// [`TryReserveError`] if there is no memory for a list of the keys.
    fn all(
        call: &Call<'_>,
        indexes: impl Iterator<Item = usize> + Clone,
    ) -> Result<Vec<Self>, TryReserveError> {
        let read = |index| Self::new(call, index, raw::REDISMODULE_READ);
        let found = indexes.clone().map(|index| !read(index).key.is_null());
        let found = try_collect(found)?;
        let opened = indexes.zip(found).map(|(index, found)| match found {
            true => Self::new(call, index, FOR_WRITING),
            false => Self::missing(),
        });
        try_collect(opened)
    }

    /// Puts a value into a key that is open for writing, and closes it.
    ///
    /// This runs the handlers of other modules for new keys, which may run commands of this module, and may
    /// replace or delete the value. So the caller must have dropped its [`Writing`], and must not use any
    /// address of the value afterwards.
    fn set(self, held: Box<Held<T>>) {
        let held = Box::into_raw(held);
        // SAFETY: the key is open for writing (so not null), and the type's callbacks take a `Held<T>`
        // from a box; from here on the server owns it. Where the server does not take it, the box is this
        // function's again.
        unsafe {
            let set = api!(RedisModule_ModuleTypeSetValue);
            if set(self.key, datatype::handle::<T>(), held.cast()) != raw::REDISMODULE_OK as c_int {
                drop(Box::from_raw(held));
                panic!("the server did not take a value");
            }
        }
    }

    /// The value's address, if it is one of `T`.
    fn value(&self) -> Slot<*mut Held<T>> {
        if self.key.is_null() {
            return Slot::Missing;
        }
        // SAFETY: the key is open. A value whose type is that of `T` was set by `Opened::set` or by
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

    /// The value at the key, or a new one where there is none.
    ///
    /// # Errors
    /// [`Error::WrongType`] for another type, what `make` answers, or what [`WriteKey::create`] does.
    pub fn find_or_create(
        self,
        call: &Call<'_>,
        make: impl FnOnce() -> Result<T, Error>,
    ) -> Result<Entry<T>, Error> {
        match self.opened.value() {
            Slot::Found(held) => Ok(self.found(held)),
            Slot::WrongType => Err(Error::WrongType),
            Slot::Missing => {
                let entry = self.create(make()?)?;
                if let (Some(_), Place::New(held)) = (entry.key.limit, &entry.place) {
                    call.set_key_bytes(held.bytes() as u64);
                }
                Ok(entry)
            }
        }
    }

    /// A new value for the key, which [`Entry::store`] puts there, in place of what is there then. A time
    /// to live is lost; to keep it, change the value that is there.
    ///
    /// # Errors
    /// [`Error::KeyTooLarge`] if the value holds more than a key may (`sketch-max-key-bytes`); it is dropped then.
    pub fn create(self, value: T) -> Result<Entry<T>, Error> {
        let held = Held::new(value);
        self.check(held.bytes())?;
        Ok(Entry {
            place: Place::New(held),
            key: self,
        })
    }

    /// Puts a value in place of the one of this type that is there, whose time to live stays; where there
    /// is none, [`Entry::store`] puts it there.
    ///
    /// # Errors
    /// [`Error::WrongType`] for another type; [`Error::KeyTooLarge`] if the new one holds more than a key may
    /// (`sketch-max-key-bytes`) and more than the old one, which stays then.
    pub fn replace(self, value: T) -> Result<Entry<T>, Error> {
        match self.opened.value() {
            Slot::WrongType => Err(Error::WrongType),
            Slot::Missing => self.create(value),
            Slot::Found(held) => {
                let mut new = Held::new(value);
                let mut entry = self.found(held);
                if new.bytes() > entry.held().bytes() {
                    entry.key.check(new.bytes())?;
                }
                std::mem::swap(entry.value(), &mut new.value);
                entry.recount();
                Ok(entry)
            }
        }
    }

    /// The value at the key, which is at this address.
    fn found(self, held: *mut Held<T>) -> Entry<T> {
        let held = NonNull::new(held).expect("the server keeps no value at address 0");
        Entry {
            place: Place::AtKey(held),
            key: self,
        }
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
                Err(Error::KeyTooLarge {
                    bytes: bytes as u64,
                    most,
                })
            }
            _ => Ok(()),
        }
    }

    /// Counts the value's memory anew, for INFO: after a change that took or gave back a block. Cost:
    /// one call of the server's a block; where there are many and they change often, see
    /// [`Entry::count_changes`].
    pub fn recount(&mut self) {
        if let Slot::Found(held) = self.opened.value() {
            // SAFETY: as in `get`.
            unsafe { (*held).recount() }
        }
    }
}

/// A value that a command changes: the one at its key, or a new one, which is put there when it is complete.
#[derive(Debug)]
pub struct Entry<T: DataType> {
    place: Place<T>,
    key: WriteKey<T>,
}

/// Where the value of an [`Entry`] is.
#[derive(Debug)]
enum Place<T: DataType> {
    AtKey(NonNull<Held<T>>),
    New(Box<Held<T>>),
}

impl<T: DataType> Entry<T> {
    /// Whether the value is not at its key yet.
    #[must_use]
    pub fn is_new(&self) -> bool {
        matches!(self.place, Place::New(_))
    }

    fn held(&mut self) -> &mut Held<T> {
        match &mut self.place {
            // SAFETY: the value lives while the key is open, no other key is open (see OPEN), and `self` is
            // borrowed mutably.
            Place::AtKey(held) => unsafe { held.as_mut() },
            Place::New(held) => held,
        }
    }

    /// The value.
    pub fn value(&mut self) -> &mut T {
        &mut self.held().value
    }

    /// As [`WriteKey::recount`].
    pub fn recount(&mut self) {
        self.held().recount();
    }

    /// Counts the blocks that were freed and allocated since the value was last counted, for INFO.
    pub fn count_changes(&mut self, changes: &BlockChanges<Weighed>) {
        if changes.gone.blocks != 0 || changes.came.blocks != 0 {
            self.held().count_changes(changes);
        }
    }

    /// Closes the key, after putting a new value there. To be called after the replication of the command,
    /// so that what other modules then do to the new key is replicated after it.
    ///
    /// # Panics
    /// If the server does not take the value.
    pub fn store(self) {
        if let Place::New(held) = self.place {
            let WriteKey {
                opened, _writing, ..
            } = self.key;
            drop(_writing);
            opened.set(held);
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
    pub fn get(&mut self) -> (Slot<&mut T>, impl Iterator<Item = Slot<Option<&T>>>) {
        let destination = self.destination.value();
        let own = match destination {
            Slot::Found(held) => held,
            Slot::Missing | Slot::WrongType => ptr::null_mut(),
        };
        let sources = self.sources.iter().map(move |source| match source.value() {
            Slot::Missing => Slot::Missing,
            Slot::WrongType => Slot::WrongType,
            Slot::Found(held) if held == own => Slot::Found(None),
            // SAFETY: the value lives while the key is open, no key is open besides these (see OPEN),
            // `self` is borrowed, and the destination is another value.
            Slot::Found(held) => Slot::Found(Some(unsafe { &(*held).value })),
        });
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
    /// Opens the key in word `index` for reading. For several at once, see [`Call::read_all`].
    ///
    /// # Panics
    /// If a [`WriteKey`] is open.
    #[must_use]
    pub fn read<T: DataType>(&self, index: usize) -> ReadKey<T> {
        Reading::check();
        let opened = Opened::new(self, index, raw::REDISMODULE_READ);
        ReadKey(opened, Reading::begin())
    }

    /// Opens the keys in these words for reading.
    ///
    /// # Errors
    /// [`TryReserveError`] if there is no memory for a list of the keys.
    ///
    /// # Panics
    /// If a [`WriteKey`] is open.
    pub fn read_all<T: DataType>(
        &self,
        indexes: impl Iterator<Item = usize> + Clone,
    ) -> Result<Vec<ReadKey<T>>, TryReserveError> {
        Reading::check();
        let opened = Opened::all(self, indexes)?.into_iter();
        try_collect(opened.map(|opened| ReadKey(opened, Reading::begin())))
    }

    /// Opens the key in word `index` for writing, alone: a command that reads other keys does so
    /// before, or with [`Call::merge`].
    ///
    /// # Panics
    /// If another key is open.
    #[must_use]
    pub fn write<T: DataType>(&self, index: usize) -> WriteKey<T> {
        Writing::check();
        let opened = Opened::new(self, index, FOR_WRITING);
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
    /// # Errors
    /// [`TryReserveError`] if there is no memory for a list of the keys.
    ///
    /// # Panics
    /// If another key is open.
    pub fn merge<T: DataType>(
        &self,
        destination: usize,
        sources: Range<usize>,
    ) -> Result<MergeKeys<T>, TryReserveError> {
        Writing::check();
        // Opened before the others, so that it has been deleted if it has expired: see `Opened::all`.
        drop(Opened::<T>::new(self, destination, FOR_WRITING));
        let sources = Opened::all(self, sources)?;
        let destination = Opened::new(self, destination, FOR_WRITING);
        Ok(MergeKeys {
            destination,
            sources,
            _writing: Writing::begin(),
        })
    }
}

/// A vector of what `elements` yields, whose number a user chose.
fn try_collect<T>(elements: impl Iterator<Item = T>) -> Result<Vec<T>, TryReserveError> {
    let mut vec = Vec::new();
    vec.try_reserve_exact(elements.size_hint().0)?;
    for element in elements {
        vec.try_reserve(1)?;
        vec.push(element);
    }
    Ok(vec)
}
