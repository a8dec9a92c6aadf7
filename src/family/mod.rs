//! The command layer. Each family has a folder; docs/contributing/architecture.md, "The command layer", lists the files. What
//! several families share is in the files beside the folders.
//!
//! This layer defines the error texts of commands, except those that do not depend on the family (`WRONGTYPE`, internal
//! errors, `sketch-max-key-bytes`).

/// Returns an error if a condition is true.
macro_rules! refuse_if {
    ($condition:expr => $error:expr) => {
        if $condition {
            return Err($error);
        }
    };
}

pub mod bloom;
mod chunks;
pub mod count_min;
pub mod cuckoo;
mod filters;
mod merge;
mod new_key;
pub mod sketch;
pub mod t_digest;
pub mod top_k;
mod window_option;

#[cfg(test)]
mod tests;
