//! Bytes as arguments and results.

use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyMemoryView};

/// A Python object with a copy of these bytes. `PyBytes::new` panics if the memory for it is not available.
pub fn bytes<'py>(py: Python<'py>, bytes: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, bytes.len(), |copy| {
        copy.copy_from_slice(bytes);
        Ok(())
    })
}

/// The bytes of a bytes-like object: a copy unless they are `bytes`.
///
/// # Errors
/// `TypeError` for other objects, and `MemoryError`.
pub fn bytes_of<'py>(object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    if let Ok(bytes) = object.cast::<PyBytes>() {
        return Ok(bytes.clone());
    }
    let copy = PyMemoryView::from(object)?.call_method0("tobytes")?;
    Ok(copy.cast_into()?)
}
