//! Cuckoo filters: `CF.*` and the type `MBbloomCF` (spec: cuckoo.md).

mod chunks;
mod config;
mod create;
mod datatype;
mod describe;
mod insert;
mod items;
mod table;

use crate::server::datatype::DataType;
use crate::server::module::{self, Family};
use crate::server::stats::Stats;
use roughly_sketch::cuckoo::CuckooFilter;
use std::ffi::CStr;

/// The family, for the module's list.
pub const FAMILY: Family = Family {
    category: c"cuckoo",
    data_type: module::data_type::<CuckooFilter>(),
    commands: table::COMMANDS,
    settings: config::SETTINGS,
};

/// The family's counters.
pub fn stats() -> &'static Stats {
    &CuckooFilter::registration().stats
}

/// No such key.
const NOT_FOUND: &CStr = c"ERR not found";
/// There is a key already.
const EXISTS: &CStr = c"ERR item exists";
