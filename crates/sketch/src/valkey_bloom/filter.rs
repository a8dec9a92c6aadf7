//! One Bloom filter: a bit array with its stored header, and the probe sequence of each item.
//!
//! Format: docs/contributing/formats.md, "Bloom filters of valkey-bloom".

use super::FIXED_SEED;
use super::sizes::{MAX_BYTES, MAX_HASHES, hashes_for};
use crate::buffer::Buffer;
use crate::chain::{self, FilterShape, ItemHash, MAX_TOTAL_HASHES, Probes};
use crate::format::{Fields, FormatError};
use crate::memory::{OutOfMemory, capacity_for};
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

/// The hashes of an item for one seed: SipHash-1-3 of its length and its bytes, once per key of the seed.
#[inline]
pub(super) fn hash(item: &[u8], seed: &Seed) -> ItemHash {
    let (keys, _) = seed.as_chunks::<8>();
    let hash = |key: usize| {
        let [low, high] = [keys[key], keys[key + 1]].map(u64::from_le_bytes);
        let mut hasher = SipHasher13::new_with_keys(low, high);
        hasher.write_u64(item.len() as u64);
        hasher.write(item);
        hasher.finish()
    };
    ItemHash {
        a: hash(0),
        b: hash(2),
    }
}

/// The parameters of a filter.
#[derive(Debug, Clone, Copy)]
pub struct ValkeyShape {
    /// In items, at least 1.
    pub(super) capacity: u64,
    /// From 1 to [`MAX_HASHES`].
    pub(super) hashes: u32,
}

impl Probes for ValkeyShape {
    #[inline(always)]
    fn probe(hash: ItemHash, i: u32) -> u64 {
        match i {
            0 => hash.a,
            1 => hash.b,
            _ => Self::probe_of_sum(hash.sum(i)),
        }
    }

    /// `sum mod PRIME`.
    #[inline(always)]
    fn probe_of_sum(sum: u64) -> u64 {
        // Below the prime, the difference wraps to a number larger than the sum.
        sum.min(sum.wrapping_sub(PRIME))
    }
}

impl FilterShape for ValkeyShape {
    /// The block is the stored form. RDB and DEBUG DIGEST need header and bits in one slice.
    const HEADER_BYTES: usize = BLOB_HEADER_BYTES;

    /// The second.
    const PROBES_APART: u64 = 1;

    #[inline(always)]
    fn capacity(&self) -> u64 {
        self.capacity
    }

    #[inline(always)]
    fn hashes(&self) -> u32 {
        self.hashes
    }

    #[inline(always)]
    fn num_bits(&self, bytes: usize) -> u64 {
        bytes as u64 * 8
    }

    fn capacity_for(len: usize) -> usize {
        capacity_for(len, MAX_TOTAL_HASHES as usize)
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
        refuse_if!(fields.u8()? != BLOB_VERSION => "unknown version of a filter");
        let header = Self {
            bytes: fields.u64()?,
            hashes: fields.u32()?,
            seed: fields.array()?,
        };
        refuse_if!(!(1..=MAX_BYTES).contains(&header.bytes) => "bytes of a filter out of range");
        refuse_if!(!(1..=MAX_HASHES).contains(&header.hashes) => "hashes of a filter out of range");
        Ok(header)
    }

    /// Reads and validates the header of a whole stored filter, whose length must be the one that the header specifies.
    pub(super) fn of_blob(blob: &[u8]) -> Result<Self, FormatError> {
        let mut fields = Fields::new(blob);
        let header = Self::read(&mut fields)?;
        refuse_if!(fields.rest().len() as u64 != header.bytes => "length of a filter differs");
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

    /// A stored filter without set bits.
    pub(super) fn empty_blob(self) -> Result<Buffer, OutOfMemory> {
        let mut blob = Buffer::zeroed(self.blob_bytes())?;
        blob[..BLOB_HEADER_BYTES].copy_from_slice(&self.to_bytes());
        Ok(blob)
    }

    /// Bytes of the stored filter.
    pub(super) fn blob_bytes(&self) -> u64 {
        self.bytes + BLOB_HEADER_BYTES as u64
    }
}

/// One filter of a chain. Its block is the stored form.
pub type Filter = chain::Filter<ValkeyShape>;

impl Filter {
    /// A filter with existing bits. `header` must be that of `blob`, and valid.
    pub(super) fn with_blob(capacity: u64, items: u64, header: &BlobHeader, blob: Buffer) -> Self {
        let shape = ValkeyShape {
            capacity,
            hashes: header.hashes,
        };
        Self::new(shape, items, blob)
    }

    /// An empty filter. `header` must be valid.
    pub(super) fn empty(capacity: u64, header: &BlobHeader) -> Result<Self, OutOfMemory> {
        let blob = header.empty_blob()?;
        Ok(Self::with_blob(capacity, 0, header, blob))
    }

    /// The seed of the hashes.
    #[inline(always)]
    pub(super) fn seed(&self) -> &Seed {
        let header = self.block().first_chunk::<BLOB_HEADER_BYTES>();
        // A block always has a header.
        (header.and_then(|header| header.last_chunk())).unwrap_or(&FIXED_SEED)
    }

    /// The header of the stored form.
    pub(super) fn header(&self) -> BlobHeader {
        BlobHeader {
            bytes: self.bits().len() as u64,
            hashes: self.hashes(),
            seed: *self.seed(),
        }
    }
}
