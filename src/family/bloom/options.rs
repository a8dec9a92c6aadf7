//! RedisBloom's syntax of BF.RESERVE and BF.INSERT, with the option `WINDOW`.

use super::config::{CAPACITIES, EXPANSIONS};
use super::dialect;
use super::key::OneOf;
use super::request::Request;
use super::texts::{BAD_CAPACITY, BAD_EXPANSION};
use super::valkey;
use crate::family::window::{WindowOption, check_others};
use crate::family::window_seed::FilterWindowOption;
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::options::{MissingValue, Options};
use roughly_sketch::window_filter::WindowSet;
use std::ops::RangeInclusive;

/// The number of arguments without a window.
const ARGUMENTS: RangeInclusive<usize> = 4..=7;

/// Whether a command has valkey-bloom's syntax: if replies are those of valkey-bloom, except for a filter with a window,
/// which valkey-bloom lacks, and for commands that must be obeyed, because another server has already parsed them.
fn is_valkey(call: &Call<'_>) -> bool {
    let has_window = || {
        let mut options = call
            .args_from(2)
            .take_while(|argument| !argument.is("ITEMS"));
        options.any(|argument| argument.is("WINDOW"))
    };
    dialect::replies_are_valkey() && !call.must_obey() && !has_window()
}

/// Parses the arguments of BF.RESERVE.
///
/// # Errors
/// Those of the syntax.
pub fn reserve(call: &Call<'_>) -> Result<Request, Error> {
    if is_valkey(call) {
        return valkey::options::reserve(call);
    }
    if call.len() < *ARGUMENTS.start() {
        return Err(Error::WrongArity);
    }
    let mut options = Options::new(call, 4);
    let window = FilterWindowOption::in_options(&mut options).map_err(|_| Error::WrongArity)?;
    let of_window = window.map_or(0, |window| window.num_arguments());
    if call.len() > ARGUMENTS.end() + of_window {
        return Err(Error::WrongArity);
    }
    let request = reserve_parameters(call, &mut options)?;
    check_others(&options, window.is_some())?;
    let window = window
        .map(FilterWindowOption::parse::<WindowSet>)
        .transpose()?;
    Ok(Request { window, ..request })
}

fn reserve_parameters<'a>(
    call: &Call<'a>,
    options: &mut Options<'_, 'a>,
) -> Result<Request, Error> {
    let error_rate = call.arg(2).double().ok_or(c"ERR bad error rate")?;
    if !(error_rate > 0.0 && error_rate < 1.0) {
        return Err(c"ERR error rate must be in the range (0.000000, 1.000000)".into());
    }
    let capacity = call.arg(3).integer().ok_or(c"ERR bad capacity")?;
    if !CAPACITIES.contains(&capacity) {
        return Err(BAD_CAPACITY.into());
    }
    let nonscaling = options.flag("NONSCALING");
    let value = options.value("EXPANSION");
    let expansion = if let Some(value) = value.map_err(|MissingValue| c"ERR no expansion")? {
        let given = value.integer().ok_or(c"ERR bad expansion")?;
        if nonscaling && given != 0 {
            return Err(c"Nonscaling filters cannot expand".into());
        }
        if !EXPANSIONS.contains(&given) {
            return Err(BAD_EXPANSION.into());
        }
        u32::try_from(given).ok()
    } else {
        None
    };
    Ok(Request {
        capacity: Some(capacity.unsigned_abs()),
        error_rate: Some(error_rate),
        expansion,
        nonscaling,
        ..Request::default()
    })
}

/// The options of BF.INSERT.
pub struct InsertOptions {
    /// Parameters of a missing filter.
    pub request: Request,
    /// Whether a missing filter is created.
    pub create: bool,
    /// The argument of the first item. There may be none.
    pub first_item: usize,
}

/// Parses the options of BF.INSERT, in valkey-bloom's syntax if the key is of its type.
///
/// # Errors
/// Those of the syntax.
pub fn insert<C, W, V>(call: &Call<'_>, key: &OneOf<C, W, V>) -> Result<InsertOptions, Error> {
    let is_valkey_key = matches!(key, OneOf::Valkey(_));
    if is_valkey_key || valkey::options::has_own_keyword(call) || is_valkey(call) {
        return valkey::options::insert(call);
    }
    insert_options(call)
}

/// Parses BF.INSERT's options. Their first letters are enough, as in RedisBloom, but not those of `WINDOW`.
fn insert_options(call: &Call<'_>) -> Result<InsertOptions, Error> {
    let mut request = Request::default();
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
                return Ok(InsertOptions {
                    request,
                    create,
                    first_item: index,
                });
            }
            (Some(b'e'), Some(b'r'), _) => {
                let rate = value_at(index)?.double().ok_or(c"Bad error rate")?;
                if !(rate > 0.0 && rate < 1.0) {
                    return Err(c"Bad error rate".into());
                }
                request.error_rate = Some(rate);
                index += 1;
            }
            (Some(b'e'), ..) => {
                let given = value_at(index)?.integer();
                let given = given
                    .filter(|given| EXPANSIONS.contains(given))
                    .and_then(|given| u32::try_from(given).ok())
                    .ok_or(c"Bad expansion")?;
                request.expansion = Some(given);
                index += 1;
            }
            (Some(b'c'), ..) => {
                let given = value_at(index)?.integer();
                let given = given
                    .filter(|given| CAPACITIES.contains(given))
                    .map(i64::unsigned_abs)
                    .ok_or(c"Bad capacity")?;
                request.capacity = Some(given);
                index += 1;
            }
            (Some(b'n'), _, Some(b'c')) => create = false,
            (Some(b'n'), ..) => request.nonscaling = true,
            _ => {
                let option = WindowOption::at(call, index - 1)?;
                let option = option.ok_or(c"Unknown argument received")?;
                request.window =
                    Some(FilterWindowOption::without_seed(option).parse::<WindowSet>()?);
                index += option.num_arguments() - 1;
            }
        }
    }
    Err(Error::WrongArity)
}
