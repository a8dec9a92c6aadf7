//! The table of buckets that counts items by fingerprint (HeavyKeeper, section 3.2).

use super::MIN_PREFETCH_BYTES;
use super::decay::{Decay, Decayed};
use super::item_hash::Buckets;
use super::pairs::{PAIR_BYTES, Pairs};
use super::random::Random;
use crate::memory::OutOfMemory;
use crate::prefetch::prefetch;

/// The result of counting an item in its buckets.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counted {
    /// The largest count of the buckets that hold the item's fingerprint afterwards.
    pub max_count: u32,
    /// Whether a bucket has changed.
    pub changed: bool,
}

/// (fingerprint, count) of each bucket, row by row; an empty bucket has count 0. Any contents are valid. The buckets that
/// its methods take are those of an item in the rows that it was created with.
#[derive(Debug, PartialEq, Eq, Default)]
pub(super) struct Table {
    pub(super) buckets: Pairs,
}

impl Table {
    /// A copy with separate memory.
    pub fn try_clone(&self) -> Result<Self, OutOfMemory> {
        self.buckets.try_clone().map(|buckets| Self { buckets })
    }

    /// Counts `increment` occurrences of an item in its bucket of each row.
    #[inline]
    pub fn count(
        &mut self,
        item: Buckets<'_>,
        increment: u32,
        decay: &Decay,
        random: &mut Random,
    ) -> Counted {
        match increment {
            1 if decay.is_random() => self.count_one(item, decay, random),
            _ => self.count_several(item, increment, decay, random),
        }
    }

    /// Counts one occurrence of an item in its bucket of each row.
    #[inline]
    fn count_one(
        &mut self,
        item: Buckets<'_>,
        decay: &Decay,
        random_state: &mut Random,
    ) -> Counted {
        let fingerprint = item.fingerprint();
        let buckets = &mut self.buckets;
        let mut random = *random_state;
        let mut counted = Counted::default();
        item.for_each(
            #[inline(always)]
            |bucket| {
                let before = buckets.get(bucket);
                let after = decay.add_one(before, fingerprint, &mut random);
                // Unconditional: a branch that skips the write of an unchanged bucket is mispredicted often.
                buckets.set(bucket, after);
                counted.changed |= after != before;
                let (owner, count) = after;
                counted.max_count =
                    (counted.max_count).max(if owner == fingerprint { count } else { 0 });
            },
        );
        *random_state = random;
        counted
    }

    /// Counts `increment` occurrences of an item in its bucket of each row.
    fn count_several(
        &mut self,
        item: Buckets<'_>,
        increment: u32,
        decay: &Decay,
        random: &mut Random,
    ) -> Counted {
        let fingerprint = item.fingerprint();
        let buckets = &mut self.buckets;
        let mut counted = Counted::default();
        item.for_each(|bucket| {
            let before = buckets.get(bucket);
            let (owner, count) = before;
            let after = if count == 0 {
                (fingerprint, increment)
            } else if owner == fingerprint {
                (fingerprint, count.saturating_add(increment))
            } else {
                match decay.apply(count, increment, random) {
                    Decayed::Kept(count) => (owner, count),
                    Decayed::Replaced(count) => (fingerprint, count),
                }
            };
            if after.0 == fingerprint {
                counted.max_count = counted.max_count.max(after.1);
            }
            if after != before {
                buckets.set(bucket, after);
                counted.changed = true;
            }
        });
        counted
    }

    /// The largest count of the buckets that hold the item's fingerprint; 0 if none does.
    #[inline]
    pub fn estimate(&self, item: Buckets<'_>) -> u32 {
        let (mut max_count, fingerprint) = (0, item.fingerprint());
        item.for_each(|bucket| {
            let (owner, count) = self.buckets.get(bucket);
            max_count = max_count.max(if owner == fingerprint { count } else { 0 });
        });
        max_count
    }

    /// The number of buckets that hold the item's fingerprint and a count that differs from `count` by at most 1 %.
    pub fn near(&self, item: Buckets<'_>, count: u32) -> u64 {
        let (mut near, fingerprint) = (0, item.fingerprint());
        item.for_each(|bucket| {
            let (owner, found) = self.buckets.get(bucket);
            let is_near = found.abs_diff(count) <= count / 100;
            near += u64::from(owner == fingerprint && is_near);
        });
        near
    }

    /// Replaces a bucket.
    #[cfg(test)]
    pub fn set(&mut self, bucket: usize, pair: (u32, u32)) {
        self.buckets.set(bucket, pair);
    }

    /// Prefetches the buckets with these numbers if the table is larger than the caches.
    #[inline]
    pub fn prefetch(&self, buckets: impl Iterator<Item = usize>) {
        let bytes = &self.buckets.bytes;
        if bytes.len() > MIN_PREFETCH_BYTES {
            for bucket in buckets {
                prefetch(bytes, bucket * PAIR_BYTES as usize);
            }
        }
    }
}
