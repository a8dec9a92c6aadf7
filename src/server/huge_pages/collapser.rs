//! The thread that replaces ordinary pages by huge pages, and its share of a processor.
//!
//! All large arrays begin with ordinary pages. While a child process runs, the kernel divides each huge page that is written
//! to into ordinary pages. The thread looks at the pages of all arrays, and lets the kernel copy those that are in use into
//! huge pages.
//!
//! The thread needs no access to the arrays, which may be freed meanwhile (see [`collapse`]).

use super::arrays::{ARRAYS, Pages, State};
use super::kernel::{
    FreePage, Pagemap, Status, collapse, is_used, page_bytes, run_after_others, status,
};
use crate::server::context::Subscription;
use crate::server::stats::InfoWriter;
use redis_module::raw;
use std::ffi::c_void;
use std::io;
use std::mem::MaybeUninit;
use std::process;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU32, AtomicUsize, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// The minimum time between two looks at all pages.
const INTERVAL: Duration = Duration::from_secs(1);

/// This time while the server loads a file.
const LOADING_INTERVAL: Duration = Duration::from_millis(100);

/// The thread pauses after this number of attempts in a row for which the kernel had no free huge page. (The kernel makes one
/// free by moving pages of others, which does not always succeed.)
const MAX_FAILURES: usize = 16;

/// The length of this pause.
const RETRY_INTERVAL: Duration = Duration::from_secs(10);

/// Milliseconds for which a crash report waits for the end of the thread.
const MAX_END_MS: u32 = 1000;

/// The thread; `None` if it has not started or this system has no huge pages.
static THREAD: OnceLock<Option<Thread>> = OnceLock::new();

/// The process that loaded the module. Its child processes start no thread.
pub(super) static PROCESS: OnceLock<u32> = OnceLock::new();

/// Whether the thread waits for the first array, or has not started.
static IS_IDLE: AtomicBool = AtomicBool::new(true);

/// Whether a child process runs. Pages that it shares must not be copied.
static HAS_CHILD: AtomicBool = AtomicBool::new(false);

/// Whether the server loads a file. The thread then works all the time: no client waits for the main thread.
static IS_LOADING: AtomicBool = AtomicBool::new(false);

/// Whether a child process has ended, so that pages may have been divided.
static HAD_CHILD: AtomicBool = AtomicBool::new(false);

/// Number of huge pages, and of parts in use that wait for one.
static HUGE: AtomicUsize = AtomicUsize::new(0);
static WAITING: AtomicUsize = AtomicUsize::new(0);

/// Whether the thread must end, because the process is about to end.
static MUST_END: AtomicBool = AtomicBool::new(false);

/// Not 0 from the start of the thread until its end, when the kernel writes 0.
static IS_RUNNING: AtomicU32 = AtomicU32::new(0);

/// System calls that failed.
static ERRORS: AtomicI64 = AtomicI64::new(0);

/// Writes the fields of INFO: bytes of arrays in huge pages, and bytes in use that wait for them.
pub(in crate::server) fn write_info(info: &mut InfoWriter) {
    info.text("huge_pages", status().name());
    for (name, pages) in [
        ("huge_page_bytes", &HUGE),
        ("huge_page_bytes_waiting", &WAITING),
    ] {
        let bytes = pages.load(Ordering::Relaxed) * page_bytes();
        info.number(name, i64::try_from(bytes).unwrap_or(i64::MAX));
    }
    info.number("huge_page_errors", ERRORS.load(Ordering::Relaxed));
}

/// Call this after an array was added. Starts or wakes the thread if it has none yet.
pub(super) fn wake() {
    if !IS_IDLE.swap(false, Ordering::SeqCst) || PROCESS.get() != Some(&process::id()) {
        return;
    }
    if let Some(thread) = THREAD.get_or_init(start) {
        thread.unpark();
    }
}

fn start() -> Option<Thread> {
    if !Status::of_process().can_change() {
        return None;
    }
    let thread = thread::Builder::new().name("bf-huge-pages".to_owned());
    let thread = thread.stack_size(256 << 10);
    IS_RUNNING.store(1, Ordering::SeqCst);
    let handle = with_blocked_signals(|| thread.spawn(run)).ok()?;
    Some(handle.thread().clone())
}

/// Blocks all signals meanwhile. A thread inherits this state, and leaves all signals to the other threads: the server's
/// watchdog and crash report expect theirs on the main thread.
fn with_blocked_signals<T>(function: impl FnOnce() -> T) -> T {
    let mut all = MaybeUninit::uninit();
    let mut before = MaybeUninit::uninit();
    // SAFETY: the first call initializes one set, the second one the other.
    unsafe {
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
    }
    let result = function();
    // SAFETY: the set is initialized.
    unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, before.as_ptr(), ptr::null_mut()) };
    result
}

