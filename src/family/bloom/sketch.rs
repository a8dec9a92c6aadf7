//! What the commands need of a filter, with or without a window.

use crate::family::chunks::Chunked;
use roughly_sketch::bloom::filter::{BLOCK_ITEMS, ItemHash};
use roughly_sketch::bloom::{self, Chain, batch};
use roughly_sketch::memory::Budget;
use roughly_sketch::window_filter::{self, Addition, WindowSet};

/// A Bloom filter. `current` is the number of the current pane; a filter without a window ignores it.
pub trait Sketch: Chunked {
    /// Items per window, or of a filter without a window, that fit without further growth.
    fn capacity(&self) -> u64;

    /// Items that can be added before the filter grows or refuses items.
    fn remaining_capacity(&self) -> u64;

    /// The growth factor; `None` if the filter does not grow.
    fn growth_factor(&self) -> Option<u32>;

    /// Live items.
    fn items_at(&self, current: u64) -> u64;

    fn num_sub_filters(&self) -> usize;

    /// Bytes of all sub-filters.
    fn array_bytes(&self) -> u64;

    /// Width of the hashes in bits.
    fn hash_width(&self) -> u32;

    /// The sub-filters, for BF.DEBUG.
    fn sub_filters_at(&self, current: u64) -> impl ExactSizeIterator<Item = SubFilter>;

    /// Whether an item may be in the filter.
    fn contains_at(&self, item: &[u8], current: u64) -> bool;

    /// [`Sketch::contains_at`] for each item, in order.
    fn contains_each_at<'a>(
        &self,
        items: impl Iterator<Item = &'a [u8]>,
        current: u64,
        on_result: impl FnMut(bool),
    );

    /// [`Chain::add`] or [`WindowSet::add`].
    ///
    /// # Errors
    /// Those of [`Chain::add`].
    fn add_item(&mut self, item: &[u8], budget: Budget<'_>) -> Result<Addition, bloom::Error>;

    /// Prepares the addition of several items.
    fn additions<'a>(&mut self, items: impl Iterator<Item = &'a [u8]>) -> impl Additions;
}

/// The addition of several items, one by one in order.
pub trait Additions {
    /// Adds the next item and returns its result. `None` after the last item.
    fn add_next(&mut self, budget: Budget<'_>) -> Option<Result<Addition, bloom::Error>>;
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

fn addition(added: Result<bool, bloom::Error>) -> Result<Addition, bloom::Error> {
    added.map(|new| match new {
        true => Addition::New,
        false => Addition::Unchanged,
    })
}

/// The error of a filter without a window that has the same meaning.
pub fn common_error(error: window_filter::Error) -> bloom::Error {
    match error {
        window_filter::Error::Shape => bloom::Error::Shape,
        window_filter::Error::OutOfMemory(error) => bloom::Error::OutOfMemory(error),
        window_filter::Error::Full => bloom::Error::Full,
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

    fn items_at(&self, _current: u64) -> u64 {
        self.items()
    }

    #[inline]
    fn num_sub_filters(&self) -> usize {
        self.filters().len()
    }

    fn array_bytes(&self) -> u64 {
        self.bit_bytes()
    }

    fn hash_width(&self) -> u32 {
        self.hash_width()
    }

    fn sub_filters_at(&self, _current: u64) -> impl ExactSizeIterator<Item = SubFilter> {
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
    fn contains_at(&self, item: &[u8], _current: u64) -> bool {
        self.contains(self.hash(item))
    }

    #[inline]
    fn contains_each_at<'a>(
        &self,
        mut items: impl Iterator<Item = &'a [u8]>,
        _current: u64,
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
    fn add_item(&mut self, item: &[u8], budget: Budget<'_>) -> Result<Addition, bloom::Error> {
        addition(self.add(self.hash(item), budget))
    }

    #[inline]
    fn additions<'a>(&mut self, items: impl Iterator<Item = &'a [u8]>) -> impl Additions {
        batch::Additions::new(items, self)
    }
}

impl<'a, I: Iterator<Item = &'a [u8]>> Additions for batch::Additions<'_, I> {
    #[inline]
    fn add_next(&mut self, budget: Budget<'_>) -> Option<Result<Addition, bloom::Error>> {
        self.add_next(budget).map(addition)
    }
}

impl Sketch for WindowSet {
    fn capacity(&self) -> u64 {
        self.grown_capacity()
    }

    fn remaining_capacity(&self) -> u64 {
        self.limit().saturating_sub(self.items(0))
    }

    fn growth_factor(&self) -> Option<u32> {
        Some(self.expansion()).filter(|&expansion| expansion > 0)
    }

    fn items_at(&self, current: u64) -> u64 {
        self.items(current)
    }

    fn num_sub_filters(&self) -> usize {
        self.num_sub_filters()
    }

    fn array_bytes(&self) -> u64 {
        self.slot_bytes()
    }

    fn hash_width(&self) -> u32 {
        u64::BITS
    }

    fn sub_filters_at(&self, current: u64) -> impl ExactSizeIterator<Item = SubFilter> {
        self.sub_filters(current).map(|filter| SubFilter {
            bytes: filter.bytes,
            bits: 8 * filter.bytes,
            hashes: 2,
            capacity: filter.capacity,
            items: filter.items,
            error_rate: filter.error_rate,
        })
    }

    fn contains_at(&self, item: &[u8], current: u64) -> bool {
        self.contains(item, current)
    }

    fn contains_each_at<'a>(
        &self,
        items: impl Iterator<Item = &'a [u8]>,
        current: u64,
        on_result: impl FnMut(bool),
    ) {
        self.contains_each(items, current, on_result);
    }

    fn add_item(&mut self, item: &[u8], budget: Budget<'_>) -> Result<Addition, bloom::Error> {
        self.add(item, budget).map_err(common_error)
    }

    fn additions<'a>(&mut self, items: impl Iterator<Item = &'a [u8]>) -> impl Additions {
        window_filter::Additions::new(items, self)
    }
}

impl<'a, I: Iterator<Item = &'a [u8]>> Additions for window_filter::Additions<'_, I> {
    fn add_next(&mut self, budget: Budget<'_>) -> Option<Result<Addition, bloom::Error>> {
        self.add_next(budget)
            .map(|added| added.map_err(common_error))
    }
}
