//! The settings `bf-*`: parameters of auto-created filters (docs/configuration.md).

use crate::family::error_rate::capped;
use crate::server::argument::Argument;
use crate::server::config::{Accepted, Rejection, Setting, store_integer};
use roughly_sketch::bloom::{MAX_CAPACITY, MAX_ERROR_RATE, MAX_EXPANSION, Parameters};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

/// Valid capacities.
pub const CAPACITIES: RangeInclusive<i64> = 1..=MAX_CAPACITY as i64;
/// Valid growth factors; 0 stands for a non-scaling filter.
pub const EXPANSIONS: RangeInclusive<i64> = 0..=MAX_EXPANSION as i64;

/// The default growth factor.
pub const DEFAULT_EXPANSION: u32 = Parameters::DEFAULT.expansion;

/// Bits of the error rate as a double.
static ERROR_RATE: AtomicU64 = AtomicU64::new(Parameters::DEFAULT.error_rate.to_bits());
static CAPACITY: AtomicI64 = AtomicI64::new(Parameters::DEFAULT.capacity as i64);
static EXPANSION: AtomicI64 = AtomicI64::new(DEFAULT_EXPANSION as i64);

/// The settings.
pub const SETTINGS: &[Setting] = &[
    Setting {
        name: c"bf-error-rate",
        old_name: Some("ERROR_RATE"),
        default: c"0.01",
        set: set_error_rate,
        ..Setting::TEMPLATE
    },
    Setting {
        name: c"bf-initial-size",
        old_name: Some("INITIAL_SIZE"),
        default: c"100",
        set: |text| store_integer(text, CAPACITIES, &CAPACITY),
        ..Setting::TEMPLATE
    },
    Setting {
        name: c"bf-expansion-factor",
        old_name: None,
        default: c"2",
        set: |text| store_integer(text, EXPANSIONS, &EXPANSION),
        ..Setting::TEMPLATE
    },
];

fn set_error_rate(text: Argument<'_>) -> Result<Accepted, Rejection> {
    let rate = text.double().ok_or(Rejection::Invalid)?;
    if !(rate > 0.0 && rate < 1.0) {
        return Err(Rejection::OutOfRange("(0.000000, 1.000000)".to_owned()));
    }
    ERROR_RATE.store(capped(rate).to_bits(), Ordering::Relaxed);
    Ok(if rate > MAX_ERROR_RATE {
        Accepted::Instead("0.25")
    } else {
        Accepted::AsGiven
    })
}

/// The configured growth factor; 0 stands for a non-scaling filter.
pub fn expansion() -> u32 {
    u32::try_from(EXPANSION.load(Ordering::Relaxed)).unwrap_or(DEFAULT_EXPANSION)
}

/// The parameters of auto-created filters.
pub fn defaults() -> Parameters {
    let expansion = expansion();
    Parameters {
        capacity: CAPACITY.load(Ordering::Relaxed).unsigned_abs(),
        error_rate: f64::from_bits(ERROR_RATE.load(Ordering::Relaxed)),
        expansion,
        scaling: expansion != 0,
    }
}
