//! Calls of the operating system that fail: full disks, short writes, and forks.
//!
//! `failed_saves.rs` tests values that cannot be saved, and tests/server/once/faults refused memory.

mod files;
mod forks;

use crate::support::resp::{Connection, Reply};

/// DEBUG DIGEST of all keys.
fn digest(connection: &mut Connection) -> Reply {
    connection.call("DEBUG DIGEST")
}
