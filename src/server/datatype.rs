//! A type of value of the module's own, and the callbacks by which the server handles it.

use super::allocator::NATURAL_ALIGNMENT;
use super::aof::{self, AofWriter};
use super::defrag;
use super::fault;
use super::guard::guarded;
use super::log;
use super::memory::Weighed;
use super::rdb::{RdbReader, RdbWriter};
use super::save;
use super::stats::Stats;
use redis_module::raw;
use roughly_sketch::blocks::BlockChanges;
use roughly_sketch::stored::Stored;
use std::cell::Cell;
use std::ffi::{CStr, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// What the server keeps of a type: its handle, and our counters of its family.
#[derive(Debug)]
pub struct Registration {
    name: &'static CStr,
    handle: AtomicPtr<raw::RedisModuleType>,
    /// The family's counters.
    pub stats: Stats,
}

impl Registration {
    /// Of the type of this name, not registered yet.
    #[must_use]
    pub const fn new(name: &'static CStr) -> Self {
        Self {
            name,
            handle: AtomicPtr::new(ptr::null_mut()),
            stats: Stats::new(),
        }
    }
}

/// A sketch that is a type of the server. A value may be freed on another thread than the one that created it.
pub trait DataType: Stored + Send + 'static {
    /// The command that loads a chunk, for AOF rewrite.
    const LOADCHUNK: &'static CStr;
    /// Bytes of a payload up to which AOF rewrite emits one RESTORE. 64 MiB is well below what a server takes as one
    /// argument (proto-max-bulk-len, 512 MB unless set otherwise), so that it loads where that was lowered.
    const MAX_RESTORE_BYTES: u64 = 64 << 20;

    /// The one registration of this type, a static of its own with the type's name.
    fn registration() -> &'static Registration;

    /// The parameters that old encoding versions do not store.
    fn defaults() -> Self::Defaults;
}

/// The handle of a registered type; null before.
pub(super) fn handle<T: DataType>() -> *mut raw::RedisModuleType {
    T::registration().handle.load(Ordering::Relaxed)
}

/// A value as the server holds it: with what it was last counted for.
#[derive(Debug)]
pub struct Held<T: DataType> {
    pub(super) value: T,
    // Cells, since a value may take memory for what it keeps beside its state while it is read.
    counted_bytes: Cell<usize>,
    counted_blocks: Cell<usize>,
}

impl<T: DataType> Held<T> {
    /// Boxes a value for the server, and counts it.
    pub(super) fn new(value: T) -> Box<Self> {
        let held = Box::new(Self {
            value,
            counted_bytes: Cell::new(0),
            counted_blocks: Cell::new(0),
        });
        T::registration().stats.count_value(1, 0);
        held.recount();
        held
    }

    /// Weighs all its blocks, its own included.
    fn weigh(&self) -> Weighed {
        const { assert!(align_of::<Self>() <= NATURAL_ALIGNMENT) };
        let mut weighed = Weighed::default();
        // SAFETY: every `Held` is in a box of its own (see `new`).
        unsafe { weighed.add(ptr::from_ref(self).cast()) };
        self.value.for_each_block(&mut weighed);
        weighed
    }

    /// Bytes that it was last counted for, its own block included.
    pub(super) fn bytes(&self) -> usize {
        self.counted_bytes.get()
    }

    /// Counts its blocks anew. Cost: one call of the server's for each.
    pub(super) fn recount(&self) {
        let Weighed { bytes, blocks } = self.weigh();
        self.counted_blocks.set(blocks);
        #[allow(clippy::cast_possible_wrap)] // no address space holds 2^63 bytes
        self.count_change(bytes as i64 - self.counted_bytes.get() as i64);
    }

    /// Counts bytes that came (or went) since the last count.
    pub(super) fn count_change(&self, change: i64) {
        let signed = isize::try_from(change).unwrap_or(0);
        let counted = self.counted_bytes.get().saturating_add_signed(signed);
        self.counted_bytes.set(counted);
        T::registration().stats.count_bytes(change);
    }

