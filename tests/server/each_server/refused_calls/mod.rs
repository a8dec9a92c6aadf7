//! Calls of the operating system that fail: full disks, short writes, forks, and the connection of a replica.
//!
//! `failed_saves.rs` tests values that cannot be saved, and tests/server/once/faults refused memory.

mod files;
mod forks;
mod links;

use crate::families::FAMILIES;
use crate::support::resp::{Connection, Reply};

/// Creates a key of each type.
fn build_all(connection: &mut Connection) {
    for family in FAMILIES {
        family.build(connection, family.name);
    }
}

/// DEBUG DIGEST of all keys.
fn digest(connection: &mut Connection) -> Reply {
    connection.call("DEBUG DIGEST")
}
