//! Strings.

use super::source::Source;
use crate::sketch::lengths::{Bytes, ENCODED, Error, Result, length, length_after};
use roughly_dump::lzf_decompress;

const INTEGER_8: u8 = 0xc0;
const INTEGER_16: u8 = 0xc1;
const INTEGER_32: u8 = 0xc2;
const LZF: u8 = 0xc3;

impl Bytes for Source {
    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        Source::array(self)
    }

    #[inline]
    fn byte(&mut self) -> Result<u8> {
        Source::byte(self)
    }

    fn offset(&self) -> u64 {
        Source::offset(self)
    }
}

/// Consumes a number of lengths.
pub fn skip_lengths(source: &mut Source, count: u64) -> Result<()> {
    (0..count).try_for_each(|_| length(source).map(drop))
}

/// Consumes a string.
#[inline]
pub fn skip_string(source: &mut Source) -> Result<()> {
    let first = source.byte()?;
    let bytes = match first {
        0..ENCODED => length_after(source, first)?,
        INTEGER_8 => 1,
        INTEGER_16 => 2,
        INTEGER_32 => 4,
        LZF => {
            let compressed = length(source)?;
            length(source)?;
            compressed
        }
        _ => return unknown_encoding(source, first),
    };
    source.skip(bytes)
}

/// Consumes a number of strings.
pub fn skip_strings(source: &mut Source, count: u64) -> Result<()> {
    (0..count).try_for_each(|_| skip_string(source))
}

/// A string.
pub fn string(source: &mut Source) -> Result<Vec<u8>> {
    let offset = source.offset();
    let first = source.byte()?;
    let mut bytes = Vec::new();
    match first {
        0..ENCODED => {
            let len = length_after(source, first)?;
            source.take(len, &mut bytes)?;
        }
        INTEGER_8 => bytes = i8::from_le_bytes(source.array()?).to_string().into(),
        INTEGER_16 => bytes = i16::from_le_bytes(source.array()?).to_string().into(),
        INTEGER_32 => bytes = i32::from_le_bytes(source.array()?).to_string().into(),
        LZF => {
            let compressed_len = length(source)?;
            let len = length(source)?;
            let mut compressed = Vec::new();
            source.take(compressed_len, &mut compressed)?;
            bytes = lzf_decompress(&compressed, len).or_else(|error| match error {
                roughly_dump::Error::OutOfMemory(bytes) => Err(Error::OutOfMemory(bytes)),
                error => source.damaged(offset, error.to_string()),
            })?;
        }
        _ => return unknown_encoding(source, first),
    }
    Ok(bytes)
}

fn unknown_encoding<T>(source: &Source, first: u8) -> Result<T> {
    source.damaged(
        source.offset() - 1,
        format!("{first:#04x} is not the encoding of a string"),
    )
}
