//! Makes a save fail when a value cannot be saved.
//!
//! The module API cannot report such an error, so a file or payload that lacks values would look complete. Instead:
//!
//! - A child process (BGSAVE, full synchronization, AOF rewrite) ends with an error. The server keeps the old file, or
//!   ends the synchronization.
//! - A file that the main process writes (SAVE, SHUTDOWN, DEBUG RELOAD) is removed while it still has its temporary
//!   name. The server then fails to rename it, reports the error, and keeps the old file. If there is no such file, the
//!   process aborts.
//! - A payload in memory (DUMP, MIGRATE) ends with a value that RESTORE refuses.

use crate::server::log;
use redis_module::raw;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the main process writes a file now.
static WRITES_FILE: AtomicBool = AtomicBool::new(false);

/// Subscribes to the server events that set [`WRITES_FILE`].
///
/// # Safety
/// `ctx` must be that of the running load function.
pub(in crate::server) unsafe fn watch_files(ctx: *mut raw::RedisModuleCtx) {
    let event = raw::RedisModuleEvent {
        id: raw::REDISMODULE_EVENT_PERSISTENCE,
        dataver: 1,
    };
    // SAFETY: by the function's contract; the callback has the type that the server expects.
    unsafe { api!(RedisModule_SubscribeToServerEvent)(ctx, event, Some(on_persistence)) };
}

unsafe extern "C" fn on_persistence(
    _ctx: *mut raw::RedisModuleCtx,
    _event: raw::RedisModuleEvent,
    subevent: u64,
    _data: *mut c_void,
) {
    let starts = [
        raw::REDISMODULE_SUBEVENT_PERSISTENCE_SYNC_RDB_START,
        raw::REDISMODULE_SUBEVENT_PERSISTENCE_SYNC_AOF_START,
    ];
    WRITES_FILE.store(starts.contains(&subevent), Ordering::Relaxed);
}

/// Call this when a value could not be written to an RDB stream, after logging the reason. Does not return in a child
/// process.
///
/// # Safety
/// `io` must be that of the running save callback.
pub(super) unsafe fn fail_rdb(io: *mut raw::RedisModuleIO) {
    // SAFETY: by the function's contract, as in all calls here.
    unsafe {
        end_child(io);
        // No type of the module contains a float, so every loader rejects the value, whatever was written before.
        api!(RedisModule_SaveFloat)(io, 0.0);
    }
    if !WRITES_FILE.load(Ordering::Relaxed) {
        log::warning("a value could not be saved: RESTORE will refuse this payload");
    } else if remove_temporary_file() {
        log::warning(
            "a value could not be saved: the new file is discarded and the old file is kept",
        );
    } else {
        log::warning(
            "a value could not be saved, and the incomplete file cannot be removed: ending the process",
        );
        std::process::abort();
    }
}

/// Call this when a value could not be written to an AOF, after logging the reason. Does not return in a child
/// process.
///
/// # Safety
/// `io` must be that of the running rewrite callback.
pub(super) unsafe fn fail_aof(io: *mut raw::RedisModuleIO) {
    // SAFETY: by the function's contract; the format takes no arguments. The server fails the rewrite because there is
    // no such command.
    unsafe {
        end_child(io);
        api!(RedisModule_EmitAOF)(io, c"ROUGHLY.FAILED".as_ptr(), c"".as_ptr());
    }
}

/// Ends the process with an error if it is a child of the server.
///
/// # Safety
/// `io` must be that of a running callback.
unsafe fn end_child(io: *mut raw::RedisModuleIO) {
    // SAFETY: by the function's contract.
    let flags = unsafe {
        let ctx = api!(RedisModule_GetContextFromIO)(io);
        api!(RedisModule_GetContextFlags)(ctx)
    };
    if flags & raw::REDISMODULE_CTX_FLAGS_IS_CHILD as c_int == 0 {
        return;
    }
    // The server expects a child that ends with an error to remove its RDB file itself.
    remove_temporary_file();
    log::warning("a value could not be saved: this child process ends with an error");
    // SAFETY: ends the process; nothing of it is left to clean up.
    unsafe { libc::_exit(1) };
}

/// Removes the temporary file that this process writes. Returns false if there is none.
fn remove_temporary_file() -> bool {
    std::fs::remove_file(format!("temp-{}.rdb", std::process::id())).is_ok()
}
