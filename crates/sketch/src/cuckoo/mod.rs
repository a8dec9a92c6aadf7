//! Cuckoo filters: set membership with counting and deletion, one byte per item.
//!
//! A filter is a list of sub-filters, each an array of buckets of one-byte fingerprints. An item is stored in one of two
//! buckets of any sub-filter (Fan et al., "Cuckoo Filter: Practically Better Than Bloom", CoNEXT 2014). If both are full
//! in all sub-filters and evictions in the newest find no empty slot, the filter adds a sub-filter. After many deletions
//! it compacts itself: fingerprints move to older sub-filters, and the newest are freed when they are empty. The slot of
//! each fingerprint is part of the data format (docs/contributing/formats.md): equal commands produce equal bytes.
//!
//! There are no false negatives, unless an item was deleted that was not in the filter: that may delete another item. The
//! false-positive rate is at most `2 * bucket_size / 255` per sub-filter. All operations cost two cache misses per
//! sub-filter; an insertion costs up to `max_iterations` more.
//!
//! Copies of the same item share two buckets per sub-filter, so every `2 * bucket_size` copies need another sub-filter. To
//! test for membership only, use [`Duplicates::Skip`]; to count items, use a count-min sketch.

mod accuracy;
mod batch;
mod bucket;
mod compact;
mod item;
mod parameters;
mod stored;
mod sub_filter;

pub use parameters::{
    DEFAULT_CAPACITY, DEFAULT_MAX_SUB_FILTERS, MAX_CAPACITY, MAX_EXPANSION, MAX_SUB_FILTERS,
    Parameters,
};
pub use stored::HEADER_BYTES;

use crate::blocks::{BlockMover, BlockVisitor, Blocks};
use crate::memory::{Budget, OutOfMemory};
use crate::one_or_many::OneOrMany;
use crate::window::Timed;
use compact::{FreeSlots, Scope};
use item::HashedItem;
use parameters::Sizes;
use sub_filter::{Excess, SubFilter};

/// An error of creating a filter or inserting an item. (Loading stored bytes returns
/// [`FormatError`](super::format::FormatError).)
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CuckooError {
    /// A parameter is out of range; the text names it.
    #[error("{0}")]
    Parameters(&'static str),
    /// No empty slot was found and the filter does not grow (expansion 0).
    #[error("the filter is full and does not grow")]
    Full,
    /// Memory for a sub-filter was refused, or a limit is reached: 65535 sub-filters, or 2^56 buckets in the next one.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
}

/// What an insertion does with an item that seems to be in the filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Duplicates {
    /// It stores the item once more.
    Insert,
    /// It does nothing.
    Skip,
}

/// A cuckoo filter; see the [module documentation](self).
///
/// # Example
///
/// ```
/// use roughly_sketch::cuckoo::{CuckooFilter, Parameters};
/// use roughly_sketch::memory::Budget;
///
/// # fn main() -> Result<(), roughly_sketch::cuckoo::CuckooError> {
/// // CF.RESERVE fruit 1000, CF.ADD fruit apple, CF.DEL fruit apple
/// let mut fruit = CuckooFilter::new(1000, Parameters::DEFAULT, Budget::UNLIMITED)?;
/// fruit.insert(b"apple", Budget::UNLIMITED)?;
/// assert_eq!(fruit.count(b"apple"), 1);
/// assert!(fruit.delete(b"apple", Budget::UNLIMITED));
/// assert!(!fruit.contains(b"apple"));
/// # Ok(())
/// # }
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct CuckooFilter {
    sizes: Sizes,
    /// Insertions less deletions. A loaded value is not verified.
    items: u64,
    /// Deletions since the last compaction. A loaded value is not verified.
    deletes: u64,
    /// 1 to [`MAX_SUB_FILTERS`], oldest first; `sizes` determines the size of each.
    sub_filters: OneOrMany<SubFilter, ()>,
}

impl CuckooFilter {
    /// An empty filter for about `capacity` items. Requests the bytes of its slots from `budget`: one per item, with
    /// the number of buckets rounded to a power of two. The slots are zeroed memory, so the system provides their pages
    /// when they are used.
    ///
    /// # Errors
    /// [`CuckooError::Parameters`] or [`CuckooError::OutOfMemory`].
    pub fn new(
        capacity: u64,
        parameters: Parameters,
        budget: Budget<'_>,
    ) -> Result<Self, CuckooError> {
        let sizes = Sizes::for_capacity(capacity, parameters).map_err(CuckooError::Parameters)?;
        let mut filter = Self {
            sizes,
            items: 0,
            deletes: 0,
            sub_filters: OneOrMany::default(),
        };
        filter.add_sub_filter(budget)?;
        Ok(filter)
    }

    /// Inserts an item. An item that is already in the filter is stored once more.
    ///
    /// # Errors
    /// [`CuckooError::Full`] or [`CuckooError::OutOfMemory`]; the filter is then unchanged.
    pub fn insert(&mut self, item: &[u8], budget: Budget<'_>) -> Result<(), CuckooError> {
        self.insert_hashed(&HashedItem::of(item), budget)
    }

    /// Inserts an item; with [`Duplicates::Skip`], only if [`CuckooFilter::contains`] is false for it. Returns whether it was inserted.
    ///
    /// # Errors
    /// As [`CuckooFilter::insert`].
    pub fn insert_if(
        &mut self,
        item: &[u8],
        duplicates: Duplicates,
        budget: Budget<'_>,
    ) -> Result<bool, CuckooError> {
        self.insert_hashed_if(&HashedItem::of(item), duplicates, budget)
    }

