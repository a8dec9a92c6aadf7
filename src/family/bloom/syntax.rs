//! The arguments of BF.RESERVE and BF.INSERT, in RedisBloom's syntax with the option `WINDOW`, or in valkey-bloom's syntax
//! (docs/commands/bf.insert.md).

use super::config::{self, CAPACITIES, Dialect, EXPANSIONS, double};
use super::types::Filter;
use crate::family::filters;
use crate::family::window_option::{BLOOM, INSERT, NewWindow, WindowOption, check_others};
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::command::{MissingValue, Options};
use crate::server::key::Lookup;
use roughly_sketch::bloom::MAX_ERROR_RATE;
use roughly_sketch::valkey_bloom::{self, FIXED_SEED, Parameters, check_scales_to};
use roughly_sketch::window_filter::BloomWindow;
use std::ffi::CStr;
use std::ops::RangeInclusive;

/// RedisBloom's error for a capacity.
pub const BAD_CAPACITY: &CStr = c"ERR capacity must be in the range [1, 1073741824]";
/// RedisBloom's error for a growth factor.
pub const BAD_EXPANSION: &CStr = c"ERR expansion must be in the range [0, 32768]";

/// The parameters of a new filter that a command specifies. The settings supply the others.
#[derive(Debug, Clone, Copy, Default)]
pub struct Request {
    /// Items before the filter grows; at least 1.
    pub capacity: Option<u64>,
    /// The error rate, between 0 and 1.
    pub error_rate: Option<f64>,
    /// The growth factor; 0 stands for a non-scaling filter. Above 32 bits only in commands that must be obeyed: RedisBloom 2.x
    /// stores the lower 32 bits.
    pub expansion: Option<u64>,
    /// Whether the filter does not grow.
    pub nonscaling: bool,
    /// The window, if the filter has one.
    pub window: Option<NewWindow>,
    /// The ratio of a sub-filter's error rate to that of the previous sub-filter. Only valkey-bloom has it.
    tightening: Option<f64>,
    /// The seed of the hashes of a filter of valkey-bloom's type.
    seed: Option<[u8; 32]>,
    /// Whether VALIDATESCALETO is specified, which only valkey-bloom has.
    scales_to: bool,
    /// Whether the command is a BF.RESERVE with all parameters, which every server parses to the same ones.
    pub is_complete: bool,
}

impl Request {
    /// Whether an option requires valkey-bloom's type.
    pub fn requires_valkey(&self) -> bool {
        self.scales_to || self.seed.is_some() || self.tightening.is_some()
    }

    /// The parameters of a filter of valkey-bloom's type.
    pub fn valkey_parameters(&self, call: &Call<'_>) -> Parameters {
        let defaults = config::valkey_defaults();
        let drawn = || match config::uses_random_seed() {
            true => call.random_bytes(),
            false => FIXED_SEED,
        };
        let seed = self.seed.unwrap_or_else(drawn);
        let expansion = self.expansion.and_then(|given| given.try_into().ok());
        Parameters {
            capacity: self.capacity.unwrap_or(defaults.capacity),
            error_rate: self.error_rate.unwrap_or(defaults.error_rate),
            tightening: self.tightening.unwrap_or(defaults.tightening),
            expansion: match self.nonscaling {
                true => 0,
                false => expansion.unwrap_or(defaults.expansion),
            },
            seed,
            seed_is_random: seed != FIXED_SEED,
        }
    }
}

/// The options of BF.INSERT.
#[derive(Debug)]
pub struct InsertOptions {
    /// Parameters of a missing filter.
    pub request: Request,
    /// Whether a missing filter is created.
    pub create: bool,
    /// The argument of the first item. There may be none.
    pub first_item: usize,
}

/// Whether a command has valkey-bloom's syntax: if replies are those of valkey-bloom, except for a filter with a window,
/// which valkey-bloom lacks, and for commands that must be obeyed, because another server has already parsed them.
fn is_valkey(call: &Call<'_>) -> bool {
    let has_window = || {
        let mut options = call
            .args_from(2)
            .take_while(|argument| !argument.is("ITEMS"));
        options.any(|argument| argument.is("WINDOW"))
    };
    Dialect::current() == Dialect::Valkey && !call.must_obey() && !has_window()
}

/// Parses the arguments of BF.RESERVE.
///
/// # Errors
/// Those of the syntax.
pub fn reserve(call: &Call<'_>) -> Result<Request, Error> {
    match is_valkey(call) {
        true => valkey_reserve(call),
        false => redisbloom_reserve(call),
    }
}

