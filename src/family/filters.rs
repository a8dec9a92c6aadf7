//! What Bloom filters and cuckoo filters share: the option of the error rate, and the warnings about filters that have grown many
//! times (docs/troubleshooting.md).

use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::log::{self, RateLimit};
use roughly_sketch::bloom::MAX_ERROR_RATE;
use std::ops::RangeInclusive;

/// Parses an error rate, as BF.RESERVE and, with a window, CF.RESERVE take it.
///
/// # Errors
/// If it is not a number in (0, 1).
pub fn error_rate(call: &Call<'_>, argument: Argument<'_>) -> Result<f64, Error> {
    let rate = call.double(argument).ok_or(c"ERR bad error rate")?;
    match rate > 0.0 && rate < 1.0 {
        true => Ok(rate),
        false => Err(c"ERR error rate must be in the range (0.000000, 1.000000)".into()),
    }
}

/// An error rate in (0, 1), reduced to [`MAX_ERROR_RATE`] with a warning in the log, at most once a second.
pub fn capped(rate: f64) -> f64 {
    if rate > MAX_ERROR_RATE {
        log::warning_of_input(&format!(
            "error rate {rate} is above the maximum and was set to {MAX_ERROR_RATE}"
        ));
    }
    rate.min(MAX_ERROR_RATE)
}

/// Numbers of sub-filters that a filter with a suitable capacity does not reach, each with the limit of its warnings, the largest
/// first.
pub type Thresholds = [(usize, RateLimit); 2];

/// The sub-filters that a command has added. Logs `text`, with the limit of the largest threshold that they have reached, unless
/// the command must be obeyed: the server that accepted it has warned.
#[inline(always)]
pub fn growths(
    call: &Call<'_>,
    thresholds: &Thresholds,
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
    thresholds: &Thresholds,
    sub_filters: RangeInclusive<usize>,
    text: impl FnOnce() -> String,
) {
    let reached = (thresholds.iter()).find(|(threshold, _)| sub_filters.contains(threshold));
    if let Some((_, warnings)) = reached
        && !call.must_obey()
    {
        warnings.warning(text);
    }
}

/// A capacity with room for more than these items: the power of two of which they are a quarter to a half.
pub fn capacity_for(items: u64, allowed: RangeInclusive<u64>) -> u64 {
    let capacity = items.saturating_mul(2).checked_next_power_of_two();
    (capacity.unwrap_or(u64::MAX)).clamp(*allowed.start(), *allowed.end())
}

#[cfg(test)]
mod tests {
    use super::capacity_for;

    #[test]
    fn the_capacity_is_a_power_of_two_in_the_range() {
        for (items, capacity) in [
            (0, 8),
            (4, 8),
            (5, 16),
            (8, 16),
            (2300, 8192),
            (1 << 29, 1 << 30),
            (1 << 62, 1 << 30),
            (u64::MAX, 1 << 30),
        ] {
            assert_eq!(capacity_for(items, 8..=1 << 30), capacity, "{items}");
        }
    }
}
