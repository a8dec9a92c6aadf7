//! One model per sketch: a simple implementation of the same operations, written from the specification.
//!
//! `tests/` and the fuzzer (`fuzz/`) run the same functions of bytes, two for each type:
//!
//! - [`sequence::run`] decodes the bytes as parameters and operations, executes them on a sketch and its model, and
//!   compares the results.
//! - [`stored::stored`] decodes the bytes as a stored form: the values of any encoding version, or a header with chunks.
//!   If the decoder accepts them, every operation on the result must succeed or return an error, and saving and
//!   loading must not change it.
//!
//! [`dump::payload`], for all types, decodes the bytes as a complete DUMP payload.
//!
//! A sketch may allocate at most [`MEMORY_LIMIT`] bytes at once; the fuzzer reports larger blocks.

pub mod bloom;
pub mod count_min;
pub mod cuckoo;
pub mod dump;
pub mod input;
pub mod panes;
pub mod refusals;
pub mod seeds;
pub mod sequence;
pub mod stored;
pub mod t_digest;
pub mod top_k;
pub mod valkey_bloom;
pub mod window;

use refusals::{Faults, Runs};
use roughly_dump::Values;
use roughly_sketch::memory::Budget;
use roughly_sketch::stored::Stored;
use sequence::Model;

/// Maximum size of one allocation in bytes. Small, because the time of many operations is linear in it.
pub const MEMORY_LIMIT: u64 = 1 << 16;

/// Whether a sketch may allocate `bytes` bytes at once.
pub fn allows(bytes: u64) -> bool {
    bytes <= MEMORY_LIMIT
}

/// The checks of a type.
#[derive(Debug)]
pub struct Type {
    /// Name of the type in the names of its targets.
    pub name: &'static str,
    /// Decodes and checks a stored form.
    pub stored: fn(&[u8]),
    /// Executes and checks a sequence of operations.
    pub sequence: fn(&[u8]),
    /// Refuses memory to the operations on the value of a stored form.
    pub refusals: fn(&[u8], &dyn Faults) -> Runs,
    /// The encoding versions that the type loads.
    pub versions: (u16, u16),
    /// Whether the type loads a header.
    pub loads_header: fn(&[u8]) -> bool,
    payload: fn(u64, &mut Values) -> bool,
    is_type: fn(u64) -> bool,
    samples: fn() -> Vec<Vec<u8>>,
    seeds: fn(&Values) -> Vec<Vec<u8>>,
}

impl Type {
    const fn new<M: Model>(name: &'static str) -> Self {
        Self {
            name,
            stored: stored::stored::<M::Sketch>,
            sequence: sequence::run::<M>,
            refusals: refusals::check::<M::Sketch>,
            versions: (
                M::Sketch::MIN_ENCODING_VERSION,
                M::Sketch::MAX_ENCODING_VERSION,
            ),
            loads_header: |header| M::Sketch::from_header(header, Budget::new(&allows)).is_ok(),
            payload: stored::payload::<M::Sketch>,
            is_type: stored::is_type::<M::Sketch>,
            samples: sequence::samples::<M>,
            seeds: stored::seeds::<M::Sketch>,
        }
    }
}

/// All types.
pub const TYPES: [Type; 11] = [
    Type::new::<bloom::BloomModel>("bloom"),
    Type::new::<cuckoo::CuckooModel>("cuckoo"),
    Type::new::<count_min::CountMinModel>("count_min"),
    Type::new::<top_k::TopKModel>("top_k"),
    Type::new::<t_digest::TDigestModel>("t_digest"),
    Type::new::<valkey_bloom::ValkeyModel>("valkey_bloom"),
    Type::new::<window::bloom::BloomModel>("bloom_window"),
    Type::new::<window::cuckoo::CuckooModel>("cuckoo_window"),
    Type::new::<count_min::window::WindowModel>("count_min_window"),
    Type::new::<top_k::window::WindowModel>("top_k_window"),
    Type::new::<t_digest::window::WindowModel>("t_digest_window"),
];

/// The fuzz targets with their names: `dump`, `TYPE_stored` and `TYPE_commands`.
pub fn targets() -> impl Iterator<Item = (String, fn(&[u8]))> {
    let dump: fn(&[u8]) = dump::payload;
    let of_types = TYPES.into_iter().flat_map(|of| {
        [
            (format!("{}_stored", of.name), of.stored),
            (format!("{}_commands", of.name), of.sequence),
        ]
    });
    of_types.chain([("dump".to_owned(), dump)])
}