/// Parses the options of BF.INSERT, in valkey-bloom's syntax if the key is of its type.
///
/// # Errors
/// Those of the syntax.
pub fn insert(call: &Call<'_>, key: &Lookup<Filter<'_>>) -> Result<InsertOptions, Error> {
    let is_valkey_key = matches!(key, Lookup::Found(Filter::Valkey(_)));
    match is_valkey_key || has_valkey_keyword(call) || is_valkey(call) {
        true => valkey_insert(call),
        false => redisbloom_insert(call, matches!(key, Lookup::Found(_))),
    }
}

/// Whether a number is in the range of clients. A command that must be obeyed can have any positive number, as in RedisBloom
/// 2.x.
fn is_allowed(call: &Call<'_>, range: &RangeInclusive<i64>, given: i64) -> bool {
    range.contains(&given) || given > 0 && call.must_obey()
}

/// BF.RESERVE key error_rate capacity [EXPANSION n] [NONSCALING] [WINDOW ms [PANES n] [SEED hex]]
fn redisbloom_reserve(call: &Call<'_>) -> Result<Request, Error> {
    refuse_if!(call.len() < 4 => Error::WrongArity);
    let mut options = Options::new(call, 4);
    let window = WindowOption::in_options(&mut options, call, BLOOM)?;
    // With a window, an unknown word is a syntax error.
    refuse_if!(window.is_none() && call.len() > 7 => Error::WrongArity);
    let error_rate = filters::error_rate(call, call.arg(2))?;
    let capacity = call.arg(3).integer().ok_or(c"ERR bad capacity")?;
    refuse_if!(!is_allowed(call, &CAPACITIES, capacity) => BAD_CAPACITY.into());
    let mut request = Request {
        capacity: Some(capacity.unsigned_abs()),
        error_rate: Some(error_rate),
        nonscaling: options.flag("NONSCALING"),
        ..Request::default()
    };
    let value = options.value("EXPANSION");
    if let Some(value) = value.map_err(|MissingValue| c"ERR no expansion")? {
        let given = value.integer().ok_or(c"ERR bad expansion")?;
        refuse_if!(request.nonscaling && given != 0 => c"Nonscaling filters cannot expand".into());
        refuse_if!(!is_allowed(call, &EXPANSIONS, given) => BAD_EXPANSION.into());
        request.expansion = Some(given.unsigned_abs());
    }
    check_others(&options, window.is_some())?;
    request.window = window
        .map(|option| option.parse::<BloomWindow>(call))
        .transpose()?;
    let has_growth = match request.nonscaling {
        true => call.len() == 5,
        false => call.len() == 6 && request.expansion.is_some(),
    };
    let is_plain = |digit: &u8| digit.is_ascii_digit() || *digit == b'.';
    request.is_complete =
        has_growth && error_rate <= MAX_ERROR_RATE && call.arg(2).bytes().iter().all(is_plain);
    Ok(request)
}

/// The value of an option of BF.INSERT, or the error `bad`. The error is a result if the command must be obeyed, because RedisBloom
/// 2.x checks only the last value of a repeated option.
fn checked<T>(call: &Call<'_>, value: Option<T>, bad: &'static CStr) -> Result<Checked<T>, Error> {
    match value {
        None if !call.must_obey() => Err(bad.into()),
        value => Ok(value.map(Some).ok_or(bad)),
    }
}

type Checked<T> = Result<Option<T>, &'static CStr>;

