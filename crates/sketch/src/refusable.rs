//! Marks the allocations whose failure is an error, for tests.
//!
//! The failure of any other allocation ends the process. Every allocation of the first kind is inside [`refusable`], so that
//! tests of debug builds can count these allocations, refuse one of them, and measure the others. Release builds have no mark.

#[cfg(debug_assertions)]
mod mark {
    use std::cell::Cell;
    use std::sync::OnceLock;

    static REFUSES: OnceLock<fn(u64) -> bool> = OnceLock::new();

    thread_local! {
        static IS_REFUSABLE: Cell<bool> = const { Cell::new(false) };
    }

    /// Allocates a block of this many bytes, unless a test refuses it. `None` is an error of the caller.
    pub fn refusable<R>(bytes: u64, allocate: impl FnOnce() -> Option<R>) -> Option<R> {
        if REFUSES.get().is_some_and(|refuses| refuses(bytes)) {
            return None;
        }
        let before = IS_REFUSABLE.replace(true);
        let result = allocate();
        IS_REFUSABLE.set(before);
        result
    }

    /// From now on, [`refusable`] asks this function whether to refuse a block of this many bytes. Only the first call has an
    /// effect. Only in debug builds.
    pub fn set_refuses(refuses: fn(u64) -> bool) {
        let _ = REFUSES.set(refuses);
    }

    /// Whether the caller, an allocator, is inside [`refusable`]. Only in debug builds.
    #[must_use]
    pub fn is_refusable() -> bool {
        IS_REFUSABLE.get()
    }
}

#[cfg(debug_assertions)]
pub use mark::{is_refusable, refusable, set_refuses};

/// Allocates a block of this many bytes. `None` is an error of the caller.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub fn refusable<R>(_bytes: u64, allocate: impl FnOnce() -> Option<R>) -> Option<R> {
    allocate()
}
