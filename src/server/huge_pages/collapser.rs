//! The timer that replaces ordinary pages by huge pages, and its share of the main thread.
//!
//! All large arrays begin with ordinary pages. While a child process runs, the kernel divides each huge page that is written
//! to into ordinary pages. The timer looks at the pages of all arrays, and then lets the kernel copy those that are in use into
//! huge pages, one per call. It runs on the main thread: nobody else waits for the kernel's locks, and no command runs meanwhile.
//!
//! It needs no access to the arrays, which a background thread may free meanwhile (see [`collapse`]).

use super::arrays::ARRAYS;
use super::kernel::{
    MIN_USED, PAGE_BYTES, Pagemap, Status, collapse, cpu_time, page_faults, status,
};
use crate::server::context::{Context, Subscription};
use crate::server::guard::guarded;
use crate::server::stats::InfoWriter;
use redis_module::raw;
use std::cell::RefCell;
use std::ffi::c_void;
use std::ptr;
use std::time::{Duration, Instant};

/// The minimum time between two calls.
const TICK: Duration = Duration::from_millis(20);

/// The work of a call: looks at pages, or the copy of one page, which takes longer.
const WORK: Duration = Duration::from_micros(200);

/// The time between two calls is at least this many times the work of the last one. Where a host has to provide the memory of a
/// huge page first, a copy takes 5 ms: less than one command in a thousand then waits for it.
const FACTOR: u32 = 25;

/// The minimum time between two looks at all pages.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// The timer pauses after this number of attempts in a row for which the kernel had no free huge page. (The kernel makes one
/// free by moving pages of others, which does not always succeed.)
const MAX_FAILURES: usize = 4;

/// The length of this pause.
const RETRY_INTERVAL: Duration = Duration::from_secs(10);

/// A part of an array that one huge page can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Not known to be in use.
    Unused,
    /// In use, with ordinary pages.
    Waiting,
    /// A huge page.
    Huge,
}

/// The states of the huge pages of one array, by the number of its entry in the list.
#[derive(Debug, Default)]
struct ArrayPages {
    id: usize,
    /// The address of the first huge page.
    start: usize,
    states: Vec<State>,
}

thread_local! {
    /// That of the main thread.
    static COLLAPSER: RefCell<Collapser> = RefCell::default();
}

/// The state of the timer.
#[derive(Debug, Default)]
struct Collapser {
    has_timer: bool,
    arrays: Vec<ArrayPages>,
    /// The state of the pages that the timer now looks for.
    wanted: Option<State>,
    /// The entry and the page that are next.
    next: [usize; 2],
    /// The version of the list and the page faults at the start of the last look; `None` if a look is necessary.
    seen: Option<(usize, usize)>,
    next_look: Option<Instant>,
    /// Attempts that failed in a row.
    failures: usize,
    /// All attempts that failed.
    errors: i64,
}

/// Whether the server is in a state in which pages must not be copied: those that it shares with a child process would take more
/// memory, and a load would take longer.
fn is_busy(flags: u32) -> bool {
    let busy = raw::REDISMODULE_CTX_FLAGS_ACTIVE_CHILD
        | raw::REDISMODULE_CTX_FLAGS_LOADING
        | raw::REDISMODULE_CTX_FLAGS_ASYNC_LOADING;
    flags & busy != 0
}

fn may_work() -> bool {
    // SAFETY: the function accepts null, for the flags of the server.
    let flags = unsafe { Context::new(ptr::null_mut()) }.flags();
    !is_busy(flags) && status() == Status::Active
}

impl Collapser {
    /// Begins a look at all pages, if it is time for one and it may find something.
    fn begins_look(&mut self, now: Instant) -> bool {
        let seen = (ARRAYS.version(), page_faults());
        // So many page faults make an empty huge page a used one. Fewer leave at most as many huge pages for the next look.
        let is_of_use = self.seen.is_none_or(|(version, faults)| {
            version != seen.0 || seen.1.saturating_sub(faults) >= MIN_USED
        });
        let is_early = self.next_look.is_some_and(|next| now < next);
        if self.has_timer || is_early || !is_of_use || !may_work() {
            return false;
        }
        self.update();
        self.seen = Some(seen);
        self.wanted = Some(State::Unused);
        self.next = [0; 2];
        self.failures = 0;
        !self.arrays.is_empty()
    }

    /// Adopts the list of arrays. States of arrays that still exist remain.
    fn update(&mut self) {
        let arrays = ARRAYS.iter();
        let mut old = std::mem::take(&mut self.arrays).into_iter();
        self.arrays.extend(arrays.map(|array| {
            let old = old.next().unwrap_or_default();
            let Some(array) = array else {
                return ArrayPages::default();
            };
            let pages = array.pages(PAGE_BYTES);
            let mut states = match old.id == array.id {
                true => old.states,
                false => Vec::new(),
            };
            states.resize(pages.len() / PAGE_BYTES, State::Unused);
            ArrayPages {
                id: array.id,
                start: pages.start,
                states,
            }
        }));
    }

    /// Works for a short time. Returns the time until the next call; `None` if there is nothing left to do.
    fn tick(&mut self) -> Option<Duration> {
        let start = cpu_time();
        let pagemap = Pagemap::open().ok().filter(|_| may_work());
        let Some(pagemap) = pagemap else {
            self.seen = None;
            return None;
        };
        loop {
            if !self.step(&pagemap) {
                self.next_look = Instant::now().checked_add(LOOK_INTERVAL);
                return None;
            }
            if self.failures == MAX_FAILURES {
                self.seen = None;
                self.next_look = Instant::now().checked_add(RETRY_INTERVAL);
                return None;
            }
            let work = cpu_time().saturating_sub(start);
            if work >= WORK {
                return Some(TICK.max(work * FACTOR));
            }
        }
    }

