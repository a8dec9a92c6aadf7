//! What tests inject into a server. Not in release builds.
//!
//! - The tests write the names of the enabled faults to the file `roughly-faults` in the server's working directory,
//!   one per line.
//! - The command `ROUGHLY.FAULT first last` counts the requests for memory from then on, and refuses those from number
//!   `first` to number `last`. It replies with what happened since its last call.
//! - The files `roughly-machine-bytes` and `roughly-control-group-bytes` contain the memory of the machine and the limit of the
//!   control group in bytes.
//! - The file `roughly-clock` contains a time in milliseconds. With a sign in front, it is added to the time of the server; without
//!   a sign, it replaces it. The rate limits of the log use the same clock.
//! - The file `roughly-server-version` contains the version of the server.
//!
//! A request is an allocation whose failure is an error ([`roughly_sketch::refusable`]), or one to the
//! memory limit of a command. The other allocations are not refused, because their failure ends the process, and are measured.

#[cfg(debug_assertions)]
pub(super) use debug::*;
#[cfg(not(debug_assertions))]
pub(super) use release::*;

#[cfg(debug_assertions)]
mod debug {
    use redis_module::raw;
    use roughly_sketch::refusable::is_refusable;
    use std::ffi::{c_int, c_longlong};
    use std::slice;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    static REFUSES_MEMORY: AtomicBool = AtomicBool::new(false);

    /// Whether the tests have enabled this fault.
    fn is_wanted(fault: &str) -> bool {
        // This check must not allocate while allocations fail.
        !REFUSES_MEMORY.load(Ordering::Relaxed)
            && std::fs::read_to_string("roughly-faults")
                .is_ok_and(|faults| faults.lines().any(|line| line == fault))
    }

    /// Panics if the tests have enabled this fault.
    pub fn point(fault: &str) {
        assert!(!is_wanted(fault), "injected fault: {fault}");
    }

    /// A memory size: `machine` or `control-group`.
    pub fn bytes_of(limit: &str) -> Option<u64> {
        let text = std::fs::read_to_string(format!("roughly-{limit}-bytes")).ok()?;
        text.trim().parse().ok()
    }

    /// The time of a test in milliseconds since the Unix epoch, or `ms` if there is none.
    pub fn time(ms: u64) -> u64 {
        let Ok(text) = std::fs::read_to_string("roughly-clock") else {
            return ms;
        };
        let text = text.trim();
        let number = |text: &str| text.parse().unwrap_or(0);
        match (text.strip_prefix('+'), text.strip_prefix('-')) {
            (Some(later), _) => ms.saturating_add(number(later)),
            (_, Some(earlier)) => ms.saturating_sub(number(earlier)),
            _ => number(text),
        }
    }

    /// The version of the server.
    pub fn server_version() -> Option<String> {
        std::fs::read_to_string("roughly-server-version").ok()
    }

    /// Runs `body`. All allocations fail if the tests have enabled this fault.
    pub fn without_memory<R>(fault: &str, body: impl FnOnce() -> R) -> R {
        struct Reset;
        impl Drop for Reset {
            fn drop(&mut self) {
                REFUSES_MEMORY.store(false, Ordering::Relaxed);
            }
        }
        let _reset = Reset;
        REFUSES_MEMORY.store(is_wanted(fault), Ordering::Relaxed);
        body()
    }

    /// The requests since the last `ROUGHLY.FAULT` that can be refused, and those of them that were refused.
    static REQUESTS: AtomicU64 = AtomicU64::new(0);
    static REFUSED: AtomicU64 = AtomicU64::new(0);

    /// Bytes of the largest allocation since then that cannot be refused.
    static LARGEST_OTHER: AtomicU64 = AtomicU64::new(0);

    /// The first and last request to refuse; 0 for none.
    static FIRST: AtomicU64 = AtomicU64::new(0);
    static LAST: AtomicU64 = AtomicU64::new(0);

    /// Counts a request for memory. Whether it is one to refuse.
    pub fn refuses_request() -> bool {
        let number = REQUESTS.fetch_add(1, Ordering::Relaxed) + 1;
        let first = FIRST.load(Ordering::Relaxed);
        let refuses = (first..=LAST.load(Ordering::Relaxed)).contains(&number);
        if refuses {
            REFUSED.fetch_add(1, Ordering::Relaxed);
        }
        refuses
    }

    /// Measures an allocation of this size. Whether the allocator refuses it.
    pub fn refuses_allocation(bytes: usize) -> bool {
        if !is_refusable() {
            LARGEST_OTHER.fetch_max(bytes as u64, Ordering::Relaxed);
        }
        REFUSES_MEMORY.load(Ordering::Relaxed)
    }

    /// Registers `ROUGHLY.FAULT`.
    ///
    /// # Safety
    /// `ctx` must be that of the running load function.
    pub unsafe fn register(ctx: *mut raw::RedisModuleCtx) {
        // SAFETY: by the function's contract; the texts live until the return.
        unsafe {
            api!(RedisModule_CreateCommand)(
                ctx,
                c"roughly.fault".as_ptr(),
                Some(set),
                c"fast".as_ptr(),
                0,
                0,
                0,
            )
        };
    }

    unsafe extern "C" fn set(
        ctx: *mut raw::RedisModuleCtx,
        argv: *mut *mut raw::RedisModuleString,
        argc: c_int,
    ) -> c_int {
        let ok = raw::REDISMODULE_OK as c_int;
        // SAFETY: the pointers are those of the command that the server runs now: argv holds argc pointers.
        unsafe {
            let args = slice::from_raw_parts(argv, usize::try_from(argc).unwrap_or(0));
            let &[_, first, last] = args else {
                return api!(RedisModule_WrongArity)(ctx);
            };
            let mut range = [0; 2];
            for (number, argument) in range.iter_mut().zip([first, last]) {
                if api!(RedisModule_StringToLongLong)(argument, number) != ok || *number < 0 {
                    let text = c"ERR not a number".as_ptr();
                    return api!(RedisModule_ReplyWithError)(ctx, text);
                }
            }
            FIRST.store(0, Ordering::Relaxed);
            LAST.store(0, Ordering::Relaxed);
            api!(RedisModule_ReplyWithArray)(ctx, 3);
            for counter in [&REQUESTS, &REFUSED, &LARGEST_OTHER] {
                let number = counter.swap(0, Ordering::Relaxed) as c_longlong;
                api!(RedisModule_ReplyWithLongLong)(ctx, number);
            }
            let [first, last] = range.map(c_longlong::unsigned_abs);
            FIRST.store(first, Ordering::Relaxed);
            LAST.store(last, Ordering::Relaxed);
        }
        ok
    }
}

#[cfg(not(debug_assertions))]
mod release {
    pub fn bytes_of(_limit: &str) -> Option<u64> {
        None
    }

    #[inline(always)]
    pub fn time(ms: u64) -> u64 {
        ms
    }

    pub fn server_version() -> Option<String> {
        None
    }

    pub fn point(_fault: &str) {}

    #[inline(always)]
    pub fn refuses_allocation(_bytes: usize) -> bool {
        false
    }

    #[inline(always)]
    pub fn refuses_request() -> bool {
        false
    }

    pub unsafe fn register(_ctx: *mut redis_module::raw::RedisModuleCtx) {}

    pub fn without_memory<R>(_fault: &str, body: impl FnOnce() -> R) -> R {
        body()
    }
}
