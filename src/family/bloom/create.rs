//! BF.RESERVE, and the creation of missing keys by BF.ADD, BF.MADD and BF.INSERT.

use super::config::DEFAULT_EXPANSION;
use super::request::Request;
use super::syntax;
use super::texts::{NO_MEMORY, VALKEY_CREATION_EVENT, valkey_error};
use super::types::{Filter, is_valkey};
use super::valkey_config::max_size_for;
use crate::family::window_option::{NewWindow, replicate_creation};
use crate::server::call::{Call, Error};
use crate::server::key::{Entry, Found, OneOf, WriteKey};
use roughly_sketch::bloom::{self, Chain, Parameters};
use roughly_sketch::memory::Purpose;
use roughly_sketch::valkey_bloom::{self, ValkeyChain};
use roughly_sketch::window_filter::{self, BloomWindow, BloomWindowParameters};
use std::ffi::CStr;

/// BF.RESERVE key error_rate capacity [EXPANSION n] [NONSCALING] [WINDOW ms [PANES n] [SEED hex]]
pub fn reserve(call: &mut Call<'_>) -> Result<(), Error> {
    let request = syntax::reserve(call)?;
    let found = call.write(1).find(call, Filter::TYPES.iter().copied())?;
    let Found::Missing(key) = found else {
        return Err(c"ERR item exists".into());
    };
    let entry = match create(call, key, &request) {
        // RedisBloom 2.6 also replicates a filter that it could not create. The server logs an error as critical.
        Err(error) if call.must_obey() && error == NOT_CREATED.into() => {
            call.reply_ok();
            return Ok(());
        }
        created => created?,
    };
    let event = match is_valkey(&entry) {
        true => VALKEY_CREATION_EVENT,
        false => c"bf.reserve",
    };
    entry.store();
    call.signal_changed(1, event);
    call.reply_ok();
    Ok(())
}

/// The filter at the key. A missing filter is created, advanced to the current pane if it has a window, and its creation
/// replicated.
///
/// # Errors
/// Those of the creation, and [`Error::WrongType`].
#[inline(always)]
pub fn find_or_create(call: &mut Call<'_>, request: &Request) -> Result<Entry, Error> {
    let found = call.write(1).find(call, Filter::TYPES.iter().copied())?;
    entry_of(call, found, request)
}

/// As [`find_or_create`], for a key that was looked up.
///
/// # Errors
/// Those of the creation.
#[inline(always)]
pub fn entry_of(call: &mut Call<'_>, found: Found, request: &Request) -> Result<Entry, Error> {
    match found {
        Found::Entry(entry) => Ok(entry),
        Found::Missing(key) => create(call, key, request),
    }
}

/// Creates the filter of a missing key, and replicates the creation.
#[cold]
fn create(call: &mut Call<'_>, key: WriteKey, request: &Request) -> Result<Entry, Error> {
    if let Some(window) = request.window {
        let parameters = request.parameters(call)?;
        let window = window.check_allowed(call)?;
        let set = new_set(call, &parameters, window)?;
        let words = window.words(Some(set.seed()));
        let mut entry = key.create(call, set)?;
        replicate_reserve(call, &parameters, &words);
        entry.advance(call);
        return Ok(entry);
    }
    if request.creates_valkey(call) {
        let parameters = request.valkey_parameters(call);
        let entry = key.create(call, new_valkey_filter(call, &parameters)?)?;
        replicate_valkey(call, &parameters);
        return Ok(entry);
    }
    let parameters = request.parameters(call)?;
    let chain = new_filter(call, &parameters)?;
    // A non-scaling filter stores a growth factor that it does not use and that BF.RESERVE cannot specify.
    let has_other_factor = !parameters.scaling && parameters.expansion != DEFAULT_EXPANSION;
    let header = has_other_factor.then(|| chain.header_bytes());
    let entry = key.create(call, chain)?;
    // The creation is replicated with all parameters, because the settings of replicas may differ.
    match header {
        Some(header) => {
            let arguments = [call.arg(1).bytes(), b"1", &header];
            call.replicate(c"BF.LOADCHUNK", &arguments);
        }
        None => replicate_reserve(call, &parameters, &[]),
    }
    Ok(entry)
}

