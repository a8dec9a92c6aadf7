//! [`BloomWindow`]: the set of items that were added in the window.

use super::sub_filter::LiveEntry;
use super::ticks::LiveTicks;
use super::{Error, Kind, Parameters, Seed, WindowFilter};
use crate::memory::Budget;
use crate::window::{Panes, Window};
use std::ffi::CStr;

/// Slots per bucket.
const BUCKET_SIZE: u8 = 4;
/// Entries that an insertion may evict. A search ends after 1024 buckets, so it is not reached.
const MAX_ITERATIONS: u16 = 1024;

/// The items that were added in the window, with one entry per item.
///
/// An addition refreshes the entry of an item that is already in the set. There are no false negatives. While the items
/// do not exceed the capacity, the filter accepts all of them. Above, it grows or refuses items; it forgets nothing.
///
/// Different items with the same fingerprint and buckets share an entry. Its tick is that of the latest addition of any
/// of them.
///
/// # Example
///
/// ```
/// use roughly_sketch::memory::Budget;
/// use roughly_sketch::window::{Timed, Window};
/// use roughly_sketch::window_filter::{Seed, BloomWindowParameters, BloomWindow};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let minute = Window::of::<BloomWindow>(60_000, 6, None)?;
/// let parameters = BloomWindowParameters {
///     // A server takes random bytes.
///     seed: Seed::default(),
///     capacity: 1000,
///     error_rate: 0.01,
///     expansion: 2,
/// };
/// let mut fruit = BloomWindow::new(minute, &parameters, Budget::UNLIMITED)?;
/// let now = 1_700_000_000_000;
/// fruit.advance(minute.pane_at(now));
/// fruit.add(b"apple", Budget::UNLIMITED)?;
/// assert!(fruit.contains(b"apple", fruit.timeline().panes_at(now)));
/// assert!(!fruit.contains(b"apple", fruit.timeline().panes_at(now + 90_000)));
/// # Ok(())
/// # }
/// ```
pub type BloomWindow = WindowFilter<Bloom>;

/// The kind of [`BloomWindow`].
#[derive(Debug, PartialEq)]
pub struct Bloom;

/// Parameters of a new [`BloomWindow`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BloomWindowParameters {
    /// Keys the hash of items. Secret and random, so that nobody can choose items that collide.
    pub seed: Seed,
    /// Distinct items per window, at least 1.
    pub capacity: u64,
    /// Upper bound for the false-positive rate, in (0, 1).
    pub error_rate: f64,
    /// Each further sub-filter has this many times the capacity of the largest one: at most
    /// [`MAX_EXPANSION`](super::MAX_EXPANSION). 0: the filter does not grow.
    pub expansion: u32,
}

/// The result of an addition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Addition {
    /// The item was not in the set.
    New,
    /// The item was in the set. Its entry has moved to the newest pane.
    Refreshed,
    /// The item was already in the newest pane, or in the set and [`IfPresent::Skip`] was specified. Nothing has changed.
    Unchanged,
}

/// What an addition does with an item that is in the set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IfPresent {
    /// Moves its entry to the newest pane.
    Refresh,
    /// Nothing: [`Addition::Unchanged`].
    Skip,
}

impl Kind for Bloom {
    const TYPE_NAME: &'static CStr = c"bf-window";
    const ENCODING_VERSION: u16 = 2;
    /// As the first number of the header of a Bloom filter, the number of items, it is out of range.
    const HEADER_MARK: &'static [u8] = b"bf-win2\xff";
    const GUARANTEES_CAPACITY: bool = true;

    fn is_rate_of_each(_: f64, _: u8) -> bool {
        false
    }

    fn allows(bucket_size: u8, max_iterations: u16) -> bool {
        (bucket_size, max_iterations) == (BUCKET_SIZE, MAX_ITERATIONS)
    }
}

impl BloomWindow {
    /// An empty set. Requests its memory from `budget`. It is zeroed memory, so the system provides most of the pages
    /// when they are used.
    ///
    /// # Errors
    /// [`Error::Parameters`] or [`Error::OutOfMemory`].
    pub fn new(
        window: Window,
        parameters: &BloomWindowParameters,
        budget: Budget<'_>,
    ) -> Result<Self, Error> {
        let parameters = Parameters {
            seed: parameters.seed,
            capacity: parameters.capacity,
            error_rate: parameters.error_rate,
            bucket_size: BUCKET_SIZE,
            max_iterations: MAX_ITERATIONS,
            expansion: parameters.expansion,
        };
        Self::create(window, parameters, budget)
    }

    /// The error rate that the filter was created for.
    #[must_use]
    pub fn error_rate(&self) -> f64 {
        self.parameters.error_rate
    }

    /// Adds an item in the newest pane.
    ///
    /// # Errors
    /// [`Error::Full`] if the set has reached its capacity and does not grow; [`Error::Parameters`] or
    /// [`Error::OutOfMemory`] if a further sub-filter cannot be created. Nothing has changed then.
    pub fn add(&mut self, item: &[u8], budget: Budget<'_>) -> Result<Addition, Error> {
        self.add_hashed(self.hash(item), IfPresent::Refresh, budget)
    }

    pub(super) fn add_hashed(
        &mut self,
        hash: u64,
        if_present: IfPresent,
        budget: Budget<'_>,
    ) -> Result<Addition, Error> {
        let live = self.live_for_write();
        for index in (0..self.sub_filters.len()).rev() {
            let sub_filter = &self.sub_filters[index];
            let place = sub_filter.place(hash);
            if let Some(entry) = sub_filter.first_match(&sub_filter.stored_ticks(live), &place) {
                return Ok(match if_present {
                    IfPresent::Refresh => self.refresh(index, entry, place.fingerprint, live),
                    IfPresent::Skip => Addition::Unchanged,
                });
            }
        }
        self.insert(hash, live, budget)?;
        Ok(Addition::New)
    }

    fn refresh(
        &mut self,
        index: usize,
        entry: LiveEntry,
        fingerprint: u64,
        live: LiveTicks,
    ) -> Addition {
        if entry.tick == live.newest {
            return Addition::Unchanged;
        }
        let sub_filter = &mut self.sub_filters[index];
        let ticks = sub_filter.stored_ticks(live);
        sub_filter.refresh(&ticks, entry, fingerprint, live.newest);
        self.begin_tick(live);
        Addition::Refreshed
    }

    /// The result that an addition will have after an advance, if these panes are live then and the addition changes nothing.
    /// `None` if it changes the set, or if that depends on the memory that is available.
    #[must_use]
    pub fn unchanged_by(
        &self,
        item: &[u8],
        if_present: IfPresent,
        later: Panes,
    ) -> Option<Result<Addition, Error>> {
        let (hash, live) = (self.hash(item), self.live_in(later));
        match (self.contains_hashed(hash, live), if_present) {
            (true, IfPresent::Refresh) => None,
            (true, IfPresent::Skip) => Some(Ok(Addition::Unchanged)),
            (false, _) => self.refusal(hash, live).map(Err),
        }
    }
}
