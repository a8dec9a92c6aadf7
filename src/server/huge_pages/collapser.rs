//! The timer that replaces ordinary pages by huge pages, and its share of the main thread.
//!
//! All large arrays begin with ordinary pages. While a child process runs, the kernel divides each huge page that is written
//! to into ordinary pages. The timer looks at the pages of all arrays, and then lets the kernel copy those that are in use into
//! huge pages, one per call. It runs on the main thread: nobody else waits for the kernel's locks, and no command runs meanwhile.
//!
//! It needs no access to the arrays, which a background thread may free meanwhile (see [`collapse`]).

use super::arrays::ARRAYS;
use super::kernel::{
    ACTIVE, MIN_USED, PAGE_BYTES, Pagemap, collapse, cpu_time, page_faults, status,
};
use crate::server::context::{Context, ServerInfo, Subscription};
use crate::server::guard::guarded;
use crate::server::stats::InfoWriter;
use redis_module::raw;
use std::cell::RefCell;
use std::ffi::c_void;
use std::ptr;
use std::time::{Duration, Instant};

/// The minimum time between two calls on a server that runs commands.
const TICK: Duration = Duration::from_millis(20);

/// The time between two calls on an idle server.
const IDLE_TICK: Duration = Duration::from_millis(10);

/// The work of a call: looks at pages, or the copy of one page, which takes longer.
const WORK: Duration = Duration::from_micros(200);

/// On a server that runs commands, the time between two calls is also at least this many times the work of the last one. A copy
/// takes 2 to 6 ms where a host has to provide the memory of a huge page first: less than one command in a thousand of a client
/// then waits for it.
const FACTOR: u32 = 25;

/// A server with fewer commands per second is idle. (Those of monitoring are fewer.)
const MIN_RATE: u64 = 100;

/// The minimum time between two looks at all pages.
const LOOK_INTERVAL: Duration = Duration::from_secs(1);

/// This time after a copy for which the kernel had no free huge page. (The kernel makes one free by moving pages of others, which
/// takes time and does not always succeed.)
const RETRY_INTERVAL: Duration = Duration::from_secs(10);

/// A part of an array that one huge page can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum State {
    /// Not known to be in use.
    #[default]
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
    wanted: State,
    /// The entry and the page that are next.
    next: [usize; 2],
    /// The version of the list and the page faults at the start of the last look; `None` if a look is necessary.
    seen: Option<(usize, usize)>,
    next_look: Option<Instant>,
    /// The copies that failed.
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
    !is_busy(flags) && status().0 == ACTIVE
}

/// Whether the server has run almost no commands in the last two seconds.
///
/// # Safety
/// `ctx` must be that of the running callback.
unsafe fn is_idle(ctx: *mut raw::RedisModuleCtx) -> bool {
    // SAFETY: by the function's contract.
    let info = unsafe { ServerInfo::of(ctx, c"stats") };
    let rate = info.and_then(|info| info.number(c"instantaneous_ops_per_sec"));
    rate.is_some_and(|rate| rate < MIN_RATE)
}

impl Collapser {
    /// Begins a look at all pages, if it is time for one and it may find something.
    fn begins_look(&mut self) -> bool {
        let is_early = self.next_look.is_some_and(|next| Instant::now() < next);
        let (version, faults) = (ARRAYS.version(), page_faults());
        // So many page faults make an empty huge page a used one. Fewer leave at most as many huge pages for the next look.
        let is_same = |(list, old)| list == version && faults.saturating_sub(old) < MIN_USED;
        let is_useless = self.seen.is_some_and(is_same);
        if self.has_timer || is_early || is_useless || !may_work() {
            return false;
        }
        self.update();
        self.seen = Some((version, faults));
        (self.wanted, self.next) = (State::Unused, [0; 2]);
        true
    }

    /// Adopts the new arrays of the list.
    fn update(&mut self) {
        for (number, array) in ARRAYS.iter().enumerate() {
            if number == self.arrays.len() {
                self.arrays.push(ArrayPages::default());
            }
            let known = &mut self.arrays[number];
            if let Some(array) = array.filter(|array| array.id != known.id) {
                let pages = array.pages(PAGE_BYTES);
                let states = vec![State::Unused; pages.len() / PAGE_BYTES];
                (known.id, known.start, known.states) = (array.id, pages.start, states);
            }
        }
    }

