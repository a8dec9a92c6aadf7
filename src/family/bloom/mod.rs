//! Bloom filters: `BF.*` and the type `MBbloom--` (spec: bloom.md).

mod add;
mod commands;
mod config;
mod create;
mod info;
mod merge;
mod query;

use crate::family::chunks::Chunked;
use crate::server::datatype::{DataType, Registration};
use crate::server::module::{self, Family};
use crate::server::stats::{ExtraCounter, Stats};
use roughly_sketch::bloom::Chain;
use roughly_sketch::stored::Stored;
use std::ffi::CStr;

/// The family, for the module's list.
pub const FAMILY: Family = Family {
    category: c"bloom",
    since: c"1.0.0",
    data_types: &[module::data_type::<Chain>()],
    commands: commands::COMMANDS,
    settings: config::SETTINGS,
    counters: &[ExtraCounter::Growths],
};

static REGISTRATION: Registration = Registration::new(Chain::TYPE_NAME);

impl DataType for Chain {
    const LOADCHUNK: &'static CStr = c"BF.LOADCHUNK";
    /// A filter is always emitted in chunks, which RedisBloom loads.
    const MAX_RESTORE_BYTES: u64 = 0;

    fn registration() -> &'static Registration {
        &REGISTRATION
    }

    fn defaults() {}
}

/// The family's counters.
pub fn stats() -> &'static Stats {
    &Chain::registration().stats
}

const NOT_FOUND: &CStr = c"ERR not found";

impl Chunked for Chain {
    const NOT_FOUND: &'static CStr = NOT_FOUND;
    const LOADCHUNK_EVENT: &'static CStr = c"bf.loadchunk";
    const NO_MEMORY: &'static CStr = create::NO_MEMORY;
}
