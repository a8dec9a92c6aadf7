//! One Bloom filter: a bit array and the probes of an item (Bloom 1970, with the double hashing of
//! Kirsch & Mitzenmacher, "Less Hashing, Same Performance", ESA 2006).

use super::modulus::Modulus;
use super::shape::Shape;
use crate::sketch::buffer::{Buffer, OutOfMemory};
use crate::sketch::prefetch::prefetch;
use std::ops::Range;

/// The two hashes that all probes of an item are made of: probe i is bit `(a + i*b) mod bits`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ItemHash {
    /// Where the probes start.
    pub a: u64,
    /// The step from one to the next.
    pub b: u64,
}

impl ItemHash {
    /// What probe `i` is the remainder of.
    #[inline(always)]
    fn sum(self, i: u32) -> u64 {
        self.a.wrapping_add(self.b.wrapping_mul(u64::from(i)))
    }
}

/// Items that are hashed and prefetched together. Large enough to keep the 10 to 20 cache misses in
/// flight that a core can have, small enough for the stack.
pub const BLOCK: usize = 16;

/// Arrays up to this size are likely in the caches, where prefetching costs more than it saves.
const CACHED_BYTES: usize = 1 << 20;

/// Probes of an item that are fetched at first. At capacity half of the bits are set, so of absent
/// items three in four end here; prefetching the rest for all of them would waste most of the misses.
const FIRST_PROBES: u32 = 2;

/// One filter of a chain.
#[derive(Debug)]
pub struct Filter {
    shape: Shape,
    modulus: Modulus,
    items: u64,
    bits: Buffer,
}

impl Filter {
    /// An empty filter.
    ///
    /// # Errors
    /// [`OutOfMemory`] if its bits cannot be had.
    pub fn new(shape: Shape) -> Result<Self, OutOfMemory> {
        let bits = Buffer::zeroed(shape.bytes())?;
        Ok(Self::with_bits(shape, 0, bits))
    }

    /// A filter around bits that are there already. `bits` holds at least `shape.bytes()` bytes: the
    /// validator of stored forms sees to it.
    pub(super) fn with_bits(shape: Shape, items: u64, bits: Buffer) -> Self {
        let modulus = Modulus::new(shape.modulus());
        Self {
            shape,
            modulus,
            items,
            bits,
        }
    }

    /// Its parameters.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Items added to it.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// Whether it holds as many items as it was made for.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.items >= self.shape.capacity
    }

    /// The bit array: bit x is byte `x >> 3`, mask `1 << (x & 7)`.
    #[must_use]
    pub fn bits(&self) -> &Buffer {
        &self.bits
    }

    /// The bit array, to be loaded into or moved.
    pub(super) fn set_items(&mut self, items: u64) {
        self.items = items;
    }

    pub(super) fn bits_mut(&mut self) -> &mut Buffer {
        &mut self.bits
    }

    /// A copy of its own.
    ///
    /// # Errors
    /// [`OutOfMemory`] if its bits cannot be had.
    pub fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let bits = Buffer::copy_of(&self.bits)?;
        Ok(Self::with_bits(self.shape, self.items, bits))
    }

    /// Byte and bit (0 to 7) of a probe, given its sum `a + i*b`. The one place where bits are addressed.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)]
    fn place(&self, sum: u64) -> (usize, u32) {
        let bit = self.modulus.of(sum);
        ((bit >> 3) as usize, bit as u32 & 7)
    }

    /// The byte of a probe, shifted so that the probe's bit is the lowest.
    #[inline(always)]
    fn bit(&self, sum: u64) -> u32 {
        let (byte, bit) = self.place(sum);
        u32::from(self.bits[byte]) >> bit
    }

    /// Whether the bits of these probes are all set. They are tested four at a time, without a branch
    /// between them: half of a full filter's bits are set, so that stopping at the first clear one is a
    /// branch as hard to foresee as the fall of a coin; fifteen in sixteen absent items end after four.
    #[inline(always)]
    fn has_probes(&self, hash: ItemHash, probes: Range<u32>) -> bool {
        let mut left = probes.end - probes.start;
        let mut sum = hash.sum(probes.start);
        while left >= 4 {
            let sums = [0, 1, 2, 3].map(|i| sum.wrapping_add(hash.b.wrapping_mul(i)));
            let all = sums.iter().fold(1, |all, &sum| all & self.bit(sum));
            if all == 0 {
                return false;
            }
            sum = sums[3].wrapping_add(hash.b);
            left -= 4;
        }
        while left > 0 {
            if self.bit(sum) & 1 == 0 {
                return false;
            }
            sum = sum.wrapping_add(hash.b);
            left -= 1;
        }
        true
    }

    /// Whether all bits of the item are set.
    #[inline]
    #[must_use]
    pub fn contains(&self, hash: ItemHash) -> bool {
        self.has_probes(hash, 0..self.shape.hashes)
    }

    /// [`Filter::contains`] for several items at once: of those whose bit is set in `candidates` (bit n
    /// for `hashes[n]`), the ones that are present.
    #[must_use]
    pub fn contains_block(&self, hashes: &[ItemHash], candidates: u32) -> u32 {
        if self.bits.len() <= CACHED_BYTES {
            return select(candidates, |n| self.contains(hashes[n]));
        }
        let all = self.shape.hashes;
        let first = FIRST_PROBES.min(all);
        let _ = select(candidates, |n| self.prefetch_probes(hashes[n], 0..first));
        let left = select(candidates, |n| self.has_probes(hashes[n], 0..first));
        let _ = select(left, |n| self.prefetch_probes(hashes[n], first..all));
        select(left, |n| self.has_probes(hashes[n], first..all))
    }

    #[inline(always)]
    fn prefetch_probes(&self, hash: ItemHash, probes: Range<u32>) -> bool {
        for i in probes {
            prefetch(&self.bits, self.place(hash.sum(i)).0);
        }
        true
    }

    /// Asks for the memory that adding this item will touch, where it is likely not in the caches.
    #[inline]
    pub fn prefetch(&self, hash: ItemHash) {
        if self.bits.len() > CACHED_BYTES {
            self.prefetch_probes(hash, 0..self.shape.hashes);
        }
    }

    /// Adds an item to a filter that has room: false if all its bits were set, and then nothing is
    /// written, so that no page is copied for it while the server saves in the background.
    #[inline]
    pub fn insert(&mut self, hash: ItemHash) -> bool {
        let all = 0..self.shape.hashes;
        let Some(first_clear) = all.clone().find(|&i| self.bit(hash.sum(i)) & 1 == 0) else {
            return false;
        };
        for i in first_clear..all.end {
            let (byte, bit) = self.place(hash.sum(i));
            self.bits[byte] |= 1 << bit;
        }
        self.items += 1;
        true
    }
}

/// The bits n of `candidates` for which `keep(n)` is true; it is called for the lowest bit first.
#[inline(always)]
fn select(candidates: u32, mut keep: impl FnMut(usize) -> bool) -> u32 {
    let mut kept = 0;
    let mut rest = candidates;
    while rest != 0 {
        let n = rest.trailing_zeros();
        kept |= u32::from(keep(n as usize)) << n;
        rest &= rest - 1;
    }
    kept
}
