//! Cuckoo filters: `CF.*` and the type `MBbloomCF` (spec: cuckoo.md).

mod add;
mod chunks;
mod commands;
mod config;
mod create;
mod info;
mod query;

use crate::server::datatype::{DataType, Registration};
use crate::server::module::{self, Family};
use crate::server::stats::{ExtraCounter, Stats};
use roughly_sketch::cuckoo::{CuckooFilter, Parameters};
use roughly_sketch::stored::Stored;
use std::ffi::CStr;

/// The family, for the module's list.
pub const FAMILY: Family = Family {
    category: c"cuckoo",
    since: c"1.0.0",
    data_types: &[module::data_type::<CuckooFilter>()],
    commands: commands::COMMANDS,
    settings: config::SETTINGS,
    counters: &[
        ExtraCounter::ItemsDeleted,
        ExtraCounter::Growths,
        ExtraCounter::Compactions,
    ],
};

static REGISTRATION: Registration = Registration::new(CuckooFilter::TYPE_NAME);

impl DataType for CuckooFilter {
    const LOADCHUNK: &'static CStr = c"CF.LOADCHUNK";
    /// A filter is always emitted in chunks, which RedisBloom loads.
    const MAX_RESTORE_BYTES: u64 = 0;

    fn registration() -> &'static Registration {
        &REGISTRATION
    }

    fn defaults() -> Parameters {
        config::parameters()
    }
}

/// The family's counters.
pub fn stats() -> &'static Stats {
    &CuckooFilter::registration().stats
}

const NOT_FOUND: &CStr = c"ERR not found";
const EXISTS: &CStr = c"ERR item exists";