    /// Looks at the next page, or collapses it. Returns false at the end.
    fn step(&mut self, pagemap: &Pagemap) -> bool {
        let Some(wanted) = self.wanted else {
            return false;
        };
        let [number, page] = &mut self.next;
        let Some(array) = self.arrays.get_mut(*number) else {
            self.next = [0; 2];
            self.wanted = (wanted == State::Unused).then_some(State::Waiting);
            return true;
        };
        // An array that was freed leaves the list with the next look.
        let found = (array.states.iter().enumerate().skip(*page))
            .find(|(_, state)| **state == wanted && ARRAYS.contains(*number, array.id));
        let Some((found, _)) = found else {
            *number += 1;
            *page = 0;
            return true;
        };
        *page = found + 1;
        let address = array.start + found * PAGE_BYTES;
        array.states[found] = match pagemap.is_used(address) {
            false => State::Unused,
            true if wanted == State::Unused => State::Waiting,
            true => match collapse(address) {
                Ok(()) => {
                    self.failures = 0;
                    State::Huge
                }
                // The kernel uses a page at the moment, or a background thread has freed the array.
                Err(error) if error == libc::EAGAIN || !ARRAYS.contains(*number, array.id) => {
                    State::Unused
                }
                Err(_) => {
                    self.errors += 1;
                    self.failures += 1;
                    State::Waiting
                }
            },
        };
        true
    }

    /// Forgets all states, because huge pages may have been divided. The next call begins a look.
    fn forget(&mut self) {
        for array in &mut self.arrays {
            array.states.fill(State::Unused);
        }
        self.seen = None;
        self.next_look = None;
        self.wanted = Some(State::Unused);
        self.next = [0; 2];
    }

    /// Bytes of the pages with a state.
    fn bytes(&self, state: State) -> i64 {
        let arrays = self.arrays.iter().enumerate();
        let arrays = arrays.filter(|(number, array)| ARRAYS.contains(*number, array.id));
        let states = arrays.flat_map(|(_, array)| &array.states);
        (states.filter(|&&other| other == state).count() * PAGE_BYTES) as i64
    }
}

/// Writes the fields of INFO: bytes of arrays in huge pages, and bytes in use that wait for them.
pub(in crate::server) fn write_info(info: &mut InfoWriter) {
    info.text("huge_pages", status().name());
    COLLAPSER.with_borrow(|collapser| {
        info.number("huge_page_bytes", collapser.bytes(State::Huge));
        info.number("huge_page_bytes_waiting", collapser.bytes(State::Waiting));
        info.number("huge_page_errors", collapser.errors);
    });
}

/// Lets the server call [`on_timer`] after this time.
fn start_timer(ctx: *mut raw::RedisModuleCtx, time: Duration) {
    let ms = i64::try_from(time.as_millis()).unwrap_or(i64::MAX);
    // SAFETY: the context is that of the running callback; the timer has no data.
    unsafe { api!(RedisModule_CreateTimer)(ctx, ms, Some(on_timer), ptr::null_mut()) };
}

unsafe extern "C" fn on_timer(ctx: *mut raw::RedisModuleCtx, _data: *mut c_void) {
    guarded("huge pages", || {
        COLLAPSER.with_borrow_mut(|collapser| {
            collapser.has_timer = false;
            if let Some(time) = collapser.tick() {
                start_timer(ctx, time);
                collapser.has_timer = true;
            }
        });
    });
}

/// The subscription to the server's cron, which runs ten times per second by default.
pub(in crate::server) const CRON_EVENTS: Subscription = (raw::REDISMODULE_EVENT_CRON_LOOP, on_cron);

unsafe extern "C" fn on_cron(
    ctx: *mut raw::RedisModuleCtx,
    _event: raw::RedisModuleEvent,
    _subevent: u64,
    _data: *mut c_void,
) {
    if ARRAYS.version() == 0 {
        return;
    }
    guarded("huge pages", || {
        COLLAPSER.with_borrow_mut(|collapser| {
            if collapser.begins_look(Instant::now()) {
                start_timer(ctx, Duration::ZERO);
                collapser.has_timer = true;
            }
        });
    });
}

/// The subscription to the start and the end of child processes.
pub(in crate::server) const CHILD_EVENTS: Subscription =
    (raw::REDISMODULE_EVENT_FORK_CHILD, on_child);

unsafe extern "C" fn on_child(
    _ctx: *mut raw::RedisModuleCtx,
    _event: raw::RedisModuleEvent,
    subevent: u64,
    _data: *mut c_void,
) {
    if subevent != raw::REDISMODULE_SUBEVENT_FORK_CHILD_BORN {
        guarded("huge pages", || {
            COLLAPSER.with_borrow_mut(Collapser::forget);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_copied_during_loads_and_while_a_child_process_runs() {
        assert!(!is_busy(raw::REDISMODULE_CTX_FLAGS_MASTER));
        for flag in [
            raw::REDISMODULE_CTX_FLAGS_ACTIVE_CHILD,
            raw::REDISMODULE_CTX_FLAGS_LOADING,
            raw::REDISMODULE_CTX_FLAGS_LOADING | raw::REDISMODULE_CTX_FLAGS_ASYNC_LOADING,
        ] {
            assert!(is_busy(raw::REDISMODULE_CTX_FLAGS_MASTER | flag));
        }
    }
}
