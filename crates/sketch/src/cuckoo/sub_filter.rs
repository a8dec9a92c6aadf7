//! One sub-filter: an array of buckets.

use super::bucket;
use super::item::{HashedItem, other_bucket};
use super::parameters::MAX_SUB_FILTERS;
use crate::buffer::Buffer;
use crate::memory::{OutOfMemory, capacity_for};
use crate::one_or_many::Part;
use crate::prefetch::prefetch;

/// An array of buckets without gaps. Their number is a power of two.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SubFilter {
    // The length is always num_buckets * bucket_size.
    slots: Buffer,
    /// 63 less log2 of the number of buckets.
    unused_bits: u8,
    /// Slots per bucket: 1 to 255.
    bucket_size: u8,
    /// In the first sub-filter, that of the whole filter: there are unused bytes here.
    pub excess: Excess,
}

/// Position of the first slot of the bucket for `hash`. `bucket_mask` is the number of buckets less one. With at most
/// 2^55 buckets of at most 255 slots, the position is below 2^63.
#[inline]
fn first_slot(hash: u64, bucket_mask: u64, bucket_size: u8) -> u64 {
    (hash & bucket_mask) * u64::from(bucket_size)
}

impl SubFilter {
    /// An empty sub-filter. `num_buckets` is a power of two up to 2^55.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn zeroed(num_buckets: u64, bucket_size: u8) -> Result<Self, OutOfMemory> {
        let slots = Buffer::zeroed(num_buckets * u64::from(bucket_size))?;
        Ok(Self::with_slots(
            num_buckets,
            bucket_size,
            slots,
            Excess::NONE,
        ))
    }

    /// A sub-filter with these slots. `None` if their number is not `num_buckets * bucket_size`.
    pub fn from_slots(num_buckets: u64, bucket_size: u8, slots: Buffer) -> Option<Self> {
        let expected = num_buckets.checked_mul(u64::from(bucket_size))?;
        (num_buckets.is_power_of_two() && slots.len() as u64 == expected)
            .then(|| Self::with_slots(num_buckets, bucket_size, slots, Excess::UNKNOWN))
    }

    fn with_slots(num_buckets: u64, bucket_size: u8, slots: Buffer, excess: Excess) -> Self {
        Self {
            slots,
            unused_bits: 63 - num_buckets.trailing_zeros() as u8,
            bucket_size,
            excess,
        }
    }

    /// Number of buckets less one.
    #[inline(always)]
    pub fn bucket_mask(&self) -> u64 {
        u64::MAX >> 1 >> (self.unused_bits & 63)
    }

    /// Slots per bucket.
    pub fn bucket_size(&self) -> usize {
        usize::from(self.bucket_size)
    }

    /// All slots, bucket by bucket.
    pub fn slots(&self) -> &Buffer {
        &self.slots
    }

    /// The number of slots that are not empty. Cost: linear in the slots. The sums of short parts have one byte, so that the
    /// loop vectorizes.
    pub fn num_fingerprints(&self) -> u64 {
        let used = |part: &[u8]| part.iter().map(|&slot| u8::from(slot != 0)).sum::<u8>();
        self.slots
            .chunks(255)
            .map(|part| u64::from(used(part)))
            .sum()
    }

    /// All slots, bucket by bucket, for writing.
    pub fn slots_mut(&mut self) -> &mut Buffer {
        &mut self.slots
    }

    /// Position in `slots` of the first slot of the bucket. It fits in a `usize`, because the slots are in memory.
    #[inline]
    fn start(&self, hash: u64) -> usize {
        first_slot(hash, self.bucket_mask(), self.bucket_size) as usize
    }

    /// The slots of the bucket for `hash`.
    #[inline]
    pub fn bucket(&self, hash: u64) -> &[u8] {
        &self.slots[self.start(hash)..][..self.bucket_size()]
    }

    /// The slots of the bucket for `hash`, for writing.
    #[inline]
    pub fn bucket_mut(&mut self, hash: u64) -> &mut [u8] {
        let (start, len) = (self.start(hash), self.bucket_size());
        &mut self.slots[start..][..len]
    }

    /// Passes the number of each bucket, and whether it has an empty slot.
    #[inline(always)]
    pub fn for_each_bucket(&self, each: impl FnMut(u64, bool)) {
        match self.bucket_size {
            1 => self.for_each_bucket_of::<1>(each),
            2 => self.for_each_bucket_of::<2>(each),
            4 => self.for_each_bucket_of::<4>(each),
            _ => self.for_each_bucket_of::<0>(each),
        }
    }

    /// [`SubFilter::for_each_bucket`] for buckets of `SIZE` slots, or of any other size if `SIZE` is 0.
    #[inline(always)]
    fn for_each_bucket_of<const SIZE: usize>(&self, mut each: impl FnMut(u64, bool)) {
        let bucket_size = if SIZE == 0 { self.bucket_size() } else { SIZE };
        for (number, slots) in (0..).zip(self.slots.chunks_exact(bucket_size)) {
            each(number, bucket::contains(slots, 0));
        }
    }

    /// Prefetches both buckets of an item.
    #[inline]
    pub fn prefetch(&self, item: &HashedItem) {
        self.prefetch_bucket(item.first);
        self.prefetch_bucket(item.second);
    }

    /// Prefetches the bucket for `hash`.
    #[inline]
    pub fn prefetch_bucket(&self, hash: u64) {
        prefetch(&self.slots, self.start(hash));
    }

    /// Whether either bucket holds the fingerprint. Always tests both, so that their cache misses overlap.
    #[inline]
    pub fn contains(&self, item: &HashedItem) -> bool {
        bucket::contains(self.bucket(item.first), item.fingerprint)
            | bucket::contains(self.bucket(item.second), item.fingerprint)
    }

    /// Number of slots in both buckets that hold the fingerprint. If both are the same bucket, it counts twice.
    #[inline]
    pub fn count(&self, item: &HashedItem) -> u64 {
        bucket::count(self.bucket(item.first), item.fingerprint)
            + bucket::count(self.bucket(item.second), item.fingerprint)
    }

    /// Stores the fingerprint in the first empty slot of the first bucket or else of the second. Returns false if both
    /// are full.
    #[inline]
    pub fn store(&mut self, item: &HashedItem) -> bool {
        self.replace(item, 0, item.fingerprint)
    }

    /// Empties the first slot that holds the fingerprint in the first bucket or else in the second. Returns false if
    /// there is none.
    #[inline]
    pub fn remove(&mut self, item: &HashedItem) -> bool {
        self.replace(item, item.fingerprint, 0)
    }

    /// Replaces the first `old` in the first bucket or else in the second by `new`.
    #[inline]
    fn replace(&mut self, item: &HashedItem, old: u8, new: u8) -> bool {
        for hash in [item.first, item.second] {
            let bucket = self.bucket_mut(hash);
            if let Some(slot) = bucket::position(bucket, old) {
                bucket[slot] = new;
                return true;
            }
        }
        false
    }

    /// Stores the fingerprint in place of another one. The evicted fingerprint moves to its other bucket and, if that
    /// is full, evicts another one in turn. At most `max_iterations` evictions. Returns false if no evicted fingerprint
    /// reached an empty slot; all slots are then unchanged.
    ///
    /// The order of evictions is part of the data format (docs/contributing/formats.md).
    pub fn store_with_evictions(&mut self, item: &HashedItem, max_iterations: u16) -> bool {
        let bucket_size = self.bucket_size();
        let mut fingerprint = item.fingerprint;
        let mut hash = item.first;
        let mut victim = 0;
        for _ in 0..max_iterations {
            std::mem::swap(&mut fingerprint, &mut self.bucket_mut(hash)[victim]);
            hash = other_bucket(hash, fingerprint);
            let bucket = self.bucket_mut(hash);
            if let Some(slot) = bucket::position(bucket, 0) {
                bucket[slot] = fingerprint;
                return true;
            }
            victim = if victim + 1 == bucket_size {
                0
            } else {
                victim + 1
            };
        }
        // Undo the evictions in reverse order: each bucket and victim follows from the evicted fingerprint.
        for _ in 0..max_iterations {
            victim = victim.checked_sub(1).unwrap_or(bucket_size - 1);
            hash = other_bucket(hash, fingerprint);
            std::mem::swap(&mut fingerprint, &mut self.bucket_mut(hash)[victim]);
        }
        false
    }
}

