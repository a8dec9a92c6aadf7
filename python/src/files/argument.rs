//! Files as arguments: paths, and binary file objects.

use crate::arguments::bytes::{bytes, bytes_of};
use crate::error::FileName;
use pyo3::exceptions::{PyOSError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyInt, PyString};
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// What is done with a file.
#[derive(Debug, Clone, Copy)]
pub enum Access {
    /// It is read.
    Read,
    /// It is written.
    Write,
}

/// A path, or a binary file object.
pub enum FileArgument<'py> {
    /// A path: `str`, `bytes` or `os.PathLike`.
    Path(PathBuf, FileName),
    /// An object with the method `read` or `write`.
    Object(Bound<'py, PyAny>),
}

impl<'py> FileArgument<'py> {
    /// The file of an argument.
    ///
    /// # Errors
    /// `TypeError` for text files and other objects, `ValueError` for a path with a NUL.
    pub fn of(file: &Bound<'py, PyAny>, access: Access) -> PyResult<Self> {
        let is_path = file.is_instance_of::<PyString>()
            || file.is_instance_of::<PyBytes>()
            || file.hasattr("__fspath__")?;
        if is_path {
            let name = file.py().import("os")?.call_method1("fspath", (file,))?;
            let path = match name.cast::<PyBytes>() {
                Ok(bytes) => PathBuf::from(OsStr::from_bytes(bytes.as_bytes())),
                Err(_) => name.extract()?,
            };
            if path.as_os_str().as_bytes().contains(&0) {
                return Err(PyValueError::new_err("embedded null byte"));
            }
            return Ok(Self::Path(path, FileName(Arc::new(name.unbind()))));
        }
        let (method, mode) = match access {
            Access::Read => ("read", "rb"),
            Access::Write => ("write", "wb"),
        };
        if !file.hasattr(method)? {
            return Err(PyTypeError::new_err(format!(
                "expected a path or a binary file, not {}",
                file.get_type().name()?
            )));
        }
        // All text files have it, also the wrappers of `tempfile`.
        if file.hasattr("encoding")? {
            return Err(PyTypeError::new_err(format!(
                "expected a binary file, not a text file: open it with the mode \"{mode}\""
            )));
        }
        Ok(Self::Object(file.clone()))
    }

    /// Calls `use_bytes` with all bytes of the file.
    ///
    /// # Errors
    /// `OSError`, `MemoryError`, those of the method `read`, and those of `use_bytes`.
    pub fn read<R>(
        &self,
        py: Python<'py>,
        use_bytes: impl FnOnce(&[u8]) -> PyResult<R>,
    ) -> PyResult<R> {
        match self {
            Self::Path(path, name) => {
                let bytes = py.detach(|| fs::read(path)).map_err(name.error())?;
                use_bytes(&bytes)
            }
            Self::Object(file) => use_bytes(read_result(&file.call_method0("read")?)?.as_bytes()),
        }
    }

    /// Writes bytes into the file; see [`replace`] for a path.
    ///
    /// # Errors
    /// `OSError`, `MemoryError`, and those of the method `write`.
    pub fn write(&self, py: Python<'py>, payload: &[u8]) -> PyResult<()> {
        match self {
            Self::Path(path, name) => {
                let written = py.detach(|| replace(path, payload));
                Ok(written.map_err(name.error())?)
            }
            Self::Object(file) => write_all(file, payload),
        }
    }
}

/// The bytes that the method `read` of a file returned.
pub fn read_result<'py>(result: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyBytes>> {
    if result.is_instance_of::<PyString>() {
        return Err(PyTypeError::new_err(
            "expected a binary file: read() returned str",
        ));
    }
    bytes_of(result)
}

/// Writes bytes into a file object. The method `write` of a file without a buffer may write a part of them.
fn write_all(file: &Bound<'_, PyAny>, mut payload: &[u8]) -> PyResult<()> {
    while !payload.is_empty() {
        let result = file.call_method1("write", (bytes(file.py(), payload)?,))?;
        // Other objects than files of `io` may return nothing.
        let Ok(count) = result.cast::<PyInt>() else {
            return Ok(());
        };
        payload = match count.extract()? {
            0 => return Err(PyOSError::new_err("the file accepts no more bytes")),
            count => payload.get(count..).unwrap_or_default(),
        };
    }
    Ok(())
}

/// Whether a path is a descriptor or a device, and not a file in a directory.
fn is_descriptor(path: &Path) -> bool {
    path.starts_with("/proc") || path.starts_with("/dev") && !path.starts_with("/dev/shm")
}

/// Writes a file: as a temporary file in the same directory, which then replaces the file. After an error or a crash, the old file
/// is unchanged. Keeps its permissions, and a symbolic link to it. Writes other files than regular ones directly, and the missing target of
/// a link.
fn replace(path: &Path, payload: &[u8]) -> io::Result<()> {
    let old = match fs::metadata(path) {
        Ok(old) => Some(old),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    let is_direct = match &old {
        Some(old) => !old.is_file(),
        None => path.is_symlink(),
    };
    if is_direct || is_descriptor(path) {
        return fs::write(path, payload);
    }
    let path = match old {
        Some(_) => fs::canonicalize(path)?,
        None => path.to_path_buf(),
    };
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    // Not with `tempfile_in`, whose errors have no number. The umask reduces the permissions.
    let mut file = tempfile::Builder::new()
        .prefix(".roughly-")
        .suffix(".tmp")
        .make_in(directory, |path| {
            (OpenOptions::new().write(true).create_new(true).mode(0o666)).open(path)
        })?;
    if let Some(old) = old {
        file.as_file().set_permissions(old.permissions())?;
    }
    file.as_file_mut().write_all(payload)?;
    file.as_file().sync_all()?;
    file.persist(&path).map_err(|error| error.error)?;
    // Otherwise, a crash of the system could undo the replacement. A directory need not be readable.
    if let Ok(directory) = File::open(directory) {
        match directory.sync_all() {
            // The file system does not support it.
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {}
            result => result?,
        }
    }
    Ok(())
}
