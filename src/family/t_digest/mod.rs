//! t-digests: `TDIGEST.*` and the types `TDIS-TYPE` and, with a window, `td-window` (spec: t-digest.md, window.md).

mod add;
mod commands;
mod create;
mod info;
mod merge;
mod query;

use crate::family::chunks::{BAD_DATA, Chunks};
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::callbacks;
use crate::server::command::Since;
use crate::server::data_type::{DataType, Registration};
use crate::server::module::Family;
use roughly_sketch::t_digest::{TDigest, TDigestWindow};
use smallvec::SmallVec;
use std::ffi::CStr;

/// The family, for the module's list.
pub const FAMILY: Family = Family {
    category: c"tdigest",
    since: Since::RedisBloom(c"2.4.0"),
    data_types: TYPES,
    commands: commands::COMMANDS,
    settings: &[],
    counters: &[],
};

const TYPES: &[&Registration] = &[&REGISTRATION, &WINDOW_REGISTRATION];

static REGISTRATION: Registration = callbacks::registration::<TDigest>("");

impl DataType for TDigest {
    const LOADCHUNK: &'static CStr = c"TDIGEST.LOADCHUNK";

    fn registration() -> &'static Registration {
        &REGISTRATION
    }

    fn defaults() {}
}

static WINDOW_REGISTRATION: Registration = callbacks::registration::<TDigestWindow>("_window");

impl DataType for TDigestWindow {
    const LOADCHUNK: &'static CStr = c"TDIGEST.LOADCHUNK";

    fn registration() -> &'static Registration {
        &WINDOW_REGISTRATION
    }

    fn defaults() {}
}

const NOT_FOUND: &CStr = c"ERR T-Digest: key does not exist";
/// The weights would sum to more than 2^63 - 1.
const OVERFLOW: &CStr = c"ERR T-Digest: overflow detected";
/// Not enough memory.
const NO_MEMORY: &CStr = c"ERR T-Digest: allocation failed";
/// Unknown option.
const WRONG_KEYWORD: &CStr = c"ERR T-Digest: wrong keyword";

/// SCANDUMP and LOADCHUNK.
const CHUNKS: Chunks = Chunks {
    types: TYPES,
    // The result of a TDIGEST.MERGE from a window is replicated in this way.
    replaced: Some(&REGISTRATION),
    not_found: NOT_FOUND,
    no_memory: NO_MEMORY,
    event: c"tdigest.loadchunk",
    // The header of a digest is its only chunk.
    error: |_| BAD_DATA,
};

/// The numbers of a command. Up to 16 need no allocation.
type Numbers<T> = SmallVec<[T; 16]>;

/// Parses all arguments from number `first` on, because a command uses none of them unless all are valid. Appends them to
/// `parsed`, which the caller owns so that it is not moved.
fn parse_all<T>(
    call: &Call<'_>,
    first: usize,
    parsed: &mut Numbers<T>,
    parse: impl Fn(Argument<'_>) -> Result<T, Error>,
) -> Result<(), Error> {
    let arguments = call.args_from(first);
    parsed
        .try_reserve_exact(arguments.len())
        .map_err(|_| NO_MEMORY)?;
    for argument in arguments {
        parsed.push(parse(argument)?);
    }
    Ok(())
}
