//! Caches: what reads of a sketch compute and keep for the next reads.
//!
//! A sketch is a *state*: it is saved, digested and copied, and no read changes it. A cache is beside the state, not in it, so
//! that one thread can save the state while another one reads it and fills the cache. Each result in a cache has the
//! [`Stamp`] of the state that it was computed from.

use crate::blocks::{BlockMover, BlockVisitor, Blocks};
use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

/// Identifies a state: no two different states of a process have equal numbers.
#[derive(Debug)]
pub struct Stamp(StampNumber);

/// The number of a [`Stamp`]: that of the value, and how often the value has changed.
pub type StampNumber = (u64, u64);

impl Stamp {
    /// The stamp of a new value.
    #[must_use]
    pub fn new() -> Self {
        // The number 0 is that of no value.
        static VALUES: AtomicU64 = AtomicU64::new(1);
        Self((VALUES.fetch_add(1, Ordering::Relaxed), 0))
    }

    /// Must be called whenever the state changes.
    #[inline]
    pub fn change(&mut self) {
        self.0.1 = self.0.1.wrapping_add(1);
    }

    /// The number of the present state.
    #[must_use]
    #[inline]
    pub fn number(&self) -> StampNumber {
        self.0
    }

    /// The number of the value, which is the same for all its states.
    #[must_use]
    pub fn value(&self) -> u64 {
        self.0.0
    }
}

impl Default for Stamp {
    fn default() -> Self {
        Self::new()
    }
}

/// Results that reads of a `T` have computed. The default is empty. A result whose stamp is not that of the state is never
/// used, so a cache affects the time of reads, but not their results.
pub trait Cache<T>: Blocks + Default + Send {
    /// Whether the type is always empty.
    const IS_EMPTY: bool = false;

    /// Frees the results that are useless after a write to `state`, before or after it. `freed` visits the blocks that are
    /// freed.
    fn forget(&mut self, state: &T, freed: &mut impl BlockVisitor);

    /// How often the blocks have changed, except by [`Cache::forget`].
    fn changes(&self) -> u64;
}

/// Takes a cache, passes it to `read`, and puts it back. Meanwhile the place has an empty cache.
pub fn with_taken<C: Default, R>(place: &Cell<C>, read: impl FnOnce(&mut C) -> R) -> R {
    let mut cache = place.take();
    let result = read(&mut cache);
    place.set(cache);
    result
}

/// The cache of sketches whose reads compute nothing that is worth keeping.
impl<T> Cache<T> for () {
    const IS_EMPTY: bool = true;

    #[inline]
    fn forget(&mut self, _: &T, _: &mut impl BlockVisitor) {}

    #[inline]
    fn changes(&self) -> u64 {
        0
    }
}

impl Blocks for () {
    fn for_each_block(&self, _: &mut impl BlockVisitor) {}

    fn relocate_block(&mut self, _: usize, _: &mut impl BlockMover) -> bool {
        false
    }
}
