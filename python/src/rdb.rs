//! Reads the sketches of an RDB file.
//!
//! `source` reads bytes, `text` lengths and strings, `value` skips values, `records` finds the keys with a sketch. This file has the
//! Python class.

mod records;
mod source;
mod text;
mod value;

use crate::payload;
use pyo3::exceptions::{PyMemoryError, PyOSError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use records::{Record, Records};
use source::{Error, Source};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

/// The sketches in an RDB file: an iterator of tuples of database, key, expiry and object.
#[pyclass(module = "roughly", name = "_RdbFile")]
pub struct RdbFile {
    /// `None` after the end of the file, or after damage.
    records: Option<Records>,
    path: PathBuf,
}

/// A tuple of database, key, expiry in Unix milliseconds, and object.
type Entry = (u64, Py<PyBytes>, Option<i64>, Py<PyAny>);

#[pymethods]
impl RdbFile {
    /// Opens a file. `progress` is called with the number of bytes that were read and the size of the file.
    #[new]
    fn new(path: PathBuf, progress: Option<Py<PyAny>>) -> PyResult<Self> {
        let open = || {
            let file = File::open(&path)?;
            let metadata = file.metadata()?;
            // Pipes have no size.
            Ok((file, metadata.is_file().then_some(metadata.len())))
        };
        let (file, size) = open().map_err(|error| os_error(&error, &path))?;
        let on_read = move |bytes| {
            Python::attach(|py| {
                py.check_signals()?;
                match &progress {
                    Some(progress) => progress.call1(py, (bytes, size)).map(drop),
                    None => Ok(()),
                }
            })
        };
        let source = Source::new(Box::new(file), size, Box::new(on_read));
        let source = source.map_err(|error| exception(error, &path))?;
        Ok(Self {
            records: Some(Records::new(source)),
            path,
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
                return Err(exception(error, &self.path));
            }
        };
        let key = payload::bytes(py, &key)?;
        let object = payload::load(py, Some(&payload)).map_err(|error| {
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

/// The exception of an error.
fn exception(error: Error, path: &Path) -> PyErr {
    match error {
        Error::Python(error) => error,
        Error::Io(error) => os_error(&error, path),
        Error::Damaged { offset, reason } => {
            PyValueError::new_err(format!("offset {offset}: {reason}"))
        }
        Error::OutOfMemory(bytes) => {
            PyMemoryError::new_err(format!("not enough memory for {bytes} bytes"))
        }
    }
}

/// `OSError`, which selects its subclass, with the name of the file.
fn os_error(error: &io::Error, path: &Path) -> PyErr {
    let text = error.to_string();
    // Python adds the number.
    let text = text.split(" (os error").next().map(str::to_owned);
    PyOSError::new_err((error.raw_os_error(), text, path.to_path_buf()))
}
