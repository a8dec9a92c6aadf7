//! The settings `cf-*`: options of auto-created filters, and the limit of sub-filters (docs/configuration.md).

use crate::server::call::Call;
use crate::server::config::{Setting, integer_in, store_integer};
use roughly_sketch::cuckoo::{self, MAX_EXPANSION, Parameters};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicI64, Ordering};

/// The largest capacity that clients can specify.
const MAX_CAPACITY: i64 = cuckoo::MAX_CAPACITY as i64;
/// The smallest value of `cf-initial-size`, whatever the bucket size.
const MIN_INITIAL_SIZE: i64 = 4;
/// Valid bucket sizes.
pub const BUCKET_SIZES: RangeInclusive<i64> = 1..=255;
/// Valid limits of evictions per insertion.
pub const ITERATIONS: RangeInclusive<i64> = 1..=65535;
/// Valid growth factors; 0 stands for a filter that does not grow.
pub const EXPANSIONS: RangeInclusive<i64> = 0..=MAX_EXPANSION as i64;
/// Valid limits of sub-filters.
const LIMITS: RangeInclusive<i64> = 1..=65536;

static BUCKET_SIZE: AtomicI64 = AtomicI64::new(Parameters::DEFAULT.bucket_size as i64);
static CAPACITY: AtomicI64 = AtomicI64::new(cuckoo::DEFAULT_CAPACITY as i64);
static MAX_ITERATIONS: AtomicI64 = AtomicI64::new(Parameters::DEFAULT.max_iterations as i64);
static EXPANSION: AtomicI64 = AtomicI64::new(Parameters::DEFAULT.expansion as i64);
static MAX_SUB_FILTERS: AtomicI64 = AtomicI64::new(cuckoo::DEFAULT_MAX_SUB_FILTERS as i64);

/// The settings.
pub const SETTINGS: &[Setting] = &[
    Setting {
        fits: |text| integer_in(text, 1..=largest_bucket()).map(drop),
        ..Setting::new(c"cf-bucket-size", c"2", |text| {
            store_integer(text, BUCKET_SIZES, &BUCKET_SIZE)
        })
    },
    Setting {
        fits: |text| {
            let two_buckets = smallest_capacity(BUCKET_SIZE.load(Ordering::Relaxed));
            integer_in(text, MIN_INITIAL_SIZE.max(two_buckets)..=MAX_CAPACITY).map(drop)
        },
        ..Setting::new(c"cf-initial-size", c"1024", |text| {
            store_integer(text, MIN_INITIAL_SIZE..=MAX_CAPACITY, &CAPACITY)
        })
    },
    Setting::new(c"cf-max-iterations", c"20", |text| {
        store_integer(text, ITERATIONS, &MAX_ITERATIONS)
    }),
    Setting::new(c"cf-expansion-factor", c"1", |text| {
        store_integer(text, EXPANSIONS, &EXPANSION)
    }),
    Setting {
        old_name: Some("CF_MAX_EXPANSIONS"),
        ..Setting::new(c"cf-max-expansions", c"32", |text| {
            store_integer(text, LIMITS, &MAX_SUB_FILTERS)
        })
    },
];

/// The smallest capacity of a filter with buckets of this size: that of two buckets.
pub fn smallest_capacity(bucket_size: i64) -> i64 {
    2 * bucket_size
}

/// Whether clients can specify this capacity. A command that must be obeyed can have any larger one, as in RedisBloom 2.x.
pub fn is_allowed_capacity(call: &Call<'_>, capacity: i64, bucket_size: i64) -> bool {
    let is_large_enough = capacity >= smallest_capacity(bucket_size);
    is_large_enough && (capacity <= MAX_CAPACITY || call.must_obey())
}

/// The largest bucket size with two buckets in the configured capacity.
fn largest_bucket() -> i64 {
    (*BUCKET_SIZES.end()).min(CAPACITY.load(Ordering::Relaxed) / 2)
}

/// The capacity of auto-created filters.
pub fn capacity() -> u64 {
    CAPACITY.load(Ordering::Relaxed).unsigned_abs()
}

/// The other parameters of auto-created filters.
pub fn parameters() -> Parameters {
    // The settings are in their ranges, so no cast truncates.
    Parameters {
        bucket_size: BUCKET_SIZE.load(Ordering::Relaxed) as u8,
        max_iterations: MAX_ITERATIONS.load(Ordering::Relaxed) as u16,
        expansion: EXPANSION.load(Ordering::Relaxed) as u16,
    }
}

/// A filter with this many sub-filters accepts no more items.
pub fn max_sub_filters() -> u64 {
    MAX_SUB_FILTERS.load(Ordering::Relaxed).cast_unsigned()
}
