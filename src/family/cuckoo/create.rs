//! CF.RESERVE, and the creation of missing keys by commands that add items.

use super::config::{self, BUCKET_SIZES, EXPANSIONS, ITERATIONS};
use super::request::{InsertOptions, ReserveOptions};
use super::texts::EXISTS;
use super::types::{Cuckoo, CuckooMut};
use crate::family::error_rate::capped;
use crate::family::window_option::{
    INSERT, MULTISET, NewWindow, WindowOption, check_others, replicate_creation,
};
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::data_type::DataType;
use crate::server::key::{Entry, Found, OneOf, WriteKey};
use crate::server::options::Options;
use roughly_sketch::cuckoo::{CuckooError, CuckooFilter};
use roughly_sketch::memory::Purpose;
use roughly_sketch::window::Panes;
use roughly_sketch::window_filter::{self, CuckooWindow, CuckooWindowParameters};
use std::ffi::CStr;
use std::ops::RangeInclusive;

/// The range of an option, and the errors for a value that is not an integer or out of range.
struct Range {
    range: RangeInclusive<i64>,
    unparsable: &'static CStr,
    out_of_range: &'static CStr,
}

const MAX_ITERATIONS: Range = Range {
    range: ITERATIONS,
    unparsable: c"Couldn't parse MAXITERATIONS",
    out_of_range: c"MAXITERATIONS: value must be in the range [1, 65535]",
};
const BUCKET_SIZE: Range = Range {
    range: BUCKET_SIZES,
    unparsable: c"Couldn't parse BUCKETSIZE",
    out_of_range: c"BUCKETSIZE: value must be in the range [1, 255]",
};
const EXPANSION: Range = Range {
    range: EXPANSIONS,
    unparsable: c"Couldn't parse EXPANSION",
    out_of_range: c"EXPANSION: value must be in the range [0, 32768]",
};

impl Range {
    /// Parses a value that is in the range. `N` can hold every number of the range.
    fn parse<N: TryFrom<i64>>(&self, value: Argument<'_>) -> Result<N, Error> {
        let value = value.integer().ok_or(self.unparsable)?;
        let value = Some(value).filter(|value| self.range.contains(value));
        let value = value.and_then(|value| N::try_from(value).ok());
        value.ok_or(self.out_of_range.into())
    }
}

/// CF.RESERVE key capacity [BUCKETSIZE n] [MAXITERATIONS n] [EXPANSION n] [WINDOW ms [PANES n] [ERROR rate] [SEED hex]]
pub fn reserve(call: &mut Call<'_>) -> Result<(), Error> {
    if call.len() < 3 {
        return Err(Error::WrongArity);
    }
    let options = reserve_options(call)?;
    let found = call.write(1).find(call, Cuckoo::TYPES.iter().copied())?;
    let Found::Missing(key) = found else {
        return Err(EXISTS.into());
    };
    create(call, key, &options)?.store();
    call.signal_changed(1, c"cf.reserve");
    call.reply_ok();
    Ok(())
}

fn reserve_options(call: &Call<'_>) -> Result<ReserveOptions, Error> {
    let mut options = Options::new(call, 3);
    let mut value = |keyword| options.value(keyword).map_err(|_| Error::WrongArity);
    // All options are looked up before any is parsed, so that a missing value is reported before an invalid one.
    let max_iterations = value("MAXITERATIONS")?;
    let bucket_size = value("BUCKETSIZE")?;
    let expansion = value("EXPANSION")?;
    let window = WindowOption::in_options(&mut options, call, MULTISET)?;
    // With a window, an unknown word is a syntax error.
    if window.is_none() && call.len().is_multiple_of(2) {
        return Err(Error::WrongArity);
    }
    let capacity = call.arg(2).integer().ok_or(c"Bad capacity")?;
    let mut parameters = config::parameters();
    if let Some(value) = max_iterations {
        parameters.max_iterations = MAX_ITERATIONS.parse(value)?;
    }
    if let Some(value) = bucket_size {
        parameters.bucket_size = BUCKET_SIZE.parse(value)?;
    }
    if let Some(value) = expansion {
        parameters.expansion = EXPANSION.parse(value)?;
    }
    let bucket_size = parameters.bucket_size.into();
    if !config::is_allowed_capacity(call, capacity, bucket_size) {
        return Err(c"Capacity must be in the range [2 * BUCKETSIZE, 1073741824]".into());
    }
    check_others(&options, window.is_some())?;
    let window = window
        .map(WindowOption::parse::<CuckooWindow>)
        .transpose()?;
    Ok(ReserveOptions {
        capacity: capacity.unsigned_abs(),
        parameters,
        window,
    })
}

const INVALID: &CStr = c"ERR could not create filter";

fn new_filter(call: &Call<'_>, options: &ReserveOptions) -> Result<CuckooFilter, Error> {
    let filter = CuckooFilter::new(
        options.capacity,
        options.parameters,
        call.memory().budget(Purpose::Create),
    );
    filter.map_err(|error| match error {
        CuckooError::OutOfMemory(_) => no_memory::<CuckooFilter>(),
        CuckooError::Parameters(_) | CuckooError::Full => INVALID.into(),
    })
}