impl Part for SubFilter {
    fn capacity_for(len: usize) -> usize {
        capacity_for(len, MAX_SUB_FILTERS)
    }

    fn try_clone(&self) -> Result<Self, OutOfMemory> {
        Ok(Self {
            slots: Buffer::copy_of(&self.slots)?,
            ..*self
        })
    }

    fn block(&self) -> &Buffer {
        &self.slots
    }

    fn block_mut(&mut self) -> &mut Buffer {
        &mut self.slots
    }
}

/// The fingerprints in the slots of a filter less the count of items, at least 0. It is 0 in filters that only commands have
/// changed. In a loaded filter, the count can be smaller, and compactions that follow it would repeat without an effect.
/// Counted when it is first needed.
///
/// Little-endian. 48 bits are enough for the slots in the memory of a process; a larger number counts as unknown.
#[derive(Debug, Clone, Copy)]
pub(super) struct Excess([u8; 6]);

impl Excess {
    /// That of an empty filter.
    pub const NONE: Self = Self([0; 6]);
    /// That of a filter whose slots were loaded.
    pub const UNKNOWN: Self = Self([u8::MAX; 6]);

    fn of(excess: u64) -> Self {
        match excess.to_le_bytes() {
            [bytes @ .., 0, 0] => Self(bytes),
            _ => Self::UNKNOWN,
        }
    }

