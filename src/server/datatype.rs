//! A data type of the module, and the callbacks with which the server handles its values.

use super::aof::{self, AofWriter};
use super::counted::Counted;
use super::defrag;
use super::fault;
use super::guard::guarded;
use super::log;
use super::rdb::{RdbReader, RdbWriter};
use super::save;
use super::stats::Stats;
use redis_module::raw;
use roughly_sketch::format::{FormatError, Source};
use roughly_sketch::memory::OutOfMemory;
use roughly_sketch::stored::Stored;
use std::ffi::{CStr, c_int, c_void};
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The registration of a type: its handle in the server, and the counters of its family.
#[derive(Debug)]
pub struct Registration {
    name: &'static CStr,
    handle: AtomicPtr<raw::RedisModuleType>,
    /// The family's counters.
    pub stats: Stats,
}

impl Registration {
    /// A registration for the type with this name, which is not registered with the server yet.
    #[must_use]
    pub const fn new(name: &'static CStr) -> Self {
        Self {
            name,
            handle: AtomicPtr::new(ptr::null_mut()),
            stats: Stats::new(),
        }
    }

    /// The server's handle of the type; null before it is registered.
    #[inline]
    pub(super) fn handle(&self) -> *mut raw::RedisModuleType {
        self.handle.load(Ordering::Relaxed)
    }
}

/// A sketch that is a type of the server. A value may be freed on another thread than the one that created it.
pub trait DataType: Stored + Send + 'static {
    /// The command that loads a chunk, for AOF rewrite.
    const LOADCHUNK: &'static CStr;
    /// Maximum size in bytes of a payload that AOF rewrite emits as one RESTORE. 64 MiB is well below the server's
    /// limit for an argument (proto-max-bulk-len, 512 MB by default), so that servers with a lower limit can load the
    /// AOF.
    const MAX_RESTORE_BYTES: u64 = 64 << 20;

    /// A command that recreates a value, which AOF rewrite emits instead of RESTORE.
    const PAYLOAD_COMMAND: Option<PayloadCommand<Self>> = None;

    /// The registration of this type: a static that no other type uses.
    fn registration() -> &'static Registration;

    /// The parameters that old encoding versions do not store.
    fn defaults() -> Self::Defaults;

    /// Reads the values of an encoding version. `is_limited`: a client sent them with RESTORE, so the limits of this
    /// server apply.
    ///
    /// # Errors
    /// Those of [`Stored::load`], and values above a limit.
    fn load_limited(
        source: &mut dyn Source,
        encoding_version: u16,
        _is_limited: bool,
    ) -> Result<Self, FormatError> {
        Self::load(source, encoding_version, &Self::defaults())
    }

    /// Whether active defragmentation moves the values.
    #[must_use]
    fn is_defragmented() -> bool {
        true
    }
}

/// A command `name key payload` that recreates a value.
#[derive(Debug)]
pub struct PayloadCommand<T> {
    /// Its name.
    pub name: &'static CStr,
    /// The length of the payload in bytes.
    pub payload_bytes: fn(&T) -> u64,
    /// The payload.
    pub payload: fn(&T) -> Result<Vec<u8>, OutOfMemory>,
}

/// The server's handle of the type; null before it is registered.
pub(super) fn handle<T: DataType>() -> *mut raw::RedisModuleType {
    T::registration().handle()
}

