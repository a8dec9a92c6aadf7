//! The stored option bits of a chain (docs/contributing/formats.md, "Bloom filters").

/// Bit counts are not rounded to a power of two.
pub const NO_ROUNDING: u32 = 1;
/// The stored capacity is the exponent of a power of two (only in old files).
pub const ENTRIES_IS_BITS: u32 = 2;
/// Items are hashed to 64 bits; without this bit to 32 (only in old files).
pub const HASH_64_BITS: u32 = 4;
/// The chain does not grow.
pub const NONSCALING: u32 = 8;
/// All valid bits; a chain with others does not load.
pub const ALL: u32 = NO_ROUNDING | ENTRIES_IS_BITS | HASH_64_BITS | NONSCALING;
