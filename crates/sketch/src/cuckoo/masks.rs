//! An index of empty slots over up to 64 sub-filters: bits that say which have room where.
//!
//! Made to fit in a second-level cache (a bit a bucket and sub-filter: a sixteenth of the slots at
//! bucket size 2) and to need no branch that a processor cannot predict: the sub-filter is found by
//! counting zero bits, and fingerprints that find no room are left aside without a branch.

use super::bucket;
use super::item::other_bucket;
use super::sub_filter::SubFilter;
use super::vacancies::BLOCK_SLOTS;
use crate::memory::{Budget, with_capacity};

/// For each bucket of the largest sub-filter a mask with a bit for each sub-filter: whether the bucket
/// of that number, or in smaller sub-filters the one it falls in, has an empty slot.
///
/// A bit may be set although the bucket is full (in smaller sub-filters several masks speak of one
/// bucket, and only the one that was used is kept up to date), but none is clear although it is not.
#[derive(Debug)]
pub(super) struct Masks {
    /// Masks of `1 << log2_width` bits, the lowest first.
    words: Vec<u64>,
    log2_width: u32,
    /// Number of masks less one.
    bucket_mask: u64,
    /// A mask's bits.
    width_mask: u64,
}

impl Masks {
    /// The most sub-filters that a mask has bits for.
    pub const MAX_SUB_FILTERS: usize = 64;

    /// `None` where memory is refused; `budget` is asked for all of it.
    pub fn new(earlier: &[SubFilter], budget: Budget<'_>) -> Option<Self> {
        let bucket_mask = earlier.iter().map(SubFilter::bucket_mask).max()?;
        let width = earlier.len().next_power_of_two();
        let of_masks = (bucket_mask + 1)
            .div_ceil(64)
            .checked_mul(width as u64 * 8)?;
        let of_rooms = earlier
            .iter()
            .map(|each| (each.bucket_mask() + 1).div_ceil(64) * 8);
        let bytes = of_masks.saturating_add(of_rooms.sum());
        budget.request(bytes).ok()?;
        let mut rooms = with_capacity(earlier.len()).ok()?;
        for sub_filter in earlier {
            rooms.push(rooms_of(sub_filter)?);
        }
        let groups = usize::try_from((bucket_mask + 1).div_ceil(64)).ok()?;
        let mut words = Vec::new();
        words.try_reserve_exact(groups.checked_mul(width)?).ok()?;
        let (mut planes, mut scratch) = ([0; 64], [0; 64]);
        for group in 0..groups {
            planes[..width].fill(0);
            for (plane, room) in planes.iter_mut().zip(&rooms) {
                *plane = room[group & (room.len() - 1)];
            }
            interleave(&mut planes[..width], &mut scratch[..width]);
            words.extend_from_slice(&planes[..width]);
        }
        Some(Self {
            words,
            log2_width: width.ilog2(),
            bucket_mask,
            width_mask: u64::MAX >> (64 - width),
        })
    }

    /// Moves the fingerprints of `block`; see [`Vacancies::empty`](super::vacancies::Vacancies::empty).
    ///
    /// In three rounds, so that none waits for another: those that may find room are listed, their
    /// buckets are asked for, and they are moved. No move makes room for another fingerprint, so the
    /// bucket first in line stays so until it is full.
    pub fn empty(
        &mut self,
        earlier: &mut [SubFilter],
        block: &mut [u8],
        first_bucket: u64,
    ) -> bool {
        let mut candidates = [Candidate::default(); BLOCK_SLOTS];
        let mut len = 0;
        let mut slot = 0;
        let before_source = u64::MAX >> (64 - earlier.len());
        let bucket_size = earlier[0].bucket_size();
        for (bucket, slots) in (0..).zip(block.chunks_exact(bucket_size)) {
            let home = first_bucket + u64::from(bucket);
            let home_mask = self.mask(home);
            for &fingerprint in slots {
                let mask = home_mask | self.mask(other_bucket(home, fingerprint));
                candidates[len].slot = slot;
                candidates[len].bucket = bucket;
                len += usize::from((fingerprint != 0) & (mask & before_source != 0));
                slot += 1;
            }
        }
        for candidate in &mut candidates[..len] {
            let fingerprint = block[usize::from(candidate.slot)];
            let home = first_bucket + u64::from(candidate.bucket);
            let (number, target) = self.first([home, other_bucket(home, fingerprint)]);
            candidate.sub_filter = number as u8;
            candidate.target = target;
            earlier[number].prefetch_bucket(target);
        }
        let mut moved = false;
        for candidate in &candidates[..len] {
            let slot = &mut block[usize::from(candidate.slot)];
            let number = usize::from(candidate.sub_filter);
            let home = first_bucket + u64::from(candidate.bucket);
            if self.fill(earlier, number, candidate.target, *slot)
                || self.fill_first(earlier, [home, other_bucket(home, *slot)], *slot)
            {
                *slot = 0;
                moved = true;
            }
        }
        moved
    }

    /// The word of a bucket's mask and the mask's place in it.
    #[inline]
    #[allow(clippy::cast_possible_truncation)] // below the length of `words`
    fn place(&self, hash: u64) -> (usize, u32) {
        let bit = (hash & self.bucket_mask) << self.log2_width;
        ((bit >> 6) as usize, (bit & 63) as u32)
    }