fn run() {
    run_after_others();
    let mut collapser = Collapser {
        free_page: FreePage::new(page_bytes()),
        pages: Pages::default(),
        version: None,
        next_look: Instant::now(),
        pause: Pause::new(),
    };
    loop {
        if MUST_END.load(Ordering::SeqCst) {
            // SAFETY: at the end of this thread, the kernel writes 0 to the variable, which always exists (set_tid_address(2)).
            // The thread has no destructor that others wait for, and the process is about to end.
            unsafe {
                libc::syscall(libc::SYS_set_tid_address, IS_RUNNING.as_ptr());
                libc::syscall(libc::SYS_exit, 0);
            }
        }
        collapser.update();
        if !collapser.pages.arrays.is_empty() {
            collapser.look();
            thread::park_timeout(interval());
            continue;
        }
        IS_IDLE.store(true, Ordering::SeqCst);
        if ARRAYS.len() == 0 {
            thread::park();
        }
    }
}

/// The state of the thread.
#[derive(Debug)]
struct Collapser {
    free_page: Option<FreePage>,
    pages: Pages,
    /// The version of the list of arrays that `pages` has.
    version: Option<usize>,
    next_look: Instant,
    pause: Pause,
}

impl Collapser {
    /// Adopts the changes since the last call.
    fn update(&mut self) {
        let version = ARRAYS.version();
        if self.version != Some(version) {
            self.pages.update(ARRAYS.iter(), page_bytes());
            self.version = Some(version);
        }
        if HAD_CHILD.swap(false, Ordering::Relaxed) {
            self.pages.forget();
            self.next_look = Instant::now();
        }
        self.publish();
    }

    fn publish(&self) {
        HUGE.store(self.pages.count(State::Huge), Ordering::Relaxed);
        WAITING.store(self.pages.count(State::Waiting), Ordering::Relaxed);
    }

    /// Looks at all pages if it is time, and collapses those that are in use.
    fn look(&mut self) {
        if must_wait() || Instant::now() < self.next_look {
            return;
        }
        let Ok(pagemap) = Pagemap::open() else {
            return;
        };
        let mut pace = Pace::new();
        let start = cpu_time();
        let resident = self.find_waiting(&pagemap, &mut pace);
        let look = cpu_time().saturating_sub(start);
        self.publish();
        let has_huge_pages = resident.is_ok() && self.collapse_waiting(&pagemap, &mut pace);
        let pause = match resident {
            Ok(_) if has_huge_pages && is_loading() => LOADING_INTERVAL,
            Ok(resident) if has_huge_pages => self.pause.after(look, resident).max(INTERVAL),
            _ => RETRY_INTERVAL,
        };
        self.next_look = Instant::now() + pause;
    }

    /// Finds the huge pages that are in use. Returns the number of ordinary pages that are resident.
    fn find_waiting(&mut self, pagemap: &Pagemap, pace: &mut Pace) -> io::Result<usize> {
        let mut sum = 0;
        for array in &mut self.pages.arrays {
            for (page, state) in (array.start..).step_by(page_bytes()).zip(&mut array.states) {
                if must_wait() {
                    return Ok(sum);
                }
                if *state == State::Unused {
                    let resident = pagemap.resident(page, page_bytes())?;
                    sum += resident;
                    if is_used(resident, page_bytes()) {
                        *state = State::Waiting;
                    }
                }
                pace.pause();
            }
        }
        Ok(sum)
    }

    /// Collapses pages. Returns false if the kernel has no free huge page.
    fn collapse_waiting(&mut self, pagemap: &Pagemap, pace: &mut Pace) -> bool {
        let mut failures = 0;
        let mut task = Task::new();
        for array in &mut self.pages.arrays {
            let pages = (array.start..).step_by(page_bytes()).zip(&mut array.states);
            for (page, state) in pages.filter(|(_, state)| **state == State::Waiting) {
                // An array that was freed leaves the list with the next update.
                if !ARRAYS.contains(array.address, array.id) {
                    break;
                }
                // The end of a child process starts a new look.
                if must_wait() {
                    return true;
                }
                let resident = pagemap.resident(page, page_bytes()).unwrap_or(0);
                let result = match is_used(resident, page_bytes()) {
                    true => {
                        self.free_page.iter().for_each(FreePage::prepare);
                        collapse(page, page_bytes()).map(|()| State::Huge)
                    }
                    false => Ok(State::Unused),
                };
                match result {
                    Ok(new) => {
                        *state = new;
                        failures = 0;
                    }
                    // The allocator may have returned the memory to the system.
                    Err(_) if !ARRAYS.contains(array.address, array.id) => break,
                    Err(libc::EAGAIN) => {}
                    Err(libc::ENOMEM | libc::EBUSY) => {
                        ERRORS.fetch_add(1, Ordering::Relaxed);
                        failures += 1;
                        if failures == MAX_FAILURES {
                            return false;
                        }
                    }
                    Err(_) => {
                        ERRORS.fetch_add(1, Ordering::Relaxed);
                        *state = State::Refused;
                    }
                }
                if *state != State::Waiting {
                    WAITING.fetch_sub(1, Ordering::Relaxed);
                }
                if *state == State::Huge {
                    HUGE.fetch_add(1, Ordering::Relaxed);
                }
                pace.pause_in(&mut task, WAITING.load(Ordering::Relaxed));
            }
        }
        true
    }
}

