//! Strings.

use super::file_reader::FileReader;
use crate::sketch::lengths::{Bytes, ENCODED, Error, Result, length, length_after};
use roughly_dump::lzf_decompress;

const INTEGER_8: u8 = 0xc0;
const INTEGER_16: u8 = 0xc1;
const INTEGER_32: u8 = 0xc2;
const LZF: u8 = 0xc3;

impl Bytes for FileReader {
    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        FileReader::array(self)
    }

    #[inline]
    fn byte(&mut self) -> Result<u8> {
        FileReader::byte(self)
    }

    fn offset(&self) -> u64 {
        FileReader::offset(self)
    }
}

/// Consumes a number of lengths.
pub fn skip_lengths(reader: &mut FileReader, count: u64) -> Result<()> {
    (0..count).try_for_each(|_| length(reader).map(drop))
}

/// Consumes a string.
#[inline]
pub fn skip_string(reader: &mut FileReader) -> Result<()> {
    let first = reader.byte()?;
    let bytes = match first {
        0..ENCODED => length_after(reader, first)?,
        INTEGER_8 => 1,
        INTEGER_16 => 2,
        INTEGER_32 => 4,
        LZF => {
            let compressed = length(reader)?;
            length(reader)?;
            compressed
        }
        _ => return unknown_encoding(reader, first),
    };
    reader.skip(bytes)
}

/// Consumes a number of strings.
pub fn skip_strings(reader: &mut FileReader, count: u64) -> Result<()> {
    (0..count).try_for_each(|_| skip_string(reader))
}

/// A string.
pub fn string(reader: &mut FileReader) -> Result<Vec<u8>> {
    let offset = reader.offset();
    let first = reader.byte()?;
    let mut bytes = Vec::new();
    match first {
        0..ENCODED => {
            let len = length_after(reader, first)?;
            reader.take(len, &mut bytes)?;
        }
        INTEGER_8 => bytes = i8::from_le_bytes(reader.array()?).to_string().into(),
        INTEGER_16 => bytes = i16::from_le_bytes(reader.array()?).to_string().into(),
        INTEGER_32 => bytes = i32::from_le_bytes(reader.array()?).to_string().into(),
        LZF => {
            let compressed_len = length(reader)?;
            let len = length(reader)?;
            let mut compressed = Vec::new();
            reader.take(compressed_len, &mut compressed)?;
            bytes = lzf_decompress(&compressed, len).or_else(|error| match error {
                roughly_dump::Error::OutOfMemory(bytes) => Err(Error::OutOfMemory(bytes)),
                error => reader.damaged(offset, error.to_string()),
            })?;
        }
        _ => return unknown_encoding(reader, first),
    }
    Ok(bytes)
}

fn unknown_encoding<T>(reader: &FileReader, first: u8) -> Result<T> {
    reader.damaged(
        reader.offset() - 1,
        format!("{first:#04x} is not the encoding of a string"),
    )
}