    /// Counts the blocks that went and came since the last count.
    pub(super) fn count_changes(&self, BlockChanges { gone, came }: &BlockChanges<Weighed>) {
        let blocks = self.counted_blocks.get() + came.blocks;
        self.counted_blocks.set(blocks.saturating_sub(gone.blocks));
        #[allow(clippy::cast_possible_wrap)] // no address space holds 2^63 bytes
        self.count_change(came.bytes as i64 - gone.bytes as i64);
    }

    /// What it takes to free it, and to defragment it, in the server's units.
    fn effort(&self) -> usize {
        self.counted_blocks.get() + self.counted_bytes.get() / EFFORT_BYTES
    }
}

impl<T: DataType> Drop for Held<T> {
    fn drop(&mut self) {
        T::registration()
            .stats
            .count_value(-1, self.counted_bytes.get());
    }
}

/// Bytes that count as one unit of the effort to free a value, as a block does: more than 64 units are
/// freed in the background, and defragmented in steps.
const EFFORT_BYTES: usize = 4096;

/// Registers `T`. False where the server refuses it (another module owns the name).
///
/// # Safety
/// `ctx` must be that of the running load function.
///
/// # Panics
/// If the type's registration is that of another type.
pub(super) unsafe fn register<T: DataType>(ctx: *mut raw::RedisModuleCtx) -> bool {
    // Values are told apart by their handles, so each type must have one of its own.
    let registration = T::registration();
    assert!(
        registration.name == T::TYPE_NAME && handle::<T>().is_null(),
        "two types share a registration"
    );
    let mut methods = raw::RedisModuleTypeMethods {
        version: u64::from(raw::REDISMODULE_TYPE_METHOD_VERSION),
        rdb_load: Some(rdb_load::<T>),
        rdb_save: Some(rdb_save::<T>),
        aof_rewrite: Some(aof_rewrite::<T>),
        mem_usage: Some(mem_usage::<T>),
        digest: Some(digest::<T>),
        free: Some(free::<T>),
        aux_load: None,
        aux_save: None,
        aux_save_triggers: 0,
        free_effort: Some(free_effort::<T>),
        unlink: None,
        copy: Some(copy::<T>),
        defrag: Some(defragment::<T>),
        mem_usage2: None,
        free_effort2: None,
        unlink2: None,
        copy2: None,
        aux_save2: None,
    };
    // SAFETY: name and methods live until the return; the server copies both. The callbacks take what
    // this module makes values of: boxes of `Held<T>`.
    let handle = unsafe {
        api!(RedisModule_CreateDataType)(
            ctx,
            T::TYPE_NAME.as_ptr(),
            T::ENCODING_VERSION.into(),
            &raw mut methods,
        )
    };
    registration.handle.store(handle, Ordering::Relaxed);
    !handle.is_null()
}

/// The value behind a callback's pointer.
///
/// # Safety
/// `value` must come from a `Held<T>` box that the server owns, and not change meanwhile.
unsafe fn held<'a, T: DataType>(value: *const c_void) -> &'a Held<T> {
    // SAFETY: by the promise above.
    unsafe { &*value.cast() }
}

unsafe extern "C" fn rdb_load<T: DataType>(
    io: *mut raw::RedisModuleIO,
    encoding_version: c_int,
) -> *mut c_void {
    let loaded = guarded("rdb_load", || {
        // SAFETY: the stream is this callback's.
        let mut reader = unsafe { RdbReader::new(io) };
        let loaded = match u16::try_from(encoding_version) {
            Ok(version) if version <= T::MAX_ENCODING_VERSION => {
                let loaded = T::load(&mut reader, version, &T::defaults());
                loaded.map_err(|error| error.to_string())
            }
            _ => Err(format!("unknown encoding version {encoding_version}")),
        };
        match loaded {
            Ok(value) => Box::into_raw(Held::new(value)).cast(),
            Err(why) => {
                reader.log_refusal(&why);
                ptr::null_mut()
            }
        }
    });
    loaded.unwrap_or(ptr::null_mut())
}

