//! CF.RESERVE, and the creation of missing keys by commands that add items.

use super::config::{self, BUCKET_SIZES, EXPANSIONS, ITERATIONS};
use super::types::{CuckooType, EXISTS};
use crate::family::filters::capped;
use crate::family::new_key::{NewKey, create_and_store};
use crate::family::window_option::{CUCKOO, INSERT, NewWindow, WindowOption, check_others};
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::command::Options;
use crate::server::data_type::{DataType, NewValue, Value};
use crate::server::key::{Found, WriteKey};
use crate::server::replicated::ReplicatedCommand;
use crate::server::stats::Statistic;
use roughly_sketch::cuckoo::{CuckooError, CuckooFilter, Parameters};
use roughly_sketch::memory::Purpose;
use roughly_sketch::window_filter::{self, CuckooWindow, CuckooWindowParameters, Kind, Seed};
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
    refuse_if!(call.len() < 3 => Error::WrongArity);
    let options = reserve_options(call)?;
    let found = WriteKey::open(call, 1).find::<CuckooType>(call)?;
    let Found::Missing(key) = found else {
        return Err(EXISTS.into());
    };
    let new = NewFilter::of(call, &options)?;
    create_and_store(call, key, &new, c"cf.reserve")
}

/// The parameters of a new filter.
#[derive(Debug, Clone, Copy)]
pub struct ReserveOptions {
    /// The approximate capacity in items.
    capacity: u64,
    /// The other parameters.
    parameters: Parameters,
    /// The window, if the filter has one.
    window: Option<NewWindow>,
}

impl ReserveOptions {
    /// Those of auto-created filters.
    pub fn defaults() -> Self {
        Self {
            capacity: config::capacity(),
            parameters: config::parameters(),
            window: None,
        }
    }
}

fn reserve_options(call: &Call<'_>) -> Result<ReserveOptions, Error> {
    let mut options = Options::new(call, 3);
    let mut value = |keyword| options.value(keyword).map_err(|_| Error::WrongArity);
    // All options are looked up before any is parsed, so that a missing value is reported before an invalid one.
    let max_iterations = value("MAXITERATIONS")?;
    let bucket_size = value("BUCKETSIZE")?;
    let expansion = value("EXPANSION")?;
    let window = WindowOption::in_options(&mut options, call, CUCKOO)?;
    // With a window, an unknown word is a syntax error.
    refuse_if!(window.is_none() && call.len().is_multiple_of(2) => Error::WrongArity);
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
        .map(|option| option.parse::<CuckooWindow>(call))
        .transpose()?;
    Ok(ReserveOptions {
        capacity: capacity.unsigned_abs(),
        parameters,
        window,
    })
}

const INVALID: &CStr = c"ERR could not create filter";

/// A new filter: the approximate capacity and the other parameters, as the filter stores them.
pub enum NewFilter {
    /// Without a window.
    Classic(u64, Parameters),
    /// With a window.
    Windowed(u64, Parameters, NewWindow, Seed),
}

impl NewFilter {
    /// The filter with these options.
    ///
    /// # Errors
    /// If windows are disabled.
    pub fn of(call: &Call<'_>, options: &ReserveOptions) -> Result<Self, Error> {
        let mut parameters = options.parameters;
        let Some(window) = options.window else {
            if parameters.expansion > 0 {
                parameters.expansion = parameters.expansion.next_power_of_two();
            }
            return Ok(Self::Classic(options.capacity, parameters));
        };
        let mut window = window.check_allowed(call)?;
        // The rate that follows from the bucket size is the default, so it is not replicated.
        let size = parameters.bucket_size;
        let is_other = |rate: &f64| !window_filter::Cuckoo::is_rate_of_each(*rate, size);
        window.error_rate = window.error_rate.map(capped).filter(is_other);
        let seed = window.seed(call);
        Ok(Self::Windowed(options.capacity, parameters, window, seed))
    }
}

