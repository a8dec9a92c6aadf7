//! RedisBloom's syntax of BF.RESERVE and BF.INSERT, with the option `WINDOW`.

use crate::family::bloom::config::{CAPACITIES, EXPANSIONS};
use crate::family::bloom::request::{InsertOptions, Request};
use crate::family::bloom::texts::{BAD_CAPACITY, BAD_EXPANSION};
use crate::family::error_rate;
use crate::family::window_option::{FILTER, INSERT, WindowOption, check_others};
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::options::{MissingValue, Options};
use roughly_sketch::window_filter::BloomWindow;
use std::ops::RangeInclusive;

/// The number of arguments without a window.
const ARGUMENTS: RangeInclusive<usize> = 4..=7;

/// Whether a number is in the range of clients. A command that must be obeyed can have any positive number, as in RedisBloom
/// 2.x.
fn is_allowed(call: &Call<'_>, range: &RangeInclusive<i64>, given: i64) -> bool {
    range.contains(&given) || given > 0 && call.must_obey()
}

/// Parses the arguments of BF.RESERVE.
///
/// # Errors
/// Those of the syntax.
pub fn reserve(call: &Call<'_>) -> Result<Request, Error> {
    if call.len() < *ARGUMENTS.start() {
        return Err(Error::WrongArity);
    }
    let mut options = Options::new(call, 4);
    let window = WindowOption::in_options(&mut options, call, FILTER)?;
    // With a window, an unknown word is a syntax error.
    if window.is_none() && call.len() > *ARGUMENTS.end() {
        return Err(Error::WrongArity);
    }
    let request = reserve_parameters(call, &mut options)?;
    check_others(&options, window.is_some())?;
    let window = window.map(WindowOption::parse::<BloomWindow>).transpose()?;
    Ok(Request { window, ..request })
}

fn reserve_parameters<'a>(
    call: &Call<'a>,
    options: &mut Options<'_, 'a>,
) -> Result<Request, Error> {
    let error_rate = error_rate::parse(call.arg(2))?;
    let capacity = call.arg(3).integer().ok_or(c"ERR bad capacity")?;
    if !is_allowed(call, &CAPACITIES, capacity) {
        return Err(BAD_CAPACITY.into());
    }
    let nonscaling = options.flag("NONSCALING");
    let value = options.value("EXPANSION");
    let expansion = if let Some(value) = value.map_err(|MissingValue| c"ERR no expansion")? {
        let given = value.integer().ok_or(c"ERR bad expansion")?;
        if nonscaling && given != 0 {
            return Err(c"Nonscaling filters cannot expand".into());
        }
        if !is_allowed(call, &EXPANSIONS, given) {
            return Err(BAD_EXPANSION.into());
        }
        Some(given.unsigned_abs())
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

/// Parses the options of BF.INSERT. Their first letters are enough, as in RedisBloom, but not those of `WINDOW`. Parameters of an
/// existing filter have no effect; a command that must be obeyed can have any.
///
/// # Errors
/// Those of the syntax.
pub fn insert(call: &Call<'_>, exists: bool) -> Result<InsertOptions, Error> {
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
            (Some(b'e' | b'c'), ..) if exists && call.must_obey() => {
                value_at(index)?;
                index += 1;
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
                    .filter(|&given| is_allowed(call, &EXPANSIONS, given))
                    .map(i64::unsigned_abs)
                    .ok_or(c"Bad expansion")?;
                request.expansion = Some(given);
                index += 1;
            }
            (Some(b'c'), ..) => {
                let given = value_at(index)?.integer();
                let given = given
                    .filter(|&given| is_allowed(call, &CAPACITIES, given))
                    .map(i64::unsigned_abs)
                    .ok_or(c"Bad capacity")?;
                request.capacity = Some(given);
                index += 1;
            }
            (Some(b'n'), _, Some(b'c')) => create = false,
            (Some(b'n'), ..) => request.nonscaling = true,
            _ => {
                let option = WindowOption::at(call, index - 1, INSERT)?;
                let option = option.ok_or(c"Unknown argument received")?;
                request.window = Some(option.parse::<BloomWindow>()?);
                index += option.len() - 1;
            }
        }
    }
    Err(Error::WrongArity)
}
