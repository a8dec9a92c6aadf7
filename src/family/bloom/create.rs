//! BF.RESERVE, the creation of missing keys by BF.ADD, BF.MADD and BF.INSERT, and BF.LOAD.

use super::config::{self, CAPACITIES, DEFAULT_EXPANSION, EXPANSIONS, new_keys_are_valkey};
use super::syntax::{self, BAD_CAPACITY, BAD_EXPANSION, Request};
use super::types::{AddError, FilterType, NO_MEMORY, TOO_LARGE, VALKEY_CREATION_EVENT};
use crate::family::filters::capped;
use crate::family::new_key::{self, NewKey};
use crate::family::window_option::NewWindow;
use crate::server::call::{Call, Error};
use crate::server::data_type::{DataType, NewValue, Value};
use crate::server::key::{Entry, Found, Lookup, WriteKey};
use crate::server::replicated::ReplicatedCommand;
use roughly_sketch::bloom::{Chain, Parameters};
use roughly_sketch::memory::Purpose;
use roughly_sketch::seed::Seed;
use roughly_sketch::valkey_bloom::{self, LoadError, ValkeyChain};
use roughly_sketch::window_filter::{BloomWindow, BloomWindowParameters};
use std::cell::OnceCell;
use std::ffi::CStr;
use std::ops::RangeInclusive;

const NOT_CREATED: &CStr = c"ERR could not create filter";

/// BF.RESERVE key error_rate capacity [EXPANSION n] [NONSCALING] [WINDOW ms [PANES n] [SEED hex]]
pub fn reserve(call: &mut Call<'_>) -> Result<(), Error> {
    let request = syntax::reserve(call)?;
    let key = WriteKey::open(call, 1);
    let Found::Missing(key) = key.find::<FilterType>(call)? else {
        return Err(c"ERR item exists".into());
    };
    let entry = match new_key::create_with(call, key, |call| NewFilter::of(call, &request)) {
        // RedisBloom 2.6 also replicates a filter that it could not create. The server logs an error as critical.
        Err(error) if call.must_obey() && error == NOT_CREATED.into() => {
            call.reply_ok();
            return Ok(());
        }
        created => created?,
    };
    let event = match entry.of() {
        FilterType::Valkey => VALKEY_CREATION_EVENT,
        _ => c"bf.reserve",
    };
    entry.store();
    call.signal_changed(1, event);
    call.reply_ok();
    Ok(())
}

/// A new filter.
pub enum NewFilter {
    /// RedisBloom's type.
    Classic {
        parameters: Parameters,
        /// Whether the command is replicated verbatim, if there is no header.
        is_complete: bool,
        /// The header of the filter, for parameters that BF.RESERVE cannot specify; `build` sets it.
        header: OnceCell<Vec<u8>>,
    },
    /// The type with a window. Its parameters are those of a filter without one, in the ranges of clients.
    Windowed(Parameters, NewWindow, Seed),
    /// valkey-bloom's type, with the maximum size in bytes.
    Valkey(valkey_bloom::Parameters, u64),
}

impl NewFilter {
    /// The filter that a command creates: with a window if it specifies one, of valkey-bloom's type if an option or, for a client,
    /// the setting `bf-new-keys` requires it, otherwise of RedisBloom's type.
    ///
    /// # Errors
    /// If a parameter is out of range for the type, or windows are disabled.
    pub fn of(call: &Call<'_>, request: &Request) -> Result<Self, Error> {
        if let Some(window) = request.window {
            let parameters = parameters(call, request)?;
            let window = window.check_allowed(call)?;
            return Ok(Self::Windowed(parameters, window, window.seed(call)));
        }
        if request.requires_valkey() || new_keys_are_valkey() && !call.must_obey() {
            let parameters = request.valkey_parameters(call);
            return Ok(Self::Valkey(parameters, call.limit(config::max_size())));
        }
        Ok(Self::Classic {
            parameters: parameters(call, request)?,
            is_complete: request.is_complete,
            header: OnceCell::new(),
        })
    }
}

/// The parameters of a filter of RedisBloom's type, or with a window. The syntax of RedisBloom has checked the ranges already,
/// that of valkey-bloom has wider ones.
fn parameters(call: &Call<'_>, request: &Request) -> Result<Parameters, Error> {
    // RedisBloom 2.x has wider ranges, but no windows.
    let is_limited = request.window.is_some() || !call.must_obey();
    let is_in = |range: &RangeInclusive<i64>, number: u64| {
        i64::try_from(number).is_ok_and(|number| range.contains(&number))
    };
    let defaults = config::defaults();
    let capacity = request.capacity.unwrap_or(defaults.capacity);
    refuse_if!(is_limited && !is_in(&CAPACITIES, capacity) => BAD_CAPACITY.into());
    // A replicated creation of a non-scaling filter has no option for the factor.
    let default = match request.nonscaling && call.must_obey() {
        true => DEFAULT_EXPANSION,
        false => defaults.expansion,
    };
    let expansion = request.expansion.unwrap_or(default.into());
    refuse_if!(is_limited && !is_in(&EXPANSIONS, expansion) => BAD_EXPANSION.into());
    Ok(Parameters {
        capacity,
        error_rate: match request.error_rate {
            None => defaults.error_rate,
            Some(rate) if is_limited => capped(rate),
            Some(rate) => rate,
        },
        expansion: expansion as u32,
        scaling: !request.nonscaling && expansion != 0,
    })
}

impl NewKey for NewFilter {
    type Types = FilterType;

