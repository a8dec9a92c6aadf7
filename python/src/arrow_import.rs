//! The import of columns by the Arrow PyCapsule interface (<https://arrow.apache.org/docs/format/CDataInterface/PyCapsuleInterface.html>),
//! which passes C structures in capsules. The only module of the package with `unsafe` code.
#![allow(unsafe_code)]

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, from_ffi, from_ffi_and_data_type};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{ArrayRef, make_array};
use arrow_schema::{ArrowError, DataType};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::ffi::{CStr, c_int};
use std::ptr::NonNull;

/// The chunks of a column, which its producer may compute when they are read.
pub struct Chunks {
    data_type: DataType,
    extension: Option<String>,
    source: Source,
}

enum Source {
    Array(Option<ArrayRef>),
    Stream(FFI_ArrowArrayStream),
}

impl Chunks {
    /// The chunks of an object with the method `__arrow_c_array__` or `__arrow_c_stream__`.
    ///
    /// # Errors
    /// Those of the method. `ValueError` if the column has been consumed, `TypeError` if it has a type that the crate
    /// `arrow-schema` does not know.
    pub fn of(column: &Bound<'_, PyAny>) -> PyResult<Self> {
        let py = column.py();
        let array = intern!(py, "__arrow_c_array__");
        if column.hasattr(array)? {
            let (schema, array): (Bound<'_, PyCapsule>, Bound<'_, PyCapsule>) =
                column.call_method0(array)?.extract()?;
            import_array(&schema, &array)
        } else {
            let stream = column.call_method0(intern!(py, "__arrow_c_stream__"))?;
            import_stream(&stream.extract()?)
        }
    }

    /// The type of the elements.
    pub fn data_type(&self) -> &DataType {
        &self.data_type
    }

    /// The name of the extension type of the elements, of their dictionary, or of a column of the table; `None` if there is none.
    pub fn extension(&self) -> Option<&str> {
        self.extension.as_deref()
    }

    /// The next chunk; `None` after the last one. Call it without the GIL, for which the producer may wait.
    ///
    /// # Errors
    /// Those of the producer.
    pub fn next(&mut self) -> Result<Option<ArrayRef>, ArrowError> {
        match &mut self.source {
            Source::Array(array) => Ok(array.take()),
            Source::Stream(stream) => next_of_stream(stream, &self.data_type),
        }
    }
}

fn value_error(error: ArrowError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

fn type_error(error: ArrowError) -> PyErr {
    PyTypeError::new_err(error.to_string())
}

/// The name of an extension type in a schema: of the column, its dictionary, or a column of the table.
///
/// # Errors
/// Metadata that are not UTF-8.
fn extension(schema: &FFI_ArrowSchema) -> Result<Option<String>, ArrowError> {
    if let Some(name) = schema.metadata()?.remove("ARROW:extension:name") {
        return Ok(Some(name));
    }
    for inner in schema.dictionary().into_iter().chain(schema.children()) {
        if let Some(name) = extension(inner)? {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// The structure in a capsule. The name of the capsule states that it has this structure.
fn structure<T>(capsule: &Bound<'_, PyCapsule>, name: &CStr) -> PyResult<NonNull<T>> {
    Ok(capsule.pointer_checked(Some(name))?.cast())
}

fn import_array(schema: &Bound<'_, PyCapsule>, array: &Bound<'_, PyCapsule>) -> PyResult<Chunks> {
    let schema = structure::<FFI_ArrowSchema>(schema, c"arrow_schema")?;
    let array = structure::<FFI_ArrowArray>(array, c"arrow_array")?;
    // SAFETY: a capsule of this name has a pointer to such a structure, which lives as long as the capsule. Only this thread uses
    // it, as the GIL is held.
    let schema = unsafe { schema.as_ref() };
    // SAFETY: as above. Moves the array out of the structure, so that the capsule does not release it.
    let array = unsafe { FFI_ArrowArray::from_raw(array.as_ptr()) };
    if array.is_released() {
        return Err(PyValueError::new_err("the Arrow array has been released"));
    }
    // SAFETY: the interface demands that the producer exports an array of this schema.
    let data = unsafe { from_ffi(array, schema) }.map_err(value_error)?;
    Ok(Chunks {
        data_type: data.data_type().clone(),
        extension: extension(schema).map_err(type_error)?,
        source: Source::Array(Some(make_array(data))),
    })
}

fn import_stream(stream: &Bound<'_, PyCapsule>) -> PyResult<Chunks> {
    let stream = structure::<FFI_ArrowArrayStream>(stream, c"arrow_array_stream")?;
    // SAFETY: a capsule of this name has a pointer to such a structure, which only this thread uses, as the GIL is held. Moves the
    // stream out of the structure, so that the capsule does not release it.
    let mut stream = unsafe { FFI_ArrowArrayStream::from_raw(stream.as_ptr()) };
    let get_schema = callback(stream.get_schema).map_err(value_error)?;
    let mut schema = FFI_ArrowSchema::empty();
    // SAFETY: the stream is not released, as it has callbacks. The callback writes a schema if it returns 0.
    let code = unsafe { get_schema(&raw mut stream, &raw mut schema) };
    check(&mut stream, code).map_err(value_error)?;
    Ok(Chunks {
        data_type: DataType::try_from(&schema).map_err(type_error)?,
        extension: extension(&schema).map_err(type_error)?,
        source: Source::Stream(stream),
    })
}

/// A callback of a stream.
///
/// # Errors
/// The stream is released.
fn callback<T>(callback: Option<T>) -> Result<T, ArrowError> {
    callback
        .ok_or_else(|| ArrowError::CDataInterface("the Arrow stream has been released".to_owned()))
}

fn next_of_stream(
    stream: &mut FFI_ArrowArrayStream,
    data_type: &DataType,
) -> Result<Option<ArrayRef>, ArrowError> {
    let get_next = callback(stream.get_next)?;
    let mut array = FFI_ArrowArray::empty();
    // SAFETY: the stream is not released, as it has callbacks. The callback writes an array if it returns 0.
    let code = unsafe { get_next(stream, &raw mut array) };
    check(stream, code)?;
    if array.is_released() {
        return Ok(None);
    }
    // SAFETY: the interface demands that the arrays of a stream have its schema.
    let data = unsafe { from_ffi_and_data_type(array, data_type.clone()) }?;
    Ok(Some(make_array(data)))
}

/// The error of the last callback of the stream, unless it returned 0.
fn check(stream: &mut FFI_ArrowArrayStream, code: c_int) -> Result<(), ArrowError> {
    if code == 0 {
        return Ok(());
    }
    let text = match stream.get_last_error {
        // SAFETY: the stream is not released, as it has callbacks, and its last callback failed.
        Some(get_last_error) => unsafe { get_last_error(stream) },
        None => std::ptr::null(),
    };
    Err(ArrowError::CDataInterface(
        match NonNull::new(text.cast_mut()) {
            // SAFETY: the text ends with a zero byte, and is valid until the next callback.
            Some(text) => unsafe { CStr::from_ptr(text.as_ptr()) }
                .to_string_lossy()
                .into_owned(),
            None => std::io::Error::from_raw_os_error(code).to_string(),
        },
    ))
}