/// Registers `T`. Returns false if the server refuses it, because another module owns the name.
///
/// # Safety
/// `ctx` must be that of the running load function.
///
/// # Panics
/// If the type's registration is that of another type.
pub(super) unsafe fn register<T: DataType>(ctx: *mut raw::RedisModuleCtx) -> bool {
    // The handle identifies the type of a value, so two types must not share one. It is not null if an earlier load
    // failed and the library stayed in memory.
    let registration = T::registration();
    assert!(
        registration.name == T::TYPE_NAME,
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
    // SAFETY: name and methods live until the return; the server copies both. The callbacks take boxes of
    // `Counted<T>`, which this module gives the server as values.
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
/// `value` must point to a `Counted<T>` box that the server owns. The box must not change while the reference exists.
unsafe fn counted<'a, T: DataType>(value: *const c_void) -> &'a Counted<T> {
    // SAFETY: by the function's contract.
    unsafe { &*value.cast() }
}

unsafe extern "C" fn rdb_load<T: DataType>(
    io: *mut raw::RedisModuleIO,
    encoding_version: c_int,
) -> *mut c_void {
    let loaded = guarded("rdb_load", || {
        // SAFETY: the stream is this callback's.
        let mut reader = unsafe { RdbReader::new(io) };
        // The version has ten bits in the type's id, so the conversion does not fail.
        let version = u16::try_from(encoding_version).unwrap_or(u16::MAX);
        let is_limited = reader.is_limited();
        match T::load_limited(&mut reader, version, is_limited) {
            Ok(value) => Box::into_raw(Counted::of_key(value)).cast(),
            Err(error) => {
                T::registration().stats.count_refused_load();
                reader.log_refusal(&error.to_string());
                ptr::null_mut()
            }
        }
    });
    loaded.unwrap_or(ptr::null_mut())
}

unsafe extern "C" fn rdb_save<T: DataType>(io: *mut raw::RedisModuleIO, value: *mut c_void) {
    let saved = guarded("rdb_save", || {
        // SAFETY: the stream is this callback's, the value a `Counted<T>`.
        let (value, mut writer) = unsafe { (counted::<T>(value), RdbWriter::new(io)) };
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
        // SAFETY: stream and key are this callback's, the value a `Counted<T>`.
        let (value, mut writer) = unsafe { (counted::<T>(value), AofWriter::new(io, key)) };
        let rewrite = || aof::rewrite(&value.value, &mut writer, T::MAX_RESTORE_BYTES);
        fault::without_memory("aof_rewrite memory", rewrite)
            .inspect_err(|why| log::warning(&format!("cannot write a key to the new AOF: {why}")))
    });
    if !matches!(rewritten, Some(Ok(()))) {
        // SAFETY: as above.
        guarded("a failed rewrite", || unsafe { save::fail_aof(io) });
    }
}

unsafe extern "C" fn mem_usage<T: DataType>(value: *const c_void) -> usize {
    guarded("mem_usage", || {
        // SAFETY: the value is a `Counted<T>`.
        unsafe { counted::<T>(value) }.memory_usage().bytes
    })
    .unwrap_or(0)
}

unsafe extern "C" fn free_effort<T: DataType>(
    _key: *mut raw::RedisModuleString,
    value: *const c_void,
) -> usize {
    // SAFETY: the value is a `Counted<T>`.
    unsafe { counted::<T>(value) }.effort()
}

unsafe extern "C" fn digest<T: DataType>(digest: *mut raw::RedisModuleDigest, value: *mut c_void) {
    guarded("digest", || {
        // SAFETY: the digest is this callback's, the value a `Counted<T>`; the bytes are only read, although
        // the parameter is not const.
        unsafe {
            counted::<T>(value).value.digest(&mut |bytes| {
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
        // SAFETY: the value is a `Counted<T>` box that the server gives back.
        drop(unsafe { Box::from_raw(value.cast::<Counted<T>>()) })
    });
}

unsafe extern "C" fn copy<T: DataType>(
    _from: *mut raw::RedisModuleString,
    _to: *mut raw::RedisModuleString,
    value: *const c_void,
) -> *mut c_void {
    let copied = guarded("copy", || {
        // SAFETY: the value is a `Counted<T>`.
        let copy = unsafe { counted::<T>(value) }.value.try_clone();
        copy.map_or(ptr::null_mut(), |copy| {
            Box::into_raw(Counted::of_key(copy)).cast()
        })
    });
    copied.unwrap_or(ptr::null_mut())
}

unsafe extern "C" fn defragment<T: DataType>(
    ctx: *mut raw::RedisModuleDefragCtx,
    _key: *mut raw::RedisModuleString,
    value: *mut *mut c_void,
) -> c_int {
    if !T::is_defragmented() {
        return 0;
    }
    // SAFETY: `value` is the address of the server's pointer to a `Counted<T>` box.
    guarded("defrag", || unsafe { defrag::defragment::<T>(ctx, value) }).unwrap_or(0)
}
