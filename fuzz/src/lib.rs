//! What the fuzz targets do with bytes, as plain functions, so that `tests/mutation.rs` does the same
//! within `cargo test`.
//!
//! Each family has two of them. `stored` takes the bytes for a stored form, of any encoding version or a
//! header with chunks; what is not refused is put to every use there is and must survive its own
//! saving and loading. `commands` takes them for a sequence of operations and follows it in a naive
//! model. [`dump::payload`] takes them for a whole DUMP payload.
//!
//! No sketch may ask for more than [`MEMORY_LIMIT`]: the fuzzer is told to report any larger block.

pub mod bloom;
pub mod count_min;
pub mod cuckoo;
pub mod dump;
pub mod input;
pub mod t_digest;
pub mod top_k;

/// Bytes that a sketch may ask for at once: little, since many operations are linear in them.
pub const MEMORY_LIMIT: u64 = 1 << 16;

/// Operations of one sequence: enough to grow everything, few enough to be quick.
pub const MAX_OPERATIONS: usize = 500;

/// Whether a sketch may have so many bytes.
pub fn allows(bytes: u64) -> bool {
    bytes <= MEMORY_LIMIT
}
