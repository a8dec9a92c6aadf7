//! Catches panics: unwinding must not cross into the server.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, catch_unwind};

thread_local! {
    /// Location of the last panic of this thread, as `file:line:column`.
    static PLACE: Cell<Option<String>> = const { Cell::new(None) };
}

/// Replaces Rust's panic message on standard error: [`guarded`] logs the location instead.
///
/// For a backtrace (`RUST_BACKTRACE`), Rust frees memory that the C library allocated. In a module that Valkey 8.1 or
/// later has loaded, the two use different allocators, so printing a backtrace would end the process.
pub fn replace_report() {
    panic::set_hook(Box::new(|panic| {
        let place = panic.location().map(ToString::to_string);
        // An error means that the thread is ending.
        let _ = PLACE.try_with(|last| last.set(place));
    }));
}

/// Runs `body`. Logs a panic in it and returns `None`.
pub fn guarded<R>(what: &str, body: impl FnOnce() -> R) -> Option<R> {
    // Unwind safety: a panic can leave the value of one key partly changed. Operations access it with bounds checks, and
    // nothing else is shared.
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(result) => Some(result),
        Err(panic) => {
            let text = panic
                .downcast_ref::<&str>()
                .copied()
                .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
                .unwrap_or("no message");
            let place = PLACE.take().unwrap_or_default();
            super::stats::count_internal_error();
            super::log::warning(&format!("internal error in {what}: {text} ({place})"));
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::guarded;

    #[test]
    fn a_panic_becomes_none() {
        assert_eq!(guarded("a test", || 1), Some(1));
        assert_eq!(guarded::<()>("a test", || panic!("on purpose")), None);
    }
}
