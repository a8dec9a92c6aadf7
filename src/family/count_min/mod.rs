//! Count-min sketches: `CMS.*` and the type `CMSk-TYPE` (spec: count-min-sketch.md).

mod chunks;
mod counts;
mod create;
mod datatype;
mod describe;
mod merge;
mod table;

use crate::server::datatype::DataType;
use crate::server::module::{self, Family};
use crate::server::stats::Stats;
use roughly_sketch::count_min::CountMin;
use std::ffi::CStr;

/// The family, for the module's list.
pub const FAMILY: Family = Family {
    category: c"cms",
    data_type: module::data_type::<CountMin>(),
    commands: table::COMMANDS,
    settings: &[],
};

/// The family's counters.
pub fn stats() -> &'static Stats {
    &CountMin::registration().stats
}

/// No such key.
const NOT_FOUND: &CStr = c"CMS: key does not exist";