unsafe extern "C" fn rdb_save<T: DataType>(io: *mut raw::RedisModuleIO, value: *mut c_void) {
    let saved = guarded("rdb_save", || {
        // SAFETY: the stream is this callback's, the value a `Held<T>`.
        let (value, mut writer) = unsafe { (held::<T>(value), RdbWriter::new(io)) };
        fault::without_memory("rdb_save memory", || value.value.save(&mut writer));
    });
    if saved.is_none() {
        // SAFETY: as above.
        guarded("a failed save", || unsafe { save::fail_rdb(io) });
    }
}

unsafe extern "C" fn aof_rewrite<T: DataType>(
    io: *mut raw::RedisModuleIO,
    key: *mut raw::RedisModuleString,
    value: *mut c_void,
) {
    let rewritten = guarded("aof_rewrite", || {
        // SAFETY: stream and key are this callback's, the value a `Held<T>`.
        let (value, mut writer) = unsafe { (held::<T>(value), AofWriter::new(io, key)) };
        let rewrite = || aof::rewrite(&value.value, &mut writer, T::MAX_RESTORE_BYTES);
        fault::without_memory("aof_rewrite memory", rewrite)
            .inspect_err(|why| log::warning(&format!("cannot rewrite a key: {why}")))
    });
    if !matches!(rewritten, Some(Ok(()))) {
        // SAFETY: as above.
        guarded("a failed rewrite", || unsafe { save::fail_aof(io) });
    }
}

unsafe extern "C" fn mem_usage<T: DataType>(value: *const c_void) -> usize {
    // SAFETY: the value is a `Held<T>`.
    guarded("mem_usage", || unsafe { held::<T>(value) }.weigh().bytes).unwrap_or(0)
}

unsafe extern "C" fn free_effort<T: DataType>(
    _key: *mut raw::RedisModuleString,
    value: *const c_void,
) -> usize {
    // SAFETY: the value is a `Held<T>`.
    unsafe { held::<T>(value) }.effort()
}

unsafe extern "C" fn digest<T: DataType>(digest: *mut raw::RedisModuleDigest, value: *mut c_void) {
    guarded("digest", || {
        // SAFETY: the digest is this callback's, the value a `Held<T>`; the bytes are only read (the
        // parameter is not const for want of care).
        unsafe {
            held::<T>(value).value.digest(&mut |bytes| {
                api!(RedisModule_DigestAddStringBuffer)(
                    digest,
                    bytes.as_ptr().cast_mut().cast(),
                    bytes.len(),
                );
            });
            api!(RedisModule_DigestEndSequence)(digest);
        }
    });
}

unsafe extern "C" fn free<T: DataType>(value: *mut c_void) {
    guarded("free", || {
        // SAFETY: the value is a `Held<T>` box that the server gives back.
        drop(unsafe { Box::from_raw(value.cast::<Held<T>>()) })
    });
}

unsafe extern "C" fn copy<T: DataType>(
    _from: *mut raw::RedisModuleString,
    _to: *mut raw::RedisModuleString,
    value: *const c_void,
) -> *mut c_void {
    let copied = guarded("copy", || {
        // SAFETY: the value is a `Held<T>`.
        let copy = unsafe { held::<T>(value) }.value.try_clone();
        copy.map_or(ptr::null_mut(), |copy| {
            Box::into_raw(Held::new(copy)).cast()
        })
    });
    copied.unwrap_or(ptr::null_mut())
}

unsafe extern "C" fn defragment<T: DataType>(
    ctx: *mut raw::RedisModuleDefragCtx,
    _key: *mut raw::RedisModuleString,
    value: *mut *mut c_void,
) -> c_int {
    // SAFETY: the value is a `Held<T>` box, and the server's pointer to it is passed by address.
    guarded("defrag", || unsafe { defrag::defragment::<T>(ctx, value) }).unwrap_or(0)
}
