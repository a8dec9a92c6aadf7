//! Top-k: `TOPK.*` and the types `TopK-TYPE` and, with a window, `tk-window` (docs/families/top-k.md).

mod add;
mod commands;
mod create;
mod query;
mod types;

use crate::server::command::Since;
use crate::server::key::OneOf;
use crate::server::load::Family;
use types::TopType;

/// The family, for the module's list.
pub const FAMILY: Family = Family {
    name: Some("topk"),
    category: c"topk",
    since: Since::RedisBloom(c"2.0.0"),
    data_types: TopType::TYPES,
    commands: commands::COMMANDS,
    settings: &[],
    counters: &[],
};
