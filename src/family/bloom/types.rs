//! The types `MBbloom--`, `bf-window` (with a window) and `bloomfltr` (of valkey-bloom), and what the commands need of them:
//! references for reads and changes, descriptions, errors and keyspace events.

use super::config;
use crate::server::call::{Call, Error};
use crate::server::data_type::{
    CountedUsage, DataType, PayloadCommand, Registration, registration,
};
use crate::server::key::one_of;
use roughly_sketch::bloom::{self, Chain};
use roughly_sketch::chain::batch;
use roughly_sketch::memory::Budget;
use roughly_sketch::valkey_bloom::{self, ValkeyChain};
use roughly_sketch::window::Panes;
use roughly_sketch::window_filter::{self, Addition, BloomWindow, IfPresent};
use std::ffi::CStr;
use std::ops::ControlFlow;

static CLASSIC: Registration = registration::<Chain>("");
static WINDOWED: Registration = registration::<BloomWindow>("_window");
static VALKEY: Registration = registration::<ValkeyChain>("_valkey");

const LOADCHUNK: &CStr = c"BF.LOADCHUNK";

impl DataType for Chain {
    const REGISTRATION: &'static Registration = &CLASSIC;
    type Usage = CountedUsage;
    const LOADCHUNK: &'static CStr = LOADCHUNK;
    /// A filter is always emitted in chunks, which RedisBloom loads.
    const MAX_RESTORE_BYTES: u64 = 0;
}

impl DataType for BloomWindow {
    const REGISTRATION: &'static Registration = &WINDOWED;
    type Usage = CountedUsage;
    const LOADCHUNK: &'static CStr = LOADCHUNK;
    const MAX_RESTORE_BYTES: u64 = Chain::MAX_RESTORE_BYTES;
}

impl DataType for ValkeyChain {
    const REGISTRATION: &'static Registration = &VALKEY;
    type Usage = CountedUsage;
    const LOADCHUNK: &'static CStr = LOADCHUNK;
    /// valkey-bloom loads it, unlike the chunks of BF.LOADCHUNK, which only Roughly loads.
    const PAYLOAD_COMMAND: Option<PayloadCommand<Self>> = Some(PayloadCommand {
        name: c"BF.LOAD",
        payload_bytes: Self::load_payload_bytes,
        payload: Self::load_payload,
    });

    fn load_options(is_limited: bool) -> Option<u64> {
        is_limited.then(config::max_size)
    }

    fn check_limit(&self, call: &Call<'_>) -> Result<(), Error> {
        let is_too_large = self.restored_size() > call.limit(config::max_size());
        refuse_if!(is_too_large => TOO_LARGE.into());
        Ok(())
    }

    fn is_defragmented() -> bool {
        config::is_defragmented()
    }
}

/// Not enough memory for a filter.
pub const NO_MEMORY: &CStr = c"ERR Insufficient memory to create filter";
/// A command needs a key that does not exist.
pub const NOT_FOUND: &CStr = c"ERR not found";
/// What valkey-bloom replies if a filter would be larger than `bf.bloom-memory-usage-limit`.
pub const TOO_LARGE: &CStr = c"ERR operation exceeds bloom object memory limit";
/// An item is refused by a filter that does not grow.
const FULL: &CStr = c"ERR non scaling filter is full";
/// An item is refused because the filter cannot grow.
pub const PROBLEM: &CStr = c"ERR problem inserting into filter";

/// The keyspace event of items that were added to valkey-bloom's type.
pub const VALKEY_ADD_EVENT: &CStr = c"bloom.add";
/// The keyspace event of a new key of valkey-bloom's type.
pub const VALKEY_CREATION_EVENT: &CStr = c"bloom.reserve";

one_of! {
    /// The types.
    FilterType,
    /// A Bloom filter.
    Filter,
    /// A Bloom filter that a command changes.
    FilterMut {
        /// RedisBloom's type.
        Classic: Chain, Chain;
        /// The type with a window.
        Windowed: BloomWindow, BloomWindow;
        /// valkey-bloom's type.
        Valkey: ValkeyChain, ValkeyChain;
    }
}

