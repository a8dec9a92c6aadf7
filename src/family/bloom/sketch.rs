//! What the commands need of a filter of any type.

use super::valkey;
use crate::server::call::Call;
use crate::server::data_type::DataType;
use roughly_sketch::bloom::filter::{BLOCK_ITEMS, ItemHash};
use roughly_sketch::bloom::{self, Chain, batch};
use roughly_sketch::memory::Budget;
use roughly_sketch::valkey_bloom::{self, ValkeyChain};
use roughly_sketch::window::Panes;
use roughly_sketch::window_filter::{self, Addition, WindowSet};
use std::ffi::CStr;

/// The ratio of the error rates of two sub-filters of RedisBloom's type.
const TIGHTENING: f64 = 0.5;

/// A Bloom filter. A filter without a window ignores the panes of a read.
pub trait Sketch: DataType {
    /// Whether it is of valkey-bloom's type.
    const IS_VALKEY: bool = false;
    /// Whether a command with several items ends at the first error of an item.
    const ENDS_AT_ERRORS: bool = Self::IS_VALKEY;
    /// The keyspace event of added items; `None` if it is that of the command.
    const ADD_EVENT: Option<&'static CStr> = None;
    /// The keyspace event of a new key; `None` if it is that of the command.
    const CREATION_EVENT: Option<&'static CStr> = None;

    /// Items per window, or of a filter without a window, that fit without further growth.
    fn capacity(&self) -> u64;

    /// Items that can be added before the filter grows or refuses items.
    fn remaining_capacity(&self) -> u64;

    /// The growth factor; `None` if the filter does not grow.
    fn growth_factor(&self) -> Option<u32>;

    /// Live items.
    fn items_at(&self, panes: Panes) -> u64;

    fn num_sub_filters(&self) -> usize;

    /// Bytes of all sub-filters.
    fn array_bytes(&self) -> u64;

    /// The size in BF.INFO as RedisBloom computes it: the arrays and RedisBloom's structures. The tests of client
    /// libraries assert it. For valkey-bloom's type, as valkey-bloom computes it.
    fn reported_size(&self) -> u64 {
        32 + 64 * self.num_sub_filters() as u64 + self.array_bytes()
    }

    /// The error rate with which the filter was created.
    fn error_rate(&self) -> f64;

    /// The ratio of a sub-filter's error rate to that of the previous sub-filter; `None` if the filter does not grow.
    fn tightening(&self) -> Option<f64>;

    /// The capacity to which a filter of valkey-bloom's type can grow within its limit.
    ///
    /// # Errors
    /// [`valkey_bloom::Error::Capacity`] if it exceeds 63 bits.
    fn max_scaled_capacity(&self) -> Result<u64, valkey_bloom::Error> {
        Ok(self.capacity())
    }

    /// The maximum size in bytes to which a command may enlarge the filter when it adds this many items.
    fn max_size(&self, _call: &Call<'_>, _items: u64) -> u64 {
        u64::MAX
    }

    /// Width of the hashes in bits.
    fn hash_width(&self) -> u32;

    /// The sub-filters, for BF.DEBUG.
    fn sub_filters_at(&self, panes: Panes) -> impl ExactSizeIterator<Item = SubFilter>;

    /// Whether an item may be in the filter.
    fn contains_at(&self, item: &[u8], panes: Panes) -> bool;

    /// [`Sketch::contains_at`] for each item, in order.
    fn contains_each_at<'a>(
        &self,
        items: impl Iterator<Item = &'a [u8]>,
        panes: Panes,
        on_result: impl FnMut(bool),
    );

    /// Adds an item.
    ///
    /// # Errors
    /// [`AddError`]; the filter is not changed.
    fn add_item(
        &mut self,
        item: &[u8],
        max_size: u64,
        budget: Budget<'_>,
    ) -> Result<Addition, AddError>;

    /// Prepares the addition of several items.
    fn additions<'a>(
        &mut self,
        items: impl Iterator<Item = &'a [u8]>,
        max_size: u64,
    ) -> impl Additions;
}

