//! The types `MBbloomCF` and, with a window, `cf-window`, and what the commands need of them: references for reads and changes,
//! descriptions, and error texts.

use super::config;
use crate::server::data_type::{CountedUsage, DataType, Registration, registration};
use crate::server::key::{either, one_of};
use roughly_sketch::accuracy::{Accuracy, Figure};
use roughly_sketch::cuckoo::{CuckooError, CuckooFilter, Duplicates, Parameters};
use roughly_sketch::memory::Budget;
use roughly_sketch::window::Panes;
use roughly_sketch::window_filter::{self, CuckooWindow};
use std::ffi::CStr;

static CLASSIC: Registration = registration::<CuckooFilter>("");
static WINDOWED: Registration = registration::<CuckooWindow>("_window");

/// A command needs a key that does not exist.
pub const NOT_FOUND: &CStr = c"ERR not found";
/// A command creates a key that exists.
pub const EXISTS: &CStr = c"ERR item exists";
/// Not enough memory for an item or a reply.
pub const NO_MEMORY: &CStr = c"ERR Insufficient memory";

const LOADCHUNK: &CStr = c"CF.LOADCHUNK";

impl DataType for CuckooFilter {
    const REGISTRATION: &'static Registration = &CLASSIC;
    type Usage = CountedUsage;
    const LOADCHUNK: &'static CStr = LOADCHUNK;
    /// A filter is always emitted in chunks, which RedisBloom loads.
    const MAX_RESTORE_BYTES: u64 = 0;

    fn load_options(_is_limited: bool) -> Parameters {
        config::parameters()
    }
}

impl DataType for CuckooWindow {
    const REGISTRATION: &'static Registration = &WINDOWED;
    type Usage = CountedUsage;
    const LOADCHUNK: &'static CStr = LOADCHUNK;
    const MAX_RESTORE_BYTES: u64 = CuckooFilter::MAX_RESTORE_BYTES;
}

one_of! {
    /// The types.
    CuckooType,
    /// A cuckoo filter.
    Cuckoo,
    /// A cuckoo filter that a command changes.
    CuckooMut {
        /// Without a window.
        Classic: CuckooFilter, CuckooFilter;
        /// With a window.
        Windowed: CuckooWindow, CuckooWindow;
    }
}

/// A filter as CF.INFO and CF.DEBUG describe it.
#[derive(Debug, Clone, Copy)]
pub struct Description {
    pub bytes: u64,
    pub buckets: u64,
    pub sub_filters: usize,
    pub items: u64,
    pub deletes: u64,
    pub bucket_size: u8,
    pub expansion: u32,
    pub max_iterations: u16,
}

impl Cuckoo<'_> {
    /// Whether an item may be in the filter.
    #[inline(always)]
    pub fn contains(self, item: &[u8], panes: Panes) -> bool {
        match self {
            Self::Classic(filter) => filter.contains(item),
            Self::Windowed(filter) => filter.contains(item, panes),
        }
    }

    /// [`Cuckoo::contains`] for each item, in order.
    #[inline(always)]
    pub fn contains_each<'b>(
        self,
        mut items: impl ExactSizeIterator<Item = &'b [u8]>,
        panes: Panes,
        mut on_result: impl FnMut(bool),
    ) {
        // A block of one item costs more than the item.
        if items.len() == 1
            && let Some(item) = items.next()
        {
            return on_result(self.contains(item, panes));
        }
        match self {
            Self::Classic(filter) => filter.contains_each(items, on_result),
            Self::Windowed(filter) => filter.contains_each(items, panes, on_result),
        }
    }

    /// An upper bound for the occurrences of an item.
    #[inline(always)]
    pub fn count(self, item: &[u8], panes: Panes) -> u64 {
        match self {
            Self::Classic(filter) => filter.count(item),
            Self::Windowed(filter) => filter.count(item, panes),
        }
    }

    /// The false positive rate of a filter that has just grown. Cost: O(f), f the number of sub-filters.
    pub fn rate_after_growth(self) -> f64 {
        match self {
            Self::Classic(filter) => filter.rate_after_growth(),
            Self::Windowed(filter) => match filter.accuracy(Panes::ALL, &mut ()).as_deref() {
                Ok([(_, Figure::Ratio(rate)), ..]) => *rate,
                _ => 0.0,
            },
        }
    }

    /// Whether CF.SCANDUMP returns neither a header nor chunks.
    pub fn has_no_chunks(self) -> bool {
        match self {
            Self::Classic(filter) => filter.items() == 0,
            Self::Windowed(_) => false,
        }
    }

    /// Describes the filter with its items in these panes.
    pub fn describe(self, panes: Panes) -> Description {
        match self {
            Self::Classic(filter) => Description {
                bytes: filter.nominal_bytes(),
                buckets: filter.num_buckets(),
                sub_filters: filter.num_sub_filters(),
                items: filter.items(),
                deletes: filter.deletes(),
                bucket_size: filter.parameters().bucket_size,
                expansion: filter.parameters().expansion.into(),
                max_iterations: filter.parameters().max_iterations,
            },
            Self::Windowed(filter) => Description {
                bytes: filter.slot_bytes(),
                buckets: filter.num_buckets(),
                sub_filters: filter.num_sub_filters(),
                items: filter.items(panes),
                deletes: filter.deletes(),
                bucket_size: filter.bucket_size(),
                expansion: filter.expansion(),
                max_iterations: filter.max_iterations(),
            },
        }
    }
}

