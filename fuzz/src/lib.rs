//! What the fuzz targets do with bytes, as plain functions, so that `tests/mutation.rs` does the same
//! within `cargo test`.
//!
//! Each family has two targets. [`stored::stored`] takes the bytes for a stored form, of any encoding version or a
//! header with chunks; what is not refused must survive every operation and its own saving and loading. `commands` takes
//! them for a sequence of operations and compares with a naive model. [`dump::payload`] takes them for a whole DUMP
//! payload.
//!
//! No sketch may ask for more than [`MEMORY_LIMIT`]: the fuzzer reports any larger block.

pub mod bloom;
pub mod count_min;
pub mod cuckoo;
pub mod dump;
pub mod input;
pub mod stored;
pub mod t_digest;
pub mod top_k;

use roughly_dump::Values;
use roughly_sketch::{
    bloom::Chain, count_min::CountMin, cuckoo::CuckooFilter, t_digest::TDigest, top_k::TopK,
};
use stored::Subject;

/// Bytes that a sketch may ask for at once: little, since many operations are linear in them.
pub const MEMORY_LIMIT: u64 = 1 << 16;

/// Operations of one sequence: enough to grow everything, few enough to be quick.
pub const MAX_OPERATIONS: usize = 500;

/// Whether a sketch may have so many bytes.
pub fn allows(bytes: u64) -> bool {
    bytes <= MEMORY_LIMIT
}

/// The targets of a family.
pub struct Family {
    /// Its name in the names of targets.
    pub name: &'static str,
    /// Takes bytes for a stored form.
    pub stored: fn(&[u8]),
    /// Takes bytes for a sequence of operations.
    pub commands: fn(&[u8]),
    payload: fn(u64, &mut Values) -> bool,
    is_type: fn(u64) -> bool,
    seeds: fn(&Values) -> Vec<Vec<u8>>,
}

impl Family {
    const fn new<T: Subject>(name: &'static str, commands: fn(&[u8])) -> Self {
        Self {
            name,
            stored: stored::stored::<T>,
            commands,
            payload: stored::payload::<T>,
            is_type: stored::is_type::<T>,
            seeds: stored::seeds::<T>,
        }
    }
}

/// All families.
pub const FAMILIES: [Family; 5] = [
    Family::new::<Chain>("bloom", bloom::commands),
    Family::new::<CuckooFilter>("cuckoo", cuckoo::commands),
    Family::new::<CountMin>("count_min", count_min::commands),
    Family::new::<TopK>("top_k", top_k::commands),
    Family::new::<TDigest>("t_digest", t_digest::commands),
];
