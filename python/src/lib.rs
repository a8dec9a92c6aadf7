//! The Python package `roughly`: the sketches of `roughly-sketch` as Python classes.
//!
//! Each class has a file of its own with the parameters and the texts of the errors of its commands. The files that they
//! share convert arguments and results: `items` and `batch` (items, and batches of them), `arrow` (columns), `lock` (the lock of an object), `numbers`,
//! `window` (windows, and the arguments `at` and `within`), `base` (the methods that all classes have), `sketch` (the types of a class), `payload` (DUMP
//! payloads), `chunks`, `files` (paths and file objects), `bloom_file` (look-ups in a file), `rdb` (RDB files), `period` (periods of a window).

mod arrow;
mod arrow_import;
mod base;
mod batch;
mod bloom;
mod bloom_file;
mod chunks;
mod count_min;
mod cuckoo;
mod error;
mod files;
mod items;
mod lock;
mod numbers;
mod numpy_array;
mod payload;
mod period;
mod rdb;
mod sketch;
mod t_digest;
mod top_k;
mod window;

/// The compiled part of the package. It needs the GIL: a free-threaded interpreter enables it for an import, because a thread
/// that holds it uses an object outside the gate that a fork closes (see [`lock`]).
#[pyo3::pymodule(name = "_roughly", gil_used = true)]
mod module {
    #[pymodule_export]
    use super::{
        base::{Base, load, load_chunks, open},
        bloom::BloomFilter,
        count_min::CountMinSketch,
        cuckoo::CuckooFilter,
        t_digest::TDigest,
        top_k::TopK,
    };

    use pyo3::types::PyAnyMethods;

    #[pymodule_init]
    fn init(module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        // Not with `add`, which puts names into `__all__`.
        module.setattr("__version__", env!("CARGO_PKG_VERSION"))?;
        module.setattr("_RdbFile", module.py().get_type::<super::rdb::RdbFile>())?;
        super::lock::register(module)
    }
}
