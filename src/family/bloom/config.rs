//! The settings of Bloom filters (docs/configuration.md): `bf-*` for keys of RedisBloom's type, `bf.bloom-*` for those of
//! valkey-bloom's type, and `bf-replies` and `bf-new-keys`, which decide whose replies and types the commands use.
//!
//! The names and the error texts of `bf.bloom-*` are those of valkey-bloom, so that a configuration file is valid for both
//! modules.

use crate::family::filters::capped;
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::config::{
    Accepted, Rejection, Setting, store_boolean, store_choice, store_integer,
};
use crate::server::key::Lookup;
use crate::server::part::Part;
use roughly_sketch::bloom::{MAX_CAPACITY, MAX_ERROR_RATE, MAX_EXPANSION, Parameters};
use roughly_sketch::valkey_bloom::{self, DEFAULT_MAX_SIZE, FIXED_SEED};
use std::ffi::{CStr, CString};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};

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

const MODULES: [&str; 2] = ["redisbloom", "valkey-bloom"];
static REPLIES: AtomicBool = AtomicBool::new(false);
static NEW_KEYS: AtomicBool = AtomicBool::new(false);

static VALKEY_CAPACITY: AtomicI64 = AtomicI64::new(100);
static VALKEY_EXPANSION: AtomicI64 = AtomicI64::new(2);
/// Bits of the error rate as a double.
static VALKEY_ERROR_RATE: AtomicU64 = AtomicU64::new(0.01f64.to_bits());
/// Bits of the tightening ratio as a double.
static VALKEY_TIGHTENING: AtomicU64 = AtomicU64::new(0.5f64.to_bits());
static VALKEY_MAX_SIZE: AtomicI64 = AtomicI64::new(DEFAULT_MAX_SIZE as i64);
static VALKEY_USES_RANDOM_SEED: AtomicBool = AtomicBool::new(true);
static VALKEY_IS_DEFRAGMENTED: AtomicBool = AtomicBool::new(true);

