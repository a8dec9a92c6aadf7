//! One sub-filter: buckets of slots, and the operations on the two buckets of an item.

use super::size::SubFilterSize;
use super::slot::{LiveStates, SlotLayout, StoredTicks};
use super::ticks::{LiveTicks, Ring, StoredRing, Width};
use crate::buffer::Buffer;
use crate::format::FormatError;
use crate::hash::seeded_rows::{STEP, finalize};
use crate::memory::OutOfMemory;
use crate::prefetch::prefetch;
use std::ops::Range;

/// Where a sub-filter stores an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Place {
    /// Its two buckets. They differ.
    pub buckets: [u64; 2],
    pub fingerprint: u64,
}

/// A live entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LiveEntry {
    pub slot: u64,
    /// The tick at which it was added or refreshed.
    pub tick: u64,
}

pub const BAD_ARRAYS: FormatError =
    FormatError::Invalid("the arrays of a sub-filter contradict its shape");

/// The width of the counts of live entries, which do not exceed the slots.
fn count_width(size: &SubFilterSize, bucket_size: u8) -> Width {
    Width::of(size.slots(bucket_size))
}

/// A sub-filter.
#[derive(Debug, PartialEq, Eq)]
pub struct SubFilter {
    // [`SubFilterSize`]. The ticks per generation are in the layout.
    limit: u64,
    buckets: u64,
    fingerprints: u64,
    pub layout: SlotLayout,
    /// Arrays that were stored can contain anything.
    pub slots: Buffer,
    /// Per group the low 16 bits of the generation in which it was swept, little-endian. See [`super::sweep`].
    pub generations: Buffer,
    /// Live entries per live tick, of the [`count_width`].
    pub counts: Ring,
    /// The sum of `counts`.
    pub live: u64,
}

impl SubFilter {
    /// An empty sub-filter of a valid size.
    pub fn empty(size: SubFilterSize, bucket_size: u8, panes: u64) -> Result<Self, OutOfMemory> {
        let counts = Ring::zeroed(panes as usize + 1, count_width(&size, bucket_size))?;
        let mut sub_filter = Self::with_counts(size, bucket_size, panes, counts, 0);
        sub_filter.allocate(panes)?;
        Ok(sub_filter)
    }

    /// A sub-filter of a valid size with these counts, without arrays. [`FormatError::Invalid`] if the counts have a wrong
    /// length or exceed the slots, or a tick that is not live has a count.
    pub fn checked(
        size: SubFilterSize,
        bucket_size: u8,
        panes: u64,
        counts: &[u8],
        live: LiveTicks,
    ) -> Result<Self, FormatError> {
        let counts = StoredRing::of(counts, panes as usize + 1).ok_or(BAD_ARRAYS)?;
        let of_live = (live.oldest..=live.newest).map(|tick| counts.get(tick));
        let non_zero = of_live.clone().filter(|&count| count > 0).count();
        let sum = of_live.into_iter().try_fold(0u64, u64::checked_add);
        let sum = sum
            .filter(|&sum| sum <= size.slots(bucket_size))
            .ok_or(BAD_ARRAYS)?;
        refuse_if!(non_zero != counts.non_zero() => BAD_ARRAYS);
        let counts = counts.narrowed(count_width(&size, bucket_size))?;
        Ok(Self::with_counts(size, bucket_size, panes, counts, sum))
    }

    fn with_counts(
        size: SubFilterSize,
        bucket_size: u8,
        panes: u64,
        counts: Ring,
        live: u64,
    ) -> Self {
        Self {
            limit: size.limit,
            buckets: size.buckets,
            fingerprints: size.fingerprints,
            layout: SlotLayout::new(&size, bucket_size, panes),
            slots: Buffer::default(),
            generations: Buffer::default(),
            counts,
            live,
        }
    }

    /// Allocates the arrays, which are zeros.
    pub fn allocate(&mut self, panes: u64) -> Result<(), OutOfMemory> {
        self.slots = Buffer::zeroed(self.size().slot_bytes(self.layout.bucket_size, panes))?;
        self.generations = Buffer::zeroed(self.size().generation_bytes(self.layout.bucket_size))?;
        Ok(())
    }

    /// The bytes that [`SubFilter::empty`] allocates.
    pub fn bytes(size: &SubFilterSize, bucket_size: u8, panes: u64) -> u64 {
        size.slot_bytes(bucket_size, panes)
            .saturating_add(size.generation_bytes(bucket_size))
            .saturating_add(count_width(size, bucket_size).bytes_of(panes as usize + 1))
    }

    pub fn try_clone(&self) -> Result<Self, OutOfMemory> {
        Ok(Self {
            slots: Buffer::copy_of(&self.slots)?,
            generations: Buffer::copy_of(&self.generations)?,
            counts: self.counts.try_clone()?,
            ..*self
        })
    }

    pub fn size(&self) -> SubFilterSize {
        SubFilterSize {
            limit: self.limit,
            buckets: self.buckets,
            fingerprints: self.fingerprints,
            generation_ticks: self.layout.generation_ticks.into(),
        }
    }

