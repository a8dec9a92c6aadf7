//! The server's context of a running command: its flags, the server's INFO, and which operations must be obeyed.
//!
//! Operations that must be obeyed were already applied once, so no limit of this server refuses them
//! (docs/contributing/decisions.md, "Server"). If the allocator has no memory for one, the process ends.
//!
//! Commands of an import of cluster slots from another node (`CLUSTER MIGRATION IMPORT` of Redis 8.4 and later, `CLUSTER
//! MIGRATESLOTS` of Valkey 9) have the flag REPLICATED. RESTORE has a callback without a client, so it has no such flag, and the
//! module counts the imports that are in progress.

use super::argument::Argument;
use super::log::{self, quoted, size};
use redis_module::raw;
use std::ffi::{CStr, c_int, c_void};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// The context of a running command.
#[derive(Debug, Clone, Copy)]
pub(super) struct Context(*mut raw::RedisModuleCtx);

impl Context {
    /// # Safety
    /// The pointer must be that of a running command as long as the context is used.
    pub(super) unsafe fn new(ctx: *mut raw::RedisModuleCtx) -> Self {
        Self(ctx)
    }

    #[inline(always)]
    pub(super) fn as_raw(self) -> *mut raw::RedisModuleCtx {
        self.0
    }

    /// The flags of RedisModule_GetContextFlags. It takes the server about a hundred instructions.
    pub(super) fn flags(self) -> u32 {
        // SAFETY: the context is the running command's.
        unsafe { api!(RedisModule_GetContextFlags)(self.0) }.cast_unsigned()
    }

    /// Whether the running command, which has these arguments, must be obeyed. The commands of other modules, scripts and functions lack
    /// the flag REPLICATED, and the id of a client shows nothing, because servers use their clients for modules again, with the id
    /// of a connection. On a read-only replica, the commands that write are part of those of the primary, because no client can
    /// write.
    pub(super) fn must_obey(self, args: &[Argument<'_>]) -> bool {
        let flags = self.flags();
        flags_must_obey(flags) || is_read_only_replica(flags) && is_write(args)
    }
}

/// A section of the server's INFO, as of the time when it was read.
#[derive(Debug)]
pub(super) struct ServerInfo(NonNull<raw::RedisModuleServerInfoData>);

impl ServerInfo {
    /// # Safety
    /// `ctx` must be that of the running command or load function, and the API initialized.
    pub(super) unsafe fn of(ctx: *mut raw::RedisModuleCtx, section: &CStr) -> Option<Self> {
        // SAFETY: by the function's contract.
        let data = unsafe { api!(RedisModule_GetServerInfo)(ctx, section.as_ptr()) };
        NonNull::new(data).map(Self)
    }

    /// A field without a sign; `None` if it is missing or not a number.
    pub(super) fn number(&self, field: &CStr) -> Option<u64> {
        let mut error = 0;
        let read = api!(RedisModule_ServerInfoGetFieldUnsigned);
        // SAFETY: the data are freed on drop.
        let number = unsafe { read(self.0.as_ptr(), field.as_ptr(), &raw mut error) };
        (error == raw::REDISMODULE_OK as c_int).then_some(number)
    }

