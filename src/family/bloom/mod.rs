//! Bloom filters: `BF.*` and the type `MBbloom--` (spec: bloom.md).

mod chunks;
mod config;
mod create;
mod datatype;
mod describe;
mod items;
mod merge;
mod table;

use crate::server::datatype::DataType;
use crate::server::module::{self, Family};
use crate::server::stats::Stats;
use roughly_sketch::bloom::Chain;
use std::ffi::CStr;

/// The family, for the module's list.
pub const FAMILY: Family = Family {
    category: c"bloom",
    data_type: module::data_type::<Chain>(),
    commands: table::COMMANDS,
    settings: config::SETTINGS,
};

/// The family's counters.
pub fn stats() -> &'static Stats {
    &Chain::registration().stats
}

/// No such key.
const NOT_FOUND: &CStr = c"ERR not found";