    /// Works for a short time, and returns the time of the work; `None` if there is nothing left to do.
    fn tick(&mut self) -> Option<Duration> {
        let start = cpu_time();
        let Some(pagemap) = Pagemap::open().ok().filter(|_| may_work()) else {
            self.seen = None;
            return None;
        };
        loop {
            if let Some(pause) = self.step(&pagemap) {
                self.next_look = Some(Instant::now() + pause);
                return None;
            }
            let work = cpu_time().saturating_sub(start);
            if work >= WORK {
                return Some(work);
            }
        }
    }

    /// Looks at the next page, or collapses it. At the end, returns the time until the next look.
    fn step(&mut self, pagemap: &Pagemap) -> Option<Duration> {
        let wanted = self.wanted;
        let [number, page] = &mut self.next;
        let Some(array) = self.arrays.get_mut(*number) else {
            (self.wanted, self.next) = (State::Waiting, [0; 2]);
            return (wanted == State::Waiting).then_some(LOOK_INTERVAL);
        };
        // An array that was freed is left out, until another one has its entry.
        let mut states = array.states.iter().enumerate().skip(*page);
        let found = states.find(|(_, state)| **state == wanted);
        let found = found.filter(|_| ARRAYS.contains(*number, array.id));
        let Some((found, _)) = found else {
            self.next = [*number + 1, 0];
            return None;
        };
        *page = found + 1;
        let address = array.start + found * PAGE_BYTES;
        array.states[found] = match pagemap.is_used(address) {
            false => State::Unused,
            true if wanted == State::Unused => State::Waiting,
            true => match collapse(address) {
                Ok(()) => State::Huge,
                Err(error) => {
                    self.seen = None;
                    // The kernel uses a page at the moment, or a background thread has freed the array.
                    if error != libc::EAGAIN && ARRAYS.contains(*number, array.id) {
                        self.errors += 1;
                        return Some(RETRY_INTERVAL);
                    }
                    State::Waiting
                }
            },
        };
        None
    }

    /// Forgets all states, because huge pages may have been divided. The next call begins a look.
    fn forget(&mut self) {
        for array in &mut self.arrays {
            array.states.fill(State::Unused);
        }
        (self.seen, self.next_look) = (None, None);
        (self.wanted, self.next) = (State::Unused, [0; 2]);
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
    info.text("huge_pages", status().0);
    COLLAPSER.with_borrow(|collapser| {
        info.number("huge_page_bytes", collapser.bytes(State::Huge));
        info.number("huge_page_bytes_waiting", collapser.bytes(State::Waiting));
        info.number("huge_page_errors", collapser.errors);
    });
}

/// Runs a function of the collapser, and lets the server call [`on_timer`] after the time that it returns.
fn run(ctx: *mut raw::RedisModuleCtx, next: impl FnOnce(&mut Collapser) -> Option<Duration>) {
    guarded("huge pages", || {
        COLLAPSER.with_borrow_mut(|collapser| {
            if let Some(time) = next(collapser) {
                let ms = time.as_millis() as i64;
                // SAFETY: the context is that of the running callback; the timer has no data.
                unsafe { api!(RedisModule_CreateTimer)(ctx, ms, Some(on_timer), ptr::null_mut()) };
                collapser.has_timer = true;
            }
        });
    });
}

unsafe extern "C" fn on_timer(ctx: *mut raw::RedisModuleCtx, _data: *mut c_void) {
    run(ctx, |collapser| {
        collapser.has_timer = false;
        let pause = TICK.max(collapser.tick()? * FACTOR);
        // SAFETY: the context is that of this callback.
        let of_idle = unsafe { is_idle(ctx) }.then_some(IDLE_TICK);
        Some(of_idle.unwrap_or(pause))
    });
}

/// The subscription to the server's cron, which runs ten times per second by default.
pub(in crate::server) const CRON_EVENTS: Subscription =
    (raw::REDISMODULE_EVENT_CRON_LOOP, on_event);

/// The subscription to the start and the end of child processes.
pub(in crate::server) const CHILD_EVENTS: Subscription =
    (raw::REDISMODULE_EVENT_FORK_CHILD, on_event);

unsafe extern "C" fn on_event(
    ctx: *mut raw::RedisModuleCtx,
    event: raw::RedisModuleEvent,
    subevent: u64,
    _data: *mut c_void,
) {
    if event.id == CRON_EVENTS.0 && ARRAYS.version() > 0 {
        run(ctx, |collapser| collapser.begins_look().then_some(TICK));
    } else if event.id == CHILD_EVENTS.0 && subevent != raw::REDISMODULE_SUBEVENT_FORK_CHILD_BORN {
        run(ctx, |collapser| {
            collapser.forget();
            None
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
