//! BF.RESERVE, and the creation of missing keys by BF.ADD, BF.MADD and BF.INSERT.

use super::NOT_FOUND;
use super::config::{self, CAPACITIES, DEFAULT_EXPANSION, EXPANSIONS};
use super::sketch::common_error;
use crate::family::window::{WindowOption, check_allowed, check_others};
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::key::{Either, Entry, Slot, WriteKey, for_either};
use crate::server::options::{MissingValue, Options};
use roughly_sketch::bloom::{self, Chain, Parameters};
use roughly_sketch::memory::Budget;
use roughly_sketch::window::Window;
use roughly_sketch::window_filter::{SetParameters, WindowSet};
use std::ffi::CStr;
use std::ops::RangeInclusive;

/// Not enough memory for a filter.
pub const NO_MEMORY: &CStr = c"ERR Insufficient memory to create filter";

/// The parameters of a new filter.
#[derive(Debug, Clone, Copy)]
pub struct Creation {
    /// All parameters but the window.
    pub parameters: Parameters,
    /// The window, if the filter has one.
    pub window: Option<Window>,
}

impl Creation {
    /// The creation of a filter without a window.
    pub fn plain(parameters: Parameters) -> Self {
        Self {
            parameters,
            window: None,
        }
    }
}

/// BF.RESERVE key error_rate capacity [EXPANSION n] [NONSCALING] [WINDOW ms [PANES n]]
pub fn reserve(call: &mut Call<'_>) -> Result<(), Error> {
    let creation = reserve_options(call)?;
    let mut key = call.write_either::<Chain, WindowSet>(1);
    let is_missing = for_either!(&mut key, key => match key.get() {
        Slot::Missing => Ok(()),
        Slot::WrongType => Err(Error::WrongType),
        Slot::Found(_) => Err(c"ERR item exists".into()),
    });
    is_missing?;
    match find_or_create(call, key, &creation)? {
        Either::Plain(entry) => entry.store(),
        Either::Windowed(entry) => entry.store(),
    }
    call.signal_changed(1, c"bf.reserve");
    call.reply_ok();
    Ok(())
}

/// The number of arguments without a window.
const ARGUMENTS: RangeInclusive<usize> = 4..=7;

fn reserve_options(call: &Call<'_>) -> Result<Creation, Error> {
    if call.len() < *ARGUMENTS.start() {
        return Err(Error::WrongArity);
    }
    let mut options = Options::new(call, 4);
    let window = WindowOption::in_options(&mut options).map_err(|_| Error::WrongArity)?;
    let of_window = window.map_or(0, |window| window.num_arguments());
    if call.len() > ARGUMENTS.end() + of_window {
        return Err(Error::WrongArity);
    }
    let parameters = reserve_parameters(call, &mut options)?;
    check_others(&options, window)?;
    let window = window.map(WindowOption::window).transpose()?;
    Ok(Creation { parameters, window })
}

fn reserve_parameters<'a>(
    call: &Call<'a>,
    options: &mut Options<'_, 'a>,
) -> Result<Parameters, Error> {
    let error_rate = call.arg(2).double().ok_or(c"ERR bad error rate")?;
    if !(error_rate > 0.0 && error_rate < 1.0) {
        return Err(c"ERR error rate must be in the range (0.000000, 1.000000)".into());
    }
    let capacity = call.arg(3).integer().ok_or(c"ERR bad capacity")?;
    if !CAPACITIES.contains(&capacity) {
        return Err(c"ERR capacity must be in the range [1, 1073741824]".into());
    }
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
    chain.map_err(error_text)
}

fn new_set(call: &Call<'_>, parameters: &Parameters, window: Window) -> Result<WindowSet, Error> {
    let parameters = SetParameters {
        capacity: parameters.capacity,
        error_rate: parameters.error_rate,
        expansion: match parameters.scaling {
            true => parameters.expansion,
            false => 0,
        },
    };
    let allows = |bytes| call.allows_bytes(bytes);
    let set = WindowSet::new(window, &parameters, Budget::new(&allows));
    set.map_err(|error| error_text(common_error(error)))
}

fn error_text(error: bloom::Error) -> Error {
    match error {
        bloom::Error::OutOfMemory(_) => NO_MEMORY.into(),
        bloom::Error::Shape | bloom::Error::Full => c"ERR could not create filter".into(),
    }
}

/// The filter at the key, advanced to the current pane if it has a window. A missing filter is created, and its creation
/// replicated.
///
/// # Errors
/// Those of the creation, and [`Error::WrongType`].
pub fn find_or_create(
    call: &mut Call<'_>,
    key: Either<WriteKey<Chain>, WriteKey<WindowSet>>,
    creation: &Creation,
) -> Result<Either<Entry<Chain>, Entry<WindowSet>>, Error> {
    let parameters = &creation.parameters;
    let mut key = match key {
        Either::Plain(key) => key,
        Either::Windowed(key) => {
            let mut entry = key.find_or_create(call, || Err(NOT_FOUND.into()))?;
            entry.advance(call);
            return Ok(Either::Windowed(entry));
        }
    };
    if let Some(window) = creation.window
        && let Slot::Missing = key.get()
    {
        check_allowed(call)?;
        let key = key.typed(call);
        let mut entry = key.find_or_create(call, || new_set(call, parameters, window))?;
        replicate_reserve(call, parameters, Some(window));
        entry.advance(call);
        return Ok(Either::Windowed(entry));
    }
    let mut entry = key.find_or_create(call, || new_filter(call, parameters))?;
    if entry.is_new() {
        replicate(call, entry.value(), parameters);
    }
    Ok(Either::Plain(entry))
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
fn replicate_reserve(call: &mut Call<'_>, parameters: &Parameters, window: Option<Window>) {
    let error_rate = format!("{:e}", parameters.error_rate);
    let capacity = parameters.capacity.to_string();
    let expansion = parameters.expansion.to_string();
    let numbers = window.map(|window| [window.ms(), window.panes()].map(|n| n.to_string()));
    let key = call.arg(1).bytes();
    let mut arguments = vec![key, error_rate.as_bytes(), capacity.as_bytes()];
    if parameters.scaling {
        arguments.extend([&b"EXPANSION"[..], expansion.as_bytes()]);
    } else {
        arguments.push(b"NONSCALING");
    }
    if let Some([ms, panes]) = &numbers {
        arguments.extend([&b"WINDOW"[..], ms.as_bytes(), b"PANES", panes.as_bytes()]);
    }
    call.replicate(c"BF.RESERVE", &arguments);
}

/// The options of BF.INSERT.
pub struct InsertOptions {
    /// Parameters of a missing filter.
    pub creation: Creation,
    /// Whether a missing filter is created.
    pub create: bool,
    /// The argument of the first item.
    pub first_item: usize,
}

/// Parses BF.INSERT's options. Their first letters are enough, as in RedisBloom, but not those of `WINDOW`.
pub fn insert_options(call: &Call<'_>) -> Result<InsertOptions, Error> {
    let mut parameters = config::defaults();
    let mut window = None;
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
                    creation: Creation { parameters, window },
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
            _ => {
                let option = WindowOption::at(call, index - 1)?;
                let option = option.ok_or(c"Unknown argument received")?;
                window = Some(option.window()?);
                index += option.num_arguments() - 1;
            }
        }
    }
    Err(Error::WrongArity)
}
