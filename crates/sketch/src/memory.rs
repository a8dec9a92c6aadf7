//! Fallible memory: the budget of an operation, and vectors whose allocations can be refused.
//!
//! A user chooses how much memory a sketch takes, so every allocation of such a size is requested from the operation's
//! [`Budget`] first, and its failure is an error ([`OutOfMemory`]) instead of the end of the process.

use crate::refusable::refusable;
use std::cell::Cell;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

/// Memory was refused, by the [`Budget`] or by the allocator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not enough memory for {bytes} bytes")]
pub struct OutOfMemory {
    /// Bytes of the refused block or request; `u64::MAX` if they do not fit in 64 bits.
    pub bytes: u64,
}

/// What an operation needs memory for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// A new sketch, or the copy of one.
    Create,
    /// A new sketch with many arrays that a client describes in a few bytes. As many bytes must stay free as the operation
    /// takes: the server enlarges the payload of a DUMP array by array.
    CreateInParts,
    /// The growth of a full filter. If filters grow by n bytes, another n bytes must stay free: the client did not choose that
    /// size, and the server needs memory for its own work on the key (the payload of a DUMP and the reply that contains it).
    Grow,
    /// Growth by a size that the client chose.
    Add,
    /// Memory that the operation frees again. A command without deny-oom must work when memory is full.
    Temporary,
}

/// Decides whether an operation may allocate memory: the module adds up the requests of a command and compares the sum with
/// its limits.
pub trait Grants {
    /// Whether these bytes may be allocated. They count as allocated then.
    fn grants(&self, purpose: Purpose, bytes: u64) -> bool;
}

impl<F: Fn(u64) -> bool> Grants for F {
    fn grants(&self, _: Purpose, bytes: u64) -> bool {
        self(bytes)
    }
}

/// The memory that an operation may request for a purpose.
#[derive(Clone, Copy)]
pub struct Budget<'a> {
    grants: &'a dyn Grants,
    purpose: Purpose,
}

impl<'a> Budget<'a> {
    /// Allows everything; the allocator can still refuse.
    pub const UNLIMITED: Budget<'static> = Budget {
        grants: &|_| true,
        purpose: Purpose::Create,
    };

    /// A budget that calls `allows` with the bytes of each request.
    #[must_use]
    pub fn new(allows: &'a impl Fn(u64) -> bool) -> Self {
        Self::of(allows, Purpose::Create)
    }

    /// A budget whose requests are for this purpose.
    #[must_use]
    pub fn of(grants: &'a dyn Grants, purpose: Purpose) -> Self {
        Self { grants, purpose }
    }

    /// The same memory for another purpose.
    #[must_use]
    pub fn for_purpose(self, purpose: Purpose) -> Self {
        Self { purpose, ..self }
    }

    /// Requests bytes, before they are allocated.
    ///
    /// # Errors
    /// [`OutOfMemory`] if they are refused.
    pub fn request(self, bytes: u64) -> Result<(), OutOfMemory> {
        if self.grants.grants(self.purpose, bytes) {
            Ok(())
        } else {
            Err(OutOfMemory { bytes })
        }
    }
}

impl fmt::Debug for Budget<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Budget")
    }
}

thread_local! {
    static IS_OPTIONAL: Cell<bool> = const { Cell::new(false) };
}

/// Allocates memory that an operation does not need: without it, the result is the same, but takes more time or memory.
pub fn optional<R>(allocate: impl FnOnce() -> R) -> R {
    struct Reset(bool);
    impl Drop for Reset {
        fn drop(&mut self) {
            IS_OPTIONAL.set(self.0);
        }
    }
    let _reset = Reset(IS_OPTIONAL.replace(true));
    allocate()
}

/// Whether the caller, an allocator, is inside [`optional`].
#[must_use]
pub fn is_optional() -> bool {
    IS_OPTIONAL.get()
}

/// An empty vector with capacity for `len` elements.
///
/// # Errors
/// [`OutOfMemory`] if the allocator refuses.
pub fn with_capacity<T>(len: usize) -> Result<Vec<T>, OutOfMemory> {
    let mut vec = Vec::new();
    reserve_exact(&mut vec, len)?;
    Ok(vec)
}

/// A copy of these elements without spare capacity.
///
/// # Errors
/// [`OutOfMemory`] if the allocator refuses.
pub fn copy_of<T: Copy>(elements: &[T]) -> Result<Vec<T>, OutOfMemory> {
    let mut copy = with_capacity(elements.len())?;
    copy.extend_from_slice(elements);
    Ok(copy)
}

