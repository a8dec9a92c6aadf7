//! t-digests: `TDIGEST.*` and the types `TDIS-TYPE` and, with a window, `td-window` (spec: t-digest.md, window.md).

mod add;
mod commands;
mod create;
mod info;
mod merge;
mod query;

use crate::family::chunks::{BAD_DATA, Chunked};
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::command::Since;
use crate::server::datatype::{DataType, Registration};
use crate::server::module::{self, Family};
use roughly_sketch::format::chunks::ChunkError;
use roughly_sketch::stored::Stored;
use roughly_sketch::t_digest::{TDigest, TDigestWindow};
use smallvec::SmallVec;
use std::ffi::CStr;

/// The family, for the module's list.
pub const FAMILY: Family = Family {
    category: c"tdigest",
    since: Since::RedisBloom(c"2.4.0"),
    data_types: &[
        module::data_type::<TDigest>(),
        module::windowed_type::<TDigestWindow>(),
    ],
    commands: commands::COMMANDS,
    settings: &[],
    counters: &[],
};

static REGISTRATION: Registration = Registration::new(TDigest::TYPE_NAME);

impl DataType for TDigest {
    const LOADCHUNK: &'static CStr = c"TDIGEST.LOADCHUNK";

    fn registration() -> &'static Registration {
        &REGISTRATION
    }

    fn defaults() {}
}

static WINDOW_REGISTRATION: Registration = Registration::new(TDigestWindow::TYPE_NAME);

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

impl Chunked for TDigest {
    const NOT_FOUND: &'static CStr = NOT_FOUND;
    const LOADCHUNK_EVENT: &'static CStr = c"tdigest.loadchunk";
    /// The result of a TDIGEST.MERGE from a window is replicated in this way.
    const HEADER_REPLACES: bool = true;
    const NO_MEMORY: &'static CStr = NO_MEMORY;

    /// The header of a digest is its only chunk.
    fn chunk_error(_: ChunkError) -> &'static CStr {
        BAD_DATA
    }
}

impl Chunked for TDigestWindow {
    const NOT_FOUND: &'static CStr = NOT_FOUND;
    const LOADCHUNK_EVENT: &'static CStr = c"tdigest.loadchunk";
    const NO_MEMORY: &'static CStr = NO_MEMORY;

    /// As that of a digest without a window.
    fn chunk_error(_: ChunkError) -> &'static CStr {
        BAD_DATA
    }
}

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
