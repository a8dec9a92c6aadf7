//! Items and pseudorandom numbers for the benchmarks; the same in every run.

/// An item: 16 bytes.
pub type Item = [u8; 16];

/// The item with this number; different numbers give different items.
#[allow(dead_code)] // The server benchmark sends decimal items instead.
pub fn item(number: u64) -> Item {
    let mixed = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mut item = *b"item:xxxxxxxxxxx";
    item[5..13].copy_from_slice(&mixed.to_le_bytes());
    item[13..].copy_from_slice(&number.to_le_bytes()[..3]);
    item
}

/// Uniform numbers: a linear congruential generator modulo 2^64 with the constants of Knuth's MMIX.
#[derive(Debug)]
pub struct Numbers(pub u64);

impl Numbers {
    /// The next number in `0..end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        ((u128::from(self.0) * u128::from(end)) >> 64) as u64
    }
}
