//! One Bloom filter: a bit array with its stored header, and the probe sequence of each item.
//!
//! Format: docs/formats.md, "Bloom filters of valkey-bloom".

use super::shape::{MAX_BYTES, MAX_HASHES, hashes_for};
use crate::bit_array::{BitArray, Probes};
use crate::buffer::Buffer;
use crate::format::{Fields, FormatError};
use crate::memory::OutOfMemory;
use crate::modulus::Modulus;
use siphasher::sip::SipHasher13;
use std::hash::Hasher;

/// The seed of the hashes of a filter: two keys of SipHash, each two little-endian integers.
pub type Seed = [u8; 32];

/// The first byte of a stored filter.
const BLOB_VERSION: u8 = 1;
/// Bytes of a stored filter before its bits: version, bytes of the bit array, number of hashes, seed.
pub const BLOB_HEADER_BYTES: usize = 1 + 8 + 4 + 32;

/// The modulus of probes from number 2 on, before that of the bit array: the largest prime below 2^64.
const PRIME: u64 = u64::MAX - 58;

/// The two hashes of one item for one seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct ItemHash {
    pub(super) a: u64,
    pub(super) b: u64,
}

impl ItemHash {
    /// Computes SipHash-1-3 of the length and the bytes of the item, once per key of the seed.
    #[inline]
    pub(super) fn new(item: &[u8], seed: &Seed) -> Self {
        let (keys, _) = seed.as_chunks::<8>();
        let hash = |key: usize| {
            let [low, high] = [keys[key], keys[key + 1]].map(u64::from_le_bytes);
            let mut hasher = SipHasher13::new_with_keys(low, high);
            hasher.write_u64(item.len() as u64);
            hasher.write(item);
            hasher.finish()
        };
        Self {
            a: hash(0),
            b: hash(2),
        }
    }
}

/// `x mod PRIME`.
#[inline(always)]
fn reduce(x: u64) -> u64 {
    // Below the prime, the difference wraps to a number larger than x.
    x.min(x.wrapping_sub(PRIME))
}

impl Probes for ItemHash {
    #[inline(always)]
    fn probe(self, i: u32) -> u64 {
        match i {
            0 => self.a,
            1 => self.b,
            _ => reduce(self.a.wrapping_add(self.b.wrapping_mul(u64::from(i)))),
        }
    }
}

/// The header of a stored filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BlobHeader {
    /// Bytes of the bit array, from 1 to [`MAX_BYTES`].
    pub(super) bytes: u64,
    /// From 1 to [`MAX_HASHES`].
    pub(super) hashes: u32,
    pub(super) seed: Seed,
}

impl BlobHeader {
    /// The header of a new filter, whose bit array has `bytes` bytes.
    pub(super) fn new(capacity: u64, bytes: u64, seed: Seed) -> Self {
        Self {
            bytes,
            hashes: hashes_for(bytes, capacity),
            seed,
        }
    }

    /// Reads and validates a header.
    pub(super) fn read(fields: &mut Fields<'_>) -> Result<Self, FormatError> {
        let invalid = |what| Err(FormatError::Invalid(what));
        if fields.u8()? != BLOB_VERSION {
            return invalid("unknown version of a filter");
        }
        let header = Self {
            bytes: fields.u64()?,
            hashes: fields.u32()?,
            seed: fields.array()?,
        };
        if !(1..=MAX_BYTES).contains(&header.bytes) {
            return invalid("bytes of a filter out of range");
        }
        if !(1..=MAX_HASHES).contains(&header.hashes) {
            return invalid("hashes of a filter out of range");
        }
        Ok(header)
    }

    /// Reads and validates the header of a whole stored filter, whose length must be the one that the header specifies.
    pub(super) fn of_blob(blob: &[u8]) -> Result<Self, FormatError> {
        let mut fields = Fields::new(blob);
        let header = Self::read(&mut fields)?;
        if fields.rest().len() as u64 != header.bytes {
            return Err(FormatError::Invalid("length of a filter differs"));
        }
        Ok(header)
    }

    /// The stored form.
    pub(super) fn to_bytes(self) -> [u8; BLOB_HEADER_BYTES] {
        let mut bytes = [0; BLOB_HEADER_BYTES];
        bytes[0] = BLOB_VERSION;
        bytes[1..9].copy_from_slice(&self.bytes.to_le_bytes());
        bytes[9..13].copy_from_slice(&self.hashes.to_le_bytes());
        bytes[13..].copy_from_slice(&self.seed);
        bytes
    }

    /// Bytes of the stored filter.
    pub(super) fn blob_bytes(&self) -> u64 {
        self.bytes + BLOB_HEADER_BYTES as u64
    }
}

/// One filter of a chain.
#[derive(Debug)]
pub struct Filter {
    capacity: u64,
    items: u64,
    modulus: Modulus<u64>,
    hashes: u32,
    /// The stored form: header and bits. RDB and DEBUG DIGEST need both in one slice.
    blob: Buffer,
}

