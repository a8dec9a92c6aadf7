//! Errors, which may be created without the interpreter.

use pyo3::exceptions::{PyMemoryError, PyOSError, PyOverflowError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use roughly_sketch::count_min::CountMinError;
use roughly_sketch::format::FormatError;
use roughly_sketch::format::chunks::ChunkError;
use roughly_sketch::memory::OutOfMemory;
use roughly_sketch::t_digest::DigestError;
use roughly_sketch::top_k::TopKError;
use roughly_sketch::window::PeriodError;
use std::borrow::Cow;
use std::io;
use std::sync::Arc;

/// Why a call failed.
#[derive(Debug)]
pub enum Error {
    /// `ValueError` with the text of the command.
    Value(Cow<'static, str>),
    /// `TypeError`.
    Type(Cow<'static, str>),
    /// `OverflowError`.
    Overflow(Cow<'static, str>),
    /// `MemoryError`.
    OutOfMemory(OutOfMemory),
    /// `OSError` with the name of the file.
    Os(io::Error, FileName),
}

impl Error {
    /// The error for a null in a column, whose elements have this name.
    pub fn null(name: &str, position: usize) -> Self {
        Self::Value(format!("the {name} at position {position} is null").into())
    }

    /// The error for NaN as an item: of an array with its position.
    pub fn nan(position: Option<usize>) -> Self {
        let item = position.map_or("the item".to_owned(), |position| {
            format!("the item at position {position}")
        });
        Self::Value(format!("{item} is NaN, which is no item").into())
    }

    /// A `ValueError` with this text.
    pub const fn value(text: &'static str) -> Self {
        Self::Value(Cow::Borrowed(text))
    }
}

impl From<Error> for PyErr {
    fn from(error: Error) -> Self {
        match error {
            Error::Value(text) => PyValueError::new_err(text.into_owned()),
            Error::Type(text) => PyTypeError::new_err(text.into_owned()),
            Error::Overflow(text) => PyOverflowError::new_err(text.into_owned()),
            Error::OutOfMemory(error) => PyMemoryError::new_err(error.to_string()),
            Error::Os(error, name) => os_error(&error, &name),
        }
    }
}

impl From<OutOfMemory> for Error {
    fn from(error: OutOfMemory) -> Self {
        Self::OutOfMemory(error)
    }
}

/// The errors of the sketches have the texts of the commands.
macro_rules! from_sketches {
    ($($error:ident),+) => {
        $(impl From<$error> for Error {
            fn from(error: $error) -> Self {
                match error {
                    $error::OutOfMemory(error) => error.into(),
                    error => Self::Value(error.to_string().into()),
                }
            }
        })+
    };
}
from_sketches!(CountMinError, DigestError, TopKError);

impl From<PeriodError> for Error {
    fn from(error: PeriodError) -> Self {
        Self::Value(error.to_string().into())
    }
}

/// The text of RESTORE, followed by the reason.
impl From<FormatError> for Error {
    fn from(error: FormatError) -> Self {
        match error {
            FormatError::OutOfMemory(error) => error.into(),
            error => Self::Value(format!("Bad data format: {error}").into()),
        }
    }
}

/// The texts of LOADCHUNK.
impl From<ChunkError> for Error {
    fn from(error: ChunkError) -> Self {
        Self::value(match error {
            ChunkError::BadIterator | ChunkError::Invalid(_) => "received bad data",
            ChunkError::NoArray => "invalid offset - no link found",
            ChunkError::TooLong => "invalid chunk - Too big for current filter",
        })
    }
}

/// The number of an error of input or output.
const EIO: i32 = 5;

/// The name of a file in errors: the result of `os.fspath`, as in errors of Python's `open`.
#[derive(Debug, Clone)]
pub struct FileName(pub Arc<Py<PyAny>>);

impl FileName {
    /// Adds the name to an error.
    pub fn error(&self) -> impl Fn(io::Error) -> Error {
        let name = self.clone();
        move |error| Error::Os(error, name.clone())
    }
}

/// `OSError`, which selects its subclass, with the name of the file. `MemoryError` if a file does not fit in memory.
pub fn os_error(error: &io::Error, FileName(name): &FileName) -> PyErr {
    if error.kind() == io::ErrorKind::OutOfMemory {
        return PyMemoryError::new_err(error.to_string());
    }
    let (number, text) = match error.kind() {
        // Without a number in the error of Rust.
        io::ErrorKind::UnexpectedEof => (Some(EIO), "the file ends early".to_owned()),
        _ => (error.raw_os_error(), error.to_string()),
    };
    // Python adds the number.
    let text = text.split(" (os error").next().map(str::to_owned);
    let name = Python::attach(|py| name.clone_ref(py));
    PyOSError::new_err((number, text, name))
}
