//! Making filters: CF.RESERVE, and what insertions make of a missing key.

use super::config::{self, BUCKET_SIZES, EXPANSIONS, ITERATIONS, MAX_CAPACITY};
use super::{EXISTS, stats};
use crate::server::call::{Call, Error};
use crate::server::key::{Entry, Slot, WriteKey};
use crate::sketch::cuckoo::{CuckooError, CuckooFilter, Parameters};
use std::ffi::CStr;
use std::ops::RangeInclusive;

/// How to make a filter.
#[derive(Debug, Clone, Copy)]
pub struct Creation {
    /// Items that it shall have room for, about.
    pub capacity: u64,
    /// The rest.
    pub parameters: Parameters,
}

/// An option of CF.RESERVE: its word, its range, and what is said of a value that is no integer or out
/// of the range.
struct Named {
    word: &'static str,
    range: RangeInclusive<i64>,
    unparsable: &'static CStr,
    out_of_range: &'static CStr,
}

const MAX_ITERATIONS: Named = Named {
    word: "MAXITERATIONS",
    range: ITERATIONS,
    unparsable: c"Couldn't parse MAXITERATIONS",
    out_of_range: c"MAXITERATIONS: value must be in the range [1, 65535]",
};
const BUCKET_SIZE: Named = Named {
    word: "BUCKETSIZE",
    range: BUCKET_SIZES,
    unparsable: c"Couldn't parse BUCKETSIZE",
    out_of_range: c"BUCKETSIZE: value must be in the range [1, 255]",
};
const EXPANSION: Named = Named {
    word: "EXPANSION",
    range: EXPANSIONS,
    unparsable: c"Couldn't parse EXPANSION",
    out_of_range: c"EXPANSION: value must be in the range [0, 32768]",
};

impl Named {
    /// The word before the option's value, if the option is given.
    fn position(&self, call: &Call<'_>) -> Option<usize> {
        let mut words = call.args_from(3);
        Some(3 + words.position(|word| word.is(self.word))?)
    }

    /// The option's value, if it is given. Its type holds every number of the range.
    fn value<N: TryFrom<i64>>(&self, call: &Call<'_>) -> Result<Option<N>, Error> {
        let Some(position) = self.position(call) else {
            return Ok(None);
        };
        if position + 1 == call.len() {
            return Err(Error::WrongArity);
        }
        let value = call.arg(position + 1).integer().ok_or(self.unparsable)?;
        let value = Some(value).filter(|value| self.range.contains(value));
        let value = value.and_then(|value| N::try_from(value).ok());
        Ok(Some(value.ok_or(self.out_of_range)?))
    }
}

/// CF.RESERVE key capacity [BUCKETSIZE n] [MAXITERATIONS n] [EXPANSION n]
pub fn reserve(call: &mut Call<'_>) -> Result<(), Error> {
    let options = [MAX_ITERATIONS, BUCKET_SIZE, EXPANSION];
    let ends_early = |option: &Named| option.position(call) == Some(call.len() - 1);
    if call.len() < 3 || call.len().is_multiple_of(2) || options.iter().any(ends_early) {
        return Err(Error::WrongArity);
    }
    let creation = reserve_options(call)?;
    let mut key = call.write::<CuckooFilter>(1);
    match key.get() {
        Slot::Missing => {}
        Slot::WrongType => return Err(Error::WrongType),
        Slot::Found(_) => return Err(EXISTS.into()),
    }
    let mut entry = key.create(make(call, &creation)?)?;
    replicate(call, entry.value(), creation.capacity);
    entry.store();
    call.signal_changed(1, c"cf.reserve");
    call.reply_ok();
    Ok(())
}

fn reserve_options(call: &Call<'_>) -> Result<Creation, Error> {
    let capacity = call.arg(2).integer().ok_or(c"Bad capacity")?;
    let mut parameters = config::parameters();
    if let Some(max_iterations) = MAX_ITERATIONS.value(call)? {
        parameters.max_iterations = max_iterations;
    }
    if let Some(bucket_size) = BUCKET_SIZE.value(call)? {
        parameters.bucket_size = bucket_size;
    }
    if let Some(expansion) = EXPANSION.value(call)? {
        parameters.expansion = expansion;
    }
    let smallest = config::smallest_capacity(parameters.bucket_size.into());
    if !(smallest..=MAX_CAPACITY).contains(&capacity) {
        return Err(c"Capacity must be in the range [2 * BUCKETSIZE, 1073741824]".into());
    }
    Ok(Creation {
        capacity: capacity.unsigned_abs(),
        parameters,
    })
}

fn make(call: &Call<'_>, creation: &Creation) -> Result<CuckooFilter, Error> {
    let allows = |bytes| call.allows_bytes(bytes);
    let filter = CuckooFilter::new(creation.capacity, creation.parameters, &allows);
    filter.map_err(|error| match error {
        CuckooError::OutOfMemory(_) => {
            stats().count_refusals(1);
            c"ERR Insufficient memory to create filter".into()
        }
        CuckooError::Parameters(_) | CuckooError::Full => c"ERR could not create filter".into(),
    })
}

/// The filter at the key, or a new one where there is none, whose creation is replicated.
pub fn find_or_create(
    call: &mut Call<'_>,
    key: WriteKey<CuckooFilter>,
    creation: &Creation,
) -> Result<Entry<CuckooFilter>, Error> {
    let mut entry = key.find_or_create(call, || make(call, creation))?;
    if entry.is_new() {
        replicate(call, entry.value(), creation.capacity);
    }
    Ok(entry)
}

/// Replicates the creation with every parameter spelled out, since the settings of who receives it may
/// differ.
fn replicate(call: &mut Call<'_>, filter: &CuckooFilter, capacity: u64) {
    let Parameters {
        bucket_size,
        max_iterations,
        expansion,
    } = filter.parameters();
    let words = [
        capacity.to_string(),
        "BUCKETSIZE".to_owned(),
        bucket_size.to_string(),
        "MAXITERATIONS".to_owned(),
        max_iterations.to_string(),
        "EXPANSION".to_owned(),
        expansion.to_string(),
    ];
    let words = words.iter().map(String::as_bytes);
    let words: Vec<_> = std::iter::once(call.arg(1).bytes()).chain(words).collect();
    call.replicate(c"CF.RESERVE", &words);
}
