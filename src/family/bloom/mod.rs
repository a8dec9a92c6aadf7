//! Bloom filters: `BF.*` and the types `MBbloom--`, `bf-window` (with a window) and `bloomfltr` (of valkey-bloom). Spec:
//! bloom.md, window.md, valkey-bloom.md.

mod add;
mod addnx;
mod chunks;
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

use crate::family::chunks::Chunked;
use crate::server::command::Since;
use crate::server::datatype::{DataType, Registration};
use crate::server::module::{self, Family};
use crate::server::stats::{ExtraCounter, Stats};
use crate::server::window::Panes;
use roughly_sketch::bloom::Chain;
use roughly_sketch::stored::Stored;
use roughly_sketch::valkey_bloom::ValkeyChain;
use roughly_sketch::window_filter::WindowSet;
use std::ffi::CStr;

/// The family, for the module's list.
pub const FAMILY: Family = Family {
    category: c"bloom",
    since: Since::RedisBloom(c"1.0.0"),
    data_types: &[
        module::data_type::<Chain>(),
        module::windowed_type::<WindowSet>(),
        module::other_type::<ValkeyChain>("_valkey"),
    ],
    commands: commands::COMMANDS,
    settings: &[
        config::SETTINGS,
        dialect::SETTINGS,
        valkey::config::SETTINGS,
    ],
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

static WINDOW_REGISTRATION: Registration = Registration::new(WindowSet::TYPE_NAME);

impl DataType for WindowSet {
    const LOADCHUNK: &'static CStr = c"BF.LOADCHUNK";
    const MAX_RESTORE_BYTES: u64 = Chain::MAX_RESTORE_BYTES;
    const PANES: Option<Panes<Self>> = Some(Panes::of_sketch());

    fn registration() -> &'static Registration {
        &WINDOW_REGISTRATION
    }

    fn defaults() {}
}

/// The counters of filters without a window.
pub fn stats() -> &'static Stats {
    &Chain::registration().stats
}

impl Chunked for Chain {
    const NOT_FOUND: &'static CStr = texts::NOT_FOUND;
    const LOADCHUNK_EVENT: &'static CStr = c"bf.loadchunk";
    const NO_MEMORY: &'static CStr = texts::NO_MEMORY;
}

impl Chunked for WindowSet {
    const NOT_FOUND: &'static CStr = texts::NOT_FOUND;
    const LOADCHUNK_EVENT: &'static CStr = c"bf.loadchunk";
    const NO_MEMORY: &'static CStr = texts::NO_MEMORY;
}
