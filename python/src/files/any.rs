//! Values whose class is not known.

use crate::classes::bloom::BloomFilter;
use crate::classes::count_min::CountMinSketch;
use crate::classes::cuckoo::CuckooFilter;
use crate::classes::t_digest::TDigest;
use crate::classes::top_k::TopK;
use crate::error::Error;
use crate::files::chunks;
use crate::sketch::class::{Base, Class};
use crate::sketch::dump;
use crate::sketch::variants::Variants;
use pyo3::PyTypeInfo;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyTuple, PyType};
use roughly_dump::{Reader, Writer};

type Loaded = PyResult<Py<PyAny>>;
type LoadChunks = for<'py> fn(
    &Bound<'py, PyType>,
    &[u8],
    &mut chunks::Pairs<'_, 'py>,
) -> PyResult<Bound<'py, PyAny>>;

/// The functions of a class.
struct Functions {
    /// Whether a payload has one of its types. The values are not checked.
    has_type: fn(&[u8]) -> bool,
    load: fn(Python<'_>, &[u8]) -> Option<Loaded>,
    accepts: fn(&[u8]) -> bool,
    load_chunks: LoadChunks,
}

impl Functions {
    const fn of<T: Class>() -> Self {
        Self {
            has_type: |payload| {
                Reader::new(payload)
                    .is_ok_and(|mut reader| T::Variants::load(&mut reader).is_some())
            },
            load: |py, payload| {
                let loaded = dump::load_as::<T>(py, payload)?;
                Some(loaded.map(Py::into_any))
            },
            accepts: chunks::accepts::<T>,
            load_chunks: chunks::load_as::<T>,
        }
    }
}

static CLASSES: [Functions; 5] = [
    Functions::of::<BloomFilter>(),
    Functions::of::<CuckooFilter>(),
    Functions::of::<CountMinSketch>(),
    Functions::of::<TopK>(),
    Functions::of::<TDigest>(),
];

/// The object whose DUMP payload this is.
///
/// # Errors
/// `ValueError` if RESTORE would refuse it, and `MemoryError`.
pub fn load(py: Python<'_>, payload: &[u8]) -> Loaded {
    dump::check(py, payload)?;
    let loaded = CLASSES.iter().find_map(|class| (class.load)(py, payload));
    loaded.unwrap_or_else(|| Err(Error::value("Bad data format: unknown type of value").into()))
}

/// Whether the module type with this id is one of the classes.
pub fn is_sketch(id: u64) -> bool {
    // Without values, so loading it is an error where the type fits.
    let payload = Writer::new(id).finish();
    CLASSES.iter().any(|class| (class.has_type)(&payload))
}

/// The object whose chunks these are, of a class or a subclass of it.
///
/// # Errors
/// `ValueError` if bytes are missing or invalid, or if the object is of another class; `MemoryError`, and those of the iterator.
pub fn load_chunks<'py>(
    pairs: &Bound<'py, PyAny>,
    class: &Bound<'py, PyType>,
) -> PyResult<Bound<'py, PyAny>> {
    let (header, mut pairs) = chunks::header(pairs)?;
    let header = header.as_bytes();
    (accepting(header)?.load_chunks)(class, header, &mut pairs)
}

/// The object of a pickle: with this header, and the bytes of its arrays.
///
/// # Errors
/// As [`load_chunks`]; `TypeError` for objects that are no buffers.
#[pyfunction]
#[pyo3(name = "_load_arrays", signature = (header, *arrays))]
pub fn load_arrays<'py>(
    header: &Bound<'py, PyBytes>,
    arrays: &Bound<'py, PyTuple>,
) -> PyResult<Bound<'py, PyAny>> {
    let class = Base::type_object(header.py());
    let (header, mut pairs) = (header.as_bytes(), chunks::pairs_of(arrays)?);
    (accepting(header)?.load_chunks)(&class, header, &mut pairs)
}

/// The only class that accepts a header.
fn accepting(header: &[u8]) -> Result<&'static Functions, Error> {
    let mut accepted = CLASSES.iter().filter(|class| (class.accepts)(header));
    match (accepted.next(), accepted.next()) {
        (Some(found), None) => Ok(found),
        _ => Err(chunks::BAD_DATA),
    }
}
