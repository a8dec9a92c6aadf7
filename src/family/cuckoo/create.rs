//! Making filters: CF.RESERVE, and what insertions make of a missing key.

use super::config::{self, BUCKET_SIZES, EXPANSIONS, ITERATIONS, MAX_CAPACITY};
use super::{EXISTS, stats};
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::key::{Entry, Slot, WriteKey};
use crate::server::options::Options;
use roughly_sketch::cuckoo::{CuckooError, CuckooFilter, Parameters};
use roughly_sketch::memory::Budget;
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

/// An option of CF.RESERVE: its range, and what is said of a value that is no integer or out of the range.
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
    /// A value that is in the range. `N` holds every number of the range.
    fn parse<N: TryFrom<i64>>(&self, value: Argument<'_>) -> Result<N, Error> {
        let value = value.integer().ok_or(self.unparsable)?;
        let value = Some(value).filter(|value| self.range.contains(value));
        let value = value.and_then(|value| N::try_from(value).ok());
        value.ok_or(self.out_of_range.into())
    }
}

/// CF.RESERVE key capacity [BUCKETSIZE n] [MAXITERATIONS n] [EXPANSION n]
pub fn reserve(call: &mut Call<'_>) -> Result<(), Error> {
    if call.len() < 3 || call.len().is_multiple_of(2) {
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
    let mut options = Options::new(call, 3);
    let mut value = |keyword| options.value(keyword).map_err(|_| Error::WrongArity);
    // All are looked up before one is parsed: a missing value is found before an invalid one.
    let max_iterations = value("MAXITERATIONS")?;
    let bucket_size = value("BUCKETSIZE")?;
    let expansion = value("EXPANSION")?;
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
    let smallest = config::smallest_capacity(parameters.bucket_size.into());
    if !(smallest..=MAX_CAPACITY).contains(&capacity) {
        return Err(c"Capacity must be in the range [2 * BUCKETSIZE, 1073741824]".into());
    }
    options.warn_of_ignored();
    Ok(Creation {
        capacity: capacity.unsigned_abs(),
        parameters,
    })
}

fn make(call: &Call<'_>, creation: &Creation) -> Result<CuckooFilter, Error> {
    let allows = |bytes| call.allows_bytes(bytes);
    let filter = CuckooFilter::new(creation.capacity, creation.parameters, Budget::new(&allows));
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

/// What CF.INSERT and CF.INSERTNX say before their items.
pub struct InsertOptions {
    /// How to make a missing filter.
    pub creation: Creation,
    /// Whether to make it at all.
    pub create: bool,
    /// Whether a server with other settings takes the options: how small a capacity may be is a matter
    /// of the bucket size that is set there, even if the key is there already.
    pub is_taken_anywhere: bool,
    /// The word where the items start.
    pub first_item: usize,
}

/// Reads the options: known by their first letters, whatever follows (as the peer does).
pub fn insert_options(call: &Call<'_>) -> Result<InsertOptions, Error> {
    let mut creation = config::defaults();
    let mut create = true;
    let mut is_taken_anywhere = true;
    let mut index = 2;
    if call.len() < 4 {
        return Err(Error::WrongArity);
    }
    while index < call.len() {
        let word = call.arg(index).bytes();
        index += 1;
        match word.first().map(u8::to_ascii_lowercase) {
            Some(b'i') if index == call.len() => return Err(Error::WrongArity),
            Some(b'i') => {
                return Ok(InsertOptions {
                    creation,
                    create,
                    is_taken_anywhere,
                    first_item: index,
                });
            }
            Some(b'c') if index == call.len() => return Err(Error::WrongArity),
            Some(b'c') => {
                let capacity = call.arg(index).integer().ok_or(c"Bad capacity")?;
                // Who sent a command that must be obeyed may have smaller buckets.
                let bucket_size = match call.must_obey() {
                    true => *BUCKET_SIZES.start(),
                    false => creation.parameters.bucket_size.into(),
                };
                let smallest = config::smallest_capacity(bucket_size);
                if !(smallest..=MAX_CAPACITY).contains(&capacity) {
                    return Err(
                        c"Capacity must be in the range [cf-bucket-size * 2, 1073741824]".into(),
                    );
                }
                creation.capacity = capacity.unsigned_abs();
                is_taken_anywhere &= capacity >= config::smallest_capacity(*BUCKET_SIZES.end());
                index += 1;
            }
            Some(b'n') => create = false,
            _ => return Err(c"Unknown argument received".into()),
        }
    }
    Err(Error::WrongArity)
}