    /// The width of the counts.
    pub fn count_width(&self) -> Width {
        count_width(&self.size(), self.layout.bucket_size)
    }

    /// Whether it has as many live entries as its limit.
    pub fn is_full(&self) -> bool {
        self.is_full_with(self.live)
    }

    /// Whether so many live entries are as many as its limit.
    pub fn is_full_with(&self, live: u64) -> bool {
        live >= self.limit
    }

    /// Live entries of a live tick.
    pub fn count_of(&self, tick: u64) -> u64 {
        self.counts.get(self.count_width(), tick)
    }

    /// Live entries of consecutive live ticks.
    pub fn count_of_all(&self, ticks: Range<u64>) -> u64 {
        self.counts.sum(self.count_width(), ticks)
    }

    /// Adds a live entry of a tick to the counts. Only a filter whose chunks contradict its header has a free slot although
    /// all slots are counted; its counts stay valid.
    fn add_to_count(&mut self, tick: u64) {
        if self.live < self.size().slots(self.layout.bucket_size) {
            let width = self.count_width();
            self.counts
                .set(width, tick, self.counts.get(width, tick) + 1);
            self.live += 1;
        }
    }

    /// Subtracts a live entry of a tick from the counts. Only a filter whose chunks contradict its header has too few.
    fn subtract_from_count(&mut self, tick: u64) {
        let width = self.count_width();
        if let Some(less) = self.counts.get(width, tick).checked_sub(1) {
            self.counts.set(width, tick, less);
            self.live = self.live.saturating_sub(1);
        }
    }

    /// Subtracts all entries of consecutive ticks that have expired.
    pub fn expire(&mut self, ticks: Range<u64>) {
        if self.live > 0 {
            let width = self.count_width();
            let expired = self.counts.sum(width, ticks.clone());
            self.live = self.live.saturating_sub(expired);
            self.counts.clear(width, ticks);
        }
    }

    /// The live ticks as its groups store them.
    #[inline]
    pub fn stored_ticks(&self, live: LiveTicks) -> StoredTicks {
        self.layout.stored_ticks(live)
    }

    /// The place of an item with this hash. The bucket is the high part of `hash * buckets`, and the fingerprint uses
    /// the remaining bits of the hash, so the two are independent.
    #[inline(always)]
    pub fn place(&self, hash: u64) -> Place {
        let product = u128::from(hash) * u128::from(self.buckets);
        let (first, rest) = ((product >> 64) as u64, product as u64);
        let fingerprint = high_product(rest, self.fingerprints);
        Place {
            buckets: [first, self.other_bucket(first, fingerprint)],
            fingerprint,
        }
    }

    /// The other of the two buckets of an entry: the difference of the fingerprint's hash and this bucket, modulo the
    /// number of buckets. The hash is odd and the number of buckets is even, so the buckets differ in parity.
    #[inline(always)]
    pub fn other_bucket(&self, bucket: u64, fingerprint: u64) -> u64 {
        let sum = high_product(mix(fingerprint), self.buckets) | 1;
        let difference = sum.wrapping_sub(bucket);
        if sum < bucket {
            difference.wrapping_add(self.buckets)
        } else {
            difference
        }
    }

    /// Slots per bucket.
    #[inline(always)]
    pub fn bucket_size(&self) -> u64 {
        u64::from(self.layout.bucket_size)
    }

    /// The first slot of a bucket.
    #[inline(always)]
    pub fn first_slot(&self, bucket: u64) -> u64 {
        bucket * self.bucket_size()
    }

    /// The group of a bucket. See [`super::sweep`].
    #[inline(always)]
    pub fn group_of(&self, bucket: u64) -> u64 {
        bucket >> self.layout.log2_group_buckets
    }

    pub fn slots_of_group(&self, group: u64) -> Range<u64> {
        let end = (group + 1) << self.layout.log2_group_buckets;
        let end = end.min(self.buckets);
        self.first_slot(group << self.layout.log2_group_buckets)..self.first_slot(end)
    }

    pub fn groups(&self) -> u64 {
        self.size().groups(self.layout.bucket_size)
    }

    /// Prefetches a bucket, which may continue in a second cache line.
    #[inline(always)]
    pub fn prefetch_bucket(&self, bucket: u64) {
        let first = self.first_slot(bucket);
        let last = first + self.bucket_size() - 1;
        prefetch(&self.slots, self.layout.byte_of(first));
        prefetch(&self.slots, self.layout.byte_of(last) + 2);
    }

    #[inline(always)]
    pub fn prefetch(&self, place: &Place) {
        place
            .buckets
            .iter()
            .for_each(|&bucket| self.prefetch_bucket(bucket));
    }

    /// The live states in the group of a bucket.
    #[inline(always)]
    pub fn live_states(&self, ticks: &StoredTicks, bucket: u64) -> LiveStates {
        self.layout
            .live_states(ticks, self.generation_of(self.group_of(bucket)))
    }

