//! The command layer. Each family has a folder with those of these files that it needs:
//!
//! | file | contents |
//! |---|---|
//! | `mod.rs` | the family: name, type, commands, settings |
//! | `commands.rs` | the command table |
//! | `create.rs` | commands that create a key |
//! | `add.rs` | commands that add or remove |
//! | `query.rs` | commands that read |
//! | `merge.rs` | MERGE |
//! | `chunks.rs` | SCANDUMP and LOADCHUNK, if they differ from those of the other families |
//! | `info.rs` | INFO, DEBUG and CARD |
//! | `config.rs` | settings |
//!
//! This layer defines the error texts of commands, except those that do not depend on the family (`WRONGTYPE`, internal
//! errors, `sketch-max-key-bytes`).

pub mod bloom;
mod chunks;
pub mod count_min;
pub mod cuckoo;
mod error_rate;
mod errors;
mod growth;
mod merge;
mod new_key;
pub mod sketch;
pub mod t_digest;
pub mod top_k;
mod window;

#[cfg(test)]
mod tests;
