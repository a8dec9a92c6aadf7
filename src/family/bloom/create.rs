//! BF.RESERVE, and the creation of missing keys by BF.ADD, BF.MADD and BF.INSERT.

use super::config::{self, CAPACITIES, DEFAULT_EXPANSION, EXPANSIONS};
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::key::{Entry, Slot, WriteKey};
use crate::server::options::{MissingValue, Options};
use roughly_sketch::bloom::{self, Chain, Parameters};
use roughly_sketch::memory::Budget;
use std::ffi::CStr;

/// Not enough memory for a filter.
pub const NO_MEMORY: &CStr = c"ERR Insufficient memory to create filter";

/// BF.RESERVE key error_rate capacity [EXPANSION n] [NONSCALING]
pub fn reserve(call: &mut Call<'_>) -> Result<(), Error> {
    if !(4..=7).contains(&call.len()) {
        return Err(Error::WrongArity);
    }
    let parameters = reserve_parameters(call)?;
    let mut key = call.write::<Chain>(1);
    match key.get() {
        Slot::Missing => {}
        Slot::WrongType => return Err(Error::WrongType),
        Slot::Found(_) => return Err(c"ERR item exists".into()),
    }
    let mut entry = key.create(new_filter(call, &parameters)?)?;
    replicate(call, entry.value(), &parameters);
    entry.store();
    call.signal_changed(1, c"bf.reserve");
    call.reply_ok();
    Ok(())
}

fn reserve_parameters(call: &Call<'_>) -> Result<Parameters, Error> {
    let error_rate = call.arg(2).double().ok_or(c"ERR bad error rate")?;
    if !(error_rate > 0.0 && error_rate < 1.0) {
        return Err(c"ERR error rate must be in the range (0.000000, 1.000000)".into());
    }
    let capacity = call.arg(3).integer().ok_or(c"ERR bad capacity")?;
    if !CAPACITIES.contains(&capacity) {
        return Err(c"ERR capacity must be in the range [1, 1073741824]".into());
    }
    let mut options = Options::new(call, 4);
    let nonscaling = options.flag("NONSCALING");
    let value = options.value("EXPANSION");
    let given = if let Some(value) = value.map_err(|MissingValue| c"ERR no expansion")? {
        let given = value.integer().ok_or(c"ERR bad expansion")?;
        if nonscaling && given != 0 {
            return Err(c"Nonscaling filters cannot expand".into());
        }
        if !EXPANSIONS.contains(&given) {
            return Err(c"ERR expansion must be in the range [0, 32768]".into());
        }
        u32::try_from(given).ok()
    } else {
        None
    };
    options.warn_of_ignored();
    let expansion = given.unwrap_or_else(|| default_expansion(call, nonscaling));
    Ok(Parameters {
        capacity: capacity.unsigned_abs(),
        error_rate: config::capped(error_rate),
        expansion,
        scaling: !nonscaling && expansion != 0,
    })
}

/// The growth factor that a filter stores if none is specified: the configured one. For a non-scaling filter that a
/// primary or the AOF creates it is 2, whatever is configured here: see [`replicate`].
fn default_expansion(call: &Call<'_>, nonscaling: bool) -> u32 {
    if nonscaling && call.must_obey() {
        DEFAULT_EXPANSION
    } else {
        config::expansion()
    }
}

fn new_filter(call: &Call<'_>, parameters: &Parameters) -> Result<Chain, Error> {
    let chain = Chain::new(parameters, Budget::new(&|bytes| call.allows_bytes(bytes)));
    chain.map_err(|error| match error {
        bloom::Error::OutOfMemory(_) => NO_MEMORY.into(),
        bloom::Error::Shape | bloom::Error::Full => c"ERR could not create filter".into(),
    })
}

/// The filter at the key; a missing one is created, and its creation replicated.
pub fn find_or_create(
    call: &mut Call<'_>,
    key: WriteKey<Chain>,
    parameters: &Parameters,
) -> Result<Entry<Chain>, Error> {
    let mut entry = key.find_or_create(call, || new_filter(call, parameters))?;
    if entry.is_new() {
        replicate(call, entry.value(), parameters);
    }
    Ok(entry)
}

/// Replicates the creation with all parameters, because the settings of replicas may differ. A non-scaling filter
/// stores a growth factor that it does not use and that BF.RESERVE cannot specify. If it is not 2, the header of an
/// empty filter is replicated.
fn replicate(call: &mut Call<'_>, chain: &Chain, parameters: &Parameters) {
    let key = call.arg(1).bytes();
    if !parameters.scaling && parameters.expansion != DEFAULT_EXPANSION {
        call.replicate(c"BF.LOADCHUNK", &[key, b"1", &chain.header_bytes()]);
        return;
    }
    let error_rate = format!("{:e}", parameters.error_rate);
    let capacity = parameters.capacity.to_string();
    let expansion = parameters.expansion.to_string();
    let mut arguments = vec![key, error_rate.as_bytes(), capacity.as_bytes()];
    if parameters.scaling {
        arguments.extend([&b"EXPANSION"[..], expansion.as_bytes()]);
    } else {
        arguments.push(b"NONSCALING");
    }
    call.replicate(c"BF.RESERVE", &arguments);
}

/// The options of BF.INSERT.
pub struct InsertOptions {
    /// Parameters of a missing filter.
    pub parameters: Parameters,
    /// Whether a missing filter is created.
    pub create: bool,
    /// The argument of the first item.
    pub first_item: usize,
}

/// Parses BF.INSERT's options. Their first letters are enough, as in RedisBloom.
pub fn insert_options(call: &Call<'_>) -> Result<InsertOptions, Error> {
    let mut parameters = config::defaults();
    let mut nonscaling = false;
    let mut create = true;
    let mut index = 2;
    let value_at = |index: usize| -> Result<Argument<'_>, Error> {
        if index < call.len() {
            Ok(call.arg(index))
        } else {
            Err(Error::WrongArity)
        }
    };
    while index < call.len() {
        let mut letters = call.arg(index).bytes().iter().map(u8::to_ascii_lowercase);
        index += 1;
        match (letters.next(), letters.next(), letters.next()) {
            (Some(b'i'), ..) if index == call.len() => return Err(Error::WrongArity),
            (Some(b'i'), ..) => {
                parameters.scaling = !nonscaling && parameters.expansion != 0;
                return Ok(InsertOptions {
                    parameters,
                    create,
                    first_item: index,
                });
            }
            (Some(b'e'), Some(b'r'), _) => {
                let rate = value_at(index)?.double().ok_or(c"Bad error rate")?;
                if !(rate > 0.0 && rate < 1.0) {
                    return Err(c"Bad error rate".into());
                }
                parameters.error_rate = config::capped(rate);
                index += 1;
            }
            (Some(b'e'), ..) => {
                let given = value_at(index)?.integer();
                parameters.expansion = given
                    .filter(|given| EXPANSIONS.contains(given))
                    .and_then(|given| u32::try_from(given).ok())
                    .ok_or(c"Bad expansion")?;
                index += 1;
            }
            (Some(b'c'), ..) => {
                let given = value_at(index)?.integer();
                parameters.capacity = given
                    .filter(|given| CAPACITIES.contains(given))
                    .map(i64::unsigned_abs)
                    .ok_or(c"Bad capacity")?;
                index += 1;
            }
            (Some(b'n'), _, Some(b'c')) => create = false,
            (Some(b'n'), ..) => nonscaling = true,
            _ => return Err(c"Unknown argument received".into()),
        }
    }
    Err(Error::WrongArity)
}
