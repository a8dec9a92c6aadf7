//! The table of buckets that counts items by fingerprint (HeavyKeeper, section 3.2).

use super::decay::{Decay, Decayed};
use super::item_hash::ItemHash;
use super::pairs::{PAIR_BYTES, Pairs};
use super::random::Random;
use super::{MIN_PREFETCH_BYTES, Shape};
use crate::blocks::{BlockMover, BlockVisitor};
use crate::buffer::Buffer;
use crate::memory::OutOfMemory;
use crate::prefetch::prefetch;
use crate::rows::Rows;

/// The result of counting an item in its buckets.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counted {
    /// The largest count of the buckets that hold the item's fingerprint afterwards.
    pub max_count: u32,
    /// Whether a bucket has changed.
    pub changed: bool,
}

/// (fingerprint, count) of each bucket, row by row; an empty bucket has count 0. Any contents are valid. The rows that
/// its methods take are those of the shape that it was created with.
#[derive(Debug, PartialEq, Eq, Default)]
pub(super) struct Table {
    buckets: Pairs,
}

impl Table {
    /// Empty buckets.
    pub fn new(shape: Shape) -> Result<Self, OutOfMemory> {
        Pairs::zeroed(shape.bucket_count()).map(|buckets| Self { buckets })
    }

    /// A copy with separate memory.
    pub fn try_clone(&self) -> Result<Self, OutOfMemory> {
        self.buckets.try_clone().map(|buckets| Self { buckets })
    }

    /// Whether it has buckets. The default table has none, and counts nothing.
    #[inline]
    pub fn is_allocated(&self) -> bool {
        !self.buckets.bytes().is_empty()
    }

    /// Counts `increment` occurrences of an item in its bucket of each row.
    #[inline]
    pub fn count(
        &mut self,
        item: &[u8],
        hash: &ItemHash,
        increment: u32,
        rows: Rows,
        decay: &Decay,
        random: &mut Random,
    ) -> Counted {
        match increment {
            1 if decay.is_random() => self.count_one(item, hash, rows, decay, random),
            _ => self.count_several(item, hash, increment, rows, decay, random),
        }
    }

    /// Counts one occurrence of an item in its bucket of each row.
    #[inline]
    fn count_one(
        &mut self,
        item: &[u8],
        hash: &ItemHash,
        rows: Rows,
        decay: &Decay,
        random_state: &mut Random,
    ) -> Counted {
        let fingerprint = hash.fingerprint;
        let buckets = &mut self.buckets;
        let mut random = *random_state;
        let mut counted = Counted::default();
        hash.for_each_bucket(
            item,
            rows,
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
        item: &[u8],
        hash: &ItemHash,
        increment: u32,
        rows: Rows,
        decay: &Decay,
        random: &mut Random,
    ) -> Counted {
        let fingerprint = hash.fingerprint;
        let buckets = &mut self.buckets;
        let mut counted = Counted::default();
        hash.for_each_bucket(item, rows, |bucket| {
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

    /// The largest count of the buckets that hold the item's fingerprint; 0 if none does. Cost: one bucket per row and,
    /// beyond seven rows, one pass over the item per eight rows.
    #[inline]
    pub fn estimate(&self, item: &[u8], hash: &ItemHash, rows: Rows) -> u32 {
        let mut max_count = 0;
        hash.for_each_bucket(item, rows, |bucket| {
            let (owner, count) = self.buckets.get(bucket);
            max_count = max_count.max(if owner == hash.fingerprint { count } else { 0 });
        });
        max_count
    }

    /// As [`Table::estimate`], for the columns of the item in all rows ([`ItemHash::all_rows`]). Cost: one bucket per row.
    #[inline]
    pub fn estimate_at(&self, fingerprint: u32, columns: &[u32], rows: Rows) -> u32 {
        #[cfg(test)]
        crate::testing::ESTIMATES.with(crate::testing::Work::count);
        rows.cells(0, columns).fold(0, |max_count, bucket| {
            let (owner, count) = self.buckets.get(bucket);
            max_count.max(if owner == fingerprint { count } else { 0 })
        })
    }

    /// Prefetches the item's buckets in the first rows if the table is larger than the caches.
    #[inline]
    pub fn prefetch(&self, hash: &ItemHash, rows: Rows) {
        let bytes = self.buckets.bytes();
        if bytes.len() > MIN_PREFETCH_BYTES {
            for bucket in hash.first_buckets(rows) {
                prefetch(bytes, bucket * PAIR_BYTES as usize);
            }
        }
    }

    /// Prefetches the buckets in these columns of the first rows if the table is larger than the caches.
    #[inline]
    pub fn prefetch_at(&self, columns: &[u32], rows: Rows) {
        let bytes = self.buckets.bytes();
        if bytes.len() > MIN_PREFETCH_BYTES {
            for bucket in rows.cells(0, columns) {
                prefetch(bytes, bucket * PAIR_BYTES as usize);
            }
        }
    }

    /// The stored form.
    pub fn bytes(&self) -> &[u8] {
        self.buckets.bytes()
    }

    /// The stored form, mutable.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        self.buckets.bytes_mut()
    }

    /// Passes the block to `visitor`, if there is one.
    pub fn visit(&self, visitor: &mut impl BlockVisitor) {
        self.buckets.visit(visitor);
    }

    /// Passes the block to `mover`, which may move it.
    pub fn relocate(&mut self, mover: &mut impl BlockMover) {
        self.buckets.relocate(mover);
    }
}

impl From<Buffer> for Table {
    /// The caller checks the length.
    fn from(buckets: Buffer) -> Self {
        Self {
            buckets: buckets.into(),
        }
    }
}