/// The result of the insertion of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Insertion {
    /// The item was stored.
    Added,
    /// The filter already contains the item, which is inserted only if it does not.
    Exists,
    /// The filter is full and does not grow.
    Full,
    /// The memory for growth was refused.
    OutOfMemory,
    /// The filter has the maximum number of sub-filters (`cf-max-expansions`).
    AtLimit,
}

impl Insertion {
    fn of<E: Into<Self>>(inserted: Result<bool, E>) -> Self {
        match inserted {
            Ok(true) => Self::Added,
            Ok(false) => Self::Exists,
            Err(error) => error.into(),
        }
    }
}

impl From<CuckooError> for Insertion {
    fn from(error: CuckooError) -> Self {
        match error {
            CuckooError::Full => Self::Full,
            CuckooError::OutOfMemory(_) | CuckooError::Parameters(_) => Self::OutOfMemory,
        }
    }
}

impl From<window_filter::Error> for Insertion {
    fn from(error: window_filter::Error) -> Self {
        match error {
            window_filter::Error::Full => Self::Full,
            window_filter::Error::OutOfMemory(_) | window_filter::Error::Parameters => {
                Self::OutOfMemory
            }
        }
    }
}

impl CuckooMut<'_> {
    /// The same filter for reads.
    pub fn as_ref(&self) -> Cuckoo<'_> {
        match self {
            Self::Classic(filter) => Cuckoo::Classic(filter),
            Self::Windowed(filter) => Cuckoo::Windowed(filter),
        }
    }

    /// Number of sub-filters after an advance, if these panes are live then.
    pub fn num_sub_filters_in(&self, later: Panes) -> usize {
        match self {
            Self::Classic(filter) => filter.num_sub_filters(),
            Self::Windowed(filter) => filter.num_sub_filters_in(later),
        }
    }

    /// Number of sub-filters.
    #[inline(always)]
    pub fn num_sub_filters(&self) -> usize {
        either!(self, |filter| filter.num_sub_filters())
    }

    /// Deletions since the last compaction.
    pub fn deletes(&self) -> u64 {
        either!(self, |filter| filter.deletes())
    }

    /// The result of an insertion after an advance, if these panes are live then and the insertion changes nothing. `None` if
    /// it changes the filter, or if that depends on the memory that is available.
    pub fn unchanged_by(
        &self,
        item: &[u8],
        duplicates: Duplicates,
        later: Panes,
    ) -> Option<Insertion> {
        match self {
            Self::Classic(_) => None,
            Self::Windowed(filter) => {
                (filter.unchanged_by(item, duplicates, later)).map(Insertion::of)
            }
        }
    }

    /// Inserts an item.
    #[inline(always)]
    pub fn insert(&mut self, item: &[u8], duplicates: Duplicates, budget: Budget<'_>) -> Insertion {
        either!(self, |filter| Insertion::of(
            filter.insert_if(item, duplicates, budget)
        ))
    }

    /// [`CuckooMut::insert`] for each item, in order.
    #[inline(always)]
    pub fn insert_each<'b>(
        &mut self,
        mut items: impl ExactSizeIterator<Item = &'b [u8]>,
        duplicates: Duplicates,
        budget: Budget<'_>,
        mut on_result: impl FnMut(Insertion),
    ) {
        if items.len() == 1
            && let Some(item) = items.next()
        {
            return on_result(self.insert(item, duplicates, budget));
        }
        either!(self, |filter| {
            filter.insert_each(items, duplicates, budget, |each| {
                on_result(Insertion::of(each));
            });
        });
    }

    /// Deletes an occurrence of an item, and frees what that leaves empty. Returns whether there was one.
    pub fn delete(&mut self, item: &[u8], budget: Budget<'_>) -> bool {
        match self {
            Self::Classic(filter) => filter.delete(item, budget),
            Self::Windowed(filter) => filter.delete(item),
        }
    }

    /// Moves items to smaller sub-filters. Returns whether the filter changed.
    pub fn compact(&mut self, budget: Budget<'_>) -> bool {
        match self {
            Self::Classic(filter) => filter.compact(budget),
            Self::Windowed(filter) => filter.compact(),
        }
    }
}
