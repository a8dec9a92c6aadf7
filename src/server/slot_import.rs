//! Imports of cluster slots from another node (`CLUSTER MIGRATION IMPORT` of Redis 8.4 and later, `CLUSTER MIGRATESLOTS` of
//! Valkey 9).
//!
//! Commands of an import have the flag REPLICATED. RESTORE has a callback without a client, so it has no such flag, and the
//! module counts the imports that are in progress.

use redis_module::raw;
use std::ffi::c_void;
use std::sync::atomic::{AtomicU64, Ordering};

/// Imports that have started and not ended.
static RUNNING: AtomicU64 = AtomicU64::new(0);

/// The number of the event about migrations, and of its subevents about imports.
#[derive(Debug)]
struct Event {
    id: u64,
    started: u64,
    /// The import failed or is complete.
    ended: [u64; 2],
}

/// The crate's bindings are older than these events.
const REDIS: Event = Event {
    id: 18,
    started: 0,
    ended: [1, 2],
};
const VALKEY: Event = Event {
    id: 19,
    started: 0,
    ended: [2, 4],
};

impl Event {
    fn count(&self, subevent: u64) {
        if subevent == self.started {
            RUNNING.fetch_add(1, Ordering::Relaxed);
        } else if self.ended.contains(&subevent) {
            let ended = |running: u64| Some(running.saturating_sub(1));
            let _ = RUNNING.fetch_update(Ordering::Relaxed, Ordering::Relaxed, ended);
        }
    }
}

/// Whether slots are being imported.
pub(super) fn is_running() -> bool {
    RUNNING.load(Ordering::Relaxed) > 0
}

/// Subscribes to the events of imports. A server that has none refuses.
///
/// # Safety
/// `ctx` must be that of the running load function.
pub(super) unsafe fn watch(ctx: *mut raw::RedisModuleCtx, is_valkey: bool) {
    let Event { id, .. } = if is_valkey { VALKEY } else { REDIS };
    let event = raw::RedisModuleEvent { id, dataver: 1 };
    // SAFETY: by the function's contract; the callback has the type that the server expects.
    unsafe { api!(RedisModule_SubscribeToServerEvent)(ctx, event, Some(on_event)) };
}

unsafe extern "C" fn on_event(
    _ctx: *mut raw::RedisModuleCtx,
    event: raw::RedisModuleEvent,
    subevent: u64,
    _data: *mut c_void,
) {
    let known = [REDIS, VALKEY].into_iter();
    known
        .filter(|known| known.id == event.id)
        .for_each(|known| known.count(subevent));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_import_runs_from_its_start_to_its_end() {
        for event in [REDIS, VALKEY] {
            for end in event.ended {
                event.count(event.started);
                assert!(is_running());
                event.count(event.started + 100);
                assert!(is_running());
                event.count(end);
                assert!(!is_running());
                // A server that loads the module during an import.
                event.count(end);
                assert!(!is_running());
            }
        }
    }
}
