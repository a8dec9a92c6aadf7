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
