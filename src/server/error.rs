//! What a handler returns instead of a reply.

use std::ffi::{CStr, CString};
use std::fmt::Display;

/// Why a command failed; the shim of the handler replies with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// Too few or too many arguments.
    WrongArity,
    /// The key holds a value of another type.
    WrongType,
    /// An error text whose first word is the error code.
    Text(&'static CStr),
    /// An error text that is formatted at run time.
    Formatted(CString),
    /// The key would take more bytes than the setting `sketch-max-key-bytes` allows.
    KeyTooLarge {
        /// Bytes that the key would take.
        bytes: u64,
        /// Bytes that it may take.
        max: u64,
    },
}

impl Error {
    /// The error with this text.
    #[cold]
    pub fn formatted(text: impl Display) -> Self {
        Self::Formatted(CString::new(text.to_string()).unwrap_or_default())
    }
}

impl From<&'static CStr> for Error {
    fn from(text: &'static CStr) -> Self {
        Self::Text(text)
    }
}
