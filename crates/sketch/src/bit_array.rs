//! [`BitArray`]: tests of the bits of many items in a Bloom filter.

use crate::prefetch::prefetch;
use std::ops::Range;

/// The probe sequence of one item.
pub trait Probes: Copy {
    /// Probe `i` before reduction by the modulus of the bit array.
    fn probe(self, i: u32) -> u64;
}

/// Items that `contains_block` tests together: the number of bits of a mask. Each round of probes ends with a
/// branch misprediction that all items of the block share, so larger blocks are faster.
pub const BLOCK_ITEMS: usize = 64;

/// Arrays of at most this size are not prefetched: they are likely in the caches, where prefetching costs more than it
/// saves.
const MAX_CACHED_BYTES: usize = 1 << 20;

/// Probes that are prefetched and tested first. At capacity half of the bits are set, so two probes rule out three of four
/// absent items; prefetching all probes of all items would waste most of the cache misses.
const FIRST_PROBES: u32 = 2;

/// The bit array of a filter: bit x is bit `x & 7` of byte `x >> 3`.
pub trait BitArray {
    /// Probes per item, at least 1.
    fn hashes(&self) -> u32;

    /// The bytes.
    fn bytes(&self) -> &[u8];

    /// The index of the bit of a probe. It must be inside the bytes.
    fn index(&self, probe: u64) -> u64;

    /// The byte that contains a bit, shifted so that the bit is the lowest. The higher bits are other bits.
    #[inline(always)]
    fn bit(&self, index: u64) -> u32 {
        u32::from(self.bytes()[(index >> 3) as usize]) >> (index & 7)
    }

    /// Whether the bits of these probes are all set. Tests them without a branch in between.
    #[inline(always)]
    fn all_set<const N: usize>(&self, probes: [u64; N]) -> bool {
        let indexes = probes.map(|probe| self.index(probe));
        indexes.iter().fold(1, |all, &index| all & self.bit(index)) != 0
    }

    /// Whether all bits of each item are set. Tests the items whose bits are set in `candidates` (bit n for `hashes[n]`), at
    /// most [`BLOCK_ITEMS`], and returns the bits of those that are present.
    ///
    /// Each round tests one or two probes of all remaining items, so that there is one branch misprediction per round
    /// instead of one per item.
    ///
    /// Always inlined, so that it is compiled for the vector instructions of its caller.
    #[inline(always)]
    fn contains_block<P: Probes>(&self, hashes: &[P], candidates: u64) -> u64 {
        let all = self.hashes();
        let first = FIRST_PROBES.min(all);
        let is_large = self.is_large();
        let mut remaining = candidates;
        if is_large {
            let _ = select(remaining, |n| self.prefetch_probes(hashes[n], 0..first));
        }
        for i in 0..first {
            remaining = select(remaining, |n| self.all_set([hashes[n].probe(i)]));
        }
        if is_large {
            let _ = select(remaining, |n| self.prefetch_probes(hashes[n], first..all));
        }
        let mut i = first;
        while remaining != 0 && i < all {
            // If one probe is left, it is tested twice.
            let next = (i + 1).min(all - 1);
            remaining = select(remaining, |n| {
                let hash = hashes[n];
                self.all_set([hash.probe(i), hash.probe(next)])
            });
            i += 2;
        }
        remaining
    }

    /// Prefetches the bits of these probes. Always returns true, for use with [`select`].
    #[inline(always)]
    fn prefetch_probes(&self, hash: impl Probes, probes: Range<u32>) -> bool {
        for i in probes {
            prefetch(self.bytes(), (self.index(hash.probe(i)) >> 3) as usize);
        }
        true
    }

    /// Whether the bits are likely not in the caches, so that prefetching saves time.
    #[inline]
    fn is_large(&self) -> bool {
        self.bytes().len() > MAX_CACHED_BYTES
    }

    /// Prefetches all bits of one item if they are likely not in the caches.
    #[inline]
    fn prefetch(&self, hash: impl Probes) {
        if self.is_large() {
            self.prefetch_probes(hash, 0..self.hashes());
        }
    }
}

/// Keeps the set bits n of `candidates` for which `keep(n)` is true. Calls `keep` from the lowest bit up.
#[inline(always)]
fn select(candidates: u64, mut keep: impl FnMut(usize) -> bool) -> u64 {
    let mut kept = 0;
    let mut rest = candidates;
    while rest != 0 {
        let n = rest.trailing_zeros();
        kept |= u64::from(keep(n as usize)) << n;
        rest &= rest - 1;
    }
    kept
}
