//! The parts that all stored formats share: streams of typed values, little-endian headers, chunks.
//!
//! A sketch is saved to a [`Sink`] and loaded from a [`Source`], value by value in the order of its RDB format. A
//! source can be an RDB file, a DUMP payload, a test or a fuzzer. Headers of SCANDUMP are packed little-endian numbers,
//! which [`Fields`] reads. [`chunks`] splits the arrays of a sketch into the chunks of SCANDUMP, and finds the place of
//! a chunk for LOADCHUNK.

pub mod chunks;
mod dump;
pub mod packed;

use crate::buffer::Buffer;
use crate::memory::OutOfMemory;

/// Why stored bytes are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FormatError {
    /// The stream ended early or could not be read.
    #[error("the data ended early or could not be read")]
    Truncated,
    /// A value is outside the range of its format, or contradicts another one. The text describes it.
    #[error("{0}")]
    Invalid(&'static str),
    /// The encoding version is not one of those that can be read.
    #[error("unknown encoding version {0}")]
    UnknownVersion(u16),
    /// The data are valid, but memory for them was refused.
    #[error(transparent)]
    OutOfMemory(#[from] OutOfMemory),
}

/// A stream of typed values to read from, in the order of an RDB format.
pub trait Source {
    /// The next value, an unsigned integer.
    ///
    /// # Errors
    /// [`FormatError::Truncated`] if there is none or it is of another type.
    fn read_unsigned(&mut self) -> Result<u64, FormatError>;

    /// The next value, a double (any bit pattern).
    ///
    /// # Errors
    /// As [`Source::read_unsigned`].
    fn read_double(&mut self) -> Result<f64, FormatError>;

    /// The next values, all doubles: as many as the slice has elements.
    ///
    /// # Errors
    /// As [`Source::read_unsigned`]. The contents of the slice are then unspecified.
    fn read_doubles(&mut self, values: &mut [f64]) -> Result<(), FormatError> {
        for value in values {
            *value = self.read_double()?;
        }
        Ok(())
    }

    /// The next value, a byte string.
    ///
    /// # Errors
    /// As [`Source::read_unsigned`]. Takes at most as much memory as the stream has bytes.
    fn read_bytes(&mut self) -> Result<Buffer, FormatError>;

    /// The next value, a byte string of this length.
    ///
    /// # Errors
    /// As [`Source::read_bytes`], and [`FormatError::Invalid`] if it has another length.
    fn read_string(&mut self, len: u64) -> Result<Buffer, FormatError> {
        let bytes = self.read_bytes()?;
        refuse_if!(bytes.len() as u64 != len => "a string has another length");
        Ok(bytes)
    }

    /// The next value, an unsigned integer that [`Sink::write_small`] wrote.
    ///
    /// # Errors
    /// As [`Source::read_unsigned`].
    fn read_small(&mut self, _bytes: usize) -> Result<u64, FormatError> {
        self.read_unsigned()
    }

    /// The next value, a byte string that [`Sink::write_fixed`] wrote. A header has these many bytes; otherwise, the caller
    /// checks the length.
    ///
    /// # Errors
    /// As [`Source::read_bytes`].
    fn read_fixed(&mut self, _len: usize) -> Result<Buffer, FormatError> {
        self.read_bytes()
    }

    /// The next value, an array of this length that [`Sink::write_array`] wrote. Zeros if chunks contain it.
    ///
    /// # Errors
    /// As [`Source::read_string`].
    fn read_array(&mut self, len: u64) -> Result<Buffer, FormatError> {
        self.read_string(len)
    }

    /// The next value, a signed integer, which has the same encoding as an unsigned one.
    ///
    /// # Errors
    /// As [`Source::read_unsigned`].
    fn read_signed(&mut self) -> Result<i64, FormatError> {
        self.read_unsigned().map(u64::cast_signed)
    }
}

/// A stream of typed values to write to, in the order of an RDB format.
pub trait Sink {
    /// Appends an unsigned integer.
    fn write_unsigned(&mut self, value: u64);
    /// Appends a signed integer.
    fn write_signed(&mut self, value: i64) {
        self.write_unsigned(value.cast_unsigned());
    }
    /// Appends a double without changing its bits.
    fn write_double(&mut self, value: f64);
    /// Appends a byte string.
    fn write_bytes(&mut self, value: &[u8]);
    /// Appends three unsigned integers. They are one element of a digest that consists of a header and arrays.
    fn write_three(&mut self, values: [u64; 3]) {
        values
            .into_iter()
            .for_each(|value| self.write_unsigned(value));
    }
    /// Appends an unsigned integer, for which a header has only these many bytes.
    fn write_small(&mut self, value: u64, _bytes: usize) {
        self.write_unsigned(value);
    }
    /// Appends a byte string, whose length follows from values before it: a header does not have it.
    fn write_fixed(&mut self, value: &[u8]) {
        self.write_bytes(value);
    }
    /// Appends an array, whose length follows from values before it. Chunks contain it if there is a header.
    fn write_array(&mut self, array: &[u8]) {
        self.write_bytes(array);
    }
}

/// Reads packed little-endian fields from the front of a byte slice.
#[derive(Debug, Clone)]
pub struct Fields<'a> {
    rest: &'a [u8],
}

