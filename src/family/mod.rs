//! The command layer. Each family has a folder with the same files:
//!
//! | file | contents |
//! |---|---|
//! | `mod.rs` | the family: name, type, commands, settings |
//! | `commands.rs` | the command table |
//! | `create.rs` | commands that create a key |
//! | `add.rs` | commands that add or remove |
//! | `query.rs` | commands that read |
//! | `merge.rs` | MERGE |
//! | `info.rs` | INFO, DEBUG and CARD |
//! | `config.rs` | settings |
//!
//! Error texts of commands are defined in this layer only.

pub mod bloom;
mod chunks;
pub mod count_min;
pub mod cuckoo;
mod merge;
pub mod t_digest;
pub mod top_k;

#[cfg(test)]
mod tests;
