//! One Bloom filter of a chain.

use super::bits::{Bits, ItemHash, Probes};
use crate::buffer::Buffer;
use crate::hash::modulus::Modulus;
use crate::memory::OutOfMemory;
use crate::one_or_many::Part;
use std::fmt::Debug;
use std::marker::PhantomData;

/// The parameters of a filter, and the layout of its block.
pub trait FilterShape: Probes + Copy + Debug {
    /// Bytes of the block before the bits.
    const HEADER_BYTES: usize = 0;

    /// Probes of an item that are not in the sequence of the others.
    const PROBES_APART: u64 = 0;

    /// Items after which the filter is full.
    fn capacity(&self) -> u64;

    /// Probes per item. With 0, every item is present.
    fn hashes(&self) -> u32;

    /// The number of bits that items use of an array of so many bytes. 0 only without hashes.
    fn num_bits(&self, bytes: usize) -> u64;

    /// The capacity of a list of `len` filters.
    fn capacity_for(len: usize) -> usize;
}

/// One filter of a chain.
#[derive(Debug)]
pub struct Filter<S> {
    /// The bit array, after a header in some layouts.
    block: Buffer,
    items: u64,
    /// That of the modulus of the probes, which is [`FilterShape::num_bits`].
    inverse: u64,
    shape: S,
}

impl<S: FilterShape> Filter<S> {
    /// A filter with existing bits. `block` must have bytes for all bits that items use after its header, which the
    /// validation of stored forms checks.
    pub(crate) fn new(shape: S, items: u64, block: Buffer) -> Self {
        let bits = shape.num_bits(block.len() - S::HEADER_BYTES);
        Self {
            block,
            items,
            inverse: Modulus::<u64>::new(bits).inverse(),
            shape,
        }
    }

    /// The parameters.
    #[must_use]
    pub fn shape(&self) -> &S {
        &self.shape
    }

    /// The parameters, for tests of chains that commands cannot create.
    #[cfg(test)]
    pub(crate) fn shape_mut(&mut self) -> &mut S {
        &mut self.shape
    }

    /// The capacity in items.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.shape.capacity()
    }

    /// Probes per item.
    #[must_use]
    pub fn hashes(&self) -> u32 {
        self.shape.hashes()
    }

    /// Items added to this filter.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// Whether the filter has as many items as its capacity.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.items >= self.capacity()
    }

    /// The number of bits that items use, at least 1.
    #[must_use]
    pub fn num_bits(&self) -> u64 {
        self.modulus().divisor().max(1)
    }

    /// The bit array: bit x is bit `x & 7` of byte `x >> 3`.
    #[must_use]
    pub fn bits(&self) -> &[u8] {
        &self.block[S::HEADER_BYTES..]
    }

    /// The block of memory: a header in some layouts, then the bit array.
    #[must_use]
    pub fn block(&self) -> &Buffer {
        &self.block
    }

    /// Sets the number of items and leaves the bits unchanged.
    pub(crate) fn set_items(&mut self, items: u64) {
        self.items = items;
    }

    /// The bit array, for writing.
    pub(crate) fn bits_mut(&mut self) -> &mut [u8] {
        &mut self.block[S::HEADER_BYTES..]
    }

    /// The modulus of the probes.
    #[inline(always)]
    fn modulus(&self) -> Modulus<u64> {
        let bits = self.shape.num_bits(self.block.len() - S::HEADER_BYTES);
        Modulus::<u64>::of_parts(bits, self.inverse)
    }

    /// The bits, for look-ups.
    #[inline(always)]
    pub(super) fn lookup(&self) -> Bits<'_, S> {
        Bits {
            bytes: self.bits(),
            modulus: self.modulus(),
            hashes: self.hashes(),
            probes: PhantomData,
        }
    }

    /// Whether all bits of the item are set; see [`Bits::contains`].
    #[inline]
    pub(super) fn contains(&self, hash: ItemHash) -> bool {
        self.lookup().contains(hash)
    }

    /// As [`Filter::contains`], with bytes of the bit array from `byte_at`, which has their offset as its argument.
    pub(super) fn contains_by<E>(
        &self,
        hash: ItemHash,
        mut byte_at: impl FnMut(u64) -> Result<u8, E>,
    ) -> Result<bool, E> {
        let modulus = self.modulus();
        for i in 0..self.hashes() {
            let index = modulus.of(S::probe(hash, i));
            if byte_at(index >> 3)? >> (index & 7) & 1 == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Sets all bits of an item and counts it. Returns false if all were set already. Nothing is written in this case, so
    /// that no page is copied while a child process saves. Does not check the capacity.
    #[inline]
    pub(super) fn insert(&mut self, hash: ItemHash) -> bool {
        let (hashes, modulus) = (self.hashes(), self.modulus());
        let bits = self.bits_mut();
        let place = |i| {
            let index = modulus.of(S::probe(hash, i));
            ((index >> 3) as usize, 1u8 << (index & 7))
        };
        // Stops at the first clear bit: testing all bits first is slower in a new filter.
        let mut places = (0..hashes).map(place);
        let Some(first_clear) = places.position(|(byte, bit)| bits[byte] & bit == 0) else {
            return false;
        };
        for i in first_clear as u32..hashes {
            let (byte, bit) = place(i);
            bits[byte] |= bit;
        }
        self.items += 1;
        true
    }
}

impl<S: FilterShape> Part for Filter<S> {
    fn capacity_for(len: usize) -> usize {
        S::capacity_for(len)
    }

    fn try_clone(&self) -> Result<Self, OutOfMemory> {
        Ok(Self {
            block: Buffer::copy_of(&self.block)?,
            ..*self
        })
    }

    fn block(&self) -> &Buffer {
        &self.block
    }

    fn block_mut(&mut self) -> &mut Buffer {
        &mut self.block
    }
}
