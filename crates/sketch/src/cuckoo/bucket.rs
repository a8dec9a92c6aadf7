//! Searches for a byte in a bucket: a fingerprint, or 0 for an empty slot.
//!
//! A bucket of up to 8 slots is loaded as one word, and all its bytes are compared within the register (SWAR;
//! Warren, "Hacker's Delight", section 6-1). Larger ones are scanned in blocks that the compiler compares as vectors.

const LOW_BITS: u64 = 0x0101_0101_0101_0101;
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;
/// Bytes that a scan compares at once: a vector register of every x86-64 and arm64.
const SCAN_BYTES: usize = 16;

/// The high bit of each byte of `word` that equals `byte`, all other bits 0. Exact: no borrow crosses
/// from one byte into the next.
#[inline(always)]
fn equal_bytes(word: u64, byte: u8) -> u64 {
    let difference = word ^ (LOW_BITS * u64::from(byte));
    !(((difference & !HIGH_BITS) + !HIGH_BITS) | difference | !HIGH_BITS)
}

/// [`equal_bytes`] of a bucket of 1 to 8 slots, the first slot lowest; `None` for other sizes.
#[inline]
fn equal_slots(bucket: &[u8], byte: u8) -> Option<u64> {
    match *bucket {
        [a] => Some(u64::from(a == byte) << 7),
        [a, b] => Some(equal_bytes(u64::from(u16::from_le_bytes([a, b])), byte) & 0x8080),
        [a, b, c, d] => {
            let word = u32::from_le_bytes([a, b, c, d]);
            Some(equal_bytes(u64::from(word), byte) & 0x8080_8080)
        }
        [a, b, c] => {
            let word = u32::from_le_bytes([a, b, c, 0]);
            Some(equal_bytes(u64::from(word), byte) & 0x80_8080)
        }
        [a, b, c, d, e] => {
            let word = u64::from_le_bytes([a, b, c, d, e, 0, 0, 0]);
            Some(equal_bytes(word, byte) & 0x80_8080_8080)
        }
        [a, b, c, d, e, f] => {
            let word = u64::from_le_bytes([a, b, c, d, e, f, 0, 0]);
            Some(equal_bytes(word, byte) & 0x8080_8080_8080)
        }
        [a, b, c, d, e, f, g] => {
            let word = u64::from_le_bytes([a, b, c, d, e, f, g, 0]);
            Some(equal_bytes(word, byte) & 0x80_8080_8080_8080)
        }
        [a, b, c, d, e, f, g, h] => {
            let word = u64::from_le_bytes([a, b, c, d, e, f, g, h]);
            Some(equal_bytes(word, byte))
        }
        _ => None,
    }
}

/// The first slot that holds `byte`.
#[inline]
pub(super) fn position(bucket: &[u8], byte: u8) -> Option<usize> {
    match equal_slots(bucket, byte) {
        Some(0) => None,
        Some(equal) => Some(equal.trailing_zeros() as usize / 8),
        None => scan(bucket, byte),
    }
}

/// Whether a slot holds `byte`.
#[inline]
pub(super) fn contains(bucket: &[u8], byte: u8) -> bool {
    match equal_slots(bucket, byte) {
        Some(equal) => equal != 0,
        None => scan(bucket, byte).is_some(),
    }
}

/// Number of slots that hold `byte`.
#[inline]
pub(super) fn count(bucket: &[u8], byte: u8) -> u64 {
    match equal_slots(bucket, byte) {
        Some(equal) => u64::from(equal.count_ones()),
        None => bucket.iter().map(|&slot| u64::from(slot == byte)).sum(),
    }
}

/// Tests eight buckets of one slot in a word, the first lowest: returns a bit for each that has an empty slot. The
/// multiplication gathers the flags in the top byte.
#[inline]
pub(super) fn empty_1(word: u64) -> u64 {
    let flags = equal_bytes(word, 0) >> 7;
    flags.wrapping_mul(0x0102_0408_1020_4080) >> 56
}

/// [`empty_1`] for four buckets of two slots.
#[inline]
pub(super) fn empty_2(word: u64) -> u64 {
    let flags = equal_bytes(word, 0) >> 7;
    let flags = (flags | flags >> 8) & 0x0001_0001_0001_0001;
    flags.wrapping_mul(1 << 48 | 1 << 33 | 1 << 18 | 1 << 3) >> 48 & 0xf
}