/// The addition of several items, one by one in order.
pub trait Additions {
    /// Adds the next item and returns its result. `None` after the last item.
    fn add_next(&mut self, budget: Budget<'_>) -> Option<Result<Addition, AddError>>;
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
            window_filter::Error::Shape => Self::Shape,
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

/// The result of an addition: whether the item is new.
#[inline(always)]
fn addition<E: Into<AddError>>(added: Result<bool, E>) -> Result<Addition, AddError> {
    match added {
        Ok(true) => Ok(Addition::New),
        Ok(false) => Ok(Addition::Unchanged),
        Err(error) => Err(error.into()),
    }
}

impl Sketch for Chain {
    fn capacity(&self) -> u64 {
        self.capacity()
    }

    fn remaining_capacity(&self) -> u64 {
        self.remaining_capacity()
    }

    fn growth_factor(&self) -> Option<u32> {
        self.is_scaling().then_some(self.expansion())
    }

    fn items_at(&self, _panes: Panes) -> u64 {
        self.items()
    }

    #[inline]
    fn num_sub_filters(&self) -> usize {
        self.filters().len()
    }

    fn array_bytes(&self) -> u64 {
        self.bit_bytes()
    }

    /// A filter that grows begins with half of the error rate.
    fn error_rate(&self) -> f64 {
        let first = self.filters().first();
        let rate = first.map_or(0.0, |filter| filter.shape().error_rate);
        match self.is_scaling() {
            true => rate / TIGHTENING,
            false => rate,
        }
    }

    fn tightening(&self) -> Option<f64> {
        self.is_scaling().then_some(TIGHTENING)
    }

    fn hash_width(&self) -> u32 {
        self.hash_width()
    }

    fn sub_filters_at(&self, _panes: Panes) -> impl ExactSizeIterator<Item = SubFilter> {
        self.filters().iter().map(|filter| {
            let shape = filter.shape();
            SubFilter {
                bytes: filter.bits().len() as u64,
                bits: shape.bits,
                hashes: shape.hashes,
                capacity: shape.capacity,
                items: filter.items(),
                error_rate: shape.error_rate,
            }
        })
    }

    #[inline]
    fn contains_at(&self, item: &[u8], _panes: Panes) -> bool {
        self.contains(self.hash(item))
    }

    #[inline]
    fn contains_each_at<'a>(
        &self,
        mut items: impl Iterator<Item = &'a [u8]>,
        _panes: Panes,
        mut on_result: impl FnMut(bool),
    ) {
        loop {
            let mut hashes = [ItemHash::default(); BLOCK_ITEMS];
            let mut len = 0;
            for (hash, item) in hashes.iter_mut().zip(&mut items) {
                *hash = self.hash(item);
                len += 1;
            }
            let found = self.contains_block(&hashes[..len]);
            for n in 0..len {
                on_result(found >> n & 1 != 0);
            }
            if len < BLOCK_ITEMS {
                return;
            }
        }
    }

    #[inline]
    fn add_item(
        &mut self,
        item: &[u8],
        _max_size: u64,
        budget: Budget<'_>,
    ) -> Result<Addition, AddError> {
        addition(self.add(self.hash(item), budget))
    }

    #[inline]
    fn additions<'a>(
        &mut self,
        items: impl Iterator<Item = &'a [u8]>,
        _max_size: u64,
    ) -> impl Additions {
        batch::Additions::new(items, self)
    }
}

impl<'a, I: Iterator<Item = &'a [u8]>> Additions for batch::Additions<'_, I> {
    #[inline]
    fn add_next(&mut self, budget: Budget<'_>) -> Option<Result<Addition, AddError>> {
        self.add_next(budget).map(addition)
    }
}

impl Sketch for WindowSet {
    fn capacity(&self) -> u64 {
        self.grown_capacity()
    }

    fn remaining_capacity(&self) -> u64 {
        self.limit().saturating_sub(self.items(Panes::ALL))
    }

    fn growth_factor(&self) -> Option<u32> {
        Some(self.expansion()).filter(|&expansion| expansion > 0)
    }

    fn items_at(&self, panes: Panes) -> u64 {
        self.items(panes)
    }

    fn num_sub_filters(&self) -> usize {
        self.num_sub_filters()
    }

    fn array_bytes(&self) -> u64 {
        self.slot_bytes()
    }

    fn error_rate(&self) -> f64 {
        self.error_rate()
    }

    fn tightening(&self) -> Option<f64> {
        None
    }

    fn hash_width(&self) -> u32 {
        u64::BITS
    }

    fn sub_filters_at(&self, panes: Panes) -> impl ExactSizeIterator<Item = SubFilter> {
        self.sub_filters(panes).map(|filter| SubFilter {
            bytes: filter.bytes,
            bits: 8 * filter.bytes,
            hashes: 2,
            capacity: filter.capacity,
            items: filter.items,
            error_rate: filter.error_rate,
        })
    }

