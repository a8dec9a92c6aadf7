//! The arrays of a sketch as buffers of Python, which are not copied.

use crate::arguments::bytes::bytes as bytes_object;
use crate::error::Error;
use crate::sketch::class::Class;
use pyo3::prelude::*;
use pyo3::types::{PyMemoryView, PyTuple};
use std::any::Any;
use std::sync::Arc;

/// Keeps the sketch whose memory buffers have.
#[pyclass(frozen)]
struct Owner {
    _sketch: Arc<dyn Any + Send + Sync>,
}

/// Smaller arrays are copied, which takes less time than the buffers.
const MIN_BYTES: usize = 64 << 10;

/// The header of a sketch, and its arrays as read-only objects of the type `pickle.PickleBuffer`; `None` for small sketches, those without
/// a header, and without the module `ctypes`.
///
/// # Errors
/// `MemoryError`, and those of the modules.
pub fn arrays<'py, T: Class<Variants: 'static>>(
    object: &T,
    py: Python<'py>,
) -> PyResult<Option<Bound<'py, PyTuple>>> {
    let sketch = object.sketch()?;
    let sketch = py.detach(|| sketch.share());
    let arrays = sketch.arrays();
    if arrays.iter().map(|array| array.len()).sum::<usize>() < MIN_BYTES {
        return Ok(None);
    }
    let header = match py.detach(|| sketch.header()) {
        Ok(header) => header,
        Err(error @ Error::OutOfMemory(_)) => return Err(error.into()),
        Err(_) => return Ok(None),
    };
    let owner = Arc::clone(&sketch) as _;
    export(py, &header, &arrays, Owner { _sketch: owner })
}

fn export<'py>(
    py: Python<'py>,
    header: &[u8],
    arrays: &[&[u8]],
    owner: Owner,
) -> PyResult<Option<Bound<'py, PyTuple>>> {
    // The stable interface of Python 3.10 has no functions for buffers.
    let Ok(ctypes) = py.import("ctypes") else {
        return Ok(None);
    };
    let pickle_buffer = py.import("pickle")?.getattr("PickleBuffer")?;
    let owner = Bound::new(py, owner)?;
    let mut exported = vec![bytes_object(py, header)?.into_any()];
    for array in arrays {
        let bytes = ctypes.getattr("c_ubyte")?.mul(array.len())?;
        // The memory is valid, and no write changes it, as long as the owner exists: `Shared::share`.
        let bytes = bytes.call_method1("from_address", (array.as_ptr() as usize,))?;
        bytes.setattr("owner", &owner)?;
        let view = PyMemoryView::from(&bytes)?.call_method0("toreadonly")?;
        exported.push(pickle_buffer.call1((view,))?);
    }
    PyTuple::new(py, exported).map(Some)
}
