//! Cuckoo filters: set membership with counting and deletion, one byte an item.
//!
//! A filter is a list of sub-filters, each an array of buckets of one-byte fingerprints; an item may be
//! in either of two buckets of any of them (Fan et al., "Cuckoo Filter: Practically Better Than
//! Bloom", CoNEXT 2014). When no bucket has room and kicking out helps nothing, a sub-filter is added;
//! deletion in time moves fingerprints back from the newest to older ones and frees it. Where each
//! fingerprint goes is part of the data format (spec: cuckoo.md): equal commands make equal bytes.
//!
//! An item that was inserted is always found, until it is deleted as often as it was inserted. An item
//! that was not is found with a probability of up to `2 * bucket_size / 255` a sub-filter. Deleting an
//! item that was never inserted may delete another. All operations cost two cache misses a
//! sub-filter, and an insertion up to `max_iterations` more.
//!
//! Equal items fill their two buckets in every sub-filter: each `2 * bucket_size` more of them cost a
//! whole new sub-filter. To know whether, insert uniquely; to know how often, use a count-min sketch.

mod batch;
mod blocks;
mod bucket;
mod compact;
mod cursors;
mod item;
mod masks;
mod shape;
mod stored;
mod sub_filter;
mod sweep;
#[cfg(test)]
mod tests;
mod vacancies;

pub use batch::BLOCK_ITEMS;
pub use shape::{MAX_EXPANSION, MAX_SUB_FILTERS, Parameters};
pub use stored::HEADER_BYTES;

use crate::memory::{Budget, OutOfMemory, reserve_for};
use compact::Reach;
use item::HashedItem;
use shape::Shape;
use sub_filter::SubFilter;
use vacancies::Vacancies;

