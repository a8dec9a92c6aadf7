//! The end of threads that run until a flag is set.

use std::sync::atomic::{AtomicBool, Ordering};

/// Sets a flag when dropped, also by a panic: a scope waits for its threads also after a failure in it,
/// and threads that run until the flag is set would never end.
#[derive(Debug)]
pub struct SetOnDrop<'a>(pub &'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
