//! The CRC64 of Redis: CRC-64/REDIS of the catalog of CRC algorithms.
//!
//! Each look-up in the tables waits for the one before it. So long inputs are split into lanes, whose checksums the processor
//! computes at the same time. The crate `crc-fast` is faster, but has 0.65 MB of tables for other algorithms.

use crc::{CRC_64_REDIS, Crc, Table};

static CRC64: Crc<u64, Table<16>> = Crc::<u64, Table<16>>::new(&CRC_64_REDIS);

/// The polynomial, lowest bit first.
const POLYNOMIAL: u64 = CRC_64_REDIS.poly.reverse_bits();
const LANES: usize = 4;
const LANE_BYTES: usize = 4096;

/// `TABLES[n][byte]` is the checksum of a byte that `n` zero bytes follow.
static TABLES: [[u64; 256]; 8] = {
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let mut state = byte as u64;
        let mut n = 0;
        while n < 8 {
            state = times_x(state);
            n += 1;
        }
        tables[0][byte] = state;
        byte += 1;
    }
    let mut index = 256;
    while index < 8 * 256 {
        let before = tables[index / 256 - 1][index % 256];
        tables[index / 256][index % 256] = (before >> 8) ^ tables[0][(before & 255) as usize];
        index += 1;
    }
    tables
};

/// A polynomial times x, modulo [`POLYNOMIAL`]. The highest bit is the coefficient of 1.
const fn times_x(a: u64) -> u64 {
    (a >> 1) ^ ((a & 1) * POLYNOMIAL)
}

/// The product of two polynomials.
const fn product(mut a: u64, mut b: u64) -> u64 {
    let mut product = 0;
    while a != 0 {
        product ^= (a >> 63) * b;
        a <<= 1;
        b = times_x(b);
    }
    product
}

/// `AFTER_LANES[n][bit]` is the state that has this bit, after `n + 1` lanes of zeros.
static AFTER_LANES: [[u64; 64]; LANES - 1] = {
    // x to the power of the number of bits, a power of two.
    let mut lane = 1 << 62;
    let mut bits = 1;
    while bits < 8 * LANE_BYTES {
        lane = product(lane, lane);
        bits *= 2;
    }
    let mut after = [[0; 64]; LANES - 1];
    let mut power = lane;
    let mut n = 0;
    while n < LANES - 1 {
        let mut bit = 0;
        while bit < 64 {
            after[n][bit] = product(1 << bit, power);
            bit += 1;
        }
        power = product(power, lane);
        n += 1;
    }
    after
};

/// The state after the next eight bytes.
#[inline(always)]
fn next(state: u64, word: &[u8; 8]) -> u64 {
    let bytes = (state ^ u64::from_le_bytes(*word)).to_le_bytes();
    let tables = TABLES.iter().rev();
    (tables.zip(bytes)).fold(0, |sum, (table, byte)| sum ^ table[usize::from(byte)])
}

/// The state after `lanes` lanes of zeros.
fn skip(state: u64, lanes: usize) -> u64 {
    let bits = AFTER_LANES[lanes - 1].iter().enumerate();
    bits.fold(0, |sum, (bit, after)| {
        sum ^ (after & 0_u64.wrapping_sub(state >> bit & 1))
    })
}

/// The [`checksum`](super::checksum) of the bytes before, whose checksum is `state`, and these. 0 is the checksum of no bytes.
#[must_use]
pub fn add_to_checksum(mut state: u64, bytes: &[u8]) -> u64 {
    let blocks = bytes.chunks_exact(LANES * LANE_BYTES);
    let rest = blocks.remainder();
    for block in blocks {
        let (words, _) = block.as_chunks();
        let (half, other_half) = words.split_at(words.len() / 2);
        let (first, second) = half.split_at(half.len() / 2);
        let (third, fourth) = other_half.split_at(half.len() / 2);
        let [mut b, mut c, mut d] = [0; LANES - 1];
        let words = first.iter().zip(second).zip(third.iter().zip(fourth));
        for ((first, second), (third, fourth)) in words {
            state = next(state, first);
            b = next(b, second);
            c = next(c, third);
            d = next(d, fourth);
        }
        state = skip(state, 3) ^ skip(b, 2) ^ skip(c, 1) ^ d;
    }
    let mut digest = CRC64.digest_with_initial(state.reverse_bits());
    digest.update(rest);
    digest.finalize()
}
