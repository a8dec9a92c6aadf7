//! MurmurHash2 by Austin Appleby (public domain), in the two widths that the formats use.
//!
//! The hash of an item decides which bits, slots and cells it uses, so these functions are part of the data formats
//! (docs/contributing/formats.md) and must not change.
//!
//! - [`rows`]: the cell of an item in each row of a count-min or top-k sketch
//! - [`seeded_rows`]: the same under a secret seed, for sketches with a window
//! - [`modulus`]: remainders without a division

pub mod modulus;
pub mod rows;
pub mod seeded_rows;

const M64: u64 = 0xc6a4_a793_5bd1_e995;
const R64: u32 = 47;
const M32: u32 = 0x5bd1_e995;
const R32: u32 = 24;

/// MurmurHash64A of `item` with `seed`: 64 bits, blocks read as little-endian.
///
/// Cost: one pass over the item, eight bytes per step.
#[inline]
#[must_use]
pub fn murmur64a(item: &[u8], seed: u64) -> u64 {
    let mut h = seed ^ (item.len() as u64).wrapping_mul(M64);
    let (words, tail) = item.as_chunks::<8>();
    for word in words {
        let mut k = u64::from_le_bytes(*word).wrapping_mul(M64);
        k ^= k >> R64;
        h = (h ^ k.wrapping_mul(M64)).wrapping_mul(M64);
    }
    if !tail.is_empty() {
        h = (h ^ little_endian_tail(tail)).wrapping_mul(M64);
    }
    h ^= h >> R64;
    h = h.wrapping_mul(M64);
    h ^ (h >> R64)
}

/// MurmurHash2 (32 bits) of `item` with `seed`, words read as little-endian.
#[inline]
#[must_use]
pub fn murmur2(item: &[u8], seed: u32) -> u32 {
    murmur2_lanes(item, [seed])[0]
}

/// MurmurHash2 (32 bits) of one item with `LANES` seeds at once.
///
/// The words of an item are mixed once, because that does not depend on the seed. With 4 or 8 lanes the compiler keeps
/// the states in a vector register. Always inlined, so that it is compiled for the vectors of its caller.
#[inline(always)]
#[must_use]
pub fn murmur2_lanes<const LANES: usize>(item: &[u8], seeds: [u32; LANES]) -> [u32; LANES] {
    let [hashes] = murmur2_groups(item, [seeds]);
    hashes
}

/// [`murmur2_lanes`] for `GROUPS` groups of seeds, for more seeds than a register has lanes.
#[inline(always)]
#[must_use]
pub fn murmur2_groups<const LANES: usize, const GROUPS: usize>(
    item: &[u8],
    seeds: [[u32; LANES]; GROUPS],
) -> [[u32; LANES]; GROUPS] {
    // Loops instead of closures, which the compiler does not always inline.
    let mut states = seeds;
    for state in &mut states {
        for h in state {
            // The original truncates the length to 32 bits.
            let len = item.len() as u32;
            *h ^= len;
        }
    }
    let (words, tail) = item.as_chunks::<4>();
    for word in words {
        let mut k = u32::from_le_bytes(*word).wrapping_mul(M32);
        k ^= k >> R32;
        k = k.wrapping_mul(M32);
        for state in &mut states {
            for h in state {
                *h = h.wrapping_mul(M32) ^ k;
            }
        }
    }
    let rest = match *tail {
        [a] => u32::from(a),
        [a, b] => u32::from(u16::from_le_bytes([a, b])),
        [a, b, c] => u32::from_le_bytes([a, b, c, 0]),
        _ => 0,
    };
    for state in &mut states {
        if !tail.is_empty() {
            for h in &mut *state {
                *h = (*h ^ rest).wrapping_mul(M32);
            }
        }
        for h in state {
            *h ^= *h >> 13;
            *h = h.wrapping_mul(M32);
            *h ^= *h >> 15;
        }
    }
    states
}

/// The last, incomplete word of eight bytes, as a little-endian number.
#[inline]
fn little_endian_tail(tail: &[u8]) -> u64 {
    tail.iter()
        .rev()
        .fold(0, |word, &byte| word << 8 | u64::from(byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// MurmurHash2 as its author describes it, byte by byte.
    fn murmur2_model(item: &[u8], seed: u32) -> u32 {
        let mut h = seed ^ item.len() as u32;
        let mut rest = item;
        while rest.len() >= 4 {
            let mut k = u32::from(rest[0])
                | u32::from(rest[1]) << 8
                | u32::from(rest[2]) << 16
                | u32::from(rest[3]) << 24;
            k = k.wrapping_mul(0x5bd1_e995);
            k ^= k >> 24;
            k = k.wrapping_mul(0x5bd1_e995);
            h = h.wrapping_mul(0x5bd1_e995) ^ k;
            rest = &rest[4..];
        }
        if rest.len() == 3 {
            h ^= u32::from(rest[2]) << 16;
        }
        if rest.len() >= 2 {
            h ^= u32::from(rest[1]) << 8;
        }
        if !rest.is_empty() {
            h = (h ^ u32::from(rest[0])).wrapping_mul(0x5bd1_e995);
        }
        h = (h ^ (h >> 13)).wrapping_mul(0x5bd1_e995);
        h ^ (h >> 15)
    }

    proptest! {
        #[test]
        fn murmur64a_equals_the_reference_crate(item: Vec<u8>, seed: u64) {
            prop_assert_eq!(murmur64a(&item, seed), murmurhash64::murmur_hash64a(&item, seed));
        }

        #[test]
        fn every_lane_equals_the_single_hash(item: Vec<u8>, seeds: [u32; 8]) {
            let lanes = murmur2_lanes(&item, seeds);
            for (lane, seed) in lanes.into_iter().zip(seeds) {
                prop_assert_eq!(lane, murmur2_model(&item, seed));
                prop_assert_eq!(murmur2(&item, seed), lane);
            }
            let [first, second, third, fourth] = murmur2_groups(&item, [seeds, [7; 8], seeds, [0; 8]]);
            prop_assert_eq!([first, third], [lanes; 2]);
            prop_assert_eq!([second, fourth], [[murmur2(&item, 7); 8], [murmur2(&item, 0); 8]]);
        }
    }

    #[test]
    fn known_values() {
        assert_eq!(murmur64a(b"", 0), 0);
        assert_eq!(murmur64a(b"", 10), 0xc26e_8bc1_9632_9b0f);
        assert_eq!(murmur2(b"", 0), 0);
    }
}
