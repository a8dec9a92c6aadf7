//! The callbacks with which the server handles the values of a type, and the registration of types.

use super::aof::{self, AofWriter};
use super::rdb::{self, RdbReader, RdbWriter};
use super::registration::{AnyValue, DataType, Registration};
use super::value::Value;
use crate::server::argument::Argument;
use crate::server::context::{callback_must_obey, end_without_memory};
use crate::server::guard::guarded;
use crate::server::huge_pages;
use crate::server::injected;
use crate::server::log;
use crate::server::memory::{NATURAL_ALIGNMENT, take_refused_bytes};
use crate::server::stats::{Statistic, Stats};
use redis_module::raw;
use roughly_sketch::blocks::BlockMover;
use std::ffi::{c_int, c_ulong, c_void};
use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::atomic::AtomicPtr;

/// The registration of `T`. Its fields in INFO have `info_suffix` after the category of the family.
pub const fn registration<T: DataType>(info_suffix: &'static str) -> Registration {
    Registration {
        name: T::TYPE_NAME,
        info_suffix,
        max_panes: T::MAX_PANES,
        header_mark: T::HEADER_MARK,
        register: register::<T>,
        value: |value| value.cast::<Value<T>>(),
        from_header: |header, budget| Ok(Value::new(T::from_header(header, budget)?)),
        handle: AtomicPtr::new(ptr::null_mut()),
        stats: Stats::new(),
    }
}

/// Registers `T`. Returns false if the server refuses it, because another module owns the name.
///
/// # Safety
/// `ctx` must be that of the running load function.
///
/// # Panics
/// If the type's registration is that of another type.
unsafe fn register<T: DataType>(ctx: *mut raw::RedisModuleCtx) -> bool {
    // The handle identifies the type of a value, so two types must not share one. It is not null if an earlier load
    // failed and the library stayed in memory.
    let registration = T::REGISTRATION;
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
    // `Value<T>`, which this module gives the server as values.
    let handle = unsafe {
        api!(RedisModule_CreateDataType)(
            ctx,
            T::TYPE_NAME.as_ptr(),
            T::ENCODING_VERSION.into(),
            &raw mut methods,
        )
    };
    registration.set_handle(handle);
    !handle.is_null()
}

/// The state of the value behind a callback's pointer. This is no reference to the whole value, because its cache may be in use
/// on another thread.
///
/// # Safety
/// `value` must point to a `Value<T>` box that the server owns. The state must not change while the reference exists.
unsafe fn state<'a, T: DataType>(value: *const c_void) -> &'a T {
    // SAFETY: by the function's contract.
    unsafe { &(*value.cast::<Value<T>>()).state }
}

/// The value behind a callback's pointer, for a callback that runs on the thread of the commands.
///
/// # Safety
/// `value` must point to a `Value<T>` box that the server owns. The box must not change while the reference exists.
unsafe fn whole<'a, T: DataType>(value: *const c_void) -> &'a Value<T> {
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
        let is_obeyed = callback_must_obey();
        take_refused_bytes();
        match T::load(&mut reader, version, &T::load_options(!is_obeyed)) {
            Ok(value) => Box::into_raw(Value::of_key(value)).cast(),
            Err(error) => {
                if is_obeyed && let Some(bytes) = take_refused_bytes() {
                    let key = reader.key().map_or(&[][..], |key| key.bytes());
                    end_without_memory("the load of a value", key, bytes as u64);
                }
                T::REGISTRATION.stats.count(Statistic::LoadsRefused, 1);
                reader.log_refusal(&error.to_string());
                ptr::null_mut()
            }
        }
    });
    loaded.unwrap_or(ptr::null_mut())
}

unsafe extern "C" fn rdb_save<T: DataType>(io: *mut raw::RedisModuleIO, value: *mut c_void) {
    let saved = guarded("rdb_save", || {
        // SAFETY: the stream is this callback's, the value a `Value<T>`.
        let (state, mut writer) = unsafe { (state::<T>(value), RdbWriter::new(io)) };
        injected::without_memory("rdb_save memory", || state.save(&mut writer));
    });
    if saved.is_none() {
        // SAFETY: as above.
        guarded("a failed save", || unsafe { rdb::fail_rdb(io) });
    }
}

unsafe extern "C" fn aof_rewrite<T: DataType>(
    io: *mut raw::RedisModuleIO,
    key: *mut raw::RedisModuleString,
    value: *mut c_void,
) {
    let rewritten = guarded("aof_rewrite", || {
        // SAFETY: stream and key are this callback's, the value a `Value<T>`.
        let (state, mut writer) = unsafe {
            (
                state::<T>(value),
                AofWriter::new(io, key, value, T::REGISTRATION),
            )
        };
        let rewrite = || aof::rewrite(state, &mut writer, T::MAX_RESTORE_BYTES);
        injected::without_memory("aof_rewrite memory", rewrite)
            .inspect_err(|why| log::warning(&format!("cannot write a key to the new AOF: {why}")))
    });
    if !matches!(rewritten, Some(Ok(()))) {
        // SAFETY: as above.
        guarded("a failed rewrite", || unsafe { rdb::fail_aof(io) });
    }
}

