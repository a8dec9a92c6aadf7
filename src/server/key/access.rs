//! The number of open keys: many for reading, or one for writing.

use std::sync::atomic::{AtomicI32, Ordering};

/// The number of keys that are open for reading, or [`WRITING`].
///
/// It ensures that no reference to a value exists beside a mutable one, even if another module runs one command of this
/// module from inside another. Commands run one at a time, so the counter is atomic only because statics must be.
static OPEN: AtomicI32 = AtomicI32::new(0);

/// The value of [`OPEN`] while a key is open for writing.
const WRITING: i32 = -1;

/// Token: a key is open for reading.
#[derive(Debug)]
pub struct Reader;

impl Reader {
    /// # Panics
    /// If a key is open for writing.
    pub(super) fn check() {
        assert!(
            OPEN.load(Ordering::Relaxed) >= 0,
            "a key is open for writing"
        );
    }

    /// Must be called after the key was opened: opening it can run another module, which can run a command of this
    /// module. That command leaves the count as it was.
    pub(super) fn begin() -> Self {
        OPEN.store(OPEN.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        Self
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        OPEN.store(OPEN.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
    }
}

/// Token: a key is open for writing, and no other key is open.
#[derive(Debug)]
pub struct Writer;

impl Writer {
    /// # Panics
    /// If a key is open.
    pub(super) fn check() {
        assert!(OPEN.load(Ordering::Relaxed) == 0, "a key is open");
    }

    /// Must be called after the key was opened; see [`Reader::begin`].
    pub(super) fn begin() -> Self {
        OPEN.store(WRITING, Ordering::Relaxed);
        Self
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        OPEN.store(0, Ordering::Relaxed);
    }
}
