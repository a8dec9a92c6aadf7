//! Cuckoo filters: `CF.*` and the types `MBbloomCF` and, with a window, `cf-window` (docs/families/cuckoo.md).

mod add;
mod chunks;
mod commands;
mod config;
mod create;
mod query;
mod types;

use crate::server::command::Since;
use crate::server::key::OneOf;
use crate::server::load::Family;
use crate::server::stats::Statistic;
use types::CuckooType;

/// The family, for the module's list.
pub const FAMILY: Family = Family {
    name: Some("cf"),
    category: c"cuckoo",
    since: Since::RedisBloom(c"1.0.0"),
    data_types: CuckooType::TYPES,
    commands: commands::COMMANDS,
    settings: config::SETTINGS,
    counters: &[
        Statistic::ItemsDeleted,
        Statistic::Growths,
        Statistic::Compactions,
    ],
};
