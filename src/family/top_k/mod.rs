//! Top-k: `TOPK.*` and the type `TopK-TYPE` (spec: top-k.md).

mod create;
mod describe;
mod items;
mod table;

use crate::family::chunks::Chunked;
use crate::server::datatype::{DataType, Registration};
use crate::server::module::{self, Family};
use crate::server::stats::Stats;
use roughly_sketch::stored::Stored;
use roughly_sketch::top_k::TopK;
use std::ffi::CStr;

/// The family, for the module's list.
pub const FAMILY: Family = Family {
    category: c"topk",
    data_type: module::data_type::<TopK>(),
    commands: table::COMMANDS,
    settings: &[],
};

static REGISTRATION: Registration = Registration::new(TopK::TYPE_NAME);

impl DataType for TopK {
    const LOADCHUNK: &'static CStr = c"TOPK.LOADCHUNK";

    fn registration() -> &'static Registration {
        &REGISTRATION
    }

    fn defaults() {}
}

/// The family's counters.
pub fn stats() -> &'static Stats {
    &TopK::registration().stats
}

/// No such key.
const NOT_FOUND: &CStr = c"TopK: key does not exist";
/// No memory for an item, or for an answer.
const NO_MEMORY: &CStr = c"ERR Insufficient memory";

impl Chunked for TopK {
    const NOT_FOUND: &'static CStr = NOT_FOUND;
    const LOADCHUNK_EVENT: &'static CStr = c"topk.loadchunk";
    const NO_MEMORY: &'static CStr = NO_MEMORY;
}
