//! valkey-bloom's settings `bf.bloom-*`, which apply to keys of its type (docs/configuration.md, "valkey-bloom's type").
//!
//! The names and the error texts are those of valkey-bloom, so that a configuration file is valid for both modules.

use crate::family::bloom::dialect;
use crate::server::argument::Argument;
use crate::server::call::Call;
use crate::server::config::{Accepted, Rejection, Setting, store_boolean};
use roughly_sketch::valkey_bloom::DEFAULT_MAX_SIZE;
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

static CAPACITY: AtomicI64 = AtomicI64::new(100);
static EXPANSION: AtomicI64 = AtomicI64::new(2);
/// Bits of the error rate as a double.
static ERROR_RATE: AtomicU64 = AtomicU64::new(0.01f64.to_bits());
/// Bits of the tightening ratio as a double.
static TIGHTENING: AtomicU64 = AtomicU64::new(0.5f64.to_bits());
static MAX_SIZE: AtomicI64 = AtomicI64::new(DEFAULT_MAX_SIZE as i64);
static USE_RANDOM_SEED: AtomicBool = AtomicBool::new(true);
static IS_DEFRAGMENTED: AtomicBool = AtomicBool::new(true);

const TEMPLATE: Setting = Setting {
    always_prefixed: true,
    ..Setting::TEMPLATE
};

/// The settings.
pub const SETTINGS: &[Setting] = &[
    Setting {
        name: c"bloom-capacity",
        default: c"100",
        set: |text| store_integer(text, 1..=i64::MAX, &CAPACITY),
        notice: || {
            for_own_type(
                "bf.bloom-capacity applies to new keys of valkey-bloom's type, bf-initial-size to those of RedisBloom's type",
            )
        },
        ..TEMPLATE
    },
    Setting {
        name: c"bloom-expansion",
        default: c"2",
        set: |text| store_integer(text, 0..=u32::MAX.into(), &EXPANSION),
        notice: || {
            for_own_type(
                "bf.bloom-expansion applies to new keys of valkey-bloom's type, bf-expansion-factor to those of RedisBloom's type",
            )
        },
        ..TEMPLATE
    },
    Setting {
        name: c"bloom-fp-rate",
        default: c"0.01",
        set: |text| store_ratio(text, "ERR (0 < error rate range < 1)", &ERROR_RATE),
        notice: || {
            for_own_type(
                "bf.bloom-fp-rate applies to new keys of valkey-bloom's type, bf-error-rate to those of RedisBloom's type",
            )
        },
        ..TEMPLATE
    },
    Setting {
        name: c"bloom-tightening-ratio",
        default: c"0.5",
        set: |text| store_ratio(text, "ERR (0 < tightening ratio range < 1)", &TIGHTENING),
        notice: || {
            for_own_type(
                "bf.bloom-tightening-ratio applies to new keys of valkey-bloom's type; that of RedisBloom's type is always 0.5",
            )
        },
        ..TEMPLATE
    },
    Setting {
        name: c"bloom-memory-usage-limit",
        default: c"134217728",
        set: |text| store_integer(text, 0..=i64::MAX, &MAX_SIZE),
        notice: || {
            for_own_type(
                "bf.bloom-memory-usage-limit applies to keys of valkey-bloom's type, sketch-max-key-bytes to keys of all types",
            )
        },
        ..TEMPLATE
    },
    Setting {
        name: c"bloom-use-random-seed",
        default: c"yes",
        set: |text| store_flag(text, &USE_RANDOM_SEED),
        ..TEMPLATE
    },
    Setting {
        name: c"bloom-defrag-enabled",
        default: c"yes",
        set: |text| store_flag(text, &IS_DEFRAGMENTED),
        ..TEMPLATE
    },
];

/// A line for the log if a setting for keys of valkey-bloom's type is specified, but new keys have RedisBloom's type.
fn for_own_type(notice: &'static str) -> Option<&'static str> {
    (!dialect::new_keys_are_valkey()).then_some(notice)
}

fn because(text: impl Into<String>) -> Rejection {
    Rejection::Because(text.into())
}

/// As [`crate::server::config::store_integer`], with the server's texts for its integer settings.
fn store_integer(
    text: Argument<'_>,
    range: RangeInclusive<i64>,
    value: &AtomicI64,
) -> Result<Accepted, Rejection> {
    let given = text.integer();
    let given = given.ok_or_else(|| because("argument couldn't be parsed into an integer"))?;
    if !range.contains(&given) {
        let (min, max) = range.into_inner();
        return Err(because(format!(
            "argument must be between {min} and {max} inclusive"
        )));
    }
    value.store(given, Ordering::Relaxed);
    Ok(Accepted::Number(given))
}

/// As [`store_boolean`], with the server's text for its boolean settings.
fn store_flag(text: Argument<'_>, value: &AtomicBool) -> Result<Accepted, Rejection> {
    store_boolean(text, value).map_err(|_| because("argument must be 'yes' or 'no'"))
}

/// A double as Rust parses it.
pub fn double(argument: Argument<'_>) -> Option<f64> {
    std::str::from_utf8(argument.bytes()).ok()?.parse().ok()
}

/// Stores the bits of a double between 0 and 1.
fn store_ratio(
    text: Argument<'_>,
    out_of_range: &str,
    value: &AtomicU64,
) -> Result<Accepted, Rejection> {
    let given = double(text);
    let given = given.ok_or_else(|| because("Invalid floating-point value"))?;
    if !(given > 0.0 && given < 1.0) {
        return Err(because(out_of_range));
    }
    value.store(given.to_bits(), Ordering::Relaxed);
    Ok(Accepted::AsGiven)
}

/// The capacity of auto-created filters, at least 1.
pub fn capacity() -> u64 {
    CAPACITY.load(Ordering::Relaxed).unsigned_abs()
}

/// The growth factor; 0 stands for a non-scaling filter.
pub fn expansion() -> u32 {
    u32::try_from(EXPANSION.load(Ordering::Relaxed)).unwrap_or(u32::MAX)
}

/// The error rate of auto-created filters.
pub fn error_rate() -> f64 {
    f64::from_bits(ERROR_RATE.load(Ordering::Relaxed))
}

/// The ratio of a filter's error rate to that of the previous filter.
pub fn tightening() -> f64 {
    f64::from_bits(TIGHTENING.load(Ordering::Relaxed))
}

/// The maximum size of a key in bytes, as BF.INFO counts them.
pub fn max_size() -> u64 {
    MAX_SIZE.load(Ordering::Relaxed).unsigned_abs()
}

/// The maximum size of a filter that the command creates or enlarges. The limit does not apply to commands that must be obeyed.
pub fn max_size_for(call: &Call<'_>) -> u64 {
    match call.must_obey() {
        true => u64::MAX,
        false => max_size(),
    }
}

/// Whether a new filter has a random seed.
pub fn uses_random_seed() -> bool {
    USE_RANDOM_SEED.load(Ordering::Relaxed)
}

/// Whether active defragmentation moves filters.
pub fn is_defragmented() -> bool {
    IS_DEFRAGMENTED.load(Ordering::Relaxed)
}