/// A filter as BF.INFO and BF.DEBUG describe it.
#[derive(Debug, Clone, Copy)]
pub struct Description {
    /// Whether it is of valkey-bloom's type.
    pub is_valkey: bool,
    /// Items per window, or of a filter without a window, that fit without further growth.
    pub capacity: u64,
    /// For valkey-bloom's type, as valkey-bloom computes it. Otherwise as RedisBloom does: the arrays and RedisBloom's
    /// structures. The tests of client libraries assert it.
    pub size: u64,
    pub sub_filters: usize,
    pub items: u64,
    /// The error rate with which the filter was created.
    pub error_rate: f64,
    /// The growth factor; `None` if the filter does not grow.
    pub growth_factor: Option<u32>,
    /// The ratio of a sub-filter's error rate to that of the previous sub-filter; `None` if the filter does not grow.
    pub tightening: Option<f64>,
    /// Width of the hashes in bits.
    pub hash_width: u32,
}

/// A sub-filter, as BF.DEBUG describes it.
#[derive(Debug, Clone, Copy)]
pub struct SubFilter {
    pub bytes: u64,
    pub bits: u64,
    /// The parts of the memory that a look-up reads: bits, or buckets of a filter with a window.
    pub hashes: u32,
    pub capacity: u64,
    pub items: u64,
    pub error_rate: f64,
}

impl Filter<'_> {
    /// Whether an item may be in the filter.
    #[inline(always)]
    pub fn contains(self, item: &[u8], panes: Panes) -> bool {
        match self {
            Self::Classic(chain) => chain.contains(item),
            Self::Windowed(set) => set.contains(item, panes),
            Self::Valkey(chain) => chain.contains(item),
        }
    }

    /// [`Filter::contains`] for each item, in order.
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
            Self::Classic(chain) => chain.contains_each(items, on_result),
            Self::Windowed(set) => set.contains_each(items, panes, on_result),
            Self::Valkey(chain) => chain.contains_each(items, on_result),
        }
    }

    /// The number of items in these panes.
    pub fn items(self, panes: Panes) -> u64 {
        match self {
            Self::Classic(chain) => chain.items(),
            Self::Windowed(set) => set.items(panes),
            Self::Valkey(chain) => chain.items(),
        }
    }

    /// Describes the filter with its items in these panes.
    pub fn describe(self, panes: Panes) -> Description {
        let items = self.items(panes);
        match self {
            Self::Classic(chain) => Description {
                is_valkey: false,
                capacity: chain.capacity(),
                size: bloom::nominal_bytes(chain.filters().len(), chain.bit_bytes()),
                sub_filters: chain.filters().len(),
                items,
                error_rate: chain.error_rate(),
                growth_factor: chain.is_scaling().then_some(chain.expansion()),
                tightening: chain.is_scaling().then_some(bloom::TIGHTENING),
                hash_width: chain.hash_width(),
            },
            Self::Windowed(set) => Description {
                is_valkey: false,
                capacity: set.grown_capacity(),
                size: bloom::nominal_bytes(set.num_sub_filters(), set.slot_bytes()),
                sub_filters: set.num_sub_filters(),
                items,
                error_rate: set.error_rate(),
                growth_factor: Some(set.expansion()).filter(|&expansion| expansion > 0),
                tightening: None,
                hash_width: u64::BITS,
            },
            Self::Valkey(chain) => {
                let parameters = chain.parameters();
                let grows = parameters.expansion > 0;
                Description {
                    is_valkey: true,
                    capacity: chain.capacity(),
                    size: chain.size(),
                    sub_filters: chain.filters().len(),
                    items,
                    error_rate: parameters.error_rate,
                    growth_factor: grows.then_some(parameters.expansion),
                    tightening: grows.then_some(parameters.tightening),
                    hash_width: u64::BITS,
                }
            }
        }
    }

    /// The capacity to which a filter of valkey-bloom's type can grow within its limit; `None` if it does not grow, and for the
    /// other types.
    ///
    /// # Errors
    /// [`valkey_bloom::Error::Capacity`] if it exceeds 63 bits.
    pub fn max_scaled_capacity(self) -> Result<Option<u64>, valkey_bloom::Error> {
        match self {
            Self::Valkey(chain) if chain.parameters().expansion > 0 => {
                chain.max_scaled_capacity(config::max_size()).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Visits the sub-filters with their items in these panes.
    pub fn for_each_sub_filter(self, panes: Panes, mut visit: impl FnMut(SubFilter)) {
        match self {
            Self::Classic(chain) => chain.filters().iter().for_each(|filter| {
                let shape = filter.shape();
                visit(SubFilter {
                    bytes: filter.bits().len() as u64,
                    bits: shape.bits,
                    hashes: shape.hashes.into(),
                    capacity: shape.capacity,
                    items: filter.items(),
                    error_rate: shape.error_rate,
                });
            }),
            Self::Windowed(set) => set.sub_filters(panes).for_each(|filter| {
                visit(SubFilter {
                    bytes: filter.bytes,
                    bits: 8 * filter.bytes,
                    hashes: 2,
                    capacity: filter.capacity,
                    items: filter.items,
                    error_rate: filter.error_rate,
                });
            }),
            Self::Valkey(chain) => {
                for (index, filter) in chain.filters().iter().enumerate() {
                    let bytes = filter.bits().len() as u64;
                    visit(SubFilter {
                        bytes,
                        bits: 8 * bytes,
                        hashes: filter.hashes(),
                        capacity: filter.capacity(),
                        items: filter.items(),
                        error_rate: chain.error_rate_of(index),
                    });
                }
            }
        }
    }
}

/// Why an item was not added.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AddError {
    /// The filter is full and does not grow.
    Full,
    /// The parameters of the next sub-filter are out of range.
    Shape,
    /// Memory was refused.
    OutOfMemory,
    /// An error that only valkey-bloom's type has.
    Valkey(valkey_bloom::Error),
}

impl AddError {
    /// The error reply.
    pub fn text(self) -> &'static CStr {
        use valkey_bloom::Error;
        match self {
            Self::Full | Self::Valkey(Error::Full) => FULL,
            Self::Shape | Self::OutOfMemory | Self::Valkey(Error::OutOfMemory(_)) => PROBLEM,
            Self::Valkey(Error::ErrorRate) => c"ERR false positive degrades to 0 on scale out",
            Self::Valkey(Error::Capacity) => c"ERR bad capacity",
            Self::Valkey(Error::Size) => TOO_LARGE,
            Self::Valkey(Error::Hashes) => c"ERR bloom object reached max number of filters",
        }
    }
}

