//! Operations that must be obeyed: they were already applied once, so no limit of this server refuses them
//! (docs/contributing/decisions.md, "Server").

use super::context::Context;
use super::slot_import;
use redis_module::raw;
use std::ptr;
use std::sync::{Mutex, PoisonError};

/// The names of the commands that write.
static WRITES: Mutex<Vec<&'static [u8]>> = Mutex::new(Vec::new());

/// Registers a command that writes.
pub(super) fn add_write(name: &'static [u8]) {
    let mut writes = WRITES.lock().unwrap_or_else(PoisonError::into_inner);
    writes.push(name);
}

fn is_write(name: &[u8]) -> bool {
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
pub(super) fn flags_must_obey(flags: u32) -> bool {
    let loading = raw::REDISMODULE_CTX_FLAGS_LOADING | raw::REDISMODULE_CTX_FLAGS_ASYNC_LOADING;
    flags & raw::REDISMODULE_CTX_FLAGS_REPLICATED != 0
        || flags & loading == raw::REDISMODULE_CTX_FLAGS_LOADING
}

/// Whether the running command must be obeyed. The commands of other modules, scripts and functions lack the flag REPLICATED,
/// and the id of a client shows nothing, because servers use their clients for modules again, with the id of a connection. On a
/// read-only replica, the commands that write are part of those of the primary, because no client can write.
pub(super) fn command_must_obey(ctx: Context, name: &[u8]) -> bool {
    let flags = ctx.flags();
    flags_must_obey(flags) || is_read_only_replica(flags) && is_write(name)
}

/// As [`command_must_obey`], for a callback that creates a value (a load or a copy). It has no client, so the state of the
/// server decides: it loads a file, imports cluster slots, or is a replica that accepts writes only from its primary.
pub(super) fn callback_must_obey() -> bool {
    let loading = raw::REDISMODULE_CTX_FLAGS_LOADING | raw::REDISMODULE_CTX_FLAGS_ASYNC_LOADING;
    // SAFETY: the function accepts null, for the flags of the server.
    let flags = unsafe { Context::new(ptr::null_mut()) }.flags();
    flags & loading != 0 || is_read_only_replica(flags) || slot_import::is_running()
}
