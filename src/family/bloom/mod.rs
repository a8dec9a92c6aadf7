//! Bloom filters: `BF.*` and the types `MBbloom--`, `bf-window` (with a window) and `bloomfltr` (of valkey-bloom). Spec:
//! bloom.md, window.md, valkey-bloom.md.

mod add;
mod addnx;
mod commands;
mod config;
mod create;
mod dialect;
mod info;
mod key;
mod merge;
mod options;
mod query;
mod request;
mod sketch;
mod texts;
mod valkey;

use crate::family::chunks::{self, Chunks};
use crate::server::callbacks;
use crate::server::command::Since;
use crate::server::data_type::{DataType, Registration};
use crate::server::module::Family;
use crate::server::stats::{ExtraCounter, Stats};
use roughly_sketch::bloom::Chain;
use roughly_sketch::window_filter::WindowSet;
use std::ffi::CStr;

/// The family, for the module's list.
pub const FAMILY: Family = Family {
    category: c"bloom",
    since: Since::RedisBloom(c"1.0.0"),
    data_types: TYPES,
    commands: commands::COMMANDS,
    settings: &[
        config::SETTINGS,
        dialect::SETTINGS,
        valkey::config::SETTINGS,
    ],
    counters: &[ExtraCounter::Growths],
};

const TYPES: &[&Registration] = &[&REGISTRATION, &WINDOW_REGISTRATION, &valkey::REGISTRATION];

static REGISTRATION: Registration = callbacks::registration::<Chain>("");

impl DataType for Chain {
    const LOADCHUNK: &'static CStr = c"BF.LOADCHUNK";
    /// A filter is always emitted in chunks, which RedisBloom loads.
    const MAX_RESTORE_BYTES: u64 = 0;

    fn registration() -> &'static Registration {
        &REGISTRATION
    }

    fn defaults() {}
}

static WINDOW_REGISTRATION: Registration = callbacks::registration::<WindowSet>("_window");

impl DataType for WindowSet {
    const LOADCHUNK: &'static CStr = c"BF.LOADCHUNK";
    const MAX_RESTORE_BYTES: u64 = Chain::MAX_RESTORE_BYTES;

    fn registration() -> &'static Registration {
        &WINDOW_REGISTRATION
    }

    fn defaults() {}
}

/// The counters of filters without a window.
pub fn stats() -> &'static Stats {
    &Chain::registration().stats
}

/// SCANDUMP and LOADCHUNK.
const CHUNKS: Chunks = Chunks {
    types: TYPES,
    replaced: None,
    not_found: texts::NOT_FOUND,
    no_memory: texts::NO_MEMORY,
    event: c"bf.loadchunk",
    error: chunks::chunk_error,
};
