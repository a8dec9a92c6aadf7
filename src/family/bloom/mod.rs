//! Bloom filters: `BF.*` and the types `MBbloom--`, `bf-window` (with a window) and `bloomfltr` (of valkey-bloom)
//! (docs/families/bloom.md).

mod add;
mod commands;
mod config;
mod create;
mod merge;
mod query;
mod syntax;
mod types;

use crate::server::command::Since;
use crate::server::key::OneOf;
use crate::server::load::Family;
use crate::server::stats::Statistic;
use types::FilterType;

/// The family, for the module's list.
pub const FAMILY: Family = Family {
    name: Some("bf"),
    category: c"bloom",
    since: Since::RedisBloom(c"1.0.0"),
    data_types: FilterType::TYPES,
    commands: commands::COMMANDS,
    settings: config::SETTINGS,
    counters: &[Statistic::Growths],
};
