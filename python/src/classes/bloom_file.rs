//! [`BloomFile`]: a Bloom filter whose bits stay in a file.

use crate::error::{Error, FileName};
use crate::sketch::lengths::{self, Bytes, length, plain_length};
use crate::sketch::payload::version_of;
use crate::sketch::variants::BlockBytes;
use roughly_dump::{
    FOOTER_BYTES, MODULE_VALUE, OPCODE_DOUBLE, OPCODE_END, OPCODE_SIGNED, OPCODE_STRING,
    OPCODE_UNSIGNED,
};
use roughly_sketch::blocks::Blocks;
use roughly_sketch::bloom::Chain;
use roughly_sketch::bloom::external::ExternalChain;
use roughly_sketch::buffer::Buffer;
use roughly_sketch::format::{FormatError, Source};
use roughly_sketch::memory::{OutOfMemory, try_push};
use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf, absolute};

/// A file with the payload of a Bloom filter. Its reads have a position of their own, so threads and processes can share it.
#[derive(Debug)]
pub struct BloomFile {
    file: File,
    /// Without the directory of the process, which can change.
    path: PathBuf,
    name: FileName,
    /// Bytes of the file when it was opened.
    size: u64,
    chain: ExternalChain,
    /// The offset of the bits of each sub-filter.
    arrays: Vec<u64>,
}

/// The text of an error for values that `open` can read whole.
const NOT_CLASSIC: Error = Error::value(
    "the value can only be read whole: it is no Bloom filter of RedisBloom's type without a window",
);
const COMPRESSED: Error = Error::value("the value can only be read whole: its bits are compressed");

impl BloomFile {
    /// Opens a file, and reads its values except for the bits.
    ///
    /// # Errors
    /// [`Error::Os`], and [`Error::Value`] if the value is of another type, compressed or invalid.
    pub fn open(path: &Path, name: FileName) -> Result<Self, Error> {
        let file = File::open(path).map_err(name.error())?;
        let size = file.metadata().map_err(name.error())?.len();
        let mut arrays = Vec::new();
        let mut values = Values {
            file: BufReader::new(&file),
            offset: 0,
            size,
            name: &name,
            error: None,
        };
        let chain = values.chain(&mut arrays);
        let chain = match values.error {
            Some(error) => return Err(error),
            None => chain?,
        };
        Ok(Self {
            file,
            path: absolute(path).map_err(name.error())?,
            name,
            size,
            chain,
            arrays,
        })
    }

    /// The absolute path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The parameters of the filter.
    pub fn chain(&self) -> &ExternalChain {
        &self.chain
    }

    /// Whether an item may have been added: reads at most one byte per hash function of each sub-filter. Call it without the GIL.
    ///
    /// # Errors
    /// [`Error::Os`].
    pub fn contains(&self, item: &[u8]) -> Result<bool, Error> {
        self.chain.contains(item, |filter, offset| {
            let mut byte = [0];
            self.read(&mut byte, self.arrays[filter] + offset)?;
            Ok(byte[0])
        })
    }

    /// The payload. Call it without the GIL.
    ///
    /// # Errors
    /// [`Error::Os`], and [`Error::OutOfMemory`].
    pub fn payload(&self) -> Result<Vec<u8>, Error> {
        let mut payload: Vec<u8> = Buffer::zeroed(self.size)?.into();
        self.read(&mut payload, 0)?;
        Ok(payload)
    }

    fn read(&self, bytes: &mut [u8], offset: u64) -> Result<(), Error> {
        let read = self.file.read_exact_at(bytes, offset);
        read.map_err(self.name.error())
    }

    /// Bytes of the memory blocks.
    pub fn block_bytes(&self) -> u64 {
        let mut bytes = BlockBytes::default();
        self.chain.chain().for_each_block(&mut bytes);
        bytes.0 + (self.arrays.capacity() * size_of::<u64>()) as u64
    }
}

