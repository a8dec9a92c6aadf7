//! valkey-bloom's syntax of BF.RESERVE and BF.INSERT (docs/commands/bf.insert.md).

use crate::family::bloom::dialect::Dialect;
use crate::family::bloom::request::{InsertOptions, Request};
use crate::family::bloom::texts::BAD_VALKEY_CAPACITY;
use crate::family::bloom::valkey_config;
use crate::family::bloom::valkey_config::double;
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use roughly_sketch::valkey_bloom::{self, Parameters, check_scales_to};
use std::ffi::CStr;

/// The keywords of BF.INSERT that only valkey-bloom has.
const OWN_KEYWORDS: [&str; 3] = ["TIGHTENING", "SEED", "VALIDATESCALETO"];

fn wrong_arity(call: &Call<'_>) -> Error {
    Dialect::current().wrong_arity(call)
}

/// Whether BF.INSERT has an option that only valkey-bloom has.
pub fn has_own_keyword(call: &Call<'_>) -> bool {
    // In RedisBloom's syntax, an argument that begins with `i` ends the options.
    let is_option = |argument: &Argument<'_>| {
        let first = argument.bytes().first();
        !first.is_some_and(|letter| letter.eq_ignore_ascii_case(&b'i'))
    };
    let mut options = call.args_from(2).take_while(is_option);
    options.any(|argument| OWN_KEYWORDS.iter().any(|keyword| argument.is(keyword)))
}

/// An integer: digits after an optional sign.
fn integer(argument: Argument<'_>) -> Option<i64> {
    std::str::from_utf8(argument.bytes()).ok()?.parse().ok()
}

fn ratio(
    argument: Argument<'_>,
    bad: &'static CStr,
    out_of_range: &'static CStr,
) -> Result<f64, Error> {
    let given = double(argument).ok_or(bad)?;
    match given > 0.0 && given < 1.0 {
        true => Ok(given),
        false => Err(out_of_range.into()),
    }
}

fn error_rate(argument: Argument<'_>) -> Result<f64, Error> {
    ratio(
        argument,
        c"ERR bad error rate",
        c"ERR (0 < error rate range < 1)",
    )
}

fn capacity(argument: Argument<'_>) -> Result<u64, Error> {
    let given = integer(argument).and_then(|given| u64::try_from(given).ok());
    match given.ok_or(c"ERR bad capacity")? {
        0 => Err(c"ERR (capacity should be larger than 0)".into()),
        given => Ok(given),
    }
}

fn expansion(argument: Argument<'_>) -> Result<u64, Error> {
    let given = integer(argument).and_then(|given| u32::try_from(given).ok());
    let given = given.filter(|&given| given > 0).map(u64::from);
    Ok(given.ok_or(c"ERR bad expansion")?)
}

/// The arguments of BF.RESERVE key error_rate capacity [EXPANSION n | NONSCALING]
///
/// # Errors
/// Those of valkey-bloom.
pub fn reserve(call: &Call<'_>) -> Result<Request, Error> {
    const UNKNOWN: &CStr = c"ERROR";
    if !(4..=6).contains(&call.len()) {
        return Err(wrong_arity(call));
    }
    let mut request = Request {
        error_rate: Some(error_rate(call.arg(2))?),
        capacity: Some(capacity(call.arg(3))?),
        ..Request::default()
    };
    match call.len() {
        5 if call.arg(4).is("NONSCALING") => request.nonscaling = true,
        6 if call.arg(4).is("EXPANSION") => request.expansion = Some(expansion(call.arg(5))?),
        4 => {}
        _ => return Err(UNKNOWN.into()),
    }
    Ok(request)
}

/// The arguments of BF.INSERT key [options] [ITEMS item [item …]]
///
/// # Errors
/// Those of valkey-bloom.
pub fn insert(call: &Call<'_>) -> Result<InsertOptions, Error> {
    let mut request = Request::default();
    let mut scales_to = None;
    let mut create = true;
    let mut index = 2;
    while index < call.len() {
        let keyword = call.arg(index);
        index += 1;
        if keyword.is("ITEMS") {
            if index == call.len() {
                return Err(wrong_arity(call));
            }
            break;
        }
        if keyword.is("NONSCALING") {
            request.nonscaling = true;
            continue;
        }
        if keyword.is("NOCREATE") {
            create = false;
            continue;
        }
        let value = || match index < call.len() {
            true => Ok(call.arg(index)),
            false => Err(wrong_arity(call)),
        };
        match () {
            () if keyword.is("CAPACITY") => request.capacity = Some(capacity(value()?)?),
            () if keyword.is("ERROR") => request.error_rate = Some(error_rate(value()?)?),
            () if keyword.is("EXPANSION") => {
                request.expansion = Some(expansion(value()?)?);
                request.nonscaling = false;
            }
            () if keyword.is("TIGHTENING") => {
                let (bad, out_of_range) = (
                    c"ERR bad tightening ratio",
                    c"ERR (0 < tightening ratio range < 1)",
                );
                request.tightening = Some(ratio(value()?, bad, out_of_range)?);
            }
            () if keyword.is("SEED") => {
                let seed = value()?.bytes().try_into();
                request.seed = Some(seed.map_err(|_| c"ERR invalid seed")?);
            }
            () if keyword.is("VALIDATESCALETO") => scales_to = Some(capacity(value()?)?),
            () => return Err(c"ERR unknown argument received".into()),
        }
        index += 1;
    }
    if let Some(target) = scales_to {
        request.is_valkey = true;
        if !call.must_obey() {
            check_scale(&request.valkey_parameters(call), target)?;
        }
    }
    Ok(InsertOptions {
        request,
        create,
        first_item: index,
    })
}

/// VALIDATESCALETO: whether a filter can grow to a capacity.
fn check_scale(parameters: &Parameters, target: u64) -> Result<(), Error> {
    if parameters.expansion == 0 {
        return Err(c"ERR cannot use NONSCALING and VALIDATESCALETO options together".into());
    }
    let scales = check_scales_to(parameters, target, valkey_config::max_size());
    scales.map_err(|error| match error {
        valkey_bloom::Error::ErrorRate => {
            c"ERR provided VALIDATESCALETO causes false positive to degrade to 0".into()
        }
        valkey_bloom::Error::Capacity => BAD_VALKEY_CAPACITY.into(),
        _ => c"ERR provided VALIDATESCALETO causes bloom object to exceed memory limit".into(),
    })
}