/// What can go wrong in making or filling a filter. (Stored bytes have
/// [`FormatError`](super::format::FormatError).)
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CuckooError {
    /// A parameter is out of its range; the text says which.
    #[error("{0}")]
    Parameters(&'static str),
    /// No slot was found and the filter never grows (expansion 0).
    #[error("the filter is full and does not grow")]
    Full,
    /// Memory for a sub-filter was refused, or there may be no further one: 65535 exist, or the next
    /// would exceed 2^56 buckets.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
}

/// A cuckoo filter. See the module's text.
#[derive(Debug, PartialEq, Eq)]
pub struct CuckooFilter {
    shape: Shape,
    /// Insertions less deletions, as far as the counter was right when it was loaded.
    items: u64,
    /// Deletions since the last compaction.
    deletes: u64,
    /// 1 to 65535, oldest first, each of the size that `shape` gives its index.
    sub_filters: Vec<SubFilter>,
}

impl CuckooFilter {
    /// An empty filter with room for about `capacity` items. `budget` is asked once whether that many
    /// bytes may be allocated. Costs no page before it is used.
    ///
    /// # Errors
    /// [`CuckooError::Parameters`] or [`CuckooError::OutOfMemory`].
    pub fn new(
        capacity: u64,
        parameters: Parameters,
        budget: Budget<'_>,
    ) -> Result<Self, CuckooError> {
        let shape = Shape::for_capacity(capacity, parameters).map_err(CuckooError::Parameters)?;
        let mut filter = Self {
            shape,
            items: 0,
            deletes: 0,
            sub_filters: Vec::new(),
        };
        filter.add_sub_filter(budget)?;
        Ok(filter)
    }

    /// Inserts an item, once more if it is in already.
    ///
    /// # Errors
    /// [`CuckooError::Full`] or [`CuckooError::OutOfMemory`]; the filter is then as before.
    pub fn insert(&mut self, item: &[u8], budget: Budget<'_>) -> Result<(), CuckooError> {
        self.insert_hashed(&HashedItem::of(item), budget)
    }

    /// Inserts an item unless it seems to be in; says whether it was inserted.
    ///
    /// # Errors
    /// As [`CuckooFilter::insert`].
    pub fn insert_unique(&mut self, item: &[u8], budget: Budget<'_>) -> Result<bool, CuckooError> {
        self.insert_unique_hashed(&HashedItem::of(item), budget)
    }

    /// Whether an item is in: true for every item that is, and for a few others.
    #[must_use]
    pub fn contains(&self, item: &[u8]) -> bool {
        self.contains_hashed(&HashedItem::of(item))
    }

    /// How often an item is in: never less than it is, as long as nothing was deleted that was not
    /// in. An item whose two buckets coincide counts twice.
    #[must_use]
    pub fn count(&self, item: &[u8]) -> u64 {
        let item = HashedItem::of(item);
        self.sub_filters.iter().map(|each| each.count(&item)).sum()
    }

    /// Deletes an item once; false if it is not in. Compacts when more than a tenth of the items were
    /// deleted since the last compaction, and stops at the first sub-filter that cannot be emptied.
    ///
    /// Deleting an item that is not in, but seems to be, takes out another one. `budget` is asked before a
    /// compaction takes memory; see [`CuckooFilter::compact`].
    pub fn delete(&mut self, item: &[u8], budget: Budget<'_>) -> bool {
        let item = HashedItem::of(item);
        if !(self.sub_filters.iter_mut().rev()).any(|each| each.remove(&item)) {
            return false;
        }
        self.items = self.items.saturating_sub(1);
        self.deletes = self.deletes.saturating_add(1);
        #[allow(clippy::cast_precision_loss)] // the format's own arithmetic
        let due = self.deletes as f64 > self.items as f64 * 0.10;
        if due && self.sub_filters.len() > 1 {
            self.compact_with(Reach::FirstKept, Vacancies::new(budget));
        }
        true
    }

    /// Moves fingerprints from newer sub-filters into empty slots of older ones and frees the newest
    /// while they are empty. Says whether that changed anything, the count of deletions included.
    ///
    /// Cost: linear in the slots; see the `compact` module for the figures. That takes an index of up to
    /// two fifths of the slots' bytes, which `budget` is asked for. Without the index the cost is linear in the
    /// slots times the number of sub-filters; the result is the same.
    pub fn compact(&mut self, budget: Budget<'_>) -> bool {
        self.compact_with(Reach::All, Vacancies::new(budget))
    }

    /// Insertions less deletions.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// Deletions since the last compaction.
    #[must_use]
    pub fn deletes(&self) -> u64 {
        self.deletes
    }

    /// Buckets of the first sub-filter.
    #[must_use]
    pub fn num_buckets(&self) -> u64 {
        self.shape.num_buckets
    }

    /// Number of sub-filters, 1 to [`MAX_SUB_FILTERS`].
    #[must_use]
    pub fn num_sub_filters(&self) -> usize {
        self.sub_filters.len()
    }

    /// Bucket size, iterations and expansion; the last is 0 or a power of two.
    #[must_use]
    pub fn parameters(&self) -> Parameters {
        self.shape.parameters
    }

    /// What CF.INFO calls the size: 40 bytes, 16 a sub-filter, and the slots (spec: cuckoo.md). Not
    /// what the filter takes of memory, which the allocator knows.
    #[must_use]
    pub fn nominal_bytes(&self) -> u64 {
        40 + 16 * self.sub_filters.len() as u64 + self.slot_bytes()
    }

    /// Slots of all sub-filters, which are bytes.
    fn slot_bytes(&self) -> u64 {
        let lengths = self.sub_filters.iter().map(|each| each.slots().len());
        lengths.map(|length| length as u64).sum()
    }

    #[inline]
    fn contains_hashed(&self, item: &HashedItem) -> bool {
        self.sub_filters
            .iter()
            .rev()
            .any(|each| each.contains(item))
    }

    fn insert_unique_hashed(
        &mut self,
        item: &HashedItem,
        budget: Budget<'_>,
    ) -> Result<bool, CuckooError> {
        if self.contains_hashed(item) {
            return Ok(false);
        }
        self.insert_hashed(item, budget).map(|()| true)
    }

    /// An empty slot, else kicking out in the newest sub-filter, else a new sub-filter, where the first
    /// try succeeds.
    fn insert_hashed(&mut self, item: &HashedItem, budget: Budget<'_>) -> Result<(), CuckooError> {
        let max_iterations = self.shape.parameters.max_iterations;
        let stored = (self.sub_filters.iter_mut().rev()).any(|each| each.store(item))
            || (self.sub_filters.last_mut())
                .is_some_and(|newest| newest.kick_in(item, max_iterations));
        if !stored {
            self.add_sub_filter(budget)?.store(item);
        }
        self.items = self.items.saturating_add(1);
        Ok(())
    }

    /// Adds an empty sub-filter and returns it.
    fn add_sub_filter(&mut self, budget: Budget<'_>) -> Result<&mut SubFilter, CuckooError> {
        let index = self.sub_filters.len();
        if index > 0 && self.shape.parameters.expansion == 0 {
            return Err(CuckooError::Full);
        }
        let size = (self.shape.num_buckets_of(index))
            .zip(self.shape.slots_of(index))
            .filter(|_| index < MAX_SUB_FILTERS);
        let (num_buckets, bytes) = size.ok_or(OutOfMemory { bytes: u64::MAX })?;
        budget.request(bytes)?;
        reserve_for(&mut self.sub_filters, index + 1, MAX_SUB_FILTERS)?;
        let sub_filter = SubFilter::zeroed(num_buckets, self.shape.parameters.bucket_size)?;
        self.sub_filters.push(sub_filter);
        Ok(&mut self.sub_filters[index])
    }
}
