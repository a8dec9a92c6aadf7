//! Replaces ordinary pages of advised arrays by huge pages.
//!
//! An array has ordinary pages if the server allocated and filled it (a load). While a child process runs, the kernel
//! divides each huge page that is written to into ordinary pages. The kernel's own thread restores 16 MiB in 10 seconds
//! by default. Since Linux 6.1, a process can restore its huge pages itself. A thread does so after each load and when a
//! child process has ended: each page has to be copied, which takes too long for a command.
//!
//! The thread needs no access to the arrays. They may be freed meanwhile: the system call does not change the contents of
//! memory, and it ignores memory that is not mapped or whose advice was withdrawn.

use super::advice::{ARRAYS, status, whole_pages};
use super::status::{Status, page_bytes};
use redis_module::raw;
use std::ffi::{c_int, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

/// Huge pages per system call.
const PAGES: usize = 8;

/// `MADV_COLLAPSE` of Linux 6.1 (include/uapi/asm-generic/mman-common.h). The crate libc has no such constant for musl.
const MADV_COLLAPSE: c_int = 25;

/// The thread waits this many times as long as a system call took, so that it uses at most a tenth of a processor and the
/// main thread rarely waits for a page that is being copied.
const PAUSE_FACTOR: u32 = 9;

/// Number of attempts after a load or a save, and the pause between them.
const ATTEMPTS: usize = 10;
const RETRY_INTERVAL: Duration = Duration::from_secs(1);

/// Whether pages may have to be restored.
static IS_PENDING: AtomicBool = AtomicBool::new(false);

/// Whether a child process runs. Pages that it shares must not be copied.
static HAS_CHILD: AtomicBool = AtomicBool::new(false);

/// Lets the thread restore the pages of all advised arrays, now or when the child process has ended.
pub(super) fn restore() {
    static THREAD: OnceLock<Option<Thread>> = OnceLock::new();
    if ARRAYS.len() == 0 {
        return;
    }
    IS_PENDING.store(true, Ordering::Relaxed);
    let start = || {
        let thread = thread::Builder::new().name("bf-huge-pages".to_owned());
        let handle = thread.stack_size(256 << 10).spawn(run).ok()?;
        Some(handle.thread().clone())
    };
    if let Some(thread) = THREAD.get_or_init(start) {
        thread.unpark();
    }
}

fn run() {
    block_signals();
    loop {
        while IS_PENDING.swap(false, Ordering::Relaxed) {
            for _ in 0..ATTEMPTS {
                if restore_all() {
                    break;
                }
                thread::sleep(RETRY_INTERVAL);
            }
        }
        thread::park();
    }
}

/// Leaves all signals to the other threads: the server's watchdog expects its signal on the main thread.
fn block_signals() {
    let mut signals = MaybeUninit::uninit();
    // SAFETY: the first call initializes the set, and the second one only reads it.
    unsafe {
        libc::sigfillset(signals.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_BLOCK, signals.as_ptr(), ptr::null_mut());
    }
}

/// Returns false if the kernel could not restore a page for now: it was in use, or there was no free huge page.
fn restore_all() -> bool {
    let page_bytes = page_bytes();
    let mut is_complete = true;
    for (address, bytes) in ARRAYS.iter() {
        let pages = whole_pages(address, bytes, page_bytes);
        for offset in pages.clone().step_by(PAGES * page_bytes) {
            // The end of the child process starts the next attempt.
            if HAS_CHILD.load(Ordering::Relaxed) || status() != Status::Active {
                return true;
            }
            let start = Instant::now();
            let len = (pages.end - offset).min(PAGES * page_bytes);
            let part = ptr::without_provenance_mut::<c_void>(address + offset);
            // SAFETY: the advice does not change the contents of memory, whatever it is used for now. Older kernels refuse
            // it.
            if unsafe { libc::madvise(part, len, MADV_COLLAPSE) } != 0 {
                let error = io::Error::last_os_error().raw_os_error();
                is_complete &= !matches!(error, Some(libc::EAGAIN | libc::EBUSY | libc::ENOMEM));
            }
            thread::sleep(start.elapsed() * PAUSE_FACTOR);
        }
    }
    is_complete
}

/// Subscribes to the start and the end of child processes.
///
/// # Safety
/// `ctx` must be that of the running load function.
pub(in crate::server) unsafe fn watch_children(ctx: *mut raw::RedisModuleCtx) {
    let event = raw::RedisModuleEvent {
        id: raw::REDISMODULE_EVENT_FORK_CHILD,
        dataver: 1,
    };
    // SAFETY: by the function's contract; the callback has the type that the server expects.
    unsafe { api!(RedisModule_SubscribeToServerEvent)(ctx, event, Some(on_child)) };
}

unsafe extern "C" fn on_child(
    _ctx: *mut raw::RedisModuleCtx,
    _event: raw::RedisModuleEvent,
    subevent: u64,
    _data: *mut c_void,
) {
    let is_born = subevent == raw::REDISMODULE_SUBEVENT_FORK_CHILD_BORN;
    HAS_CHILD.store(is_born, Ordering::Relaxed);
    if !is_born {
        restore();
    }
}