    /// A bucket's mask, with those of other buckets above it.
    #[inline]
    fn mask(&self, hash: u64) -> u64 {
        let (word, shift) = self.place(hash);
        self.words[word] >> shift
    }

    /// The first sub-filter that seems to have room in one of the buckets, and which of them; any number
    /// past the end if none has.
    #[inline]
    fn first(&self, buckets: [u64; 2]) -> (usize, u64) {
        let masks = buckets.map(|hash| self.mask(hash) & self.width_mask);
        let number = (masks[0] | masks[1]).trailing_zeros();
        let in_first = masks[0].unbounded_shr(number) & 1 != 0;
        (number as usize, buckets[usize::from(!in_first)])
    }

    /// Puts `fingerprint` into that bucket if there is room, and notes if it is full then.
    #[inline]
    fn fill(
        &mut self,
        earlier: &mut [SubFilter],
        number: usize,
        hash: u64,
        fingerprint: u8,
    ) -> bool {
        let filled = bucket::fill(earlier[number].bucket_mut(hash), fingerprint);
        let (word, shift) = self.place(hash);
        let full = u64::from(filled != Some(true));
        self.words[word] &= !(full << (shift as usize + number));
        filled.is_some()
    }

    /// Puts `fingerprint` into the first of `earlier` with room in one of the buckets, the first bucket
    /// before the second; false if none has.
    #[cold]
    fn fill_first(
        &mut self,
        earlier: &mut [SubFilter],
        buckets: [u64; 2],
        fingerprint: u8,
    ) -> bool {
        loop {
            let (number, hash) = self.first(buckets);
            if number >= earlier.len() {
                return false;
            }
            if self.fill(earlier, number, hash, fingerprint) {
                return true;
            }
        }
    }
}

/// A fingerprint that may find room.
#[derive(Debug, Clone, Copy, Default)]
struct Candidate {
    /// The one of its buckets that is first in line.
    target: u64,
    /// Its slot in the block.
    slot: u16,
    /// Its bucket in the block.
    bucket: u16,
    /// The sub-filter that is first in line.
    sub_filter: u8,
}

/// A bit a bucket, the first lowest: whether it has an empty slot. Fewer than 64 buckets are repeated.
/// `None` where memory is refused.
fn rooms_of(sub_filter: &SubFilter) -> Option<Vec<u64>> {
    let buckets = usize::try_from(sub_filter.bucket_mask() + 1).ok()?;
    let mut rooms = Vec::new();
    rooms.try_reserve_exact(buckets.div_ceil(64)).ok()?;
    let slots = sub_filter.slots();
    if buckets < 64 {
        let bits = (0..64).map(|bucket| {
            let room = bucket::contains(sub_filter.bucket(bucket), 0);
            u64::from(room) << bucket
        });
        rooms.push(bits.sum());
        return Some(rooms);
    }
    let bucket_size = sub_filter.bucket_size();
    for slots in slots.chunks_exact(64 * bucket_size) {
        rooms.push(match bucket_size {
            1 => rooms_of_words(slots, 8, bucket::empty_1),
            2 => rooms_of_words(slots, 4, bucket::empty_2),
            4 => rooms_of_words(slots, 2, bucket::empty_4),
            size => (slots.chunks_exact(size).rev()).fold(0, |bits, slots| {
                bits << 1 | u64::from(bucket::contains(slots, 0))
            }),
        });
    }
    Some(rooms)
}

/// A bit a bucket, the first lowest, of slots taken eight at a time: `buckets` buckets.
#[inline]
fn rooms_of_words(slots: &[u8], buckets: u32, rooms: impl Fn(u64) -> u64) -> u64 {
    let words = slots.as_chunks().0.iter().rev();
    words.fold(0, |bits, &word| {
        bits << buckets | rooms(u64::from_le_bytes(word))
    })
}

/// Bit k of plane j becomes bit j of mask k: masks as wide as there are planes, end to end. The number
/// of planes is a power of two up to 64; `scratch` is as long.
///
/// In each round two groups of planes become one by taking bits from them alternately.
fn interleave(planes: &mut [u64], scratch: &mut [u64]) {
    for _ in 0..planes.len().ilog2() {
        scratch.copy_from_slice(planes);
        let (even, odd) = scratch.split_at(scratch.len() / 2);
        for ((pair, even), odd) in planes.as_chunks_mut::<2>().0.iter_mut().zip(even).zip(odd) {
            *pair = [
                spread(*even) | spread(*odd) << 1,
                spread(even >> 32) | spread(odd >> 32) << 1,
            ];
        }
    }
}

/// The low 32 bits with a zero bit after each (Warren, "Hacker's Delight", section 7-2).
#[inline]
fn spread(word: u64) -> u64 {
    let mut word = word & 0xffff_ffff;
    word = (word | word << 16) & 0x0000_ffff_0000_ffff;
    word = (word | word << 8) & 0x00ff_00ff_00ff_00ff;
    word = (word | word << 4) & 0x0f0f_0f0f_0f0f_0f0f;
    word = (word | word << 2) & 0x3333_3333_3333_3333;
    (word | word << 1) & 0x5555_5555_5555_5555
}
