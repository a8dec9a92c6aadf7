//! The Python package `roughly`: the sketches of `roughly-sketch` as Python classes.
//!
//! In layers, of which each uses only those before it: `error`, `arguments` (items, numbers, columns), `sketch` (what all classes share),
//! `classes`, `files` (payloads, chunks and RDB files whose class is not known) and `base` (the methods that all classes have).

mod arguments;
mod base;
mod classes;
mod error;
mod files;
mod sketch;

/// The compiled part of the package. It needs the GIL: a free-threaded interpreter enables it for an import, because a thread
/// that holds it uses an object outside the gate that a fork closes (see [`sketch::lock`]).
#[pyo3::pymodule(name = "_roughly", gil_used = true)]
mod module {
    #[pymodule_export]
    use super::{
        base::{load, load_chunks, open},
        classes::bloom::BloomFilter,
        classes::count_min::CountMinSketch,
        classes::cuckoo::CuckooFilter,
        classes::t_digest::TDigest,
        classes::top_k::TopK,
        sketch::class::Base,
    };

    use pyo3::types::PyAnyMethods;

    #[pymodule_init]
    fn init(module: &pyo3::Bound<'_, pyo3::types::PyModule>) -> pyo3::PyResult<()> {
        // Not with `add`, which puts names into `__all__`.
        module.setattr("__version__", env!("CARGO_PKG_VERSION"))?;
        module.setattr(
            "_load_arrays",
            pyo3::wrap_pyfunction!(super::files::any::load_arrays, module)?,
        )?;
        module.setattr(
            "_RdbFile",
            module.py().get_type::<super::files::rdb::RdbFile>(),
        )?;
        super::sketch::lock::register(module)
    }
}
