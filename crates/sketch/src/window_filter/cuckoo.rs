//! [`CuckooWindow`]: the occurrences of items in the window.

use super::{Error, Kind, Parameters, Seed, WindowFilter};
use crate::cuckoo::Duplicates;
use crate::memory::Budget;
use crate::window::{Panes, Window};
use std::ffi::CStr;
use std::mem;

/// The false-positive rate of a cuckoo filter without a window is at most twice the bucket size divided by this number
/// (its fingerprints). It is the same with a window.
const FINGERPRINTS: f64 = 255.0;
/// The highest false-positive rate of a sub-filter by default. Larger buckets have more fingerprints.
const MAX_DEFAULT_RATE: f64 = 0.5;

/// The occurrences of items that were added in the window, with one entry per occurrence.
///
/// There are no false negatives while only items are deleted that are in the filter, and it has one sub-filter. With
/// several sub-filters, a deletion may delete an occurrence of another item that is in a different sub-filter. The
/// probability is at most that of a false positive.
///
/// The false-positive rate is at most that of the parameters, also after growth; by default at most `2 * bucket_size / 255` per
/// sub-filter. A sub-filter has two buckets per item, so every `2 * bucket_size` occurrences of an item need another
/// sub-filter, which is small while the filter is not full. The time of all operations is proportional to the sub-filters.
///
/// # Example
///
/// ```
/// use roughly_sketch::memory::Budget;
/// use roughly_sketch::window::{Timed, Window};
/// use roughly_sketch::window_filter::{Seed, CuckooWindowParameters, CuckooWindow};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let minute = Window::of::<CuckooWindow>(60_000, 6, None)?;
/// let parameters = CuckooWindowParameters {
///     // A server takes random bytes.
///     seed: Seed::default(),
///     capacity: 1000,
///     error_rate: Some(0.001),
///     bucket_size: 4,
///     max_iterations: 20,
///     expansion: 2,
/// };
/// let mut fruit = CuckooWindow::new(minute, &parameters, Budget::UNLIMITED)?;
/// let now = 1_700_000_000_000;
/// fruit.advance(minute.pane_at(now));
/// fruit.insert_item(b"apple", Budget::UNLIMITED)?;
/// assert!(fruit.contains(b"apple", fruit.timeline().panes_at(now)));
/// assert!(!fruit.contains(b"apple", fruit.timeline().panes_at(now + 90_000)));
/// # Ok(())
/// # }
/// ```
pub type CuckooWindow = WindowFilter<Cuckoo>;

/// The kind of [`CuckooWindow`].
#[derive(Debug, PartialEq)]
pub struct Cuckoo;

/// Parameters of a new [`CuckooWindow`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CuckooWindowParameters {
    /// Keys the hash of items. Secret and random, so that nobody can choose items that collide.
    pub seed: Seed,
    /// Occurrences per window, at least 1.
    pub capacity: u64,
    /// Upper bound for the false-positive rate of the whole filter, in (0, 1). `None`: each sub-filter has the rate of a cuckoo
    /// filter without a window, whose fingerprints have one byte.
    pub error_rate: Option<f64>,
    /// Slots per bucket: 1 to 255.
    pub bucket_size: u8,
    /// Entries that an insertion may evict: 1 to 65535.
    pub max_iterations: u16,
    /// Each further sub-filter has this many times the capacity of the largest one: at most
    /// [`MAX_EXPANSION`](super::MAX_EXPANSION). 0: the filter does not grow.
    pub expansion: u32,
}

impl Kind for Cuckoo {
    const TYPE_NAME: &'static CStr = c"cf-window";
    const ENCODING_VERSION: u16 = 3;
    /// The header of a cuckoo filter has 38 bytes, a header with this mark has more.
    const HEADER_MARK: &'static [u8] = b"cf-win3\xff";
    const GUARANTEES_CAPACITY: bool = false;

    fn is_rate_of_each(error_rate: f64, bucket_size: u8) -> bool {
        error_rate.to_bits() == default_rate(bucket_size).to_bits()
    }

    fn allows(_: u8, _: u16) -> bool {
        true
    }
}

/// The false-positive rate of a sub-filter with this bucket size, if the parameters specify none.
fn default_rate(bucket_size: u8) -> f64 {
    (2.0 * f64::from(bucket_size) / FINGERPRINTS).min(MAX_DEFAULT_RATE)
}

impl CuckooWindow {
    /// An empty filter. Requests its memory from `budget`. It is zeroed memory, so the system provides most of the pages
    /// when they are used.
    ///
    /// # Errors
    /// [`Error::Parameters`] or [`Error::OutOfMemory`].
    pub fn new(
        window: Window,
        parameters: &CuckooWindowParameters,
        budget: Budget<'_>,
    ) -> Result<Self, Error> {
        let parameters = Parameters {
            seed: parameters.seed,
            capacity: parameters.capacity,
            error_rate: (parameters.error_rate)
                .unwrap_or_else(|| default_rate(parameters.bucket_size)),
            bucket_size: parameters.bucket_size,
            max_iterations: parameters.max_iterations,
            expansion: parameters.expansion,
        };
        Self::create(window, parameters, budget)
    }

