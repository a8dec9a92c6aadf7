//! The option bits of a chain, as stored (spec: bloom.md, "Parameters and layout").

/// Bit counts are not rounded to a power of two.
pub const NO_ROUNDING: u32 = 1;
/// "Entries" is the exponent of a power of two (old).
pub const ENTRIES_IS_BITS: u32 = 2;
/// Items are hashed to 64 bits; without it to 32 (old).
pub const HASH_64_BITS: u32 = 4;
/// The chain does not grow.
pub const NONSCALING: u32 = 8;
/// All that are known; others are refused.
pub const ALL: u32 = NO_ROUNDING | ENTRIES_IS_BITS | HASH_64_BITS | NONSCALING;
