//! Reads the sketches of an RDB file.
//!
//! `source` reads bytes, `text` strings, `value` skips values, `records` finds the keys with a sketch. This file has the
//! Python class.

mod file_reader;
mod records;
mod text;
mod value;

use crate::arguments::bytes::bytes;
use crate::error::{FileName, os_error};
use crate::files::any;
use crate::files::argument::{Access, FileArgument, read_result};
use crate::sketch::lengths::Error;
use file_reader::FileReader;
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use records::{Record, Records};
use std::fs::File;
use std::io::{self, Read};

/// The sketches in an RDB file: an iterator of tuples of database, key, expiry and object.
#[pyclass(module = "roughly", name = "_RdbFile")]
pub struct RdbFile {
    /// `None` after the end of the file, or after damage.
    records: Option<Records>,
    /// That of a path.
    name: Option<FileName>,
}

/// A tuple of database, key, expiry in Unix milliseconds, and object.
type Entry = (u64, Py<PyBytes>, Option<i64>, Py<PyAny>);

#[pymethods]
impl RdbFile {
    /// Opens a file: a path, or a binary file object. `progress` is called with the number of bytes that were read and the size
    /// of the file, if it is known.
    #[new]
    fn new(file: &Bound<'_, PyAny>, progress: Option<Py<PyAny>>) -> PyResult<Self> {
        let (file, size, name): (Box<dyn Read + Send + Sync>, _, _) =
            match FileArgument::of(file, Access::Read)? {
                FileArgument::Path(path, name) => {
                    let file = File::open(&path).map_err(name.error())?;
                    let metadata = file.metadata().map_err(name.error())?;
                    // Pipes have no size.
                    let size = metadata.is_file().then_some(metadata.len());
                    (Box::new(file), size, Some(name))
                }
                FileArgument::Object(file) => (Box::new(FileObject(file.unbind())), None, None),
            };
        let on_read = move |bytes| {
            Python::attach(|py| {
                py.check_signals()?;
                match &progress {
                    Some(progress) => progress.call1(py, (bytes, size)).map(drop),
                    None => Ok(()),
                }
            })
        };
        let reader = FileReader::new(file, size, Box::new(on_read));
        let reader = reader.map_err(|error| exception(error, name.as_ref()))?;
        Ok(Self {
            records: Some(Records::new(reader)),
            name,
        })
    }

    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&mut self, py: Python<'_>) -> PyResult<Option<Entry>> {
        let Some(records) = &mut self.records else {
            return Ok(None);
        };
        let record = py.detach(|| records.next_sketch());
        let Record {
            database,
            key,
            expires,
            offset,
            payload,
        } = match record {
            Ok(Some(record)) => record,
            Ok(None) => {
                self.records = None;
                return Ok(None);
            }
            Err(error) => {
                self.records = None;
                return Err(exception(error, self.name.as_ref()));
            }
        };
        let key = bytes(py, &key)?;
        let object = any::load(py, &payload).map_err(|error| {
            match error.is_instance_of::<PyValueError>(py) {
                true => {
                    let reason = error.value(py);
                    let key = key.repr().map(|key| key.to_string()).unwrap_or_default();
                    PyValueError::new_err(format!("offset {offset}: key {key}: {reason}"))
                }
                false => error,
            }
        })?;
        Ok(Some((database, key.unbind(), expires, object)))
    }
}

/// A binary file object. Its errors contain the exception.
struct FileObject(Py<PyAny>);

impl Read for FileObject {
    fn read(&mut self, block: &mut [u8]) -> io::Result<usize> {
        let read = |py: Python<'_>| {
            let bytes = self.0.bind(py).call_method1("read", (block.len(),))?;
            let bytes = read_result(&bytes)?;
            let bytes = bytes.as_bytes();
            let Some(start) = block.get_mut(..bytes.len()) else {
                return Err(PyValueError::new_err(
                    "read(n) of the file returned more than n bytes",
                ));
            };
            start.copy_from_slice(bytes);
            Ok(bytes.len())
        };
        // Of another kind than `Interrupted`, after which the read would be repeated.
        Python::attach(read).map_err(io::Error::other)
    }
}

/// The exception of an error.
fn exception(error: Error, name: Option<&FileName>) -> PyErr {
    match error {
        Error::Python(error) => error,
        Error::Io(error) => match name {
            Some(name) => os_error(&error, name),
            None => error.into(),
        },
        Error::Damaged { offset, reason } => {
            PyValueError::new_err(format!("offset {offset}: {reason}"))
        }
        Error::OutOfMemory(bytes) => {
            PyMemoryError::new_err(format!("not enough memory for {bytes} bytes"))
        }
    }
}