fn is_loading() -> bool {
    IS_LOADING.load(Ordering::Relaxed)
}

/// The time between two looks if the looks take no time.
fn interval() -> Duration {
    match is_loading() {
        true => LOADING_INTERVAL,
        false => INTERVAL,
    }
}

fn must_wait() -> bool {
    HAS_CHILD.load(Ordering::Relaxed)
        || MUST_END.load(Ordering::SeqCst)
        || status() != Status::Active
}

/// Ends the thread, for a crash report: the server then tests all memory, and ends only its own threads before. It overwrites the
/// stack and the variables of the thread meanwhile, so no instruction of the thread may follow. Allocates no memory.
pub(in crate::server) fn end() {
    let Some(Some(thread)) = THREAD.get() else {
        return;
    };
    if PROCESS.get() != Some(&process::id()) {
        return;
    }
    MUST_END.store(true, Ordering::SeqCst);
    for _ in 0..MAX_END_MS {
        if IS_RUNNING.load(Ordering::SeqCst) == 0 {
            break;
        }
        thread.unpark();
        thread::sleep(Duration::from_millis(1));
    }
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
    let is_born = subevent == raw::REDISMODULE_SUBEVENT_FORK_CHILD_BORN;
    HAS_CHILD.store(is_born, Ordering::Relaxed);
    if !is_born {
        HAD_CHILD.store(true, Ordering::Relaxed);
        if let Some(Some(thread)) = THREAD.get() {
            thread.unpark();
        }
    }
}

/// The subscription to the start and the end of the load of a file.
pub(in crate::server) const LOADING_EVENTS: Subscription =
    (raw::REDISMODULE_EVENT_LOADING, on_loading);

unsafe extern "C" fn on_loading(
    _ctx: *mut raw::RedisModuleCtx,
    _event: raw::RedisModuleEvent,
    subevent: u64,
    _data: *mut c_void,
) {
    let ends = [
        raw::REDISMODULE_SUBEVENT_LOADING_ENDED,
        raw::REDISMODULE_SUBEVENT_LOADING_FAILED,
    ];
    IS_LOADING.store(!ends.contains(&subevent), Ordering::Relaxed);
}

/// The thread works during a tenth of the time.
const FACTOR: u32 = 10;

/// It works during up to half of the time if it would not be finished in time.
const MIN_FACTOR: u32 = 2;

/// The time for a task. In a usual configuration (`save 60 10000`), a save starts 60 seconds after the last one ended.
const TASK_TIME: Duration = Duration::from_secs(30);

/// Shorter pauses are added up.
const MIN_PAUSE: Duration = Duration::from_millis(1);

/// The maximum time by which pauses become shorter because earlier ones were too long.
const MAX_CREDIT: Duration = Duration::from_millis(100);

/// The pause between two looks is this many times the CPU time of the last look while arrays are being filled: a tenth of a
/// processor.
const BUSY_FACTOR: u32 = 9;

/// While they are not, the factor is doubled up to this one: a hundredth of a processor.
const IDLE_FACTOR: u32 = 99;

/// Arrays are being filled if the number of their ordinary pages grows by more than one in this many from one look to the
/// next.
const GROWTH: usize = 64;

/// Limits the share of the current thread.
#[derive(Debug)]
pub(super) struct Pace {
    /// The CPU time of the thread at the last call.
    worked: Duration,
    /// The time at which that work is the thread's share of the elapsed time.
    due: Instant,
    /// The elapsed time divided by the work.
    factor: u32,
}

/// A task of equal steps that a thread should finish in [`TASK_TIME`].
#[derive(Debug)]
pub(super) struct Task {
    end: Instant,
    /// The CPU time of the thread at the start.
    worked: Duration,
    steps: u32,
}

impl Task {
    pub(super) fn new() -> Self {
        Self {
            end: Instant::now() + TASK_TIME,
            worked: cpu_time(),
            steps: 0,
        }
    }
}

/// Determines the pauses between looks at all pages.
#[derive(Debug)]
pub(super) struct Pause {
    factor: u32,
    /// The number of resident pages that the last look found.
    resident: usize,
}

