//! The size of a filter, its error rate in the chain, and the memory that valkey-bloom counts.
//!
//! Format: docs/contributing/formats.md, "Bloom filters of valkey-bloom".

use crate::math;
use std::f64::consts::LN_2;

/// Bytes that [`size`] counts for the chain.
const CHAIN_BYTES: u64 = 48;
/// Bytes that [`size`] counts for each slot of the list of filters.
const SLOT_BYTES: u64 = 8;
/// Bytes that [`size`] counts for each filter, in addition to its bit array.
const FILTER_BYTES: u64 = 208;
/// Slots of the list of filters after its first growth.
const MIN_GROWN_SLOTS: u64 = 4;

/// The largest capacity of a filter, and the largest sum of the capacities of a chain, in items.
pub const MAX_CAPACITY: u64 = i64::MAX as u64;
/// The largest bit array, in bytes: the number of its bits fits in 64 bits.
pub const MAX_BYTES: u64 = u64::MAX / 8;
/// The largest number of hashes of a loaded filter. Filters with the formula's number have at most about 1,080. The limit
/// bounds the probes per item of a crafted payload.
pub const MAX_HASHES: u32 = 2048;

/// Whether a filter may be created with this error rate: it is above the smallest normal double.
///
/// Format: docs/contributing/formats.md, "Bloom filters of valkey-bloom".
#[must_use]
pub fn is_rate_allowed(error_rate: f64) -> bool {
    error_rate > f64::MIN_POSITIVE
}

/// The error rate of filter number `index`, from 0: `error_rate * tightening^index`.
///
/// The power is computed by binary exponentiation, whose last bits differ from those of the C library's pow.
/// Format: docs/contributing/formats.md, "Bloom filters of valkey-bloom".
#[must_use]
pub fn rate_of(error_rate: f64, tightening: f64, index: u64) -> f64 {
    let (mut power, mut square, mut index) = (1.0, tightening, index);
    loop {
        if index & 1 != 0 {
            power *= square;
        }
        index >>= 1;
        if index == 0 {
            return error_rate * power;
        }
        square *= square;
    }
}

/// Bytes of the bit array of a filter; `u64::MAX` if they do not fit in 64 bits.
///
/// Format: docs/contributing/formats.md, "Bloom filters of valkey-bloom".
#[must_use]
pub fn bit_array_bytes(capacity: u64, error_rate: f64) -> u64 {
    let bytes = (capacity as f64 * math::ln(error_rate)) / (-8.0 * (LN_2 * LN_2));
    // The conversion saturates.
    bytes.ceil() as u64
}

/// The number of hashes of a filter, at least 1: it depends on the rounded number of bits and not on the error rate.
///
/// Format: docs/contributing/formats.md, "Bloom filters of valkey-bloom".
#[must_use]
pub fn hashes_for(bytes: u64, capacity: u64) -> u32 {
    let bits = bytes.saturating_mul(8);
    let hashes = (bits as f64 / capacity as f64 * LN_2).round();
    (hashes as u32).max(1)
}

/// The memory that valkey-bloom counts for a chain, in bytes, saturating: `slots` of the list, `filters`, and `bit_bytes` of
/// all bit arrays together.
#[must_use]
pub fn size(slots: u64, filters: u64, bit_bytes: u64) -> u64 {
    let slots = slots.saturating_mul(SLOT_BYTES);
    let filters = filters.saturating_mul(FILTER_BYTES);
    CHAIN_BYTES
        .saturating_add(slots)
        .saturating_add(filters)
        .saturating_add(bit_bytes)
}

/// The size that the limit of RESTORE applies to: the list has the slots of before the last filter.
#[must_use]
pub fn restored_size(filters: u64, bit_bytes: u64) -> u64 {
    size(slots_for(filters.saturating_sub(1)), filters, bit_bytes)
}

/// The slots of a list after it grew to `filters`: doubled if there were too few.
#[must_use]
pub fn grown_slots(slots: u64, filters: u64) -> u64 {
    if filters <= slots {
        slots
    } else {
        slots.saturating_mul(2).max(MIN_GROWN_SLOTS)
    }
}

/// The slots of a list that grew from one filter to `filters` one by one.
#[must_use]
pub fn slots_for(filters: u64) -> u64 {
    if filters <= 1 {
        1
    } else {
        filters.next_power_of_two().max(MIN_GROWN_SLOTS)
    }
}
