//! The hashes of an item: a one-byte fingerprint and two buckets.
//!
//! Either bucket follows from the other and the fingerprint, so a stored fingerprint can move without its item being
//! known (partial-key cuckoo hashing: Fan et al., "Cuckoo Filter: Practically Better Than Bloom", CoNEXT 2014, section
//! 3.1; constants: docs/contributing/formats.md, "Cuckoo filters").

use crate::hash::murmur64a;

/// Fingerprints are 1 to 255; 0 marks an empty slot.
pub(super) const FINGERPRINTS: u64 = 255;
/// Multiplier that spreads fingerprints over the buckets: the one of MurmurHash2.
const SPREAD: u64 = 0x5bd1_e995;

/// The hashes of an item. Each sub-filter reduces the bucket hashes to its number of buckets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct HashedItem {
    /// The stored byte: 1 to 255.
    pub fingerprint: u8,
    /// Hash of the first bucket.
    pub first: u64,
    /// Hash of the second bucket.
    pub second: u64,
}

impl HashedItem {
    /// Hashes an item. Cost: one pass over its bytes.
    #[inline]
    pub fn of(item: &[u8]) -> Self {
        let hash = murmur64a(item, 0);
        let fingerprint = (hash % FINGERPRINTS + 1) as u8;
        Self {
            fingerprint,
            first: hash,
            second: other_bucket(hash, fingerprint),
        }
    }
}

/// The other of the two buckets that `fingerprint` may be in, given one of them: as a hash, or reduced to the number of
/// buckets, a power of two. Reducing the argument or the result gives the same bucket.
#[inline]
pub(super) fn other_bucket(bucket: u64, fingerprint: u8) -> u64 {
    bucket ^ (u64::from(fingerprint) * SPREAD)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_empty_item_has_the_first_fingerprint_and_bucket() {
        let expected = HashedItem {
            fingerprint: 1,
            first: 0,
            second: SPREAD,
        };
        assert_eq!(HashedItem::of(b""), expected);
    }

    proptest! {
        #[test]
        fn either_bucket_leads_to_the_other_at_every_size(item: Vec<u8>, log2_buckets in 0u32..56) {
            let hashed = HashedItem::of(&item);
            prop_assert!(hashed.fingerprint != 0);
            let buckets = 1u64 << log2_buckets;
            let (first, second) = (hashed.first % buckets, hashed.second % buckets);
            prop_assert_eq!(other_bucket(first, hashed.fingerprint) % buckets, second);
            prop_assert_eq!(other_bucket(second, hashed.fingerprint) % buckets, first);
        }
    }
}
