//! The limit on the hash functions of a chain of Bloom filters, of RedisBloom's and of valkey-bloom's type.
//!
//! A look-up computes at most all hash functions of all filters, so their sum bounds its time. The number of filters alone
//! does not: with a tightening ratio near 1, thousands of filters have hundreds of hash functions each. The limit depends on
//! the state only, so a primary and its replicas refuse the same growth.

/// The largest number of filters of a chain of RedisBloom's type. RedisBloom's chains have at most about 1,075: the error
/// rate halves with each filter until it is 0.
pub const MAX_FILTERS: u64 = 2048;

/// The hash functions of a filter with the smallest error rate, 2^-1074.
pub const MAX_HASHES_PER_FILTER: u64 = 1075;

/// The largest sum of the hash functions over all filters of a chain.
pub const MAX_TOTAL_HASHES: u64 = MAX_FILTERS * MAX_HASHES_PER_FILTER;

/// Whether a chain whose filters have `total` hash functions may have another filter with `hashes`.
#[must_use]
pub fn allows_hashes(total: u64, hashes: u32) -> bool {
    total.saturating_add(u64::from(hashes)) <= MAX_TOTAL_HASHES
}
