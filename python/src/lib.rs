//! The Python package `roughly`: the sketches of `roughly-sketch` as Python classes.
//!
//! Each class has a file of its own with the parameters and the texts of the errors of its commands. The files that they
//! share convert arguments and results: `items` (items, and batches of them), `numbers`, `window` (the argument `at`),
//! `sketch` (the types of a class, and the methods that all classes have), `payload` (DUMP payloads and chunks).

mod bloom;
mod count_min;
mod cuckoo;
mod error;
mod items;
mod numbers;
mod numpy_array;
mod payload;
mod sketch;
mod t_digest;
mod top_k;
mod window;

/// The compiled part of the package.
#[pyo3::pymodule(name = "_roughly")]
mod module {
    #[pymodule_export]
    use super::{
        bloom::BloomFilter,
        count_min::CountMinSketch,
        cuckoo::CuckooFilter,
        payload::{load, load_chunks, open},
        t_digest::TDigest,
        top_k::TopK,
    };
}