    fn get(self) -> Option<u64> {
        let [a, b, c, d, e, f] = self.0;
        let is_known = self.0 != Self::UNKNOWN.0;
        is_known.then(|| u64::from_le_bytes([a, b, c, d, e, f, 0, 0]))
    }

    /// The fingerprints in these sub-filters if the count of items is `items`, or `items` if that is more.
    pub fn fingerprints(items: u64, sub_filters: &mut [SubFilter]) -> u64 {
        let known = sub_filters.first().and_then(|first| first.excess.get());
        let excess = known.unwrap_or_else(|| {
            let counts = sub_filters.iter().map(SubFilter::num_fingerprints);
            counts.sum::<u64>().saturating_sub(items)
        });
        if let Some(first) = sub_filters.first_mut() {
            first.excess = Self::of(excess);
        }
        items.saturating_add(excess)
    }

    /// A fingerprint was removed that the count of items lacked.
    pub fn remove_one(&mut self) {
        if let Some(excess) = self.get() {
            *self = Self::of(excess.saturating_sub(1));
        }
    }
}

/// It follows from the slots and the count of items.
impl PartialEq for Excess {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Eq for Excess {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Includes sizes far above 4 GiB, which no test allocates.
        #[test]
        fn positions_are_exact_up_to_the_largest_sub_filter(
            hash: u64, log2_buckets in 0u32..=55, bucket_size in 1u8..=255,
        ) {
            let num_buckets = 1u64 << log2_buckets;
            let position = first_slot(hash, num_buckets - 1, bucket_size);
            let expected = u128::from(hash) % u128::from(num_buckets) * u128::from(bucket_size);
            prop_assert_eq!(u128::from(position), expected);
            let end = u128::from(position) + u128::from(bucket_size);
            prop_assert!(end <= u128::from(num_buckets) * u128::from(bucket_size));
            prop_assert!(end <= i64::MAX as u128);
        }
    }

    #[test]
    fn an_excess_that_does_not_fit_is_unknown() {
        for (excess, known) in [
            (0, Some(0)),
            (0x1234_5678_9abc, Some(0x1234_5678_9abc)),
            ((1 << 48) - 2, Some((1 << 48) - 2)),
            ((1 << 48) - 1, None),
            (1 << 48, None),
            (u64::MAX, None),
        ] {
            assert_eq!(Excess::of(excess).get(), known);
        }
    }

    #[test]
    fn a_wrong_number_of_slots_is_refused() {
        let slots = |len| Buffer::zeroed(len).unwrap();
        assert!(SubFilter::from_slots(4, 2, slots(8)).is_some());
        assert!(SubFilter::from_slots(4, 2, slots(7)).is_none());
        assert!(SubFilter::from_slots(3, 2, slots(6)).is_none());
        assert!(SubFilter::from_slots(0, 2, slots(0)).is_none());
        assert!(SubFilter::from_slots(1 << 60, 255, slots(0)).is_none());
    }
}
