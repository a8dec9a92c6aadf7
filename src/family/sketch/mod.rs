//! Commands for the sketches of all families: `SKETCH.*` (docs/sliding-windows.md).

mod advance;
mod age;
mod commands;
mod parts;
mod query;

use crate::server::command::Since;
use crate::server::load::Family;

/// The family, for the module's list. It has no type of its own.
pub const FAMILY: Family = Family {
    name: None,
    category: c"sketch",
    since: Since::Roughly(c"1.0.0"),
    data_types: &[],
    commands: commands::COMMANDS,
    settings: &[],
    counters: &[],
};
