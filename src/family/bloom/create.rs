//! BF.RESERVE, and the creation of missing keys by BF.ADD, BF.MADD and BF.INSERT.

use super::config::DEFAULT_EXPANSION;
use super::key::{self, FilterWriteKey, OneOf, for_each_type};
use super::options;
use super::request::Request;
use super::sketch::Sketch;
use super::texts::{NO_MEMORY, NOT_FOUND};
use super::valkey;
use crate::family::window::check_allowed;
use crate::family::window_seed::{FilterWindow, FilterWindowArguments};
use crate::server::call::{Call, Error};
use crate::server::key::{Entry, Found, Slot, WriteKey};
use roughly_sketch::bloom::{self, Chain, Parameters};
use roughly_sketch::memory::Budget;
use roughly_sketch::valkey_bloom::{self, ValkeyChain};
use roughly_sketch::window_filter::{self, SetParameters, WindowSet};
use std::ffi::CStr;

/// The entry of a filter.
pub type FilterEntry = OneOf<Entry<Chain>, Entry<WindowSet>, Entry<ValkeyChain>>;

/// BF.RESERVE key error_rate capacity [EXPANSION n] [NONSCALING] [WINDOW ms [PANES n] [SEED hex]]
pub fn reserve(call: &mut Call<'_>) -> Result<(), Error> {
    let request = options::reserve(call)?;
    let mut key = key::write(call);
    for_each_type!(&mut key, key => match key.get() {
        Slot::Missing => Ok(()),
        Slot::WrongType => Err(Error::WrongType),
        Slot::Found(_) => Err(c"ERR item exists".into()),
    })?;
    for_each_type!(find_or_create(call, key, &request)?, entry => store(call, entry));
    call.reply_ok();
    Ok(())
}

/// Puts a new filter into its key.
fn store<T: Sketch>(call: &mut Call<'_>, entry: Entry<T>) {
    entry.store();
    call.signal_changed(1, T::CREATION_EVENT.unwrap_or(c"bf.reserve"));
}

/// The filter at the key, advanced to the current pane if it has a window. A missing filter is created, and its creation
/// replicated.
///
/// # Errors
/// Those of the creation, and [`Error::WrongType`].
#[inline(always)]
pub fn find_or_create(
    call: &mut Call<'_>,
    key: FilterWriteKey,
    request: &Request,
) -> Result<FilterEntry, Error> {
    let not_found = || NOT_FOUND.into();
    match key {
        OneOf::Classic(key) => match key.find()? {
            Found::Entry(entry) => Ok(OneOf::Classic(entry)),
            Found::Missing(key) => create(call, key, request),
        },
        OneOf::Windowed(key) => {
            let mut entry = key.find_or_create(call, || Err(not_found()))?;
            entry.advance(call);
            Ok(OneOf::Windowed(entry))
        }
        OneOf::Valkey(key) => {
            let entry = key.find_or_create(call, || Err(not_found()))?;
            Ok(OneOf::Valkey(entry))
        }
    }
}

/// Creates the filter of a missing key, and replicates the creation.
#[cold]
fn create(
    call: &mut Call<'_>,
    key: WriteKey<Chain>,
    request: &Request,
) -> Result<FilterEntry, Error> {
    if let Some(window) = request.window {
        let parameters = request.parameters(call)?;
        check_allowed(call)?;
        let key = key.typed(call);
        let mut entry = key.find_or_create(call, || new_set(call, &parameters, window))?;
        let arguments = FilterWindowArguments::of(window.window, entry.value().seed());
        replicate_reserve(call, &parameters, Some(&arguments));
        entry.advance(call);
        return Ok(OneOf::Windowed(entry));
    }
    if request.creates_valkey(call) {
        let parameters = request.valkey_parameters(call);
        let key = key.typed(call);
        let entry = key.find_or_create(call, || new_valkey_filter(call, &parameters))?;
        replicate_valkey(call, &parameters);
        return Ok(OneOf::Valkey(entry));
    }
    let parameters = request.parameters(call)?;
    let mut entry = key.find_or_create(call, || new_filter(call, &parameters))?;
    replicate(call, entry.value(), &parameters);
    Ok(OneOf::Classic(entry))
}

const NOT_CREATED: &CStr = c"ERR could not create filter";

fn new_filter(call: &Call<'_>, parameters: &Parameters) -> Result<Chain, Error> {
    let chain = Chain::new(parameters, Budget::new(&|bytes| call.allows_bytes(bytes)));
    chain.map_err(|error| match error {
        bloom::Error::OutOfMemory(_) => NO_MEMORY.into(),
        bloom::Error::Shape | bloom::Error::Full => NOT_CREATED.into(),
    })
}

fn new_set(
    call: &Call<'_>,
    parameters: &Parameters,
    window: FilterWindow,
) -> Result<WindowSet, Error> {
    let parameters = SetParameters {
        seed: window.seed(call),
        capacity: parameters.capacity,
        error_rate: parameters.error_rate,
        expansion: match parameters.scaling {
            true => parameters.expansion,
            false => 0,
        },
    };
    let allows = |bytes| call.allows_bytes(bytes);
    let set = WindowSet::new(window.window, &parameters, Budget::new(&allows));
    set.map_err(|error| match error {
        window_filter::Error::OutOfMemory(_) => NO_MEMORY.into(),
        window_filter::Error::Shape | window_filter::Error::Full => NOT_CREATED.into(),
    })
}

fn new_valkey_filter(
    call: &Call<'_>,
    parameters: &valkey_bloom::Parameters,
) -> Result<ValkeyChain, Error> {
    let allows = |bytes| call.allows_bytes(bytes);
    let chain = ValkeyChain::new(parameters, valkey::max_size(call), Budget::new(&allows));
    chain.map_err(|error| valkey::error_text(error, NO_MEMORY).into())
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
    replicate_reserve(call, parameters, None);
}

/// Replicates a creation as BF.RESERVE.
fn replicate_reserve(
    call: &mut Call<'_>,
    parameters: &Parameters,
    window: Option<&FilterWindowArguments>,
) {
    let error_rate = format!("{:e}", parameters.error_rate);
    let capacity = parameters.capacity.to_string();
    let expansion = parameters.expansion.to_string();
    let key = call.arg(1).bytes();
    let mut arguments = vec![key, error_rate.as_bytes(), capacity.as_bytes()];
    if parameters.scaling {
        arguments.extend([&b"EXPANSION"[..], expansion.as_bytes()]);
    } else {
        arguments.push(b"NONSCALING");
    }
    if let Some(window) = window {
        arguments.extend(window.as_bytes());
    }
    call.replicate(c"BF.RESERVE", &arguments);
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
