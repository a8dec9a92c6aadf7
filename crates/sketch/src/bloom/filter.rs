//! One Bloom filter: a bit array and the probes of an item (Bloom 1970, with the double hashing of
//! Kirsch & Mitzenmacher, "Less Hashing, Same Performance", ESA 2006).

use super::shape::Shape;
use crate::buffer::Buffer;
use crate::memory::OutOfMemory;
use crate::modulus::Modulus;
use crate::prefetch::prefetch;
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

/// Items that are looked for together, at most as many as a mask has bits. A round of probes ends with a branch
/// that is foreseen wrongly, which the items share: with 13 filters an item takes 80 ns in blocks of 64 and 106 in
/// blocks of 16.
pub const BLOCK: usize = 64;

/// Arrays up to this size are likely in the caches, where prefetching costs more than it saves.
const CACHED_BYTES: usize = 1 << 20;

/// Probes of an item that are fetched and tested at first, one by one. At capacity half of the bits are set, so
/// of absent items three in four end here; fetching the rest for all of them would waste most of the misses.
const FIRST_PROBES: u32 = 2;

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
    /// [`OutOfMemory`] if its bits cannot be had.
    pub fn new(shape: Shape) -> Result<Self, OutOfMemory> {
        let bits = Buffer::zeroed(shape.bytes())?;
        Ok(Self::with_bits(shape, 0, bits))
    }

    /// A filter around bits that are there already. `bits` holds at least `shape.bytes()` bytes: the
    /// validator of stored forms sees to it.
    pub(super) fn with_bits(shape: Shape, items: u64, bits: Buffer) -> Self {
        let modulus = Modulus::<u64>::new(shape.modulus());
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

    /// Another number of items, with the bits that are there.
    pub(super) fn set_items(&mut self, items: u64) {
        self.items = items;
    }

    /// The bit array, to be loaded into or moved.
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

    /// The bit of a probe, given its sum `a + i*b`.
    #[inline(always)]
    fn place(&self, sum: u64) -> u64 {
        self.modulus.of(sum)
    }

    /// The byte that a bit is in, shifted so that the bit is the lowest. With [`Filter::set`] the one place
    /// where bits are addressed.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)] // below the number of bits, which are in memory
    fn bit(&self, place: u64) -> u32 {
        u32::from(self.bits[(place >> 3) as usize]) >> (place & 7)
    }

    /// Sets a bit.
    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)] // as in `bit`
    fn set(&mut self, place: u64) {
        self.bits[(place >> 3) as usize] |= 1 << (place & 7);
    }

    /// Whether the bits of these probes are all set, without a branch between them.
    #[inline(always)]
    fn all_set<const N: usize>(&self, sums: [u64; N]) -> bool {
        let places = sums.map(|sum| self.place(sum));
        places.iter().fold(1, |all, &place| all & self.bit(place)) != 0
    }

    /// Whether all bits of the item are set. They are tested four at a time, without a branch between
    /// them: half of a full filter's bits are set, so that stopping at the first clear one is a branch as
    /// hard to foresee as the fall of a coin; fifteen in sixteen absent items end after four.
    #[inline]
    #[must_use]
    pub fn contains(&self, hash: ItemHash) -> bool {
        let mut left = self.shape.hashes;
        let mut sum = hash.a;
        while left >= 4 {
            let sums = [0, 1, 2, 3].map(|i| sum.wrapping_add(hash.b.wrapping_mul(i)));
            if !self.all_set(sums) {
                return false;
            }
            sum = sums[3].wrapping_add(hash.b);
            left -= 4;
        }
        while left > 0 {
            if !self.all_set([sum]) {
                return false;
            }
            sum = sum.wrapping_add(hash.b);
            left -= 1;
        }
        true
    }

    /// [`Filter::contains`] for several items at once: of those whose bit is set in `candidates` (bit n
    /// for `hashes[n]`), the ones that are present.
    ///
    /// In rounds of a probe or two of all the items that are left, of which each probe of a full filter leaves
    /// half of the absent ones: what has to be foreseen is how many are left, not which.
    ///
    /// Always inlined, so that it has the instructions of whatever it is inlined into.
    #[inline(always)]
    #[must_use]
    pub fn contains_block(&self, hashes: &[ItemHash], candidates: u64) -> u64 {
        let all = self.shape.hashes;
        let first = FIRST_PROBES.min(all);
        let is_large = self.is_large();
        let mut left = candidates;
        if is_large {
            let _ = select(left, |n| self.prefetch_probes(hashes[n], 0..first));
        }
        for i in 0..first {
            left = select(left, |n| self.all_set([hashes[n].sum(i)]));
        }
        if is_large {
            let _ = select(left, |n| self.prefetch_probes(hashes[n], first..all));
        }
        let mut i = first;
        while left != 0 && i < all {
            // The last one twice, where their number is odd.
            let next = (i + 1).min(all - 1);
            left = select(left, |n| {
                let hash = hashes[n];
                self.all_set([hash.sum(i), hash.sum(next)])
            });
            i += 2;
        }
        left
    }

    #[inline(always)]
    #[allow(clippy::cast_possible_truncation)] // as in `bit`
    fn prefetch_probes(&self, hash: ItemHash, probes: Range<u32>) -> bool {
        for i in probes {
            prefetch(&self.bits, (self.place(hash.sum(i)) >> 3) as usize);
        }
        true
    }

    /// Whether the bits are likely not in the caches, so that fetching them ahead pays.
    #[inline]
    fn is_large(&self) -> bool {
        self.bits.len() > CACHED_BYTES
    }

    /// Asks for the memory that adding this item will touch, where it is likely not in the caches.
    #[inline]
    pub fn prefetch(&self, hash: ItemHash) {
        if self.is_large() {
            self.prefetch_probes(hash, 0..self.shape.hashes);
        }
    }

    /// Adds an item to a filter that has room: false if all its bits were set, and then nothing is
    /// written, so that no page is copied for it while the server saves in the background.
    #[inline]
    pub fn insert(&mut self, hash: ItemHash) -> bool {
        let all = 0..self.shape.hashes;
        // Up to the first bit that is clear and no further: with all of them tested first, BF.MADD into a new and
        // large filter took 1.15 of the time.
        let mut places = all.clone().map(|i| self.place(hash.sum(i)));
        let Some(first_clear) = places.position(|place| self.bit(place) & 1 == 0) else {
            return false;
        };
        for i in first_clear as u32..all.end {
            self.set(self.place(hash.sum(i)));
        }
        self.items += 1;
        true
    }
}

/// The bits n of `candidates` for which `keep(n)` is true; it is called for the lowest bit first.
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