impl From<bloom::Error> for AddError {
    fn from(error: bloom::Error) -> Self {
        match error {
            bloom::Error::Full => Self::Full,
            bloom::Error::Shape => Self::Shape,
            bloom::Error::OutOfMemory(_) => Self::OutOfMemory,
        }
    }
}

impl From<window_filter::Error> for AddError {
    fn from(error: window_filter::Error) -> Self {
        match error {
            window_filter::Error::Full => Self::Full,
            window_filter::Error::Parameters => Self::Shape,
            window_filter::Error::OutOfMemory(_) => Self::OutOfMemory,
        }
    }
}

impl From<valkey_bloom::Error> for AddError {
    fn from(error: valkey_bloom::Error) -> Self {
        match error {
            valkey_bloom::Error::Full => Self::Full,
            valkey_bloom::Error::OutOfMemory(_) => Self::OutOfMemory,
            error => Self::Valkey(error),
        }
    }
}

/// The result of an addition.
pub type Added = Result<Addition, AddError>;

/// The result of an addition: whether the item is new.
#[inline(always)]
fn addition<E: Into<AddError>>(added: Result<bool, E>) -> Added {
    match added {
        Ok(true) => Ok(Addition::New),
        Ok(false) => Ok(Addition::Unchanged),
        Err(error) => Err(error.into()),
    }
}

/// Calls `on_result` with each result of `next`, until either ends.
#[inline(always)]
fn each(
    mut next: impl FnMut() -> Option<Added>,
    mut on_result: impl FnMut(Added) -> ControlFlow<()>,
) {
    while let Some(added) = next() {
        if on_result(added).is_break() {
            return;
        }
    }
}