impl NewKey for NewFilter {
    type Types = CuckooType;

    fn build(&self, call: &Call<'_>) -> Result<NewValue, Error> {
        let budget = call.memory().budget(Purpose::Create);
        match *self {
            Self::Classic(capacity, parameters) => {
                let filter = CuckooFilter::new(capacity, parameters, budget);
                let filter = filter.map_err(|error| match error {
                    CuckooError::OutOfMemory(_) => no_memory::<CuckooFilter>(),
                    CuckooError::Parameters(_) | CuckooError::Full => INVALID.into(),
                })?;
                Ok(Value::new(filter))
            }
            Self::Windowed(capacity, parameters, window, seed) => {
                let parameters = CuckooWindowParameters {
                    seed,
                    capacity,
                    error_rate: window.error_rate,
                    bucket_size: parameters.bucket_size,
                    max_iterations: parameters.max_iterations,
                    expansion: parameters.expansion.into(),
                };
                let filter = CuckooWindow::new(window.window, &parameters, budget);
                let filter = filter.map_err(|error| match error {
                    window_filter::Error::OutOfMemory(_) => no_memory::<CuckooWindow>(),
                    window_filter::Error::Parameters | window_filter::Error::Full => INVALID.into(),
                })?;
                Ok(Value::new(filter))
            }
        }
    }

    fn replicate(&self, call: &mut Call<'_>) {
        static RESERVE: ReplicatedCommand = ReplicatedCommand::new(c"CF.RESERVE");
        let (Self::Classic(capacity, parameters) | Self::Windowed(capacity, parameters, ..)) = self;
        let Parameters {
            bucket_size,
            max_iterations,
            expansion,
        } = *parameters;
        let mut replicated = RESERVE.with(call.arguments(1..2));
        replicated.integer(*capacity);
        replicated.keyword("BUCKETSIZE").integer(bucket_size.into());
        replicated
            .keyword("MAXITERATIONS")
            .integer(max_iterations.into());
        replicated.keyword("EXPANSION").integer(expansion.into());
        if let Self::Windowed(_, _, window, seed) = self {
            window.add_to(&mut replicated, Some(*seed));
        }
        replicated.replicate(call);
    }
}

/// Counts a refusal for `T`, and returns its error.
fn no_memory<T: DataType>() -> Error {
    T::REGISTRATION.stats.count(Statistic::Refusals, 1);
    c"ERR Insufficient memory to create filter".into()
}

/// The options of CF.INSERT and CF.INSERTNX.
#[derive(Debug)]
pub struct InsertOptions {
    /// Options of a missing filter.
    pub reserve: ReserveOptions,
    /// Whether a missing filter is created.
    pub create: bool,
    /// Whether every server accepts the options. The smallest valid capacity depends on the bucket size that a server
    /// is configured with, even if the key exists.
    pub accepted_everywhere: bool,
    /// The argument of the first item.
    pub first_item: usize,
}

/// Parses the options. Their first letters are enough, as in RedisBloom, but not those of `WINDOW`.
pub fn insert_options(call: &Call<'_>) -> Result<InsertOptions, Error> {
    let mut reserve = ReserveOptions::defaults();
    let mut create = true;
    let mut accepted_everywhere = true;
    let mut index = 2;
    while index < call.len() {
        let argument = call.arg(index).bytes();
        index += 1;
        let value = || call.args_from(index).next().ok_or(Error::WrongArity);
        match argument.first().map(u8::to_ascii_lowercase) {
            Some(b'i') => {
                value()?;
                return Ok(InsertOptions {
                    reserve,
                    create,
                    accepted_everywhere,
                    first_item: index,
                });
            }
            Some(b'c') => {
                let capacity = value()?.integer().ok_or(c"Bad capacity")?;
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
                reserve.window = Some(option.parse::<CuckooWindow>(call)?);
                // RedisBloom has no windows.
                accepted_everywhere = false;
            }
        }
    }
    Err(Error::WrongArity)
}