const NOT_CREATED: &CStr = c"ERR could not create filter";

fn new_filter(call: &Call<'_>, parameters: &Parameters) -> Result<Chain, Error> {
    let budget = call.memory().budget(Purpose::Create);
    let chain = match call.must_obey() {
        true => Chain::new_replicated(parameters, budget),
        false => Chain::new(parameters, budget),
    };
    chain.map_err(|error| match error {
        bloom::Error::OutOfMemory(_) => NO_MEMORY.into(),
        bloom::Error::Shape | bloom::Error::Full => NOT_CREATED.into(),
    })
}

fn new_set(
    call: &Call<'_>,
    parameters: &Parameters,
    window: NewWindow,
) -> Result<BloomWindow, Error> {
    let parameters = BloomWindowParameters {
        seed: window.seed(call),
        capacity: parameters.capacity,
        error_rate: parameters.error_rate,
        expansion: match parameters.scaling {
            true => parameters.expansion,
            false => 0,
        },
    };
    let budget = call.memory().budget(Purpose::Create);
    let set = BloomWindow::new(window.window, &parameters, budget);
    set.map_err(|error| match error {
        window_filter::Error::OutOfMemory(_) => NO_MEMORY.into(),
        window_filter::Error::Shape | window_filter::Error::Full => NOT_CREATED.into(),
    })
}

fn new_valkey_filter(
    call: &Call<'_>,
    parameters: &valkey_bloom::Parameters,
) -> Result<ValkeyChain, Error> {
    let chain = ValkeyChain::new(
        parameters,
        max_size_for(call),
        call.memory().budget(Purpose::Create),
    );
    chain.map_err(|error| valkey_error(error, NO_MEMORY).into())
}

/// Replicates a creation as BF.RESERVE, with the words of its window.
fn replicate_reserve(call: &mut Call<'_>, parameters: &Parameters, window: &[String]) {
    let error_rate = format!("{:e}", parameters.error_rate);
    let capacity = parameters.capacity.to_string();
    // A factor of 0 stands for a non-scaling filter. 2^32 has the same lower 32 bits, which are stored.
    let expansion = match parameters.expansion {
        0 => 1 << 32,
        factor => u64::from(factor),
    };
    let expansion = expansion.to_string();
    let key = call.arg(1).bytes();
    let mut arguments = vec![key, error_rate.as_bytes(), capacity.as_bytes()];
    if parameters.scaling {
        arguments.extend([&b"EXPANSION"[..], expansion.as_bytes()]);
    } else {
        arguments.push(b"NONSCALING");
    }
    replicate_creation(call, c"BF.RESERVE", &arguments, window);
}

/// Replicates the creation of a filter of valkey-bloom's type as valkey-bloom does, with all parameters.
fn replicate_valkey(call: &mut Call<'_>, parameters: &valkey_bloom::Parameters) {
    let capacity = parameters.capacity.to_string();
    // The shortest decimals that parse to the same numbers, without an exponent.
    let [error_rate, tightening] =
        [parameters.error_rate, parameters.tightening].map(|number| number.to_string());
    let expansion = parameters.expansion.to_string();
    let mut arguments = vec![
        call.arg(1).bytes(),
        b"CAPACITY",
        capacity.as_bytes(),
        b"ERROR",
        error_rate.as_bytes(),
        b"TIGHTENING",
        tightening.as_bytes(),
        b"SEED",
        &parameters.seed,
    ];
    match parameters.expansion {
        0 => arguments.push(b"NONSCALING"),
        _ => arguments.extend([&b"EXPANSION"[..], expansion.as_bytes()]),
    }
    call.replicate(c"BF.INSERT", &arguments);
}