/// BF.INSERT key [options] ITEMS item [item …]. The first letters of the options are enough, as in RedisBloom, but not those of
/// `WINDOW`. Parameters of an existing filter have no effect; a command that must be obeyed can have any. Of a repeated option,
/// the last value counts.
fn redisbloom_insert(call: &Call<'_>, exists: bool) -> Result<InsertOptions, Error> {
    let mut request = Request::default();
    let (mut error_rate, mut capacity, mut expansion) = (Ok(None), Ok(None), Ok(None));
    let mut create = true;
    let mut index = 2;
    while index < call.len() {
        let mut letters = call.arg(index).bytes().iter().map(u8::to_ascii_lowercase);
        index += 1;
        let value = || call.args_from(index).next().ok_or(Error::WrongArity);
        let number = |range: &RangeInclusive<i64>, bad: &'static CStr| -> Result<_, Error> {
            let given = value()?.integer();
            let given = given.filter(|&given| is_allowed(call, range, given));
            checked(call, given.map(i64::unsigned_abs), bad)
        };
        match (letters.next(), letters.next(), letters.next()) {
            (Some(b'i'), ..) => {
                value()?;
                (request.error_rate, request.capacity) = (error_rate?, capacity?);
                request.expansion = expansion?;
                return Ok(InsertOptions {
                    request,
                    create,
                    first_item: index,
                });
            }
            (Some(b'e' | b'c'), ..) if exists && call.must_obey() => drop(value()?),
            (Some(b'e'), Some(b'r'), _) => {
                let rate = call.double(value()?);
                let rate = rate.filter(|&rate| rate > 0.0 && rate < 1.0);
                error_rate = checked(call, rate, c"Bad error rate")?;
            }
            (Some(b'e'), ..) => expansion = number(&EXPANSIONS, c"Bad expansion")?,
            (Some(b'c'), ..) => capacity = number(&CAPACITIES, c"Bad capacity")?,
            (Some(b'n'), _, Some(b'c')) => {
                create = false;
                continue;
            }
            (Some(b'n'), ..) => {
                request.nonscaling = true;
                continue;
            }
            _ => {
                let option = WindowOption::at(call, index - 1, INSERT)?;
                let option = option.ok_or(c"Unknown argument received")?;
                request.window = Some(option.parse::<BloomWindow>(call)?);
                index += option.len() - 1;
                continue;
            }
        }
        index += 1;
    }
    Err(Error::WrongArity)
}

const VALKEY_KEYWORDS: [&str; 3] = ["TIGHTENING", "SEED", "VALIDATESCALETO"];

fn has_valkey_keyword(call: &Call<'_>) -> bool {
    // In RedisBloom's syntax, an argument that begins with `i` ends the options.
    let is_option = |argument: &Argument<'_>| {
        let first = argument.bytes().first();
        !first.is_some_and(|letter| letter.eq_ignore_ascii_case(&b'i'))
    };
    let mut options = call.args_from(2).take_while(is_option);
    options.any(|argument| VALKEY_KEYWORDS.iter().any(|keyword| argument.is(keyword)))
}

fn wrong_arity(call: &Call<'_>) -> Error {
    Dialect::current().wrong_arity(call)
}

/// An integer as valkey-bloom parses it: digits after an optional sign.
fn integer(argument: Argument<'_>) -> Option<i64> {
    std::str::from_utf8(argument.bytes()).ok()?.parse().ok()
}

fn ratio(
    argument: Argument<'_>,
    bad: &'static CStr,
    out_of_range: &'static CStr,
) -> Result<f64, Error> {
    let given = double(argument).ok_or(bad)?;
    refuse_if!(!(given > 0.0 && given < 1.0) => out_of_range.into());
    Ok(given)
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

/// BF.RESERVE key error_rate capacity [EXPANSION n | NONSCALING]
fn valkey_reserve(call: &Call<'_>) -> Result<Request, Error> {
    refuse_if!(!(4..=6).contains(&call.len()) => wrong_arity(call));
    let mut request = Request {
        error_rate: Some(error_rate(call.arg(2))?),
        capacity: Some(capacity(call.arg(3))?),
        ..Request::default()
    };
    match call.len() {
        5 if call.arg(4).is("NONSCALING") => request.nonscaling = true,
        6 if call.arg(4).is("EXPANSION") => request.expansion = Some(expansion(call.arg(5))?),
        4 => {}
        _ => return Err(c"ERROR".into()),
    }
    Ok(request)
}

/// BF.INSERT key [options] [ITEMS item [item …]]
fn valkey_insert(call: &Call<'_>) -> Result<InsertOptions, Error> {
    let mut request = Request::default();
    let mut scales_to = None;
    let mut create = true;
    let mut index = 2;
    while index < call.len() {
        let keyword = call.arg(index);
        index += 1;
        if keyword.is("ITEMS") {
            refuse_if!(index == call.len() => wrong_arity(call));
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
        let value = || (call.args_from(index).next()).ok_or_else(|| wrong_arity(call));
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
    request.scales_to = scales_to.is_some();
    if let Some(target) = scales_to
        && !call.must_obey()
    {
        check_scale(&request.valkey_parameters(call), target)?;
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
    let scales = check_scales_to(parameters, target, config::max_size());
    scales.map_err(|error| match error {
        valkey_bloom::Error::ErrorRate => {
            c"ERR provided VALIDATESCALETO causes false positive to degrade to 0".into()
        }
        valkey_bloom::Error::Capacity => c"ERR bad capacity".into(),
        _ => c"ERR provided VALIDATESCALETO causes bloom object to exceed memory limit".into(),
    })
}
