//! Faults that tests inject into a server. Not in release builds.
//!
//! The tests write the names of the enabled faults to the file `roughly-faults` in the server's working directory,
//! one per line.

#[cfg(debug_assertions)]
mod injected {
    use std::sync::atomic::{AtomicBool, Ordering};

    static REFUSES_MEMORY: AtomicBool = AtomicBool::new(false);

    /// Whether the tests have enabled this fault.
    fn is_wanted(fault: &str) -> bool {
        // This check must not allocate while allocations fail.
        !refuses_memory()
            && std::fs::read_to_string("roughly-faults")
                .is_ok_and(|faults| faults.lines().any(|line| line == fault))
    }

    /// Panics if the tests have enabled this fault.
    pub fn point(fault: &str) {
        assert!(!is_wanted(fault), "injected fault: {fault}");
    }

    /// Whether the allocator refuses all memory.
    pub fn refuses_memory() -> bool {
        REFUSES_MEMORY.load(Ordering::Relaxed)
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
}

#[cfg(debug_assertions)]
pub(super) use injected::{point, refuses_memory, without_memory};

#[cfg(not(debug_assertions))]
pub(super) fn point(_fault: &str) {}

#[cfg(not(debug_assertions))]
pub(super) fn refuses_memory() -> bool {
    false
}

#[cfg(not(debug_assertions))]
pub(super) fn without_memory<R>(_fault: &str, body: impl FnOnce() -> R) -> R {
    body()
}
