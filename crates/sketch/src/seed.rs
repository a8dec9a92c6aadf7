//! The secret seed of a sketch with a window, and the hash of items that it keys.

use crate::format::{FormatError, Sink, Source};
use siphasher::sip::SipHasher13;

/// The secret seed of a sketch with a window: the key of the hash of items.
///
/// The hash is SipHash-1-3 (Aumasson and Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012). Who does not know
/// the seed cannot choose items that collide.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Seed(pub [u8; Seed::BYTES]);

impl Seed {
    /// The bytes of a seed.
    pub const BYTES: usize = 16;

    /// The hash of an item. Cost: one pass over its bytes. Part of the data format.
    #[inline]
    pub fn hash(self, item: &[u8]) -> u64 {
        let number = u128::from_le_bytes(self.0);
        SipHasher13::new_with_keys(number as u64, (number >> 64) as u64).hash(item)
    }

    /// Writes the seed: two unsigned integers, of the first and the last eight bytes.
    pub fn save(self, sink: &mut dyn Sink) {
        for half in self.0.as_chunks().0 {
            sink.write_unsigned(u64::from_le_bytes(*half));
        }
    }

    /// Reads what [`Seed::save`] writes.
    ///
    /// # Errors
    /// Those of the source.
    pub fn load(source: &mut dyn Source) -> Result<Self, FormatError> {
        let mut seed = Self::default();
        for half in seed.0.as_chunks_mut().0 {
            *half = source.read_unsigned()?.to_le_bytes();
        }
        Ok(seed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The values of another implementation: `hash(bytes)` of CPython 3.11 is SipHash-1-3, and `PYTHONHASHSEED=0` selects
    /// the key 0.
    #[test]
    fn known_values() {
        let hash = |item: &[u8]| Seed::default().hash(item);
        assert_eq!(hash(b"a"), 0x4074_48d2_b89b_1813);
        assert_eq!(hash(b"12345678"), 0x3489_9824_3056_0a87);
        assert_eq!(hash(b"0123456789abcdef"), 0x1d42_b30f_7e06_0c24);
        let bytes: Vec<u8> = (0..64).collect();
        assert_eq!(hash(&bytes), 0x75e0_5fd5_bbc8_70c6);
    }

    #[test]
    fn every_byte_of_the_seed_changes_the_hash() {
        let hashes = (0..Seed::BYTES).map(|byte| {
            let mut seed = Seed::default();
            seed.0[byte] = 1;
            seed.hash(b"item")
        });
        let mut hashes: Vec<_> = hashes.chain([Seed::default().hash(b"item")]).collect();
        hashes.sort_unstable();
        hashes.dedup();
        assert_eq!(hashes.len(), Seed::BYTES + 1);
    }
}
