//! Decodes bytes as values, and encodes seeds.

use super::allows;
use roughly_sketch::buffer::Buffer;
use roughly_sketch::format::{FormatError, Sink, Source};
use roughly_sketch::memory::Budget;
use std::cell::Cell;

/// The first byte of an input with a header and chunks is at least this. A lower first byte is the encoding
/// version of the values that follow.
pub const CHUNKED: u8 = 8;

/// Reads the bytes of a fuzzer. Missing bytes at the end are zero.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    rest: &'a [u8],
}

impl<'a> Input<'a> {
    /// Reads from the start of `bytes`.
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// Whether no bytes are left.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// The next `len` bytes, or fewer at the end.
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

    /// The next byte, or 0 at the end.
    pub fn byte(&mut self) -> u8 {
        self.array::<1>()[0]
    }

    /// The next 16-bit number.
    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.array())
    }

    /// The next 32-bit number.
    pub fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.array())
    }

    /// The next 64-bit number.
    pub fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.array())
    }

    /// Selects one of these values by the next byte.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::from(self.byte()) % of.len()]
    }

    /// An item: usually one of 64 one-byte items, so that sequences repeat items.
    pub fn item(&mut self) -> &'a [u8] {
        const ITEMS: [u8; 64] = {
            let mut items = [0; 64];
            let mut i = 0;
            while i < 64 {
                items[i] = i as u8;
                i += 1;
            }
            items
        };
        match self.byte() {
            0 => &[],
            byte if byte < 240 => {
                let at = usize::from(byte % 64);
                &ITEMS[at..=at]
            }
            byte => self.bytes(usize::from(byte - 238)),
        }
    }

    /// Up to 63 different or equal items of two bytes.
    pub fn items(&mut self) -> Vec<[u8; 2]> {
        let (len, first, step) = (self.byte() % 64, self.u16() % 1024, self.byte() % 8);
        let item = |n: u8| first + u16::from(n) * u16::from(step) % 61;
        (0..len).map(|n| item(n).to_le_bytes()).collect()
    }

    /// A double: usually a small number, sometimes an arbitrary bit pattern.
    pub fn double(&mut self) -> f64 {
        match self.byte() {
            byte if byte < 200 => f64::from(byte) - 100.0,
            byte if byte < 225 => f64::from(self.u32()) / 1000.0,
            _ => f64::from_bits(self.u64()),
        }
    }

    /// A chunk with its iterator.
    pub fn chunk(&mut self) -> (i64, &'a [u8]) {
        let iterator = self.u64().cast_signed();
        let len = self.u16();
        (iterator, self.bytes(usize::from(len)))
    }
}

/// The bits of an array, the lowest of each byte first.
pub fn bits(bytes: &[u8]) -> impl Iterator<Item = bool> {
    (bytes.iter()).flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1 != 0))
}

/// Calls `operation` with a budget that refuses request number `refused`, from 1, and large ones.
pub fn with_refusal<R>(refused: u8, operation: impl FnOnce(Budget<'_>) -> R) -> R {
    let requests = Cell::new(0);
    let allows = |bytes| {
        requests.set(requests.get() + 1);
        requests.get() != u32::from(refused) && allows(bytes)
    };
    operation(Budget::new(&allows))
}

/// Untyped values: a number has eight bytes, a string a 32-bit length before its bytes.
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

/// Writes the format that [`Input`] reads, for the seeds of the corpus.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Output {
    /// The bytes written so far.
    pub bytes: Vec<u8>,
}

impl Output {
    /// Starts an input with the values of an encoding version.
    pub fn values(encoding_version: u8) -> Self {
        Self {
            bytes: vec![encoding_version],
        }
    }

    /// Starts an input with a header, which chunks follow.
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