impl<'a> Fields<'a> {
    /// Starts at the front of `bytes`.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Skips these bytes. Returns false, and skips nothing, if others are next.
    pub fn skip(&mut self, expected: &[u8]) -> bool {
        let rest = self.rest.strip_prefix(expected);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// The next `N` bytes.
    ///
    /// # Errors
    /// [`FormatError::Truncated`] if fewer are left, as for all methods.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], FormatError> {
        let (field, rest) = self
            .rest
            .split_first_chunk::<N>()
            .ok_or(FormatError::Truncated)?;
        self.rest = rest;
        Ok(*field)
    }

    /// The next bytes, so many.
    ///
    /// # Errors
    /// [`FormatError::Truncated`].
    pub fn take(&mut self, len: usize) -> Result<&'a [u8], FormatError> {
        let (bytes, rest) = self
            .rest
            .split_at_checked(len)
            .ok_or(FormatError::Truncated)?;
        self.rest = rest;
        Ok(bytes)
    }

    /// A length of 64 bits, and as many bytes.
    ///
    /// # Errors
    /// [`FormatError::Truncated`].
    pub fn string(&mut self) -> Result<&'a [u8], FormatError> {
        let len = usize::try_from(self.u64()?).map_err(|_| FormatError::Truncated)?;
        self.take(len)
    }

    /// A byte.
    ///
    /// # Errors
    /// [`FormatError::Truncated`].
    pub fn u8(&mut self) -> Result<u8, FormatError> {
        self.array().map(u8::from_le_bytes)
    }

    /// A 16-bit unsigned integer.
    ///
    /// # Errors
    /// [`FormatError::Truncated`].
    pub fn u16(&mut self) -> Result<u16, FormatError> {
        self.array().map(u16::from_le_bytes)
    }

    /// A 32-bit unsigned integer.
    ///
    /// # Errors
    /// [`FormatError::Truncated`].
    pub fn u32(&mut self) -> Result<u32, FormatError> {
        self.array().map(u32::from_le_bytes)
    }

    /// A 64-bit unsigned integer.
    ///
    /// # Errors
    /// [`FormatError::Truncated`].
    pub fn u64(&mut self) -> Result<u64, FormatError> {
        self.array().map(u64::from_le_bytes)
    }

    /// A double.
    ///
    /// # Errors
    /// [`FormatError::Truncated`].
    pub fn f64(&mut self) -> Result<f64, FormatError> {
        self.array().map(f64::from_le_bytes)
    }

    /// The bytes that were not read yet.
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_little_endian_and_end() {
        let mut fields = Fields::new(&[1, 2, 0, 3, 0, 0, 0, 9]);
        assert_eq!(fields.u8(), Ok(1));
        assert_eq!(fields.u16(), Ok(2));
        assert_eq!(fields.u32(), Ok(3));
        assert_eq!(fields.u64(), Err(FormatError::Truncated));
        assert_eq!(fields.rest(), [9]);
    }
}