impl Pause {
    pub(super) fn new() -> Self {
        Self {
            factor: BUSY_FACTOR,
            resident: 0,
        }
    }

    /// The pause after a look that took this CPU time and found so many resident ordinary pages.
    pub(super) fn after(&mut self, look: Duration, resident: usize) -> Duration {
        self.factor = match resident > self.resident + self.resident / GROWTH {
            true => BUSY_FACTOR,
            false => (2 * self.factor).min(IDLE_FACTOR),
        };
        self.resident = resident;
        look * self.factor
    }
}

/// The elapsed time divided by the work that lets `remaining` steps end in `left`, if the first `steps` took the CPU time
/// `worked`.
fn factor(steps: u32, worked: Duration, remaining: usize, left: Duration) -> u32 {
    let work = worked.as_secs_f64() / f64::from(steps.max(1)) * remaining as f64;
    if work == 0.0 {
        return FACTOR;
    }
    (left.as_secs_f64() / work).clamp(MIN_FACTOR.into(), FACTOR.into()) as u32
}

impl Pace {
    pub(super) fn new() -> Self {
        Self {
            worked: cpu_time(),
            due: Instant::now(),
            factor: FACTOR,
        }
    }

    /// Waits after a step of a task if the thread has worked for more than its share, which grows with the work that remains.
    pub(super) fn pause_in(&mut self, task: &mut Task, remaining: usize) {
        task.steps += 1;
        let worked = cpu_time().saturating_sub(task.worked);
        let left = task.end.saturating_duration_since(Instant::now());
        self.factor = factor(task.steps, worked, remaining, left);
        self.pause();
    }

    /// Waits if the thread has worked for more than its share. If the machine has other load, pauses become longer than
    /// intended; later ones are then shorter.
    pub(super) fn pause(&mut self) {
        let worked = cpu_time();
        let factor = if is_loading() { 1 } else { self.factor };
        self.due += worked.saturating_sub(self.worked) * factor;
        self.worked = worked;
        let now = Instant::now();
        if let Some(earliest) = now.checked_sub(MAX_CREDIT) {
            self.due = self.due.max(earliest);
        }
        let pause = self.due.saturating_duration_since(now);
        if pause >= MIN_PAUSE {
            thread::sleep(pause);
        }
    }
}

/// The CPU time of the current thread.
pub(super) fn cpu_time() -> Duration {
    let mut time = MaybeUninit::<libc::timespec>::zeroed();
    // SAFETY: the call fills in the time; it remains zero if the call fails.
    let time = unsafe {
        libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, time.as_mut_ptr());
        time.assume_init()
    };
    let seconds = Duration::from_secs(time.tv_sec.try_into().unwrap_or(0));
    seconds + Duration::from_nanos(time.tv_nsec.try_into().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(time: Duration) {
        let start = cpu_time();
        while cpu_time().saturating_sub(start) < time {}
    }

    #[test]
    fn the_share_grows_with_the_work_that_remains() {
        let seconds = Duration::from_secs;
        let of =
            |remaining, left| factor(100, Duration::from_millis(100), remaining, seconds(left));
        // A millisecond per step.
        assert_eq!(of(3_000, 30), 10);
        assert_eq!(of(6_000, 30), 5);
        assert_eq!(of(60_000, 30), 2);
        assert_eq!(of(1, 0), 2);
        assert_eq!(of(0, 0), 10);
        assert_eq!(factor(1, seconds(0), 1_000_000, seconds(30)), 10);
    }

    #[test]
    fn pauses_are_short_while_arrays_are_being_filled() {
        let mut pause = Pause::new();
        let mut after = |resident| pause.after(Duration::from_secs(1), resident).as_secs();
        // An empty array, filled, then written to slowly.
        let found = [
            0, 0, 100, 6_400, 6_500, 6_602, 6_603, 6_604, 6_605, 6_606, 6_607,
        ];
        assert_eq!(
            found.map(&mut after),
            [18, 36, 9, 9, 18, 9, 18, 36, 72, 99, 99]
        );
        // Huge pages replace most of the pages, and another array is filled.
        assert_eq!([10, 500].map(after), [99, 9]);
    }

    #[test]
    fn the_share_is_a_tenth_of_a_processor() {
        let mut pace = Pace::new();
        let (start, worked) = (Instant::now(), cpu_time());
        for _ in 0..20 {
            work(Duration::from_micros(500));
            pace.pause();
        }
        let worked = cpu_time().saturating_sub(worked);
        // The last half millisecond may not have been paused for.
        let least = worked.saturating_sub(MIN_PAUSE) * FACTOR;
        assert!(start.elapsed() >= least, "{worked:?}");
    }
}