    fn contains_at(&self, item: &[u8], panes: Panes) -> bool {
        self.contains(item, panes)
    }

    fn contains_each_at<'a>(
        &self,
        items: impl Iterator<Item = &'a [u8]>,
        panes: Panes,
        on_result: impl FnMut(bool),
    ) {
        self.contains_each(items, panes, on_result);
    }

    fn add_item(
        &mut self,
        item: &[u8],
        _max_size: u64,
        budget: Budget<'_>,
    ) -> Result<Addition, AddError> {
        Ok(self.add(item, budget)?)
    }

    fn additions<'a>(
        &mut self,
        items: impl Iterator<Item = &'a [u8]>,
        _max_size: u64,
    ) -> impl Additions {
        window_filter::Additions::new(items, self)
    }
}

impl<'a, I: Iterator<Item = &'a [u8]>> Additions for window_filter::Additions<'_, I> {
    fn add_next(&mut self, budget: Budget<'_>) -> Option<Result<Addition, AddError>> {
        self.add_next(budget)
            .map(|added| added.map_err(AddError::from))
    }
}

impl Sketch for ValkeyChain {
    const IS_VALKEY: bool = true;
    const ADD_EVENT: Option<&'static CStr> = Some(valkey::ADD_EVENT);
    const CREATION_EVENT: Option<&'static CStr> = Some(valkey::CREATION_EVENT);

    fn capacity(&self) -> u64 {
        self.capacity()
    }

    fn remaining_capacity(&self) -> u64 {
        self.remaining_capacity()
    }

    fn growth_factor(&self) -> Option<u32> {
        Some(self.parameters().expansion).filter(|&expansion| expansion > 0)
    }

    fn items_at(&self, _panes: Panes) -> u64 {
        self.items()
    }

    #[inline]
    fn num_sub_filters(&self) -> usize {
        self.filters().len()
    }

    fn array_bytes(&self) -> u64 {
        self.bit_bytes()
    }

    fn reported_size(&self) -> u64 {
        self.size()
    }

    fn error_rate(&self) -> f64 {
        self.parameters().error_rate
    }

    fn tightening(&self) -> Option<f64> {
        let parameters = self.parameters();
        (parameters.expansion > 0).then_some(parameters.tightening)
    }

    fn max_scaled_capacity(&self) -> Result<u64, valkey_bloom::Error> {
        self.max_scaled_capacity(valkey::config::max_size())
    }

    fn max_size(&self, call: &Call<'_>, items: u64) -> u64 {
        match items <= self.remaining_capacity() {
            true => u64::MAX,
            false => valkey::max_size(call),
        }
    }

    fn hash_width(&self) -> u32 {
        u64::BITS
    }

    fn sub_filters_at(&self, _panes: Panes) -> impl ExactSizeIterator<Item = SubFilter> {
        self.filters().iter().enumerate().map(|(index, filter)| {
            let bytes = filter.bits().len() as u64;
            SubFilter {
                bytes,
                bits: 8 * bytes,
                hashes: filter.hashes(),
                capacity: filter.capacity(),
                items: filter.items(),
                error_rate: self.error_rate_of(index),
            }
        })
    }

    #[inline]
    fn contains_at(&self, item: &[u8], _panes: Panes) -> bool {
        self.contains(item)
    }

    #[inline]
    fn contains_each_at<'a>(
        &self,
        items: impl Iterator<Item = &'a [u8]>,
        _panes: Panes,
        on_result: impl FnMut(bool),
    ) {
        self.contains_each(items, on_result);
    }

    #[inline]
    fn add_item(
        &mut self,
        item: &[u8],
        max_size: u64,
        budget: Budget<'_>,
    ) -> Result<Addition, AddError> {
        addition(self.add(item, max_size, budget))
    }

    #[inline]
    fn additions<'a>(
        &mut self,
        items: impl Iterator<Item = &'a [u8]>,
        max_size: u64,
    ) -> impl Additions {
        valkey_bloom::batch::Additions::new(items, max_size, self)
    }
}

impl<'a, I: Iterator<Item = &'a [u8]>> Additions for valkey_bloom::batch::Additions<'_, I> {
    #[inline]
    fn add_next(&mut self, budget: Budget<'_>) -> Option<Result<Addition, AddError>> {
        self.add_next(budget).map(addition)
    }
}
