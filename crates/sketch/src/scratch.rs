//! Memory for computations during a save, which should not fail for lack of memory.

use crate::memory::{OutOfMemory, with_capacity};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// `N` elements that all saves share. The operating system provides their pages when they are first used.
#[derive(Debug)]
pub(crate) struct Scratch<E, const N: usize>(Mutex<[E; N]>);

impl<E: Copy, const N: usize> Scratch<E, N> {
    /// Elements that are equal to `zero`.
    pub(crate) const fn new(zero: E) -> Self {
        Self(Mutex::new([zero; N]))
    }

    /// Passes `len` elements with any contents to `compute`. Allocates them if they are more than `N`, or if another thread
    /// uses the shared ones.
    pub(crate) fn with<R>(
        &self,
        len: usize,
        zero: E,
        compute: impl FnOnce(&mut [E]) -> R,
    ) -> Result<R, OutOfMemory> {
        if len <= N
            && let Some(mut shared) = try_lock(&self.0)
        {
            return Ok(compute(&mut shared[..len]));
        }
        let mut own = with_capacity(len)?;
        own.resize(len, zero);
        Ok(compute(&mut own))
    }
}

/// Locks without waiting: in a forked process, the lock may be that of a thread that does not exist there. `None` if it is
/// locked.
pub(crate) fn try_lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    match mutex.try_lock() {
        Ok(guard) => Some(guard),
        // Each use writes what it reads, so the contents that a panic left do not matter.
        Err(TryLockError::Poisoned(poisoned)) => Some(PoisonError::into_inner(poisoned)),
        Err(TryLockError::WouldBlock) => None,
    }
}
