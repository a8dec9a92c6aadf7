//! Lengths in RDB files and DUMP payloads.

use pyo3::PyErr;
use std::borrow::Cow;
use std::io;

/// Why a file cannot be read.
#[derive(Debug)]
pub enum Error {
    /// The system reports an error.
    Io(io::Error),
    /// The bytes at an offset are not those of an RDB file.
    Damaged {
        /// The number of bytes before them.
        offset: u64,
        /// What is wrong.
        reason: Cow<'static, str>,
    },
    /// The allocator refused memory for this many bytes.
    OutOfMemory(u64),
    /// A signal handler or the function that reports progress raised an exception.
    Python(PyErr),
}

/// The result of a read.
pub type Result<T> = std::result::Result<T, Error>;

/// The first byte of a string that is not a length: the lowest six bits are the encoding.
pub const ENCODED: u8 = 0xc0;

/// Bytes that are consumed one after the other.
pub trait Bytes {
    /// The next bytes.
    fn array<const N: usize>(&mut self) -> Result<[u8; N]>;

    /// The next byte.
    fn byte(&mut self) -> Result<u8> {
        self.array().map(|[byte]| byte)
    }

    /// The number of bytes that were consumed.
    fn offset(&self) -> u64;
}

/// A length, or a number that is stored as one.
#[inline]
pub fn length(source: &mut impl Bytes) -> Result<u64> {
    let first = source.byte()?;
    length_after(source, first)
}

/// The length whose first byte this is.
#[inline]
pub fn length_after(source: &mut impl Bytes, first: u8) -> Result<u64> {
    match first {
        0..0x40 => Ok(first.into()),
        0x40..0x80 => Ok(u64::from(first & 0x3f) << 8 | u64::from(source.byte()?)),
        0x80 => source.array().map(|bytes| u32::from_be_bytes(bytes).into()),
        0x81 => source.array().map(u64::from_be_bytes),
        _ => Err(Error::Damaged {
            offset: source.offset() - 1,
            reason: format!("{first:#04x} is not a length").into(),
        }),
    }
}

/// The length of a plain string, before its bytes; `None` for a string in another encoding.
pub fn plain_length(source: &mut impl Bytes) -> Result<Option<u64>> {
    match source.byte()? {
        first @ 0..ENCODED => length_after(source, first).map(Some),
        _ => Ok(None),
    }
}