impl Filter {
    /// An empty filter. `header` must be valid.
    pub(super) fn new(capacity: u64, header: &BlobHeader) -> Result<Self, OutOfMemory> {
        let mut blob = Buffer::zeroed(header.blob_bytes())?;
        blob[..BLOB_HEADER_BYTES].copy_from_slice(&header.to_bytes());
        Ok(Self::with_blob(capacity, 0, header, blob))
    }

    /// A filter with existing bits. `header` must be that of `blob`, and valid.
    pub(super) fn with_blob(capacity: u64, items: u64, header: &BlobHeader, blob: Buffer) -> Self {
        Self {
            capacity,
            items,
            modulus: Modulus::<u64>::new(header.bytes * 8),
            hashes: header.hashes,
            blob,
        }
    }

    /// The capacity in items, at least 1.
    #[must_use]
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Items added to this filter, at most its capacity.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.items
    }

    /// Probes per item, from 1 to 2048.
    #[must_use]
    pub fn hashes(&self) -> u32 {
        self.hashes
    }

    /// The bit array: bit x is bit `x & 7` of byte `x >> 3`.
    #[must_use]
    pub fn bits(&self) -> &[u8] {
        &self.blob[BLOB_HEADER_BYTES..]
    }

    /// The stored form: a header of 45 bytes, then the bit array.
    #[must_use]
    pub fn blob(&self) -> &Buffer {
        &self.blob
    }

    /// Whether the filter holds as many items as its capacity.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.items >= self.capacity
    }

    /// The seed of the hashes.
    #[must_use]
    pub fn seed(&self) -> Seed {
        self.header().seed
    }

    /// The header of the stored form.
    pub(super) fn header(&self) -> BlobHeader {
        let mut seed = [0; 32];
        seed.copy_from_slice(&self.blob[BLOB_HEADER_BYTES - 32..BLOB_HEADER_BYTES]);
        BlobHeader {
            bytes: self.bits().len() as u64,
            hashes: self.hashes,
            seed,
        }
    }

    /// The bit array, for writing.
    pub(super) fn bits_mut(&mut self) -> &mut [u8] {
        &mut self.blob[BLOB_HEADER_BYTES..]
    }

    /// The stored form, for relocation.
    pub(super) fn blob_mut(&mut self) -> &mut Buffer {
        &mut self.blob
    }

    /// A copy.
    pub(super) fn try_clone(&self) -> Result<Self, OutOfMemory> {
        Ok(Self {
            blob: Buffer::copy_of(&self.blob)?,
            ..*self
        })
    }

    /// The bits, for look-ups.
    #[inline(always)]
    pub(super) fn bit_array(&self) -> Bits<'_> {
        Bits {
            bytes: self.bits(),
            modulus: self.modulus,
            hashes: self.hashes,
        }
    }

    /// Whether all bits of the item are set: no false negatives. Cost: at most `hashes` cache misses.
    ///
    /// Tests four bits at a time without a branch in between. At capacity half of the bits are set, so a branch per bit
    /// would be unpredictable; four bits rule out 15 of 16 absent items.
    #[inline]
    pub(super) fn contains(&self, hash: ItemHash) -> bool {
        let bits = self.bit_array();
        if self.hashes < 4 {
            return (0..self.hashes).all(|i| bits.all_set([hash.probe(i)]));
        }
        if !bits.all_set([0, 1, 2, 3].map(|i| hash.probe(i))) {
            return false;
        }
        // Probe i is the reduced `sum`.
        let mut sum = hash.a.wrapping_add(hash.b.wrapping_mul(4));
        let mut left = self.hashes - 4;
        while left >= 4 {
            let sums = [0, 1, 2, 3].map(|i| sum.wrapping_add(hash.b.wrapping_mul(i)));
            if !bits.all_set(sums.map(reduce)) {
                return false;
            }
            sum = sums[3].wrapping_add(hash.b);
            left -= 4;
        }
        while left > 0 {
            if !bits.all_set([reduce(sum)]) {
                return false;
            }
            sum = sum.wrapping_add(hash.b);
            left -= 1;
        }
        true
    }

    /// Sets all bits of the item and counts it. Returns false if all were set already. Nothing is written in this case, so
    /// that no page is copied while a child process saves. Does not check the capacity.
    #[inline]
    pub(super) fn insert(&mut self, hash: ItemHash) -> bool {
        let (hashes, modulus) = (self.hashes, self.modulus);
        let bits = self.bits_mut();
        let place = |i| {
            let index = modulus.of(hash.probe(i));
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

/// The bits of a filter, without their header.
#[derive(Debug, Clone, Copy)]
pub(super) struct Bits<'a> {
    bytes: &'a [u8],
    modulus: Modulus<u64>,
    hashes: u32,
}

impl BitArray for Bits<'_> {
    #[inline(always)]
    fn hashes(&self) -> u32 {
        self.hashes
    }

    #[inline(always)]
    fn bytes(&self) -> &[u8] {
        self.bytes
    }

    #[inline(always)]
    fn index(&self, probe: u64) -> u64 {
        self.modulus.of(probe)
    }
}