/// A setting for keys of valkey-bloom's type.
const fn valkey(
    name: &'static CStr,
    default: &'static CStr,
    set: fn(Argument<'_>) -> Result<Accepted, Rejection>,
) -> Setting {
    Setting {
        always_prefixed: true,
        is_used: new_keys_are_valkey,
        ..Setting::new(name, default, set)
    }
}

/// The settings.
pub const SETTINGS: &[Setting] = &[
    Setting {
        old_name: Some("ERROR_RATE"),
        ..Setting::new(c"bf-error-rate", c"0.01", set_error_rate)
    },
    Setting {
        old_name: Some("INITIAL_SIZE"),
        ..Setting::new(c"bf-initial-size", c"100", |text| {
            store_integer(text, CAPACITIES, &CAPACITY)
        })
    },
    Setting::new(c"bf-expansion-factor", c"2", |text| {
        store_integer(text, EXPANSIONS, &EXPANSION)
    }),
    Setting::new(c"bf-replies", c"redisbloom", |text| {
        store_choice(text, MODULES, &REPLIES)
    }),
    Setting::new(c"bf-new-keys", c"redisbloom", |text| {
        store_choice(text, MODULES, &NEW_KEYS)
    }),
    Setting {
        notice: Some(
            "bf.bloom-capacity applies to new keys of valkey-bloom's type, bf-initial-size to those of RedisBloom's type",
        ),
        ..valkey(c"bloom-capacity", c"100", |text| {
            store_valkey_integer(text, 1..=i64::MAX, &VALKEY_CAPACITY)
        })
    },
    Setting {
        notice: Some(
            "bf.bloom-expansion applies to new keys of valkey-bloom's type, bf-expansion-factor to those of RedisBloom's type",
        ),
        ..valkey(c"bloom-expansion", c"2", |text| {
            store_valkey_integer(text, 0..=u32::MAX.into(), &VALKEY_EXPANSION)
        })
    },
    Setting {
        notice: Some(
            "bf.bloom-fp-rate applies to new keys of valkey-bloom's type, bf-error-rate to those of RedisBloom's type",
        ),
        ..valkey(c"bloom-fp-rate", c"0.01", |text| {
            store_valkey_ratio(text, "ERR (0 < error rate range < 1)", &VALKEY_ERROR_RATE)
        })
    },
    Setting {
        notice: Some(
            "bf.bloom-tightening-ratio applies to new keys of valkey-bloom's type; that of RedisBloom's type is always 0.5",
        ),
        ..valkey(c"bloom-tightening-ratio", c"0.5", |text| {
            store_valkey_ratio(
                text,
                "ERR (0 < tightening ratio range < 1)",
                &VALKEY_TIGHTENING,
            )
        })
    },
    Setting {
        notice: Some(
            "bf.bloom-memory-usage-limit applies to keys of valkey-bloom's type, sketch-max-key-bytes to keys of all types",
        ),
        ..valkey(c"bloom-memory-usage-limit", c"134217728", |text| {
            store_valkey_integer(text, 0..=i64::MAX, &VALKEY_MAX_SIZE)
        })
    },
    valkey(c"bloom-use-random-seed", c"yes", |text| {
        store_valkey_flag(text, &VALKEY_USES_RANDOM_SEED)
    }),
    valkey(c"bloom-defrag-enabled", c"yes", |text| {
        store_valkey_flag(text, &VALKEY_IS_DEFRAGMENTED)
    }),
];

fn set_error_rate(text: Argument<'_>) -> Result<Accepted, Rejection> {
    let rate = text.double().ok_or(Rejection::Invalid)?;
    if !(rate > 0.0 && rate < 1.0) {
        return Err(Rejection::OutOfRange("(0.000000, 1.000000)".to_owned()));
    }
    ERROR_RATE.store(capped(rate).to_bits(), Ordering::Relaxed);
    Ok((rate > MAX_ERROR_RATE).then(|| "0.25".to_owned()))
}

fn because(text: impl Into<String>) -> Rejection {
    Rejection::Because(text.into())
}

/// As [`store_integer`], with the server's texts for its integer settings.
fn store_valkey_integer(
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
    Ok(Some(given.to_string()))
}

/// As [`store_boolean`], with the server's text for its boolean settings.
fn store_valkey_flag(text: Argument<'_>, value: &AtomicBool) -> Result<Accepted, Rejection> {
    store_boolean(text, value).map_err(|_| because("argument must be 'yes' or 'no'"))
}

/// A double as Rust, and so valkey-bloom, parses it.
pub fn double(argument: Argument<'_>) -> Option<f64> {
    std::str::from_utf8(argument.bytes()).ok()?.parse().ok()
}

/// Stores the bits of a double between 0 and 1.
fn store_valkey_ratio(
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
    Ok(None)
}

/// The parameters of auto-created filters.
pub fn defaults() -> Parameters {
    let expansion = EXPANSION.load(Ordering::Relaxed);
    let expansion = u32::try_from(expansion).unwrap_or(DEFAULT_EXPANSION);
    Parameters {
        capacity: CAPACITY.load(Ordering::Relaxed).unsigned_abs(),
        error_rate: f64::from_bits(ERROR_RATE.load(Ordering::Relaxed)),
        expansion,
        scaling: expansion != 0,
    }
}

/// The parameters of auto-created filters of valkey-bloom's type, with the fixed seed; see [`uses_random_seed`].
pub fn valkey_defaults() -> valkey_bloom::Parameters {
    let expansion = VALKEY_EXPANSION.load(Ordering::Relaxed);
    valkey_bloom::Parameters {
        capacity: VALKEY_CAPACITY.load(Ordering::Relaxed).unsigned_abs(),
        error_rate: f64::from_bits(VALKEY_ERROR_RATE.load(Ordering::Relaxed)),
        tightening: f64::from_bits(VALKEY_TIGHTENING.load(Ordering::Relaxed)),
        expansion: u32::try_from(expansion).unwrap_or(u32::MAX),
        seed: FIXED_SEED,
        seed_is_random: false,
    }
}

/// Whether a new filter of valkey-bloom's type has a random seed.
pub fn uses_random_seed() -> bool {
    VALKEY_USES_RANDOM_SEED.load(Ordering::Relaxed)
}

/// The maximum size of a key of valkey-bloom's type in bytes, as BF.INFO counts them.
pub fn max_size() -> u64 {
    VALKEY_MAX_SIZE.load(Ordering::Relaxed).unsigned_abs()
}

/// Whether active defragmentation moves filters of valkey-bloom's type.
pub fn is_defragmented() -> bool {
    VALKEY_IS_DEFRAGMENTED.load(Ordering::Relaxed)
}

/// Whether a client's command creates keys of valkey-bloom's type if its options do not decide.
pub fn new_keys_are_valkey() -> bool {
    NEW_KEYS.load(Ordering::Relaxed)
}

/// The module whose replies, errors and syntax of options the commands have (`bf-replies`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    RedisBloom,
    Valkey,
}

impl Dialect {
    /// The configured dialect.
    #[inline]
    pub fn current() -> Self {
        match REPLIES.load(Ordering::Relaxed) {
            true => Self::Valkey,
            false => Self::RedisBloom,
        }
    }

    /// What a look-up finds. RedisBloom treats a key of another type like a missing key, valkey-bloom replies with an error.
    ///
    /// # Errors
    /// [`Error::WrongType`] in valkey-bloom's dialect, and if the command reads a part of a window.
    #[inline(always)]
    pub fn lenient<V>(self, part: Part<'_>, found: Lookup<V>) -> Result<Option<V>, Error> {
        match self {
            Self::RedisBloom => found.lenient(part),
            Self::Valkey => found.optional(),
        }
    }

    /// The reply for an item: in RedisBloom's dialect a boolean in RESP3, otherwise an integer.
    #[inline]
    pub fn reply_flag(self, call: &mut Call<'_>, flag: bool) {
        match self {
            Self::RedisBloom => call.reply_boolean(flag),
            Self::Valkey => call.reply_integer(i64::from(flag)),
        }
    }

    /// The error for a wrong number of arguments. valkey-bloom's text has the command in upper case.
    pub fn wrong_arity(self, call: &Call<'_>) -> Error {
        if self == Self::RedisBloom {
            return Error::WrongArity;
        }
        let name = call.arg(0).bytes().to_ascii_uppercase();
        let name = name.escape_ascii();
        CString::new(format!(
            "ERR wrong number of arguments for '{name}' command"
        ))
        .map_or(Error::WrongArity, Error::Formatted)
    }
}
