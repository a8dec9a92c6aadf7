//! Top-k: `TOPK.*` and the type `TopK-TYPE` (spec: top-k.md).

mod chunks;
mod create;
mod datatype;
mod describe;
mod items;
mod table;

use crate::server::datatype::DataType;
use crate::server::module::{self, Family};
use crate::server::stats::Stats;
use roughly_sketch::top_k::TopK;
use std::ffi::CStr;

/// The family, for the module's list.
pub const FAMILY: Family = Family {
    category: c"topk",
    data_type: module::data_type::<TopK>(),
    commands: table::COMMANDS,
    settings: &[],
};

/// The family's counters.
pub fn stats() -> &'static Stats {
    &TopK::registration().stats
}

/// No such key.
const NOT_FOUND: &CStr = c"TopK: key does not exist";
/// No memory for an item, or for an answer.
const NO_MEMORY: &CStr = c"ERR Insufficient memory";