/// Reserves capacity for exactly `additional` more elements, unless it is already available.
///
/// # Errors
/// [`OutOfMemory`] if the allocator refuses.
#[allow(clippy::disallowed_methods)] // the only place
pub fn reserve_exact<T>(vec: &mut Vec<T>, additional: usize) -> Result<(), OutOfMemory> {
    if additional <= vec.capacity() - vec.len() {
        return Ok(());
    }
    let len = (vec.len() as u64).saturating_add(additional as u64);
    let bytes = len.saturating_mul(size_of::<T>() as u64);
    refusable(bytes, || vec.try_reserve_exact(additional).ok()).ok_or(OutOfMemory { bytes })
}

/// Appends an element. The capacity doubles when it is used up.
///
/// # Errors
/// [`OutOfMemory`] if the allocator refuses.
pub fn try_push<T>(vec: &mut Vec<T>, element: T) -> Result<(), OutOfMemory> {
    if vec.len() == vec.capacity() {
        reserve_exact(vec, vec.len().max(4))?;
    }
    vec.push(element);
    Ok(())
}

/// Collects elements, whose number a client chose, into a vector.
///
/// # Errors
/// [`OutOfMemory`] if the allocator refuses.
pub fn try_collect<T>(elements: impl Iterator<Item = T>) -> Result<Vec<T>, OutOfMemory> {
    let mut vec = with_capacity(elements.size_hint().0)?;
    for element in elements {
        try_push(&mut vec, element)?;
    }
    Ok(vec)
}

/// The capacity of a growing vector with `len` elements: the next power of two, at most `max_len`.
///
/// It depends on these two numbers only, not on how the vector grew, so copies and loaded sketches use as much memory
/// as the original.
#[must_use]
pub fn capacity_for(len: usize, max_len: usize) -> usize {
    match len {
        0 => 0,
        _ => len.next_power_of_two().min(max_len).max(len),
    }
}

/// Reserves capacity for `len` elements in total. If the vector must grow, the new capacity is that of
/// [`capacity_for`].
///
/// # Errors
/// [`OutOfMemory`] if the allocator refuses.
pub fn reserve_for<T>(vec: &mut Vec<T>, len: usize, max_len: usize) -> Result<(), OutOfMemory> {
    if len <= vec.capacity() {
        return Ok(());
    }
    reserve_exact(vec, capacity_for(len, max_len) - vec.len())
}

/// Shrinks to this capacity, which is at least the length. Nothing changes if there is no memory for the smaller block.
pub fn shrink<T>(vec: &mut Vec<T>, capacity: usize) {
    if capacity < vec.capacity()
        && let Ok(mut smaller) = optional(|| with_capacity(capacity))
    {
        smaller.append(vec);
        *vec = smaller;
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_has_the_capacity_of_its_length_however_it_grew() {
        for max_len in [1, 3, 100, 128] {
            let mut one_by_one = Vec::new();
            for len in 1..=max_len {
                reserve_for(&mut one_by_one, len, max_len).unwrap();
                one_by_one.push(len);
                let mut at_once: Vec<usize> = Vec::new();
                reserve_for(&mut at_once, len, max_len).unwrap();
                assert_eq!(one_by_one.capacity(), capacity_for(len, max_len));
                assert_eq!(at_once.capacity(), capacity_for(len, max_len));
                let mut shrunk = Vec::with_capacity(max_len);
                shrunk.extend_from_slice(&one_by_one);
                shrink(&mut shrunk, capacity_for(len, max_len));
                assert_eq!(shrunk, one_by_one);
                assert_eq!(shrunk.capacity(), capacity_for(len, max_len));
            }
            assert_eq!(one_by_one.capacity(), max_len);
        }
        assert_eq!(capacity_for(0, 100), 0);
        assert_eq!(capacity_for(5, 3), 5);
    }

    #[test]
    fn a_refused_request_reports_its_bytes() {
        let budget = Budget::new(&|bytes| bytes <= 10);
        assert_eq!(budget.request(10), Ok(()));
        assert_eq!(budget.request(11), Err(OutOfMemory { bytes: 11 }));
    }

    #[test]
    fn impossible_capacities_are_refused() {
        let bytes = (usize::MAX as u64).saturating_mul(8);
        let refused = with_capacity::<u64>(usize::MAX).unwrap_err();
        assert_eq!(refused, OutOfMemory { bytes });
    }
}
