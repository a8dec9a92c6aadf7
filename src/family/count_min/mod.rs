//! Count-min sketches: `CMS.*` and the types `CMSk-TYPE` and, with a window, `cmswindow` (docs/families/count-min-sketch.md).

mod add;
mod commands;
mod create;
mod merge;
mod query;
mod types;

use crate::server::command::Since;
use crate::server::key::OneOf;
use crate::server::load::Family;
use crate::server::stats::Statistic;
use types::CounterType;

/// The family, for the module's list.
pub const FAMILY: Family = Family {
    name: Some("cms"),
    category: c"cms",
    since: Since::RedisBloom(c"2.0.0"),
    data_types: CounterType::TYPES,
    commands: commands::COMMANDS,
    settings: &[],
    counters: &[Statistic::LimitRefusals],
};