/// [`empty_1`] for two buckets of four slots.
#[inline]
pub(super) fn empty_4(word: u64) -> u64 {
    let flags = equal_bytes(word, 0);
    u64::from(flags as u32 != 0) | u64::from(flags >> 32 != 0) << 1
}

/// Stores `fingerprint` in the first empty slot. Returns whether another slot is empty, or `None` if the bucket is full.
///
/// Small buckets are written as whole words. Writing one byte would delay the next read of the word: processors forward
/// a pending write only to reads that it covers.
#[inline]
pub(super) fn store(bucket: &mut [u8], fingerprint: u8) -> Option<bool> {
    let Some(empty) = equal_slots(bucket, 0) else {
        let slot = scan(bucket, 0)?;
        bucket[slot] = fingerprint;
        return Some(scan(&bucket[slot..], 0).is_some());
    };
    if empty == 0 {
        return None;
    }
    let stored = (u64::from(fingerprint) << (empty.trailing_zeros() - 7)).to_le_bytes();
    match bucket {
        [a] => *a |= stored[0],
        [a, b] => [*a, *b] = [*a | stored[0], *b | stored[1]],
        _ => {
            for (slot, stored) in bucket.iter_mut().zip(stored) {
                *slot |= stored;
            }
        }
    }
    Some(empty & (empty - 1) != 0)
}

/// [`store`] in the bucket that starts at `start`. `SIZE` is the number of slots per bucket: 1, 2, 4 or 8.
#[inline(always)]
pub(super) fn store_at<const SIZE: usize>(
    slots: &mut [u8],
    start: usize,
    fingerprint: u8,
) -> Option<bool> {
    let word = word_at::<SIZE>(slots, start);
    let empty = empty_slots::<SIZE>(word);
    let stored = with_first_empty(word, empty, fingerprint);
    slots[start..start + SIZE].copy_from_slice(&stored[..SIZE]);
    (empty != 0).then_some(empty & empty.wrapping_sub(1) != 0)
}

/// Stores `fingerprint` in the first empty slot of the bucket that starts at the first of `starts`, or else of the
/// other. Returns false if both are full. `SIZE` is the number of slots per bucket: 1, 2, 4 or 8. Does not branch on
/// which bucket has an empty slot.
#[inline]
pub(super) fn store_either<const SIZE: usize>(
    slots: &mut [u8],
    starts: [usize; 2],
    fingerprint: u8,
) -> bool {
    let words = starts.map(|start| word_at::<SIZE>(slots, start));
    let empty = words.map(empty_slots::<SIZE>);
    // All ones for the second bucket.
    let second = u64::from(empty[0] == 0).wrapping_neg();
    let chosen = |[first, other]: [u64; 2]| first ^ (first ^ other) & second;
    let (word, empty) = (chosen(words), chosen(empty));
    let start = chosen(starts.map(|start| start as u64)) as usize;
    let stored = with_first_empty(word, empty, fingerprint);
    slots[start..start + SIZE].copy_from_slice(&stored[..SIZE]);
    empty != 0
}

/// The bucket of `SIZE` slots that starts at `start`.
#[inline(always)]
fn word_at<const SIZE: usize>(slots: &[u8], start: usize) -> u64 {
    let mut word = [0; 8];
    word[..SIZE].copy_from_slice(&slots[start..start + SIZE]);
    u64::from_le_bytes(word)
}

/// The high bit of each empty slot of a bucket of `SIZE` slots.
#[inline(always)]
fn empty_slots<const SIZE: usize>(word: u64) -> u64 {
    equal_bytes(word, 0) & (u64::MAX >> (64 - 8 * SIZE))
}

/// The slots of a bucket with `fingerprint` in the first of its empty slots, if it has one.
#[inline(always)]
fn with_first_empty(word: u64, empty: u64, fingerprint: u8) -> [u8; 8] {
    // The lowest flag, moved to the lowest bit of its slot; 0 if there is none.
    let slot = (empty & empty.wrapping_neg()) >> 7;
    (word | slot.wrapping_mul(u64::from(fingerprint))).to_le_bytes()
}

