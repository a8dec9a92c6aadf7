//! t-digests: `TDIGEST.*` and the type `TDIS-TYPE` (spec: t-digest.md).

mod add;
mod commands;
mod create;
mod info;
mod merge;
mod query;

use crate::family::chunks::{BAD_DATA, Chunked};
use crate::server::datatype::{DataType, Registration};
use crate::server::module::{self, Family};
use crate::server::stats::Stats;
use roughly_sketch::format::chunks::ChunkError;
use roughly_sketch::stored::Stored;
use roughly_sketch::t_digest::TDigest;
use std::ffi::CStr;

/// The family, for the module's list.
pub const FAMILY: Family = Family {
    category: c"tdigest",
    since: c"2.4.0",
    data_type: module::data_type::<TDigest>(),
    commands: commands::COMMANDS,
    settings: &[],
};

static REGISTRATION: Registration = Registration::new(TDigest::TYPE_NAME);

impl DataType for TDigest {
    const LOADCHUNK: &'static CStr = c"TDIGEST.LOADCHUNK";

    fn registration() -> &'static Registration {
        &REGISTRATION
    }

    fn defaults() {}
}

/// The family's counters.
pub fn stats() -> &'static Stats {
    &TDigest::registration().stats
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
    const NO_MEMORY: &'static CStr = NO_MEMORY;

    /// The header of a digest is its only chunk.
    fn chunk_error(_: ChunkError) -> &'static CStr {
        BAD_DATA
    }
}