    /// The error rate that the filter was created for; `None` if each sub-filter has that of its bucket size.
    #[must_use]
    pub fn error_rate(&self) -> Option<f64> {
        let Parameters {
            error_rate,
            bucket_size,
            ..
        } = self.parameters;
        (!Cuckoo::is_rate_of_each(error_rate, bucket_size)).then_some(error_rate)
    }

    /// Slots per bucket.
    #[must_use]
    pub fn bucket_size(&self) -> u8 {
        self.parameters.bucket_size
    }

    /// Entries that an insertion may evict.
    #[must_use]
    pub fn max_iterations(&self) -> u16 {
        self.parameters.max_iterations
    }

    /// Deletions since the last compaction.
    #[must_use]
    pub fn deletes(&self) -> u64 {
        self.deletes
    }

    /// Stores an occurrence of an item in the newest pane.
    ///
    /// # Errors
    /// [`Error::Full`] if the filter has reached its capacity, or no slot can be made free, and the filter does not grow; [`Error::Parameters`] or
    /// [`Error::OutOfMemory`] if a further sub-filter cannot be created. Nothing has changed then.
    pub fn insert_item(&mut self, item: &[u8], budget: Budget<'_>) -> Result<(), Error> {
        let (hash, live) = (self.hash(item), self.live_for_write());
        self.insert(hash, live, budget)
    }

    /// Stores an occurrence; with [`Duplicates::Skip`], only if the filter does not contain the item. Returns whether it was stored. A
    /// skipped item is not refreshed.
    ///
    /// # Errors
    /// As [`CuckooWindow::insert_item`].
    pub fn insert_if(
        &mut self,
        item: &[u8],
        duplicates: Duplicates,
        budget: Budget<'_>,
    ) -> Result<bool, Error> {
        self.insert_hashed_if(self.hash(item), duplicates, budget)
    }

    pub(super) fn insert_hashed_if(
        &mut self,
        hash: u64,
        duplicates: Duplicates,
        budget: Budget<'_>,
    ) -> Result<bool, Error> {
        let live = self.live_for_write();
        if duplicates == Duplicates::Skip && self.contains_hashed(hash, live) {
            return Ok(false);
        }
        self.insert(hash, live, budget)?;
        Ok(true)
    }

    /// An upper bound for the occurrences of an item in these panes (unless an item was deleted that was not in the filter).
    #[must_use]
    pub fn count(&self, item: &[u8], panes: Panes) -> u64 {
        let (hash, live) = (self.hash(item), self.ticks_in(panes));
        let counts = self.sub_filters.iter().map(|each| {
            let (ticks, place) = (each.stored_ticks(live), each.place(hash));
            each.count(&ticks, &place)
        });
        counts.sum()
    }

    /// Deletes the oldest occurrence of an item. Returns false if the filter does not contain the item. Removes a
    /// sub-filter that becomes empty.
    pub fn delete(&mut self, item: &[u8]) -> bool {
        let (hash, live) = (self.hash(item), self.ticks.live());
        let entries = self
            .sub_filters
            .iter()
            .enumerate()
            .filter_map(|(index, each)| {
                let (ticks, place) = (each.stored_ticks(live), each.place(hash));
                Some((index, each.oldest_match(&ticks, &place)?))
            });
        let Some((index, entry)) = entries.min_by_key(|(_, entry)| entry.tick) else {
            return false;
        };
        self.sub_filters[index].delete(entry);
        self.deletes = self.deletes.saturating_add(1);
        if self.sub_filters[index].live == 0 {
            self.remove_empty();
        }
        true
    }

    /// Empties the slots of expired entries, and removes and frees empty sub-filters. Cost: linear in the slots. Returns
    /// whether anything changed, the count of deletions included.
    pub fn compact(&mut self) -> bool {
        let live = self.ticks.live();
        let mut changed = self.deletes > 0;
        for sub_filter in &mut self.sub_filters {
            let ticks = sub_filter.stored_ticks(live);
            changed |= sub_filter.sweep_all(&ticks);
        }
        self.deletes = 0;
        let before = self.sub_filters.len();
        let retired = mem::take(&mut self.retired);
        self.remove_empty();
        self.retired = retired;
        changed || self.sub_filters.len() < before
    }

    /// The result of [`CuckooWindow::insert_if`] after an advance, if these panes are live then and the insertion changes nothing. `None`
    /// if it changes the filter, or if that depends on the memory that is available.
    #[must_use]
    pub fn unchanged_by(
        &self,
        item: &[u8],
        duplicates: Duplicates,
        later: Panes,
    ) -> Option<Result<bool, Error>> {
        let (hash, live) = (self.hash(item), self.live_in(later));
        match duplicates == Duplicates::Skip && self.contains_hashed(hash, live) {
            true => Some(Ok(false)),
            false => self.refusal(hash, live).map(Err),
        }
    }
}