unsafe extern "C" fn mem_usage<T: DataType>(value: *const c_void) -> usize {
    guarded("mem_usage", || {
        // SAFETY: the value is a `Value<T>`.
        unsafe { whole::<T>(value) }.memory_usage() as usize
    })
    .unwrap_or(0)
}

unsafe extern "C" fn free_effort<T: DataType>(
    _key: *mut raw::RedisModuleString,
    value: *const c_void,
) -> usize {
    guarded("free_effort", || {
        // SAFETY: the value is a `Value<T>`.
        unsafe { whole::<T>(value) }.effort()
    })
    .unwrap_or(1)
}

unsafe extern "C" fn digest<T: DataType>(digest: *mut raw::RedisModuleDigest, value: *mut c_void) {
    guarded("digest", || {
        // SAFETY: the digest is this callback's, the value a `Value<T>`; the bytes are only read, although
        // the parameter is not const.
        unsafe {
            state::<T>(value).digest(&mut |bytes| {
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
        // SAFETY: the value is a `Value<T>` box that the server gives back.
        drop(unsafe { Box::from_raw(value.cast::<Value<T>>()) })
    });
}

unsafe extern "C" fn copy<T: DataType>(
    from: *mut raw::RedisModuleString,
    _to: *mut raw::RedisModuleString,
    value: *const c_void,
) -> *mut c_void {
    let copied = guarded("copy", || {
        // SAFETY: the value is a `Value<T>`.
        match unsafe { state::<T>(value) }.try_clone() {
            Ok(copy) => Box::into_raw(Value::of_key(copy)).cast(),
            Err(refused) => {
                if callback_must_obey() {
                    // SAFETY: the name lives as long as the callback.
                    let key = unsafe { Argument::new(from) };
                    end_without_memory("COPY", key.bytes(), refused.bytes);
                }
                ptr::null_mut()
            }
        }
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
    // SAFETY: `value` is the address of the server's pointer to a `Value<T>` box.
    guarded("defrag", || unsafe { defragment_value::<T>(ctx, value) }).unwrap_or(0)
}

/// The server's defragmenter for one value.
struct Defragmenter {
    ctx: *mut raw::RedisModuleDefragCtx,
}

impl Defragmenter {
    /// Moves a block of the server's allocator with this size. Returns its address, which is the same if the block stays.
    ///
    /// # Safety
    /// `block` must be a live block of the global allocator with an alignment of at most [`NATURAL_ALIGNMENT`]. If
    /// another block is returned, it has the same size and contents, and `block` is freed.
    unsafe fn moved(&mut self, block: *mut u8, bytes: usize) -> *mut u8 {
        // SAFETY: the context is the running callback's; the block is live by the function's contract.
        let moved = unsafe { api!(RedisModule_DefragAlloc)(self.ctx, block.cast()) }.cast();
        huge_pages::track_resized(block, moved, [bytes, bytes]);
        if moved.is_null() { block } else { moved }
    }
}

impl BlockMover for Defragmenter {
    fn relocate<T>(&mut self, vec: &mut Vec<T>) {
        const { assert!(align_of::<T>() <= NATURAL_ALIGNMENT) };
        if vec.capacity() == 0 || size_of::<T>() == 0 {
            return;
        }
        let mut old = ManuallyDrop::new(std::mem::take(vec));
        let (start, len, capacity) = (old.as_mut_ptr(), old.len(), old.capacity());
        // SAFETY: a vector with capacity has a block of the global allocator, here of natural
        // alignment. Whether it moves or stays, the block has the vector's layout and contents, and no other
        // owner, because the old vector is not dropped.
        unsafe {
            let start = self.moved(start.cast(), capacity * size_of::<T>());
            *vec = Vec::from_raw_parts(start.cast(), len, capacity);
        }
    }
}

/// Defragments a value: moves its blocks one by one, stops when the server's time limit is reached, and continues from
/// there in the next call. Returns 0 when all blocks were moved, 1 otherwise.
///
/// # Safety
/// `value` must point to a `Value<T>` created by [`Value::new`] and be the server's only pointer to it.
unsafe fn defragment_value<T: DataType>(
    ctx: *mut raw::RedisModuleDefragCtx,
    value: *mut *mut c_void,
) -> c_int {
    let mut defragmenter = Defragmenter { ctx };
    let mut cursor: c_ulong = 0;
    // SAFETY: the context is the running callback's. If there is no cursor yet, it is 0.
    unsafe {
        if api!(RedisModule_DefragCursorGet)(ctx, &raw mut cursor) != raw::REDISMODULE_OK as c_int {
            cursor = 0;
        }
        // The value's own block is moved first, and only once.
        if cursor == 0 {
            *value = (defragmenter.moved((*value).cast(), size_of::<Value<T>>())).cast();
        }
        let value = &mut *(*value).cast::<Value<T>>();
        while value.relocate_blocks(cursor as usize, &mut defragmenter) {
            cursor += 1;
            if api!(RedisModule_DefragShouldStop)(ctx) != 0
                && api!(RedisModule_DefragCursorSet)(ctx, cursor) == raw::REDISMODULE_OK as c_int
            {
                return 1;
            }
        }
    }
    0
}
