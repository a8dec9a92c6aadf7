//! The warnings about filters that have grown many times (docs/troubleshooting.md).

use crate::server::call::Call;
use crate::server::log::RateLimit;
use std::ops::RangeInclusive;

/// A number of sub-filters that a filter with a suitable capacity does not reach.
#[derive(Debug)]
pub struct Threshold {
    sub_filters: usize,
    warnings: RateLimit,
}

impl Threshold {
    pub const fn new(sub_filters: usize) -> Self {
        Self {
            sub_filters,
            warnings: RateLimit::per_minute(),
        }
    }
}

/// The sub-filters that a command has added. Logs `text` if their number has reached a threshold, with the limit of the highest
/// one, unless the command must be obeyed: the server that accepted it has warned.
#[inline(always)]
pub fn growths(
    call: &Call<'_>,
    thresholds: &[Threshold],
    before: usize,
    after: usize,
    text: impl FnOnce() -> String,
) -> usize {
    if after > before {
        warn(call, thresholds, before + 1..=after, text);
    }
    after - before
}

#[cold]
fn warn(
    call: &Call<'_>,
    thresholds: &[Threshold],
    sub_filters: RangeInclusive<usize>,
    text: impl FnOnce() -> String,
) {
    let is_reached = |each: &&Threshold| sub_filters.contains(&each.sub_filters);
    if let Some(reached) = thresholds.iter().rev().find(is_reached)
        && !call.must_obey()
    {
        reached.warnings.warning(text);
    }
}

/// A capacity with room for more than these items: the power of two of which they are a quarter to a half.
pub fn capacity_for(items: u64, allowed: RangeInclusive<u64>) -> u64 {
    let capacity = items.saturating_mul(2).checked_next_power_of_two();
    capacity
        .unwrap_or(u64::MAX)
        .clamp(*allowed.start(), *allowed.end())
}
