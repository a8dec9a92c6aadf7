//! The bytes of a file: read in blocks, counted, hashed for the checksum, and copied where a value is needed.

use crate::sketch::lengths::{Error, Result};
use pyo3::PyErr;
use roughly_dump::add_to_checksum;
use std::borrow::Cow;
use std::io::{self, Read};

/// A function that is called with the number of bytes that were read.
pub type OnRead = dyn FnMut(u64) -> std::result::Result<(), PyErr> + Send + Sync;

const BLOCK_BYTES: usize = 256 << 10;
/// `OnRead` is called after this many bytes.
const REPORT_BYTES: u64 = 4 << 20;

/// A file that is read once, from the start to the end.
pub struct FileReader {
    file: Box<dyn Read + Send + Sync>,
    size: Option<u64>,
    block: Box<[u8]>,
    /// The bytes of the block that were read from the file and are not yet consumed.
    start: usize,
    end: usize,
    /// The offset of the block in the file.
    block_offset: u64,
    /// The first byte of the block that is neither hashed nor copied.
    unprocessed: usize,
    /// That of the hashed bytes.
    checksum: u64,
    copy: Option<Vec<u8>>,
    on_read: Box<OnRead>,
    next_report: u64,
}

impl FileReader {
    /// A file of a size, or of an unknown size.
    pub fn new(
        file: Box<dyn Read + Send + Sync>,
        size: Option<u64>,
        on_read: Box<OnRead>,
    ) -> Result<Self> {
        let mut block = Vec::new();
        reserve(&mut block, BLOCK_BYTES as u64)?;
        block.resize(BLOCK_BYTES, 0);
        Ok(Self {
            file,
            size,
            block: block.into(),
            start: 0,
            end: 0,
            block_offset: 0,
            unprocessed: 0,
            checksum: 0,
            copy: None,
            on_read,
            next_report: REPORT_BYTES,
        })
    }

    /// The number of bytes that were consumed.
    pub fn offset(&self) -> u64 {
        self.block_offset + self.start as u64
    }

    /// The error of bytes that start at this offset.
    pub fn damaged<T>(&self, offset: u64, reason: impl Into<Cow<'static, str>>) -> Result<T> {
        Err(Error::Damaged {
            offset,
            reason: reason.into(),
        })
    }

    /// The next byte.
    #[inline]
    pub fn byte(&mut self) -> Result<u8> {
        if self.start == self.end {
            self.fill()?;
        }
        let byte = self.block[self.start];
        self.start += 1;
        Ok(byte)
    }

    /// The next bytes.
    pub fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        for byte in &mut array {
            *byte = self.byte()?;
        }
        Ok(array)
    }

    /// Consumes bytes.
    #[inline]
    pub fn skip(&mut self, bytes: u64) -> Result<()> {
        if bytes <= (self.end - self.start) as u64 {
            self.start += bytes as usize;
            return Ok(());
        }
        self.skip_blocks(bytes)
    }

    fn skip_blocks(&mut self, mut bytes: u64) -> Result<()> {
        self.check_size(bytes)?;
        if let (Some(copy), Some(_)) = (&mut self.copy, self.size) {
            // The exact size, because doubling could take twice as much.
            reserve(copy, bytes + BLOCK_BYTES as u64)?;
        }
        loop {
            let available = (self.end - self.start) as u64;
            if bytes <= available {
                self.start += bytes as usize;
                return Ok(());
            }
            bytes -= available;
            self.start = self.end;
            self.fill()?;
        }
    }

    /// The next bytes, in memory.
    pub fn take(&mut self, bytes: u64, taken: &mut Vec<u8>) -> Result<()> {
        self.check_size(bytes)?;
        let mut left = bytes;
        while left > 0 {
            if self.start == self.end {
                self.fill()?;
            }
            let available =
                (self.end - self.start).min(usize::try_from(left).unwrap_or(usize::MAX));
            reserve(taken, available as u64)?;
            taken.extend_from_slice(&self.block[self.start..self.start + available]);
            self.start += available;
            left -= available as u64;
        }
        Ok(())
    }

    /// Refuses a length that exceeds the rest of the file, before memory is allocated for it.
    fn check_size(&self, bytes: u64) -> Result<()> {
        match self.size {
            Some(size) if bytes > size.saturating_sub(self.offset()) => self.damaged(
                self.offset(),
                format!("{bytes} bytes are missing at the end of the file"),
            ),
            _ => Ok(()),
        }
    }

    /// Starts to copy what is consumed, behind these bytes.
    pub fn start_copy(&mut self, prefix: &[u8]) -> Result<()> {
        self.process()?;
        let mut copy = Vec::new();
        reserve(&mut copy, prefix.len() as u64)?;
        copy.extend_from_slice(prefix);
        self.copy = Some(copy);
        Ok(())
    }

    /// Ends the copy and returns it.
    pub fn end_copy(&mut self) -> Result<Vec<u8>> {
        self.process()?;
        Ok(self.copy.take().unwrap_or_default())
    }

    /// Hashes and copies what was consumed.
    fn process(&mut self) -> Result<()> {
        let consumed = &self.block[self.unprocessed..self.start];
        self.checksum = add_to_checksum(self.checksum, consumed);
        if let Some(copy) = &mut self.copy {
            if copy.capacity() - copy.len() < consumed.len() {
                copy.try_reserve(consumed.len())
                    .map_err(|_| Error::OutOfMemory(consumed.len() as u64))?;
            }
            copy.extend_from_slice(consumed);
        }
        self.unprocessed = self.start;
        Ok(())
    }

    /// Reads the next block. Call it when the block is consumed.
    #[cold]
    fn fill(&mut self) -> Result<()> {
        self.process()?;
        self.block_offset += self.end as u64;
        (self.start, self.end, self.unprocessed) = (0, 0, 0);
        if self.block_offset >= self.next_report {
            self.report()?;
        }
        self.end = loop {
            match self.file.read(&mut self.block) {
                Ok(0) => return self.damaged(self.block_offset, "the file ends early"),
                Ok(bytes) => break bytes,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => self.report()?,
                Err(error) => return Err(Error::Io(error)),
            }
        };
        Ok(())
    }

    /// Calls the function that reports progress.
    pub fn report(&mut self) -> Result<()> {
        self.next_report = self.block_offset + REPORT_BYTES;
        let offset = self.offset();
        (self.on_read)(offset).map_err(Error::Python)
    }

    /// The checksum of what was consumed.
    pub fn checksum(&mut self) -> Result<u64> {
        self.process()?;
        Ok(self.checksum)
    }
}

/// Allocates memory for more bytes.
pub fn reserve(vec: &mut Vec<u8>, bytes: u64) -> Result<()> {
    let additional = usize::try_from(bytes).unwrap_or(usize::MAX);
    vec.try_reserve_exact(additional)
        .map_err(|_| Error::OutOfMemory(bytes))
}