    /// The stored generation of a group.
    #[inline(always)]
    pub fn generation_of(&self, group: u64) -> u16 {
        let bytes = &self.generations[group as usize * 2..][..2];
        bytes
            .first_chunk()
            .map_or(0, |bytes| u16::from_le_bytes(*bytes))
    }

    /// Passes every live entry with the item's fingerprint in its buckets to `on_entry`, until that returns true.
    #[inline(always)]
    fn for_each_match(
        &self,
        ticks: &StoredTicks,
        place: &Place,
        mut on_entry: impl FnMut(LiveEntry) -> bool,
    ) {
        let base = self.layout.base(place.fingerprint);
        for bucket in place.buckets {
            let live = self.live_states(ticks, bucket);
            let first = self.first_slot(bucket);
            for slot in first..first + self.bucket_size() {
                let value = self.layout.get(&self.slots, slot);
                if let Some(tick) = self.layout.match_tick(&live, base, value)
                    && on_entry(LiveEntry { slot, tick })
                {
                    return;
                }
            }
        }
    }

    /// Whether the item has a live entry.
    #[inline]
    pub fn contains(&self, ticks: &StoredTicks, place: &Place) -> bool {
        self.first_match(ticks, place).is_some()
    }

    /// The item's first live entry.
    #[inline]
    pub fn first_match(&self, ticks: &StoredTicks, place: &Place) -> Option<LiveEntry> {
        let mut found = None;
        self.for_each_match(ticks, place, |entry| {
            found = Some(entry);
            true
        });
        found
    }

    /// The item's oldest live entry; of several, the first.
    pub fn oldest_match(&self, ticks: &StoredTicks, place: &Place) -> Option<LiveEntry> {
        let mut oldest: Option<LiveEntry> = None;
        self.for_each_match(ticks, place, |entry| {
            if oldest.is_none_or(|oldest| entry.tick < oldest.tick) {
                oldest = Some(entry);
            }
            false
        });
        oldest
    }

    /// The tick of the item's newest live entry.
    pub fn newest_tick(&self, ticks: &StoredTicks, place: &Place) -> Option<u64> {
        let mut newest = None;
        self.for_each_match(ticks, place, |entry| {
            newest = newest.max(Some(entry.tick));
            false
        });
        newest
    }

    /// The number of live entries of the item.
    pub fn count(&self, ticks: &StoredTicks, place: &Place) -> u64 {
        let mut count = 0;
        self.for_each_match(ticks, place, |_| {
            count += 1;
            false
        });
        count
    }

    /// The first slot of a bucket that is empty or expired.
    #[inline]
    pub fn free_slot(&self, ticks: &StoredTicks, bucket: u64) -> Option<u64> {
        let live = self.live_states(ticks, bucket);
        let first = self.first_slot(bucket);
        (first..first + self.bucket_size()).find(|&slot| {
            let value = self.layout.get(&self.slots, slot);
            self.layout.live_tick(&live, value).is_none()
        })
    }

    /// How many slots of a bucket are empty or expired, and the last of them. `None` if there is none.
    #[inline]
    pub fn free_slots(&self, ticks: &StoredTicks, bucket: u64) -> Option<(u64, u64)> {
        let live = self.live_states(ticks, bucket);
        let first = self.first_slot(bucket);
        let free = (first..first + self.bucket_size()).filter(|&slot| {
            let value = self.layout.get(&self.slots, slot);
            self.layout.live_tick(&live, value).is_none()
        });
        free.fold(None, |free, slot| {
            Some((free.map_or(0, |(count, _)| count) + 1, slot))
        })
    }

    /// Writes an entry to a slot that is free. `ticks` contains its tick.
    pub fn store(&mut self, ticks: &StoredTicks, slot: u64, fingerprint: u64, tick: u64) {
        self.write(ticks, slot, self.layout.entry(fingerprint, tick));
        self.add_to_count(tick);
    }

    /// Changes the tick of a live entry.
    pub fn refresh(&mut self, ticks: &StoredTicks, entry: LiveEntry, fingerprint: u64, tick: u64) {
        self.write(ticks, entry.slot, self.layout.entry(fingerprint, tick));
        self.subtract_from_count(entry.tick);
        self.add_to_count(tick);
    }

    /// Deletes a live entry.
    pub fn delete(&mut self, entry: LiveEntry) {
        self.layout.set(&mut self.slots, entry.slot, 0);
        self.subtract_from_count(entry.tick);
    }

    /// Writes a slot, after its group was swept in this generation.
    pub fn write(&mut self, ticks: &StoredTicks, slot: u64, value: u64) {
        self.sweep_if_old(ticks, self.group_of(slot / self.bucket_size()));
        self.layout.set(&mut self.slots, slot, value);
    }
}

/// The high 64 bits of the product: a number below `limit` that is proportional to `fraction`.
#[inline(always)]
fn high_product(fraction: u64, limit: u64) -> u64 {
    ((u128::from(fraction) * u128::from(limit)) >> 64) as u64
}

/// Spreads fingerprints over 64 bits. Part of the data format.
#[inline(always)]
fn mix(fingerprint: u64) -> u64 {
    finalize(fingerprint.wrapping_add(1).wrapping_mul(STEP))
}