    fn build(&self, call: &Call<'_>) -> Result<NewValue, Error> {
        let budget = call.memory().budget(Purpose::Create);
        match self {
            Self::Classic {
                parameters, header, ..
            } => {
                let chain = match call.must_obey() {
                    true => Chain::new_replicated(parameters, budget),
                    false => Chain::new(parameters, budget),
                };
                let chain = chain.map_err(not_created)?;
                // A non-scaling filter stores a growth factor that it does not use.
                if !parameters.scaling && parameters.expansion != DEFAULT_EXPANSION {
                    header.get_or_init(|| chain.header_bytes());
                }
                Ok(Value::new(chain))
            }
            Self::Windowed(parameters, window, seed) => {
                let parameters = BloomWindowParameters {
                    seed: *seed,
                    capacity: parameters.capacity,
                    error_rate: parameters.error_rate,
                    expansion: match parameters.scaling {
                        true => parameters.expansion,
                        false => 0,
                    },
                };
                let set = BloomWindow::new(window.window, &parameters, budget);
                Ok(Value::new(set.map_err(not_created)?))
            }
            Self::Valkey(parameters, max_size) => {
                let chain = ValkeyChain::new(parameters, *max_size, budget);
                Ok(Value::new(chain.map_err(not_created)?))
            }
        }
    }

    fn replicate(&self, call: &mut Call<'_>) {
        static LOADCHUNK: ReplicatedCommand = ReplicatedCommand::new(Chain::LOADCHUNK);
        match self {
            Self::Classic {
                parameters,
                is_complete,
                header,
                ..
            } => match header.get() {
                Some(header) => {
                    let mut replicated = LOADCHUNK.with(call.arguments(1..2));
                    replicated.integer(1).bytes(header).replicate(call);
                }
                None if *is_complete => call.replicate_verbatim(),
                None => replicate_reserve(call, parameters, None),
            },
            Self::Windowed(parameters, window, seed) => {
                replicate_reserve(call, parameters, Some((*window, *seed)));
            }
            Self::Valkey(parameters, _) => replicate_valkey(call, parameters),
        }
    }
}

fn not_created(error: impl Into<AddError>) -> Error {
    match error.into() {
        AddError::OutOfMemory => NO_MEMORY.into(),
        AddError::Full | AddError::Shape => NOT_CREATED.into(),
        error @ AddError::Valkey(_) => error.text().into(),
    }
}

/// Replicates a creation as BF.RESERVE, with its window.
fn replicate_reserve(
    call: &mut Call<'_>,
    parameters: &Parameters,
    window: Option<(NewWindow, Seed)>,
) {
    static RESERVE: ReplicatedCommand = ReplicatedCommand::new(c"BF.RESERVE");
    let mut replicated = RESERVE.with(call.arguments(1..2));
    replicated
        .scientific(parameters.error_rate)
        .integer(parameters.capacity);
    match (parameters.scaling, parameters.expansion) {
        (false, _) => replicated.keyword("NONSCALING"),
        // A factor of 0 stands for a non-scaling filter. 2^32 has the same lower 32 bits, which are stored.
        (true, 0) => replicated.keyword("EXPANSION").integer(1 << 32),
        (true, factor) => replicated.keyword("EXPANSION").integer(factor.into()),
    };
    if let Some((window, seed)) = window {
        window.add_to(&mut replicated, Some(seed));
    }
    replicated.replicate(call);
}

/// Replicates the creation of a filter of valkey-bloom's type as valkey-bloom does, with all parameters.
fn replicate_valkey(call: &mut Call<'_>, parameters: &valkey_bloom::Parameters) {
    static INSERT: ReplicatedCommand = ReplicatedCommand::new(c"BF.INSERT");
    let mut replicated = INSERT.with(call.arguments(1..2));
    replicated.keyword("CAPACITY").integer(parameters.capacity);
    replicated.keyword("ERROR").decimal(parameters.error_rate);
    replicated
        .keyword("TIGHTENING")
        .decimal(parameters.tightening);
    replicated.keyword("SEED").bytes(&parameters.seed);
    match parameters.expansion {
        0 => replicated.keyword("NONSCALING"),
        factor => replicated.keyword("EXPANSION").integer(factor.into()),
    };
    replicated.replicate(call);
}

/// BF.LOAD key payload: the payload of valkey-bloom's AOF (docs/contributing/formats.md, "Bloom filters of valkey-bloom").
pub fn load(call: &mut Call<'_>) -> Result<(), Error> {
    let key = WriteKey::open(call, 1);
    match key.get::<FilterType>() {
        Lookup::Missing => {}
        Lookup::WrongType => return Err(Error::WrongType),
        Lookup::Found(_) => return Err(c"BUSYKEY Target key name already exists.".into()),
    }
    let payload = call.arg(2).bytes();
    let budget = call.memory().budget(Purpose::Create);
    let value = ValkeyChain::from_load_payload(payload, call.limit(config::max_size()), budget);
    let value = value.map_err(|error| match error {
        LoadError::Version => c"ERR bloom object decoding failed. Unsupported version",
        LoadError::Rate => c"ERR (0 < error rate range < 1)",
        LoadError::Size => TOO_LARGE,
        LoadError::Invalid => c"ERR bloom object decoding failed",
        LoadError::OutOfMemory(_) => NO_MEMORY,
    })?;
    let entry = Entry::new(call, key, FilterType::Valkey, Value::new(value))?;
    call.replicate_verbatim();
    entry.store();
    call.signal_changed(1, VALKEY_CREATION_EVENT);
    call.reply_ok();
    Ok(())
}