    /// The text of a field; `None` if it is missing.
    pub(super) fn text(&self, field: &CStr) -> Option<&CStr> {
        // SAFETY: the data, and the text in them, are freed on drop.
        unsafe {
            let text = api!(RedisModule_ServerInfoGetFieldC)(self.0.as_ptr(), field.as_ptr());
            (!text.is_null()).then(|| CStr::from_ptr(text))
        }
    }
}

impl Drop for ServerInfo {
    fn drop(&mut self) {
        // SAFETY: the data are freed once. Without a context, because automatic memory management is off.
        unsafe { api!(RedisModule_FreeServerInfo)(ptr::null_mut(), self.0.as_ptr()) };
    }
}

/// The names of the commands that write.
static WRITES: Mutex<Vec<&'static [u8]>> = Mutex::new(Vec::new());

/// Registers a command that writes.
pub(super) fn add_write(name: &'static [u8]) {
    let mut writes = WRITES.lock().unwrap_or_else(PoisonError::into_inner);
    writes.push(name);
}

/// Whether the command with these arguments writes. Not inlined: only replicas ask.
#[inline(never)]
fn is_write(args: &[Argument<'_>]) -> bool {
    let name = args.first().map_or(&[][..], |name| name.bytes());
    let writes = WRITES.lock().unwrap_or_else(PoisonError::into_inner);
    writes.iter().any(|write| name.eq_ignore_ascii_case(write))
}

/// Whether these flags are those of a replica that refuses the writes of clients.
fn is_read_only_replica(flags: u32) -> bool {
    let replica = raw::REDISMODULE_CTX_FLAGS_SLAVE | raw::REDISMODULE_CTX_FLAGS_READONLY;
    flags & replica == replica
}

/// Whether the flags show that a command must be obeyed: a primary or the node of imported slots sent it, or the server reads
/// it from the AOF. During asynchronous loading, which sets LOADING too, the server runs commands of its own clients.
fn flags_must_obey(flags: u32) -> bool {
    let loading = raw::REDISMODULE_CTX_FLAGS_LOADING | raw::REDISMODULE_CTX_FLAGS_ASYNC_LOADING;
    flags & raw::REDISMODULE_CTX_FLAGS_REPLICATED != 0
        || flags & loading == raw::REDISMODULE_CTX_FLAGS_LOADING
}

/// As [`Context::must_obey`], for a callback that creates a value (a load or a copy). It has no client, so the state of the
/// server decides: it loads a file, imports cluster slots, or is a replica that accepts writes only from its primary.
pub(super) fn callback_must_obey() -> bool {
    let loading = raw::REDISMODULE_CTX_FLAGS_LOADING | raw::REDISMODULE_CTX_FLAGS_ASYNC_LOADING;
    // SAFETY: the function accepts null, for the flags of the server.
    let flags = unsafe { Context::new(ptr::null_mut()) }.flags();
    flags & loading != 0 || is_read_only_replica(flags) || imports_slots()
}

/// The number of a server event, and the function that the server calls for its subevents.
pub(super) type Subscription = (
    u64,
    unsafe extern "C" fn(*mut raw::RedisModuleCtx, raw::RedisModuleEvent, u64, *mut c_void),
);

/// Imports that have started and not ended.
static RUNNING: AtomicU64 = AtomicU64::new(0);

/// The numbers of the events about migrations. The crate's bindings are older than these events.
const REDIS: u64 = 18;
const VALKEY: u64 = 19;

/// Counts the start of an import (0), and its end: it failed or is complete.
fn count_import(event: u64, subevent: u64) {
    match (event, subevent) {
        (REDIS | VALKEY, 0) => _ = RUNNING.fetch_add(1, Ordering::Relaxed),
        (REDIS, 1 | 2) | (VALKEY, 2 | 4) => {
            let ended = |running: u64| Some(running.saturating_sub(1));
            _ = RUNNING.fetch_update(Ordering::Relaxed, Ordering::Relaxed, ended);
        }
        _ => {}
    }
}

/// Whether slots are being imported.
pub(super) fn imports_slots() -> bool {
    RUNNING.load(Ordering::Relaxed) > 0
}

/// The subscription to the events of imports. A server that has none refuses it.
pub(super) const fn slot_imports(is_valkey: bool) -> Subscription {
    (if is_valkey { VALKEY } else { REDIS }, on_event)
}

unsafe extern "C" fn on_event(
    _ctx: *mut raw::RedisModuleCtx,
    event: raw::RedisModuleEvent,
    subevent: u64,
    _data: *mut c_void,
) {
    count_import(event.id, subevent);
}

/// Ends the process, as the server does when it has no memory for a value of its own types: a copy that lacks a key would not
/// be noticed. `operation` is the command or callback.
pub(super) fn end_without_memory(operation: &str, key: &[u8], bytes: u64) -> ! {
    log::warning(&format!(
        "{operation} must be obeyed, and the allocator has no {} for key {}: the server ends",
        size(bytes),
        quoted(key)
    ));
    std::process::abort()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_import_runs_from_its_start_to_its_end() {
        for (event, ends) in [(REDIS, [1, 2]), (VALKEY, [2, 4])] {
            for end in ends {
                count_import(event, 0);
                assert!(imports_slots());
                count_import(event, 100);
                assert!(imports_slots());
                count_import(event, end);
                assert!(!imports_slots());
                // A server that loads the module during an import.
                count_import(event, end);
                assert!(!imports_slots());
            }
        }
    }
}
