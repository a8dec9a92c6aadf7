//! Cuckoo filters: `CF.*` and the types `MBbloomCF` and, with a window, `cf-window` (spec: cuckoo.md, window.md).

mod add;
mod chunks;
mod commands;
mod config;
mod create;
mod info;
mod query;
mod request;
mod sketch;

use crate::server::callbacks;
use crate::server::command::Since;
use crate::server::data_type::{DataType, Registration};
use crate::server::module::Family;
use crate::server::stats::ExtraCounter;
use roughly_sketch::cuckoo::{CuckooFilter, Parameters};
use roughly_sketch::window_filter::WindowMultiset;
use sketch::{CuckooSketch, Insertion};
use std::ffi::CStr;

/// The family, for the module's list.
pub const FAMILY: Family = Family {
    category: c"cuckoo",
    since: Since::RedisBloom(c"1.0.0"),
    data_types: TYPES,
    commands: commands::COMMANDS,
    settings: &[config::SETTINGS],
    counters: &[
        ExtraCounter::ItemsDeleted,
        ExtraCounter::Growths,
        ExtraCounter::Compactions,
    ],
};

const TYPES: &[&Registration] = &[&REGISTRATION, &WINDOW_REGISTRATION];

static REGISTRATION: Registration = callbacks::registration::<CuckooFilter>("");

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

static WINDOW_REGISTRATION: Registration = callbacks::registration::<WindowMultiset>("_window");

impl DataType for WindowMultiset {
    const LOADCHUNK: &'static CStr = c"CF.LOADCHUNK";
    const MAX_RESTORE_BYTES: u64 = CuckooFilter::MAX_RESTORE_BYTES;

    fn registration() -> &'static Registration {
        &WINDOW_REGISTRATION
    }

    fn defaults() {}
}

const NOT_FOUND: &CStr = c"ERR not found";
const EXISTS: &CStr = c"ERR item exists";
/// Not enough memory for an item or a reply.
const NO_MEMORY: &CStr = c"ERR Insufficient memory";
