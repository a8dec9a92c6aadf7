//! One array of buckets, and the operations within it.

use super::bucket;
use super::item::{HashedItem, other_bucket};
use crate::buffer::Buffer;
use crate::memory::OutOfMemory;
use crate::prefetch::prefetch;

/// A power of two of buckets, laid end to end without gaps.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct SubFilter {
    // Its length is num_buckets * bucket_size: both constructors see to it, no method changes it.
    slots: Buffer,
    /// Number of buckets less one.
    bucket_mask: u64,
    /// Slots a bucket: 1 to 255.
    bucket_size: u8,
}

/// Position of the first slot of the bucket that `hash` falls in, in 64 bits throughout: with at most
/// 2^55 buckets (`bucket_mask` is that less one) of at most 255 slots it stays below 2^63.
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
        Ok(Self {
            slots: Buffer::zeroed(num_buckets * u64::from(bucket_size))?,
            bucket_mask: num_buckets - 1,
            bucket_size,
        })
    }

    /// A sub-filter of these slots; `None` if their number is not that of `num_buckets` buckets.
    pub fn from_slots(num_buckets: u64, bucket_size: u8, slots: Buffer) -> Option<Self> {
        let expected = num_buckets.checked_mul(u64::from(bucket_size))?;
        (num_buckets.is_power_of_two() && slots.len() as u64 == expected).then(|| Self {
            slots,
            bucket_mask: num_buckets - 1,
            bucket_size,
        })
    }

    /// A copy.
    ///
    /// # Errors
    /// [`OutOfMemory`].
    pub fn try_clone(&self) -> Result<Self, OutOfMemory> {
        Ok(Self {
            slots: Buffer::copy_of(&self.slots)?,
            ..*self
        })
    }

    /// Number of buckets less one.
    pub fn bucket_mask(&self) -> u64 {
        self.bucket_mask
    }

    /// Slots a bucket.
    pub fn bucket_size(&self) -> usize {
        usize::from(self.bucket_size)
    }

    /// All slots, bucket by bucket.
    pub fn slots(&self) -> &Buffer {
        &self.slots
    }

    /// All slots, bucket by bucket.
    pub fn slots_mut(&mut self) -> &mut Buffer {
        &mut self.slots
    }

    /// Position in `slots` of the bucket's first slot. It fits a `usize` since the slots do.
    #[inline]
    #[allow(clippy::cast_possible_truncation)]
    fn start(&self, hash: u64) -> usize {
        first_slot(hash, self.bucket_mask, self.bucket_size) as usize
    }

    /// The slots of the bucket that `hash` falls in.
    #[inline]
    pub fn bucket(&self, hash: u64) -> &[u8] {
        &self.slots[self.start(hash)..][..self.bucket_size()]
    }

    /// The slots of the bucket that `hash` falls in.
    #[inline]
    pub fn bucket_mut(&mut self, hash: u64) -> &mut [u8] {
        let (start, len) = (self.start(hash), self.bucket_size());
        &mut self.slots[start..][..len]
    }

    /// Brings both buckets of an item near.
    #[inline]
    pub fn prefetch(&self, item: &HashedItem) {
        self.prefetch_bucket(item.first);
        self.prefetch_bucket(item.second);
    }

    /// Brings the bucket that `hash` falls in near.
    #[inline]
    pub fn prefetch_bucket(&self, hash: u64) {
        prefetch(&self.slots, self.start(hash));
    }

    /// Whether either bucket holds the fingerprint. Both are tested whatever the first says, so that
    /// their cache misses overlap.
    #[inline]
    pub fn contains(&self, item: &HashedItem) -> bool {
        bucket::contains(self.bucket(item.first), item.fingerprint)
            | bucket::contains(self.bucket(item.second), item.fingerprint)
    }

    /// Slots of both buckets that hold the fingerprint; a bucket that is both counts twice.
    #[inline]
    pub fn count(&self, item: &HashedItem) -> u64 {
        bucket::count(self.bucket(item.first), item.fingerprint)
            + bucket::count(self.bucket(item.second), item.fingerprint)
    }

    /// Stores the fingerprint in the first empty slot of the first bucket or else of the second;
    /// false if both are full.
    #[inline]
    pub fn store(&mut self, item: &HashedItem) -> bool {
        self.replace(item, 0, item.fingerprint)
    }

    /// Empties the first slot of the first bucket or else of the second that holds the fingerprint;
    /// false if there is none.
    #[inline]
    pub fn remove(&mut self, item: &HashedItem) -> bool {
        self.replace(item, item.fingerprint, 0)
    }

    /// Puts `new` for the first `old` in the first bucket or else in the second.
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

    /// Makes room by kicking out: the fingerprint takes the victim's slot, the victim goes to its
    /// other bucket and, if that is full, kicks in turn; at most `max_iterations` times. Returns false
    /// if no empty slot was met; every slot is then as before.
    ///
    /// The order of victims is part of the data format (spec: cuckoo.md, Insert 2).
    pub fn kick_in(&mut self, item: &HashedItem, max_iterations: u16) -> bool {
        let bucket_size = self.bucket_size();
        let mut hand = item.fingerprint;
        let mut hash = item.first;
        let mut victim = 0;
        for _ in 0..max_iterations {
            std::mem::swap(&mut hand, &mut self.bucket_mut(hash)[victim]);
            hash = other_bucket(hash, hand);
            let bucket = self.bucket_mut(hash);
            if let Some(slot) = bucket::position(bucket, 0) {
                bucket[slot] = hand;
                return true;
            }
            victim = if victim + 1 == bucket_size {
                0
            } else {
                victim + 1
            };
        }
        // The same walk backwards: each step's bucket and victim follow from the hand.
        for _ in 0..max_iterations {
            victim = victim.checked_sub(1).unwrap_or(bucket_size - 1);
            hash = other_bucket(hash, hand);
            std::mem::swap(&mut hand, &mut self.bucket_mut(hash)[victim]);
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Sizes far above 4 GiB, which no test allocates: the arithmetic is all there is to them.
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

        #[test]
        fn failed_kicks_leave_no_trace(
            bucket_size in 1u8..10, log2_buckets in 0u32..5, max_iterations in 1u16..300, seed: u64,
            item: Vec<u8>,
        ) {
            let num_buckets = 1u64 << log2_buckets;
            let mut sub_filter = SubFilter::zeroed(num_buckets, bucket_size).unwrap();
            for (number, slot) in sub_filter.slots_mut().iter_mut().enumerate() {
                *slot = HashedItem::of(&(seed ^ number as u64).to_le_bytes()).fingerprint;
            }
            let before = sub_filter.try_clone().unwrap();
            prop_assert!(!sub_filter.kick_in(&HashedItem::of(&item), max_iterations));
            prop_assert_eq!(sub_filter, before);
        }
    }

    #[test]
    fn slots_of_another_number_are_refused() {
        let slots = |len| Buffer::zeroed(len).unwrap();
        assert!(SubFilter::from_slots(4, 2, slots(8)).is_some());
        assert!(SubFilter::from_slots(4, 2, slots(7)).is_none());
        assert!(SubFilter::from_slots(3, 2, slots(6)).is_none());
        assert!(SubFilter::from_slots(0, 2, slots(0)).is_none());
        assert!(SubFilter::from_slots(1 << 60, 255, slots(0)).is_none());
    }
}