/// The values of a payload in a file.
struct Values<'a> {
    file: BufReader<&'a File>,
    /// The number of bytes that were consumed.
    offset: u64,
    /// The size of the file.
    size: u64,
    name: &'a FileName,
    /// An error that [`FormatError`] does not have.
    error: Option<Error>,
}

impl Bytes for Values<'_> {
    fn array<const N: usize>(&mut self) -> lengths::Result<[u8; N]> {
        let mut array = [0; N];
        self.file
            .read_exact(&mut array)
            .map_err(lengths::Error::Io)?;
        self.offset += N as u64;
        Ok(array)
    }

    fn offset(&self) -> u64 {
        self.offset
    }
}

impl Values<'_> {
    /// The chain. Appends the offsets of its bit arrays to `arrays`.
    fn chain(&mut self, arrays: &mut Vec<u64>) -> Result<ExternalChain, Error> {
        if self.read(Self::byte)? != MODULE_VALUE {
            return Err(Error::value("DUMP payload version or checksum are wrong"));
        }
        let version = version_of::<Chain>(self.read(length)?).ok_or(NOT_CLASSIC)?;
        let chain = ExternalChain::load(self, version, |values| {
            values.opcode(&[OPCODE_STRING])?;
            let Some(len) = values.read(plain_length)? else {
                values.error = Some(COMPRESSED);
                return Err(FormatError::Truncated);
            };
            try_push(arrays, values.offset)?;
            values.skip(len)?;
            Ok(len)
        })?;
        self.opcode(&[OPCODE_END])?;
        match self.offset.checked_add(FOOTER_BYTES as u64) == Some(self.size) {
            true => Ok(chain),
            false => Err(FormatError::Invalid("the file has another length").into()),
        }
    }

    /// The result of a read. [`FormatError::Truncated`] for an error, which is kept unless it is the end of the file.
    fn read<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> lengths::Result<T>,
    ) -> Result<T, FormatError> {
        read(self).map_err(|error| {
            self.error = match error {
                lengths::Error::Io(error) if error.kind() == io::ErrorKind::UnexpectedEof => None,
                lengths::Error::Io(error) => Some(Error::Os(error, self.name.clone())),
                lengths::Error::Damaged { reason, .. } => {
                    Some(Error::Value(format!("Bad data format: {reason}").into()))
                }
                lengths::Error::OutOfMemory(bytes) => Some(OutOfMemory { bytes }.into()),
                // Only Python's files and functions have them.
                lengths::Error::Python(_) => None,
            };
            FormatError::Truncated
        })
    }

    /// The number before a value, which must be one of these.
    fn opcode(&mut self, expected: &[u64]) -> Result<(), FormatError> {
        match expected.contains(&self.read(length)?) {
            true => Ok(()),
            false => Err(FormatError::Truncated),
        }
    }

    /// Consumes bytes without reading them.
    fn skip(&mut self, bytes: u64) -> Result<(), FormatError> {
        let end = self.offset.checked_add(bytes);
        let end = (end.filter(|&end| end <= self.size)).ok_or(FormatError::Truncated)?;
        let distance = i64::try_from(bytes).map_err(|_| FormatError::Truncated)?;
        self.read(|values| {
            let skipped = values.file.seek_relative(distance);
            skipped.map_err(lengths::Error::Io)
        })?;
        self.offset = end;
        Ok(())
    }
}

impl Source for Values<'_> {
    fn read_unsigned(&mut self) -> Result<u64, FormatError> {
        self.opcode(&[OPCODE_SIGNED, OPCODE_UNSIGNED])?;
        self.read(length)
    }

    fn read_double(&mut self) -> Result<f64, FormatError> {
        self.opcode(&[OPCODE_DOUBLE])?;
        self.read(Self::array).map(f64::from_le_bytes)
    }

    /// Not for the bits, which are skipped.
    fn read_bytes(&mut self) -> Result<Buffer, FormatError> {
        Err(FormatError::Truncated)
    }
}
