//! BF.MERGE, the union of filters. RedisBloom does not have this command.

use super::types::{Filter, FilterMut, FilterType, NO_MEMORY, NOT_FOUND};
use crate::family::merge::{self, FIRST_SOURCE, NumkeysErrors};
use crate::server::call::{Call, Error};
use crate::server::data_type::{DataType, Value};
use crate::server::key::{Entry, MergeKeys, ReadKey, WriteKey};
use crate::server::stats::Statistic;
use roughly_sketch::bloom::Chain;
use roughly_sketch::bloom::merge::MergeError;
use roughly_sketch::memory::Purpose;
use roughly_sketch::memory::with_capacity;
use roughly_sketch::merge::MAX_BYTES;
use roughly_sketch::stored::Stored;
use std::ffi::{CStr, CString};
use std::ops::Range;

const NUMKEYS: NumkeysErrors = NumkeysErrors {
    not_integer: c"ERR numkeys is not an integer or out of range",
    not_positive: c"ERR numkeys should be greater than 0",
};
const TOO_MUCH: &CStr = c"ERR too much work for one merge, merge fewer sources at a time";

/// BF.MERGE dest numkeys src [src …]
pub fn merge(call: &mut Call<'_>) -> Result<(), Error> {
    let sources = sources(call)?;
    // Opened for writing, because opening a missing key for reading counts as a keyspace miss.
    let destination = WriteKey::open(call, 1);
    let exists = match destination.get::<FilterType>().optional()? {
        None => false,
        Some(filter) => classic(filter).map(|_| true)?,
    };
    drop(destination);
    let new = if exists {
        None
    } else {
        let union = union(call, sources.clone())?;
        let (key, union) = (WriteKey::open(call, 1), Value::new(union));
        Some(Entry::new(call, key, FilterType::Classic, union)?)
    };
    if new.is_some() || merge_in_place(call, sources)? {
        call.replicate_verbatim();
        if let Some(entry) = new {
            entry.store();
        }
        call.signal_changed(1, c"bf.merge");
    }
    call.reply_ok();
    Ok(())
}

/// A filter that can be merged: one of RedisBloom's type.
fn classic(filter: Filter<'_>) -> Result<&Chain, Error> {
    match filter {
        Filter::Classic(chain) => Ok(chain),
        Filter::Windowed(_) => Err(c"ERR filters with a window cannot be merged".into()),
        Filter::Valkey(_) => Err(c"ERR filters of valkey-bloom cannot be merged".into()),
    }
}

/// The arguments of the sources: all arguments after `numkeys`. Their number must equal `numkeys`.
fn sources(call: &Call<'_>) -> Result<Range<usize>, Error> {
    if merge::numkeys(call, &NUMKEYS)? != call.len() - FIRST_SOURCE {
        return Err(c"ERR numkeys is not the number of keys that follow".into());
    }
    Ok(FIRST_SOURCE..call.len())
}

/// Adds the sources to the filter at the destination; returns whether it changed.
fn merge_in_place(call: &Call<'_>, sources: Range<usize>) -> Result<bool, Error> {
    let mut others = with_capacity(sources.len()).map_err(|_| NO_MEMORY)?;
    let keys = MergeKeys::<FilterType>::open(call, 1, sources);
    let mut keys = keys.map_err(|_| NO_MEMORY)?;
    let (destination, sources) = keys.get();
    let FilterMut::Classic(destination) = destination.or_missing(NOT_FOUND)? else {
        return Err(Error::WrongType);
    };
    for source in sources {
        others.extend(source.or_missing(NOT_FOUND)?.map(classic).transpose()?);
    }
    let filters = destination.filters().len();
    let budget = call.memory().budget(Purpose::Add);
    let changed = destination.merge_within(&others, budget, call.limit(MAX_BYTES));
    let changed = changed.map_err(|error| error_text(call, error))?;
    if destination.filters().len() > filters
        && let Some(destination) = keys.destination()
    {
        destination.recount();
    }
    Ok(changed)
}

/// A new filter that is the union of the sources.
fn union(call: &Call<'_>, sources: Range<usize>) -> Result<Chain, Error> {
    let keys = ReadKey::open_all(call, sources);
    let keys = keys.map_err(|_| NO_MEMORY)?;
    let mut chains = with_capacity(keys.len()).map_err(|_| NO_MEMORY)?;
    for key in &keys {
        chains.push(classic(key.get::<FilterType>().or_missing(NOT_FOUND)?)?);
    }
    let [first, others @ ..] = &chains[..] else {
        return Err(Error::WrongArity);
    };
    refuse_if!(!call.memory().request(Purpose::Create, first.bit_bytes()) => NO_MEMORY.into());
    let mut union = first.try_clone().map_err(|_| NO_MEMORY)?;
    let budget = call.memory().budget(Purpose::Create);
    let merged = union.merge_within(others, budget, call.limit(MAX_BYTES));
    merged.map_err(|error| error_text(call, error))?;
    Ok(union)
}

fn error_text(call: &Call<'_>, error: MergeError) -> Error {
    match error {
        MergeError::OutOfMemory(_) => {
            Chain::REGISTRATION.stats.count(Statistic::Refusals, 1);
            call.memory().error(NO_MEMORY)
        }
        MergeError::TooMuchWork(_) => TOO_MUCH.into(),
        MergeError::Differ(_) => CString::new(format!("ERR cannot merge: {error}"))
            .map_or_else(|_| NO_MEMORY.into(), Error::Formatted),
    }
}
