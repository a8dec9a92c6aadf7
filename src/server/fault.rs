//! Faults that the tests inject into a server. Release builds have none of this.
//!
//! The tests name the faults that are to happen now in the file `roughly-faults` of the server's working directory,
//! one per line.

#[cfg(debug_assertions)]
mod injected {
    use std::sync::atomic::{AtomicBool, Ordering};

    static REFUSES_MEMORY: AtomicBool = AtomicBool::new(false);

    /// Whether the tests want this fault to happen.
    fn is_wanted(fault: &str) -> bool {
        // No memory may be taken for the question while it is refused.
        !refuses_memory()
            && std::fs::read_to_string("roughly-faults")
                .is_ok_and(|faults| faults.lines().any(|line| line == fault))
    }

    /// Panics if the tests want this fault to happen.
    pub fn point(fault: &str) {
        assert!(!is_wanted(fault), "injected fault: {fault}");
    }

    /// Whether the allocator refuses all memory.
    pub fn refuses_memory() -> bool {
        REFUSES_MEMORY.load(Ordering::Relaxed)
    }

    /// Runs `body`; without memory, if the tests want this fault to happen.
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