/// [`position`] for any length. Compares whole blocks first, without a branch per byte.
fn scan(bucket: &[u8], byte: u8) -> Option<usize> {
    let (blocks, tail) = bucket.as_chunks::<SCAN_BYTES>();
    for (number, block) in blocks.iter().enumerate() {
        if block.iter().fold(false, |any, &slot| any | (slot == byte)) {
            let within = block.iter().position(|&slot| slot == byte)?;
            return Some(number * SCAN_BYTES + within);
        }
    }
    let within = tail.iter().position(|&slot| slot == byte)?;
    Some(blocks.len() * SCAN_BYTES + within)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn words_of_buckets_equal_a_loop_over_the_buckets(
            slots in prop::collection::vec(prop::sample::select(vec![0u8, 1, 0x80, 0xff]), 8),
        ) {
            let word = u64::from_le_bytes(slots.as_slice().try_into().unwrap());
            let expected = |size: usize| {
                let free = slots.chunks(size).map(|bucket| bucket.contains(&0));
                free.enumerate().fold(0, |bits, (number, free)| bits | u64::from(free) << number)
            };
            prop_assert_eq!(empty_1(word), expected(1));
            prop_assert_eq!(empty_2(word), expected(2));
            prop_assert_eq!(empty_4(word), expected(4));
        }

        #[test]
        fn a_fingerprint_is_stored_in_the_first_empty_slot(
            bucket in prop::collection::vec(0u8..3, 1..40), fingerprint in 1u8..=255,
        ) {
            let mut stored = bucket.clone();
            let more = store(&mut stored, fingerprint);
            let mut expected = bucket.clone();
            let slot = bucket.iter().position(|&slot| slot == 0);
            if let Some(slot) = slot {
                expected[slot] = fingerprint;
            }
            prop_assert_eq!(more, slot.map(|_| expected.contains(&0)));
            prop_assert_eq!(stored, expected);
        }

        #[test]
        fn stores_of_a_fixed_bucket_size_equal_those_of_any(
            slots in prop::collection::vec(prop::sample::select(vec![0u8, 1, 0x80, 0xff]), 24),
            buckets in prop::array::uniform2(0usize..3),
            fingerprint in 1u8..=255,
        ) {
            fn check<const SIZE: usize>(slots: &[u8], buckets: [usize; 2], fingerprint: u8) {
                let starts = buckets.map(|bucket| bucket * SIZE);
                let mut expected = slots.to_vec();
                let stored = starts.iter().any(|&start| {
                    store(&mut expected[start..start + SIZE], fingerprint).is_some()
                });
                let mut got = slots.to_vec();
                assert_eq!(store_either::<SIZE>(&mut got, starts, fingerprint), stored);
                assert_eq!(got, expected);
                let (mut expected, mut got) = (slots.to_vec(), slots.to_vec());
                let start = starts[0];
                let more = store(&mut expected[start..start + SIZE], fingerprint);
                assert_eq!(store_at::<SIZE>(&mut got, start, fingerprint), more);
                assert_eq!(got, expected);
            }
            check::<1>(&slots, buckets, fingerprint);
            check::<2>(&slots, buckets, fingerprint);
            check::<4>(&slots, buckets, fingerprint);
            check::<8>(&slots, buckets, fingerprint);
        }

        /// Uses bytes that differ from `byte` in one bit, which a carry between bytes would make equal.
        #[test]
        fn searches_of_every_size_equal_a_loop(
            bucket in prop::collection::vec(prop::sample::select(vec![0u8, 1, 0x7f, 0x80, 0x81, 0xff, 42]), 1..256),
            size in prop::sample::select(vec![1usize, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 255]),
            byte in prop::sample::select(vec![0u8, 1, 0x7f, 0x80, 0x81, 0xff, 42]),
        ) {
            let bucket = &bucket[..size.min(bucket.len())];
            let expected = bucket.iter().position(|&slot| slot == byte);
            prop_assert_eq!(position(bucket, byte), expected);
            prop_assert_eq!(contains(bucket, byte), expected.is_some());
            let expected = bucket.iter().filter(|&&slot| slot == byte).count() as u64;
            prop_assert_eq!(count(bucket, byte), expected);
        }
    }
}