    /// Whether an item may be in the filter: no false negatives, some false positives.
    #[must_use]
    pub fn contains(&self, item: &[u8]) -> bool {
        self.contains_hashed(&HashedItem::of(item))
    }

    /// An upper bound for how often an item is in the filter (unless an item was deleted that was not in it). An item whose
    /// two buckets are the same counts twice.
    #[must_use]
    pub fn count(&self, item: &[u8]) -> u64 {
        let item = HashedItem::of(item);
        self.sub_filters.iter().map(|each| each.count(&item)).sum()
    }

    /// Deletes one copy of an item. Returns false if [`CuckooFilter::contains`] is false for it. Deleting a false positive
    /// deletes another item.
    ///
    /// Compacts the filter, down to the first sub-filter that cannot be emptied, if more than a tenth of the items were
    /// deleted since the last compaction, both of the count of items and of the fingerprints in the slots. A compaction requests
    /// memory from `budget`; see [`CuckooFilter::compact`].
    pub fn delete(&mut self, item: &[u8], budget: Budget<'_>) -> bool {
        let item = HashedItem::of(item);
        if !(self.sub_filters.iter_mut().rev()).any(|each| each.remove(&item)) {
            return false;
        }
        match self.items.checked_sub(1) {
            Some(items) => self.items = items,
            None => self.sub_filters[0].excess.remove_one(),
        }
        self.deletes = self.deletes.saturating_add(1);
        if self.sub_filters.len() > 1 && self.is_compaction_due() {
            self.compact_with(Scope::UntilKept, FreeSlots::new(budget));
        }
        true
    }

    /// Whether more than a tenth of the items were deleted, and, so that the stored count decides about no work alone, of the
    /// fingerprints.
    fn is_compaction_due(&mut self) -> bool {
        // The format specifies this comparison in doubles.
        let exceeds_tenth_of = |deletes: u64, items: u64| deletes as f64 > items as f64 * 0.10;
        exceeds_tenth_of(self.deletes, self.items) && {
            let fingerprints = Excess::fingerprints(self.items, &mut self.sub_filters);
            exceeds_tenth_of(self.deletes, fingerprints)
        }
    }

    /// Moves fingerprints from newer sub-filters into empty slots of older ones, and frees the newest while they are empty.
    /// Returns whether anything changed, the count of deletions included.
    ///
    /// Cost: linear in the slots, with an index of up to a quarter of the slots' bytes, requested from `budget`. If
    /// they are refused, the cost is linear in the slots times the number of sub-filters, with the same result.
    pub fn compact(&mut self, budget: Budget<'_>) -> bool {
        self.compact_with(Scope::All, FreeSlots::new(budget))
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
        self.sizes.num_buckets()
    }

    /// Number of sub-filters, 1 to [`MAX_SUB_FILTERS`].
    #[must_use]
    pub fn num_sub_filters(&self) -> usize {
        self.sub_filters.len()
    }

    /// Bucket size, iterations and expansion. The expansion is 0 or a power of two.
    #[must_use]
    pub fn parameters(&self) -> Parameters {
        self.sizes.parameters
    }

    /// The size that CF.INFO reports: 40 bytes, 16 per sub-filter, and the slots. The memory usage is different;
    /// see [`Blocks`].
    #[must_use]
    pub fn nominal_bytes(&self) -> u64 {
        40 + 16 * self.sub_filters.len() as u64 + self.slot_bytes()
    }

    /// Slots of all sub-filters, each one byte.
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

    fn insert_hashed_if(
        &mut self,
        item: &HashedItem,
        duplicates: Duplicates,
        budget: Budget<'_>,
    ) -> Result<bool, CuckooError> {
        if duplicates == Duplicates::Skip && self.contains_hashed(item) {
            return Ok(false);
        }
        self.insert_hashed(item, budget).map(|()| true)
    }

    /// Tries an empty slot in all sub-filters, then evictions in the newest, then adds a sub-filter.
    fn insert_hashed(&mut self, item: &HashedItem, budget: Budget<'_>) -> Result<(), CuckooError> {
        let max_iterations = self.sizes.parameters.max_iterations;
        let stored = (self.sub_filters.iter_mut().rev()).any(|each| each.store(item))
            || (self.sub_filters.last_mut())
                .is_some_and(|newest| newest.store_with_evictions(item, max_iterations));
        if !stored {
            self.add_sub_filter(budget)?.store(item);
        }
        self.items = self.items.saturating_add(1);
        Ok(())
    }

    /// Adds an empty sub-filter and returns it.
    fn add_sub_filter(&mut self, budget: Budget<'_>) -> Result<&mut SubFilter, CuckooError> {
        let index = self.sub_filters.len();
        refuse_if!(index > 0 && self.sizes.parameters.expansion == 0 => CuckooError::Full);
        let size = (self.sizes.num_buckets_of(index))
            .zip(self.sizes.slots_of(index))
            .filter(|_| index < MAX_SUB_FILTERS);
        let (num_buckets, bytes) = size.ok_or(OutOfMemory { bytes: u64::MAX })?;
        budget.request(bytes)?;
        let sub_filter = SubFilter::zeroed(num_buckets, self.sizes.parameters.bucket_size)?;
        self.sub_filters.push(sub_filter)?;
        Ok(&mut self.sub_filters[index])
    }
}

impl Timed for CuckooFilter {}

impl Blocks for CuckooFilter {
    fn for_each_block(&self, visitor: &mut impl BlockVisitor) {
        self.sub_filters.for_each_block(visitor);
    }

    fn relocate_block(&mut self, index: usize, mover: &mut impl BlockMover) -> bool {
        self.sub_filters.relocate_block(index, mover)
    }
}

#[cfg(test)]
mod tests;
