//! The fuzz drivers, as functions of bytes, so that `tests/mutation.rs` can run them in `cargo test`.
//!
//! Each type has two targets. [`stored::stored`] decodes the bytes as a stored form: the values of any encoding
//! version, or a header with chunks. If the decoder accepts them, every operation on the result must succeed or return
//! an error, and saving and loading must not change it. `commands` decodes the bytes as a sequence of operations and
//! compares the results with a simple model. [`dump::payload`], a target for all types, decodes the bytes as a
//! complete DUMP payload. A type with a window is a family of its own here.
//!
//! A sketch may allocate at most [`MEMORY_LIMIT`] bytes at once; the fuzzer reports larger blocks.

pub mod bloom;
pub mod count_min;
pub mod cuckoo;
pub mod dump;
pub mod input;
pub mod stored;
pub mod t_digest;
pub mod top_k;
pub mod valkey_bloom;
pub mod window;

use roughly_dump::Values;
use roughly_sketch::bloom::Chain;
use roughly_sketch::count_min::{CountMin, CountMinWindow};
use roughly_sketch::cuckoo::CuckooFilter;
use roughly_sketch::t_digest::{TDigest, TDigestWindow};
use roughly_sketch::top_k::{TopK, TopKWindow};
use roughly_sketch::valkey_bloom::ValkeyChain;
use roughly_sketch::window_filter::{WindowMultiset, WindowSet};
use stored::Subject;

/// Maximum size of one allocation in bytes. Small, because the time of many operations is linear in it.
pub const MEMORY_LIMIT: u64 = 1 << 16;

/// Maximum number of operations per sequence: enough for every sketch to grow, and still fast.
pub const MAX_OPERATIONS: usize = 500;

/// Whether a sketch may allocate `bytes` bytes at once.
pub fn allows(bytes: u64) -> bool {
    bytes <= MEMORY_LIMIT
}

/// The fuzz targets of a family.
pub struct Family {
    /// Name of the family in the names of its targets.
    pub name: &'static str,
    /// Decodes and checks a stored form.
    pub stored: fn(&[u8]),
    /// Executes and checks a sequence of operations.
    pub commands: fn(&[u8]),
    payload: fn(u64, &mut Values) -> bool,
    is_type: fn(u64) -> bool,
    samples: fn() -> Vec<Vec<u8>>,
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
            samples: stored::samples::<T>,
            seeds: stored::seeds::<T>,
        }
    }
}

/// All families.
pub const FAMILIES: [Family; 11] = [
    Family::new::<Chain>("bloom", bloom::commands),
    Family::new::<CuckooFilter>("cuckoo", cuckoo::commands),
    Family::new::<CountMin>("count_min", count_min::commands),
    Family::new::<TopK>("top_k", top_k::commands),
    Family::new::<TDigest>("t_digest", t_digest::commands),
    Family::new::<ValkeyChain>("valkey_bloom", valkey_bloom::commands),
    Family::new::<WindowSet>("bloom_window", bloom::window::commands),
    Family::new::<WindowMultiset>("cuckoo_window", cuckoo::window::commands),
    Family::new::<CountMinWindow>("count_min_window", count_min::window::commands),
    Family::new::<TopKWindow>("top_k_window", top_k::window::commands),
    Family::new::<TDigestWindow>("t_digest_window", t_digest::window::commands),
];
