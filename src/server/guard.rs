//! Panics end here: unwinding never crosses into the server.

use std::panic::{AssertUnwindSafe, catch_unwind};

/// Runs `body`; a panic in it is logged and answered with `None`.
pub fn guarded<R>(what: &str, body: impl FnOnce() -> R) -> Option<R> {
    // Unwind safety: what a panic may leave half done is one key's value, whose invariants every
    // operation re-checks with bounds-checked accesses; nothing else is shared.
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(result) => Some(result),
        Err(panic) => {
            let text = panic
                .downcast_ref::<&str>()
                .copied()
                .or_else(|| panic.downcast_ref::<String>().map(String::as_str))
                .unwrap_or("no message");
            super::log::warning(&format!("internal error in {what}: {text}"));
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
