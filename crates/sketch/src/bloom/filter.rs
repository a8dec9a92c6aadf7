//! One Bloom filter: a bit array and the probes of an item (Bloom, "Space/Time Trade-offs in Hash Coding with Allowable
//! Errors", CACM 13(7), 1970; double hashing: Kirsch & Mitzenmacher, "Less Hashing, Same Performance", ESA 2006).

use super::shape::Shape;
use crate::bit_array::{BitArray, Probes};
use crate::buffer::Buffer;
use crate::memory::OutOfMemory;
use crate::modulus::Modulus;

pub use crate::bit_array::BLOCK_ITEMS;

/// The two hashes of an item. Probe i is bit `(a + i*b) mod m`, m the modulus of the filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ItemHash {
    /// The first probe before reduction.
    pub a: u64,
    /// The distance between probes before reduction.
    pub b: u64,
}

impl Probes for ItemHash {
    #[inline(always)]
    fn probe(self, i: u32) -> u64 {
        self.a.wrapping_add(self.b.wrapping_mul(u64::from(i)))
    }
}

/// One filter of a chain.
#[derive(Debug)]
pub struct Filter {
    shape: Shape,
    modulus: Modulus<u64>,
    items: u64,
    bits: Buffer,
}

impl Filter {
    /// An empty filter.
    ///
    /// # Errors
    /// [`OutOfMemory`] if the allocator refuses the bit array.
    pub fn new(shape: Shape) -> Result<Self, OutOfMemory> {
        let bits = Buffer::zeroed(shape.bytes())?;
        Ok(Self::with_bits(shape, 0, bits))
    }

    /// A filter with existing bits. `bits` must have at least `shape.bytes()` bytes, which the validation of stored forms
    /// checks.
    pub(super) fn with_bits(shape: Shape, items: u64, bits: Buffer) -> Self {
        let modulus = Modulus::<u64>::new(shape.modulus());
        Self {
            shape,
            modulus,
            items,
            bits,
        }
    }

    /// The parameters.
    #[must_use]
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// Items added to this filter.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// Whether the filter holds as many items as its capacity.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.items >= self.shape.capacity
    }

    /// The bit array: bit x is bit `x & 7` of byte `x >> 3`.
    #[must_use]
    pub fn bits(&self) -> &Buffer {
        &self.bits
    }

    /// Sets the number of items and leaves the bits unchanged.
    pub(super) fn set_items(&mut self, items: u64) {
        self.items = items;
    }

    /// The bit array, for writing or relocation.
    pub(super) fn bits_mut(&mut self) -> &mut Buffer {
        &mut self.bits
    }

    /// A copy.
    ///
    /// # Errors
    /// [`OutOfMemory`] if the allocator refuses the bit array.
    pub fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let bits = Buffer::copy_of(&self.bits)?;
        Ok(Self::with_bits(self.shape, self.items, bits))
    }

    /// Sets a bit.
    #[inline(always)]
    fn set(&mut self, index: u64) {
        self.bits[(index >> 3) as usize] |= 1 << (index & 7);
    }

    /// Whether all bits of the item are set: no false negatives. Cost: at most `hashes` cache misses.
    ///
    /// Tests four bits at a time without a branch in between. At capacity half of the bits are set, so a branch per bit
    /// would be unpredictable; four bits rule out 15 of 16 absent items.
    #[inline]
    #[must_use]
    pub fn contains(&self, hash: ItemHash) -> bool {
        let mut left = self.shape.hashes;
        let mut probe = hash.a;
        while left >= 4 {
            let probes = [0, 1, 2, 3].map(|i| probe.wrapping_add(hash.b.wrapping_mul(i)));
            if !self.all_set(probes) {
                return false;
            }
            probe = probes[3].wrapping_add(hash.b);
            left -= 4;
        }
        while left > 0 {
            if !self.all_set([probe]) {
                return false;
            }
            probe = probe.wrapping_add(hash.b);
            left -= 1;
        }
        true
    }

    /// [`Filter::contains`] for several items. Tests the items whose bits are set in `candidates` (bit n for `hashes[n]`),
    /// at most [`BLOCK_ITEMS`], and returns the bits of those that are present.
    ///
    /// Always inlined, so that it is compiled for the vector instructions of its caller.
    #[inline(always)]
    #[must_use]
    pub fn contains_block(&self, hashes: &[ItemHash], candidates: u64) -> u64 {
        BitArray::contains_block(self, hashes, candidates)
    }

    /// Prefetches all bits of one item if they are likely not in the caches.
    #[inline]
    pub fn prefetch(&self, hash: ItemHash) {
        BitArray::prefetch(self, hash);
    }

    /// Sets all bits of an item and counts it. Returns false if all were set already. Nothing is written in this case, so
    /// that no page is copied while a child process saves. Does not check the capacity.
    #[inline]
    pub fn insert(&mut self, hash: ItemHash) -> bool {
        let all = 0..self.shape.hashes;
        // Stops at the first clear bit: testing all bits first is slower in a new filter.
        let mut indexes = all.clone().map(|i| self.index(hash.probe(i)));
        let Some(first_clear) = indexes.position(|index| self.bit(index) & 1 == 0) else {
            return false;
        };
        for i in first_clear as u32..all.end {
            self.set(self.index(hash.probe(i)));
        }
        self.items += 1;
        true
    }
}

impl BitArray for Filter {
    #[inline(always)]
    fn hashes(&self) -> u32 {
        self.shape.hashes
    }

    #[inline(always)]
    fn bytes(&self) -> &[u8] {
        &self.bits
    }

    #[inline(always)]
    fn index(&self, probe: u64) -> u64 {
        self.modulus.of(probe)
    }
}
