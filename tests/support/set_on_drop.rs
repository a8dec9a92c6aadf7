//! Stops threads that run until a flag is set.

use std::sync::atomic::{AtomicBool, Ordering};

/// Sets a flag when dropped, even during a panic. Without it, a scope that panics would wait forever for threads that run
/// until the flag is set.
#[derive(Debug)]
pub struct SetOnDrop<'a>(pub &'a AtomicBool);

impl Drop for SetOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
