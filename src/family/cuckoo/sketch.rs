//! What the commands need of a filter, with or without a window.

use crate::server::data_type::DataType;
use roughly_sketch::cuckoo::{CuckooError, CuckooFilter};
use roughly_sketch::memory::Budget;
use roughly_sketch::window::Panes;
use roughly_sketch::window_filter::{self, WindowMultiset};

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
}

impl Insertion {
    fn of<E: Into<Self>>(inserted: Result<(), E>) -> Self {
        Self::of_unique(inserted.map(|()| true))
    }

    fn of_unique<E: Into<Self>>(inserted: Result<bool, E>) -> Self {
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
            window_filter::Error::OutOfMemory(_) | window_filter::Error::Shape => Self::OutOfMemory,
        }
    }
}

/// A cuckoo filter. The methods are those of [`CuckooFilter`] and [`WindowMultiset`]. Those without a window
/// ignore the panes of a read.
pub trait CuckooSketch: DataType {
    /// Whether CF.SCANDUMP returns neither a header nor chunks.
    fn has_no_chunks(&self) -> bool;

    /// The size of a filter as CF.INFO reports it, in bytes.
    fn reported_bytes(&self) -> u64;

    fn num_buckets(&self) -> u64;

    fn num_sub_filters(&self) -> usize;

    fn bucket_size(&self) -> u8;

    fn expansion(&self) -> u32;

    fn max_iterations(&self) -> u16;

    fn items_at(&self, panes: Panes) -> u64;

    fn deletes(&self) -> u64;

    fn contains_at(&self, item: &[u8], panes: Panes) -> bool;

    fn contains_each_at<'a>(
        &self,
        items: impl IntoIterator<Item = &'a [u8]>,
        panes: Panes,
        on_result: impl FnMut(bool),
    );

    fn count_at(&self, item: &[u8], panes: Panes) -> u64;

    fn insert(&mut self, item: &[u8], budget: Budget<'_>) -> Insertion;

    fn insert_unique(&mut self, item: &[u8], budget: Budget<'_>) -> Insertion;

    fn insert_each<'a>(
        &mut self,
        items: impl IntoIterator<Item = &'a [u8]>,
        budget: Budget<'_>,
        on_result: impl FnMut(Insertion),
    );

    fn insert_unique_each<'a>(
        &mut self,
        items: impl IntoIterator<Item = &'a [u8]>,
        budget: Budget<'_>,
        on_result: impl FnMut(Insertion),
    );

    fn delete(&mut self, item: &[u8], budget: Budget<'_>) -> bool;

    fn compact(&mut self, budget: Budget<'_>) -> bool;
}

impl CuckooSketch for CuckooFilter {
    fn has_no_chunks(&self) -> bool {
        self.items() == 0
    }

    fn reported_bytes(&self) -> u64 {
        self.nominal_bytes()
    }

    fn num_buckets(&self) -> u64 {
        self.num_buckets()
    }

    fn num_sub_filters(&self) -> usize {
        self.num_sub_filters()
    }

    fn bucket_size(&self) -> u8 {
        self.parameters().bucket_size
    }

    fn expansion(&self) -> u32 {
        self.parameters().expansion.into()
    }

    fn max_iterations(&self) -> u16 {
        self.parameters().max_iterations
    }

    fn items_at(&self, _panes: Panes) -> u64 {
        self.items()
    }

    fn deletes(&self) -> u64 {
        self.deletes()
    }

    #[inline]
    fn contains_at(&self, item: &[u8], _panes: Panes) -> bool {
        self.contains(item)
    }

    #[inline]
    fn contains_each_at<'a>(
        &self,
        items: impl IntoIterator<Item = &'a [u8]>,
        _panes: Panes,
        on_result: impl FnMut(bool),
    ) {
        self.contains_each(items, on_result);
    }

    #[inline]
    fn count_at(&self, item: &[u8], _panes: Panes) -> u64 {
        self.count(item)
    }

    #[inline]
    fn insert(&mut self, item: &[u8], budget: Budget<'_>) -> Insertion {
        Insertion::of(self.insert(item, budget))
    }

    #[inline]
    fn insert_unique(&mut self, item: &[u8], budget: Budget<'_>) -> Insertion {
        Insertion::of_unique(self.insert_unique(item, budget))
    }

    #[inline]
    fn insert_each<'a>(
        &mut self,
        items: impl IntoIterator<Item = &'a [u8]>,
        budget: Budget<'_>,
        mut on_result: impl FnMut(Insertion),
    ) {
        self.insert_each(items, budget, |inserted| on_result(Insertion::of(inserted)));
    }

    #[inline]
    fn insert_unique_each<'a>(
        &mut self,
        items: impl IntoIterator<Item = &'a [u8]>,
        budget: Budget<'_>,
        mut on_result: impl FnMut(Insertion),
    ) {
        self.insert_unique_each(items, budget, |inserted| {
            on_result(Insertion::of_unique(inserted));
        });
    }

    fn delete(&mut self, item: &[u8], budget: Budget<'_>) -> bool {
        self.delete(item, budget)
    }

    fn compact(&mut self, budget: Budget<'_>) -> bool {
        self.compact(budget)
    }
}

impl CuckooSketch for WindowMultiset {
    fn has_no_chunks(&self) -> bool {
        false
    }

    fn reported_bytes(&self) -> u64 {
        self.slot_bytes()
    }

    fn num_buckets(&self) -> u64 {
        self.num_buckets()
    }

    fn num_sub_filters(&self) -> usize {
        self.num_sub_filters()
    }

    fn bucket_size(&self) -> u8 {
        self.bucket_size()
    }

    fn expansion(&self) -> u32 {
        self.expansion()
    }

    fn max_iterations(&self) -> u16 {
        self.max_iterations()
    }

    fn items_at(&self, panes: Panes) -> u64 {
        self.items(panes)
    }

    fn deletes(&self) -> u64 {
        self.deletes()
    }

    fn contains_at(&self, item: &[u8], panes: Panes) -> bool {
        self.contains(item, panes)
    }

    fn contains_each_at<'a>(
        &self,
        items: impl IntoIterator<Item = &'a [u8]>,
        panes: Panes,
        on_result: impl FnMut(bool),
    ) {
        self.contains_each(items, panes, on_result);
    }

    fn count_at(&self, item: &[u8], panes: Panes) -> u64 {
        self.count(item, panes)
    }

    fn insert(&mut self, item: &[u8], budget: Budget<'_>) -> Insertion {
        Insertion::of(self.insert_item(item, budget))
    }

    fn insert_unique(&mut self, item: &[u8], budget: Budget<'_>) -> Insertion {
        Insertion::of_unique(self.insert_unique(item, budget))
    }

    fn insert_each<'a>(
        &mut self,
        items: impl IntoIterator<Item = &'a [u8]>,
        budget: Budget<'_>,
        mut on_result: impl FnMut(Insertion),
    ) {
        self.insert_each(items, budget, |inserted| on_result(Insertion::of(inserted)));
    }

    fn insert_unique_each<'a>(
        &mut self,
        items: impl IntoIterator<Item = &'a [u8]>,
        budget: Budget<'_>,
        mut on_result: impl FnMut(Insertion),
    ) {
        self.insert_unique_each(items, budget, |inserted| {
            on_result(Insertion::of_unique(inserted));
        });
    }

    fn delete(&mut self, item: &[u8], _budget: Budget<'_>) -> bool {
        self.delete(item)
    }

    fn compact(&mut self, _budget: Budget<'_>) -> bool {
        self.compact()
    }
}