fn new_window(
    call: &Call<'_>,
    options: &ReserveOptions,
    window: NewWindow,
) -> Result<CuckooWindow, Error> {
    let parameters = CuckooWindowParameters {
        seed: window.seed(call),
        capacity: options.capacity,
        error_rate: window.error_rate.map(capped),
        bucket_size: options.parameters.bucket_size,
        max_iterations: options.parameters.max_iterations,
        expansion: options.parameters.expansion.into(),
    };
    let budget = call.memory().budget(Purpose::Create);
    let filter = CuckooWindow::new(window.window, &parameters, budget);
    filter.map_err(|error| match error {
        window_filter::Error::OutOfMemory(_) => no_memory::<CuckooWindow>(),
        window_filter::Error::Shape | window_filter::Error::Full => INVALID.into(),
    })
}

/// Counts a refusal for `T`, and returns its error.
fn no_memory<T: DataType>() -> Error {
    T::REGISTRATION.stats.count_refusals(1);
    c"ERR Insufficient memory to create filter".into()
}

/// The filter at the key. A missing one is created, advanced to the current pane if it has a window, and its creation
/// replicated.
///
/// # Errors
/// Those of the creation, and [`Error::WrongType`].
#[inline(always)]
pub fn find_or_create(call: &mut Call<'_>, options: &ReserveOptions) -> Result<Entry, Error> {
    let found = call.write(1).find(call, Cuckoo::TYPES.iter().copied())?;
    entry_of(call, found, options)
}

/// As [`find_or_create`], for a key that was looked up.
///
/// # Errors
/// Those of the creation.
#[inline(always)]
pub fn entry_of(
    call: &mut Call<'_>,
    found: Found,
    options: &ReserveOptions,
) -> Result<Entry, Error> {
    match found {
        Found::Entry(entry) => Ok(entry),
        Found::Missing(key) => create(call, key, options),
    }
}

/// Creates the filter of a missing key, and replicates the creation.
#[cold]
fn create(call: &mut Call<'_>, key: WriteKey, options: &ReserveOptions) -> Result<Entry, Error> {
    let Some(window) = options.window else {
        let mut entry = key.create(call, new_filter(call, options)?)?;
        replicate(call, &mut entry, options.capacity, &[]);
        return Ok(entry);
    };
    let mut window = window.check_allowed(call)?;
    let filter = new_window(call, options, window)?;
    // Not that of the bucket size.
    window.error_rate = filter.error_rate();
    let words = window.words(Some(filter.seed()));
    let mut entry = key.create(call, filter)?;
    replicate(call, &mut entry, options.capacity, &words);
    entry.advance(call);
    Ok(entry)
}

/// Replicates the creation with all parameters, because the settings of replicas may differ.
fn replicate(call: &mut Call<'_>, entry: &mut Entry, capacity: u64, window: &[String]) {
    let filter = entry.get::<CuckooMut<'_>>();
    let filter = filter.as_ref().describe(Panes::ALL);
    let key = call.arg(1).bytes();
    let capacity = capacity.to_string();
    let [bucket_size, max_iterations, expansion] = [
        filter.bucket_size.into(),
        filter.max_iterations.into(),
        filter.expansion,
    ]
    .map(|number: u32| number.to_string());
    let arguments = [
        key,
        capacity.as_bytes(),
        b"BUCKETSIZE",
        bucket_size.as_bytes(),
        b"MAXITERATIONS",
        max_iterations.as_bytes(),
        b"EXPANSION",
        expansion.as_bytes(),
    ];
    replicate_creation(call, c"CF.RESERVE", &arguments, window);
}

/// Parses the options. Their first letters are enough, as in RedisBloom, but not those of `WINDOW`.
pub fn insert_options(call: &Call<'_>) -> Result<InsertOptions, Error> {
    let mut reserve = config::defaults();
    let mut create = true;
    let mut accepted_everywhere = true;
    let mut index = 2;
    while index < call.len() {
        let argument = call.arg(index).bytes();
        index += 1;
        match argument.first().map(u8::to_ascii_lowercase) {
            Some(b'i') if index == call.len() => return Err(Error::WrongArity),
            Some(b'i') => {
                return Ok(InsertOptions {
                    reserve,
                    create,
                    accepted_everywhere,
                    first_item: index,
                });
            }
            Some(b'c') if index == call.len() => return Err(Error::WrongArity),
            Some(b'c') => {
                let capacity = call.arg(index).integer().ok_or(c"Bad capacity")?;
                // The primary may have a smaller bucket size.
                let bucket_size = match call.must_obey() {
                    true => *BUCKET_SIZES.start(),
                    false => reserve.parameters.bucket_size.into(),
                };
                if !config::is_allowed_capacity(call, capacity, bucket_size) {
                    return Err(
                        c"Capacity must be in the range [cf-bucket-size * 2, 1073741824]".into(),
                    );
                }
                reserve.capacity = capacity.unsigned_abs();
                accepted_everywhere &= capacity >= config::smallest_capacity(*BUCKET_SIZES.end());
                index += 1;
            }
            Some(b'n') => create = false,
            _ => {
                let option = WindowOption::at(call, index - 1, INSERT)?;
                let option = option.ok_or(c"Unknown argument received")?;
                index += option.len() - 1;
                reserve.window = Some(option.parse::<CuckooWindow>()?);
                // RedisBloom has no windows.
                accepted_everywhere = false;
            }
        }
    }
    Err(Error::WrongArity)
}
