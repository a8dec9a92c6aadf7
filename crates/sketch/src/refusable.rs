//! Marks the allocations that can be refused, for tests.
//!
//! A global allocator cannot distinguish an allocation whose failure is an error from one whose failure ends the process.
//! Every allocation of the first kind is inside [`refusable`], so an allocator of a debug build can count these allocations,
//! refuse one of them, and measure the others. Release builds have no mark.

#[cfg(debug_assertions)]
mod mark {
    use std::cell::Cell;

    thread_local! {
        static IS_REFUSABLE: Cell<bool> = const { Cell::new(false) };
    }

    /// Runs `allocate`. If its allocations fail, the failure is an error.
    pub fn refusable<R>(allocate: impl FnOnce() -> R) -> R {
        let before = IS_REFUSABLE.replace(true);
        let result = allocate();
        IS_REFUSABLE.set(before);
        result
    }

    /// Whether the caller, an allocator, is inside [`refusable`]. Only in debug builds.
    #[must_use]
    pub fn is_refusable() -> bool {
        IS_REFUSABLE.get()
    }
}

#[cfg(debug_assertions)]
pub use mark::{is_refusable, refusable};

/// Runs `allocate`. If its allocations fail, the failure is an error.
#[cfg(not(debug_assertions))]
#[inline(always)]
pub fn refusable<R>(allocate: impl FnOnce() -> R) -> R {
    allocate()
}
