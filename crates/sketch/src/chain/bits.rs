//! [`Bits`]: tests of the bits of items in a Bloom filter (Bloom, "Space/Time Trade-offs in Hash Coding with Allowable
//! Errors", CACM 13(7), 1970; double hashing: Kirsch & Mitzenmacher, "Less Hashing, Same Performance", ESA 2006).

use crate::hash::modulus::Modulus;
use crate::prefetch::prefetch;
use std::marker::PhantomData;
use std::ops::Range;

/// The two hashes of an item, from which its probes are computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ItemHash {
    /// The first hash.
    pub a: u64,
    /// The second hash.
    pub b: u64,
}

impl ItemHash {
    /// `a + i*b` modulo 2^64.
    #[inline(always)]
    pub fn sum(self, i: u32) -> u64 {
        self.a.wrapping_add(self.b.wrapping_mul(u64::from(i)))
    }
}

/// The probes of an item, before reduction by the modulus of the bit array.
pub trait Probes {
    /// Probe `i` of an item.
    #[inline(always)]
    fn probe(hash: ItemHash, i: u32) -> u64 {
        Self::probe_of_sum(hash.sum(i))
    }

    /// Probe `i` from `a + i*b`. Only for `i` of at least 2.
    fn probe_of_sum(sum: u64) -> u64;
}

/// Items that [`Bits::contains_block`] tests together: the number of bits of a mask. Each round of probes ends with a
/// branch misprediction that all items of the block share, so larger blocks are faster.
pub(super) const BLOCK_ITEMS: usize = 64;

/// Arrays of at most this size are not prefetched: they are likely in the caches, where prefetching costs more than it
/// saves.
const MAX_CACHED_BYTES: usize = 1 << 20;

/// Probes that are prefetched and tested first. At capacity half of the bits are set, so two probes rule out three of four
/// absent items; prefetching all probes of all items would waste most of the cache misses.
const FIRST_PROBES: u32 = 2;

/// The bit array of a filter, for look-ups: bit x is bit `x & 7` of byte `x >> 3`.
#[derive(Debug)]
pub(super) struct Bits<'a, P> {
    pub(super) bytes: &'a [u8],
    /// At most the number of bits.
    pub(super) modulus: Modulus<u64>,
    /// Probes per item. With 0, every item is present.
    pub(super) hashes: u32,
    pub(super) probes: PhantomData<P>,
}

impl<P: Probes> Bits<'_, P> {
    /// Whether the bits of these probes are all set. Tests them without a branch in between.
    #[inline(always)]
    fn all_set<const N: usize>(&self, probes: [u64; N]) -> bool {
        let indexes = probes.map(|probe| self.modulus.of(probe));
        // The lowest bit of the result; the others are those of other probes.
        let bit = |index: u64| u32::from(self.bytes[(index >> 3) as usize]) >> (index & 7);
        indexes.iter().fold(1, |all, &index| all & bit(index)) != 0
    }

    /// Whether all bits of the item are set: no false negatives. Cost: at most `hashes` cache misses.
    ///
    /// Tests four bits at a time without a branch in between. At capacity half of the bits are set, so a branch per bit
    /// would be unpredictable; four bits rule out 15 of 16 absent items.
    #[inline(always)]
    pub(super) fn contains(&self, hash: ItemHash) -> bool {
        if self.hashes < 4 {
            return (0..self.hashes).all(|i| self.all_set([P::probe(hash, i)]));
        }
        if !self.all_set([0, 1, 2, 3].map(|i| P::probe(hash, i))) {
            return false;
        }
        let mut sum = hash.sum(4);
        let mut left = self.hashes - 4;
        while left >= 4 {
            let sums = [0, 1, 2, 3].map(|i| sum.wrapping_add(hash.b.wrapping_mul(i)));
            if !self.all_set(sums.map(P::probe_of_sum)) {
                return false;
            }
            sum = sums[3].wrapping_add(hash.b);
            left -= 4;
        }
        while left > 0 {
            if !self.all_set([P::probe_of_sum(sum)]) {
                return false;
            }
            sum = sum.wrapping_add(hash.b);
            left -= 1;
        }
        true
    }

    /// Whether all bits of each item are set. Tests the items whose bits are set in `candidates` (bit n for `hashes[n]`), at
    /// most [`BLOCK_ITEMS`], and returns the bits of those that are present.
    ///
    /// Each round tests one or two probes of all remaining items, so that there is one branch misprediction per round
    /// instead of one per item.
    ///
    /// Always inlined, so that it is compiled for the vector instructions of its caller.
    #[inline(always)]
    pub(super) fn contains_block(&self, hashes: &[ItemHash], candidates: u64) -> u64 {
        let all = self.hashes;
        let first = FIRST_PROBES.min(all);
        let is_large = self.is_large();
        let mut remaining = candidates;
        if is_large {
            let _ = select(remaining, |n| self.prefetch_probes(hashes[n], 0..first));
        }
        for i in 0..first {
            remaining = select(remaining, |n| self.all_set([P::probe(hashes[n], i)]));
        }
        if is_large {
            let _ = select(remaining, |n| self.prefetch_probes(hashes[n], first..all));
        }
        let mut i = first;
        while remaining != 0 && i < all {
            // If one probe is left, it is tested twice.
            let next = (i + 1).min(all - 1);
            remaining = select(remaining, |n| {
                self.all_set([i, next].map(|i| P::probe(hashes[n], i)))
            });
            i += 2;
        }
        remaining
    }

    /// Prefetches the bits of these probes. Always returns true, for use with [`select`].
    #[inline(always)]
    fn prefetch_probes(&self, hash: ItemHash, probes: Range<u32>) -> bool {
        for i in probes {
            let index = self.modulus.of(P::probe(hash, i));
            prefetch(self.bytes, (index >> 3) as usize);
        }
        true
    }

    /// Whether the bits are likely not in the caches, so that prefetching saves time.
    #[inline]
    fn is_large(&self) -> bool {
        self.bytes.len() > MAX_CACHED_BYTES
    }

    /// Prefetches all bits of one item if they are likely not in the caches.
    #[inline]
    pub(super) fn prefetch(&self, hash: ItemHash) {
        if self.is_large() {
            self.prefetch_probes(hash, 0..self.hashes);
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
