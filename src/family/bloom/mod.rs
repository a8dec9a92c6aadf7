//! Bloom filters: `BF.*` and the types `MBbloom--`, `bf-window` (with a window) and `bloomfltr` (of valkey-bloom)
//! (docs/families/bloom.md).

mod add;
mod addnx;
mod commands;
mod config;
mod create;
mod dialect;
mod info;
mod load;
mod merge;
mod query;
mod request;
mod syntax;
mod texts;
mod types;
mod valkey_config;

use crate::server::command::Since;
use crate::server::key::OneOf;
use crate::server::module::Family;
use crate::server::stats::ExtraCounter;
use types::Filter;

/// The family, for the module's list.
pub const FAMILY: Family = Family {
    name: Some("bf"),
    category: c"bloom",
    since: Since::RedisBloom(c"1.0.0"),
    data_types: Filter::TYPES,
    commands: commands::COMMANDS,
    settings: &[config::SETTINGS, dialect::SETTINGS, valkey_config::SETTINGS],
    counters: &[ExtraCounter::Growths],
};
