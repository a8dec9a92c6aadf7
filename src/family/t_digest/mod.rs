//! t-digests: `TDIGEST.*` and the types `TDIS-TYPE` and, with a window, `td-window` (docs/families/t-digest.md).

mod add;
mod commands;
mod create;
mod merge;
mod query;
mod types;

use crate::server::command::Since;
use crate::server::key::OneOf;
use crate::server::load::Family;
use types::DigestType;

/// The family, for the module's list.
pub const FAMILY: Family = Family {
    name: Some("tdigest"),
    category: c"tdigest",
    since: Since::RedisBloom(c"2.4.0"),
    data_types: DigestType::TYPES,
    commands: commands::COMMANDS,
    settings: &[],
    counters: &[],
};
