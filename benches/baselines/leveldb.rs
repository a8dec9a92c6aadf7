//! LevelDB's Bloom filter, written from the description of its algorithm, as a reference: a small, widely
//! used filter without growth.
//!
//! The first probe is a 32-bit hash of the item; each further probe adds that hash, rotated right by 17 bits. The
//! number of probes is 0.69 times the bits per key, limited to 1 to 30; it is stored in the last byte. A
//! filter has at least 64 bits.

use roughly_sketch::hash::murmur2;

/// Arbitrary seed, different from the seeds of the other filters.
const SEED: u32 = 0xbc9f_1d34;
const MAX_PROBES: f64 = 30.0;
const MIN_BITS: u64 = 64;

/// The filter: bits, then the number of probes.
#[derive(Debug)]
pub struct LevelDb {
    bytes: Vec<u8>,
}

impl LevelDb {
    /// An empty filter with `bits` bits for `keys` keys.
    pub fn new(bits: u64, keys: u64) -> Self {
        let probes = (bits as f64 / keys as f64 * 0.69).clamp(1.0, MAX_PROBES) as u8;
        let mut bytes = vec![0; bits.max(MIN_BITS).div_ceil(8) as usize + 1];
        *bytes.last_mut().expect("the last byte") = probes;
        Self { bytes }
    }

    /// Byte index and bit mask of each probe of an item.
    fn probes(&self, item: &[u8]) -> impl Iterator<Item = (usize, u8)> + use<> {
        let bits = (self.bytes.len() as u64 - 1) * 8;
        let mut hash = murmur2(item, SEED);
        let step = hash.rotate_right(17);
        let probes = self.bytes.last().copied().unwrap_or(0);
        (0..probes).map(move |_| {
            // A 32-bit hash reaches only the first 512 MiB of a larger filter. LevelDB has no filters of
            // this size: it creates one per block of a table.
            let place = u64::from(hash) % bits;
            hash = hash.wrapping_add(step);
            ((place / 8) as usize, 1 << (place % 8))
        })
    }

    /// Adds an item.
    pub fn insert(&mut self, item: &[u8]) {
        for (byte, bit) in self.probes(item) {
            self.bytes[byte] |= bit;
        }
    }

    /// Whether an item may have been added.
    pub fn contains(&self, item: &[u8]) -> bool {
        (self.probes(item)).all(|(byte, bit)| self.bytes[byte] & bit != 0)
    }
}
