//! Bytes as a stream of whatever is asked for.

use roughly_sketch::buffer::Buffer;
use roughly_sketch::format::{FormatError, Sink, Source};

/// From this first byte on the bytes hold a header and chunks; below, it is the encoding version of the
/// values that follow.
pub const CHUNKED: u8 = 8;

/// Reads a fuzzer's bytes. What is missing at the end is zero.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    rest: &'a [u8],
}

impl<'a> Input<'a> {
    /// All of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Up to `len` bytes.
    pub fn bytes(&mut self, len: usize) -> &'a [u8] {
        let (taken, rest) = self.rest.split_at(len.min(self.rest.len()));
        self.rest = rest;
        taken
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut array = [0; N];
        let taken = self.bytes(N);
        array[..taken.len()].copy_from_slice(taken);
        array
    }

    /// A byte.
    pub fn byte(&mut self) -> u8 {
        self.array::<1>()[0]
    }

    /// A number below 2^16.
    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }

    /// A number below 2^32.
    pub fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    /// Any 64 bits.
    pub fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }

    /// One of some values.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::from(self.byte()) % of.len()]
    }

    /// An item: mostly one of 64 short ones, so that sequences meet the same ones again.
    pub fn item(&mut self) -> &'a [u8] {
        const KNOWN: [u8; 64] = {
            let mut known = [0; 64];
            let mut i = 0;
            while i < 64 {
                known[i] = i as u8;
                i += 1;
            }
            known
        };
        match self.byte() {
            0 => &[],
            byte if byte < 240 => {
                let at = usize::from(byte % 64);
                &KNOWN[at..=at]
            }
            byte => self.bytes(usize::from(byte - 238)),
        }
    }

    /// A double: mostly a plain one, at times any bit pattern.
    pub fn double(&mut self) -> f64 {
        match self.byte() {
            byte if byte < 200 => f64::from(byte) - 100.0,
            byte if byte < 225 => f64::from(self.u32()) / 1000.0,
            _ => f64::from_bits(self.u64()),
        }
    }

    /// A chunk and the iterator that comes with it.
    pub fn chunk(&mut self) -> (i64, &'a [u8]) {
        let iterator = self.u64().cast_signed();
        let len = self.u16();
        (iterator, self.bytes(usize::from(len)))
    }
}

/// Values packed without types: eight bytes a number, a 32-bit length before a string.
impl Source for Input<'_> {
    fn read_unsigned(&mut self) -> Result<u64, FormatError> {
        if self.rest.len() < 8 {
            return Err(FormatError::Truncated);
        }
        Ok(self.u64())
    }

    fn read_double(&mut self) -> Result<f64, FormatError> {
        self.read_unsigned().map(f64::from_bits)
    }

    fn read_bytes(&mut self) -> Result<Buffer, FormatError> {
        let len = self.u32() as usize;
        if len > self.rest.len() {
            return Err(FormatError::Truncated);
        }
        Ok(Buffer::copy_of(self.bytes(len))?)
    }
}

/// Writes what [`Input`] reads: the seeds of the corpus.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Output {
    /// What was written.
    pub bytes: Vec<u8>,
}

impl Output {
    /// The values of an encoding version, which are yet to be written.
    pub fn values(encoding_version: u8) -> Self {
        Self {
            bytes: vec![encoding_version],
        }
    }

    /// A header, for chunks to follow.
    pub fn header(header: &[u8]) -> Self {
        let mut output = Self::values(CHUNKED);
        output.u16(header.len());
        output.bytes.extend_from_slice(header);
        output
    }

    /// Appends a chunk.
    pub fn chunk(&mut self, iterator: i64, chunk: &[u8]) {
        self.write_signed(iterator);
        self.u16(chunk.len());
        self.bytes.extend_from_slice(chunk);
    }

    fn u16(&mut self, len: usize) {
        let len = u16::try_from(len).expect("seeds are small");
        self.bytes.extend_from_slice(&len.to_le_bytes());
    }
}

impl Sink for Output {
    fn write_unsigned(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    fn write_double(&mut self, value: f64) {
        self.write_unsigned(value.to_bits());
    }

    fn write_bytes(&mut self, value: &[u8]) {
        let len = u32::try_from(value.len()).expect("seeds are small");
        self.bytes.extend_from_slice(&len.to_le_bytes());
        self.bytes.extend_from_slice(value);
    }
}