impl FilterMut<'_> {
    /// The same filter for reads.
    pub fn as_ref(&self) -> Filter<'_> {
        match self {
            Self::Classic(chain) => Filter::Classic(chain),
            Self::Windowed(set) => Filter::Windowed(set),
            Self::Valkey(chain) => Filter::Valkey(chain),
        }
    }

    /// Number of sub-filters.
    #[inline(always)]
    pub fn num_sub_filters(&self) -> usize {
        match self {
            Self::Classic(chain) => chain.filters().len(),
            Self::Windowed(set) => set.num_sub_filters(),
            Self::Valkey(chain) => chain.filters().len(),
        }
    }

    /// The maximum size in bytes to which a command may enlarge the filter when it adds this many items. Only valkey-bloom's
    /// type has such a limit.
    #[inline(always)]
    pub fn max_size(&self, call: &Call<'_>, items: usize) -> u64 {
        match self {
            Self::Valkey(chain) if items as u64 > chain.remaining_capacity() => {
                call.limit(config::max_size())
            }
            _ => u64::MAX,
        }
    }

    /// Whether a command that adds this many items may end before the last: at the first item that a full non-scaling filter
    /// refuses; with valkey-bloom's type, at the first error.
    pub fn may_end_early(&self, items: usize) -> bool {
        let remaining = match self {
            Self::Classic(chain) if !chain.is_scaling() => chain.remaining_capacity(),
            Self::Windowed(set) if set.expansion() == 0 => {
                set.limit().saturating_sub(set.items(Panes::ALL))
            }
            Self::Valkey(chain) => chain.remaining_capacity(),
            Self::Classic(_) | Self::Windowed(_) => return false,
        };
        items as u64 > remaining
    }

    /// The result of an addition after an advance, if these panes are live then and the addition changes nothing. `None` if
    /// it changes the filter, or if that depends on the memory that is available.
    pub fn unchanged_by(&self, item: &[u8], if_present: IfPresent, later: Panes) -> Option<Added> {
        match self {
            Self::Windowed(set) => {
                let added = set.unchanged_by(item, if_present, later)?;
                Some(added.map_err(AddError::from))
            }
            Self::Classic(_) | Self::Valkey(_) => None,
        }
    }

    /// Adds an item.
    ///
    /// # Errors
    /// [`AddError`]; the filter is not changed.
    #[inline(always)]
    pub fn add(&mut self, item: &[u8], max_size: u64, budget: Budget<'_>) -> Added {
        match self {
            Self::Classic(chain) => addition(chain.add(item, (), budget)),
            Self::Windowed(set) => Ok(set.add(item, budget)?),
            Self::Valkey(chain) => addition(chain.add(item, max_size, budget)),
        }
    }

    /// What RedisBloom does with a filter that failed to grow ([`AddError::Shape`]), for a command that must be obeyed: from then
    /// on it contains every item. Other types are not changed.
    pub fn fail_growth(&mut self) {
        if let Self::Classic(chain) = self {
            // Without memory, the process ends after the command.
            let _ = chain.fail_growth();
        }
    }

    /// Adds items in order, until `on_result` ends it. Only an addition to a filter with a window can refresh an item.
    #[inline(always)]
    pub fn add_each<'b>(
        &mut self,
        mut items: impl ExactSizeIterator<Item = &'b [u8]>,
        if_present: IfPresent,
        max_size: u64,
        budget: Budget<'_>,
        mut on_result: impl FnMut(Added) -> ControlFlow<()>,
    ) {
        if items.len() == 1
            && (if_present == IfPresent::Refresh || !matches!(self, Self::Windowed(_)))
            && let Some(item) = items.next()
        {
            let _ = on_result(self.add(item, max_size, budget));
            return;
        }
        match self {
            Self::Classic(chain) => {
                let mut additions = batch::Additions::new(items, (), chain);
                each(|| additions.add_next(budget).map(addition), on_result);
            }
            Self::Windowed(set) => {
                set.add_each(items, if_present, budget, |added| {
                    on_result(added.map_err(AddError::from))
                });
            }
            Self::Valkey(chain) => {
                let mut additions = batch::Additions::new(items, max_size, chain);
                each(|| additions.add_next(budget).map(addition), on_result);
            }
        }
    }
}
