#![doc = include_str!("../README.md")]

mod crc64;

pub use crc64::add_to_checksum;

use std::collections::VecDeque;

/// Why bytes are not the payload of a module value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The payload ends early.
    #[error("the payload ends early")]
    Truncated,
    /// The payload is malformed; the text describes the error.
    #[error("{0}")]
    Invalid(&'static str),
    /// The allocator refused memory for this many bytes.
    #[error("not enough memory for {0} bytes")]
    OutOfMemory(u64),
}

/// The CRC64 of Redis, which is the last part of a payload.
#[must_use]
pub fn checksum(bytes: &[u8]) -> u64 {
    add_to_checksum(0, bytes)
}

/// First byte of the payload of a module value.
pub const MODULE_VALUE: u8 = 7;
/// The RDB version that [`Writer::finish`] writes into the footer. A server refuses versions above its own. All supported
/// servers accept 9, and it has the current format of module values.
pub const RDB_VERSION: u16 = 9;
/// Size of the footer in bytes: RDB version and CRC64.
pub const FOOTER_BYTES: usize = 10;

/// The number after the last value.
pub const OPCODE_END: u64 = 0;
/// The number before a signed integer.
pub const OPCODE_SIGNED: u64 = 1;
/// The number before an unsigned integer.
pub const OPCODE_UNSIGNED: u64 = 2;
/// The number before a double.
pub const OPCODE_DOUBLE: u64 = 4;
/// The number before a byte string.
pub const OPCODE_STRING: u64 = 5;

/// A string that is an 8-bit integer in decimal digits. Servers write all such strings of module values as integers.
const STRING_I8: u8 = 0xc0;
/// The same for 16 bits.
const STRING_I16: u8 = 0xc1;
/// The same for 32 bits.
const STRING_I32: u8 = 0xc2;
/// A string that is compressed with LZF.
const STRING_LZF: u8 = 0xc3;

/// The integer whose decimal digits are this string, without other characters than the sign and leading zeros.
fn integer_of(string: &[u8]) -> Option<i32> {
    // An `i32` has at most 11 characters.
    if string.len() > 11 {
        return None;
    }
    let text = std::str::from_utf8(string).ok()?;
    let integer = text.parse().ok()?;
    match string {
        [b'0'] => Some(integer),
        [b'0' | b'+', ..] | [b'-', b'0', ..] => None,
        _ => Some(integer),
    }
}

/// The 64-bit id of a module type: nine characters of six bits, then ten bits of encoding version.
///
/// # Panics
/// If a character is not one of `A-Z a-z 0-9 - _`.
#[must_use]
pub fn type_id(name: &[u8; 9], encoding_version: u16) -> u64 {
    const CHARACTERS: &[u8; 64] =
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let name = name.iter().fold(0, |id, character| {
        let six_bits = CHARACTERS
            .iter()
            .position(|candidate| candidate == character);
        id << 6 | six_bits.expect("a character of a type name") as u64
    });
    name << 10 | u64::from(encoding_version)
}

/// The destination of a [`Writer`].
pub trait Output {
    /// Appends bytes of the payload.
    fn append(&mut self, bytes: &[u8]);

    /// The bytes that were appended.
    fn payload(&self) -> &[u8];
}

impl Output for Vec<u8> {
    fn append(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }

    fn payload(&self) -> &[u8] {
        self
    }
}

impl<O: Output + ?Sized> Output for &mut O {
    fn append(&mut self, bytes: &[u8]) {
        (**self).append(bytes);
    }

    fn payload(&self) -> &[u8] {
        (**self).payload()
    }
}

/// Counts the bytes of a payload.
#[derive(Debug, Default)]
pub struct Length(pub u64);

impl Output for Length {
    fn append(&mut self, bytes: &[u8]) {
        self.0 += bytes.len() as u64;
    }

    fn payload(&self) -> &[u8] {
        &[]
    }
}

/// Memory of the length of a payload.
#[derive(Debug)]
pub struct Fixed<'a> {
    bytes: &'a mut [u8],
    /// The length of the payload, which can be larger than the memory.
    len: usize,
}

impl<'a> Fixed<'a> {
    /// Writes into these bytes.
    pub fn new(bytes: &'a mut [u8]) -> Self {
        Self { bytes, len: 0 }
    }

    /// Whether the payload has the length of the memory.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.len == self.bytes.len()
    }
}

impl Output for Fixed<'_> {
    fn append(&mut self, bytes: &[u8]) {
        let end = self.len.saturating_add(bytes.len());
        if let Some(place) = self.bytes.get_mut(self.len..end) {
            place.copy_from_slice(bytes);
        }
        self.len = end;
    }

    fn payload(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or_default()
    }
}

/// Builds a payload, value by value.
#[derive(Debug)]
pub struct Writer<O = Vec<u8>> {
    output: O,
}

impl Writer {
    /// Starts a payload of the type with this id (see [`type_id`]).
    #[must_use]
    pub fn new(type_id: u64) -> Self {
        Self::to(Vec::new(), type_id)
    }

    /// Like [`Writer::new`], with memory allocated for a payload of `bytes` bytes.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the allocation fails.
    pub fn with_capacity(type_id: u64, bytes: u64) -> Result<Self, Error> {
        Ok(Self::to(with_capacity(bytes)?, type_id))
    }

    /// Ends the payload with its footer of the version [`RDB_VERSION`]. Cost: one CRC64 pass.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        self.finish_with(RDB_VERSION)
    }
}

impl<O: Output> Writer<O> {
    /// Starts a payload of the type with this id (see [`type_id`]) in `output`, which is empty.
    #[must_use]
    pub fn to(output: O, type_id: u64) -> Self {
        let mut writer = Self { output };
        writer.output.append(&[MODULE_VALUE]);
        writer.length(type_id);
        writer
    }

    /// As [`Writer::finish`], with this RDB version in the footer. Returns the output.
    pub fn finish_with(mut self, rdb_version: u16) -> O {
        self.length(OPCODE_END);
        self.output.append(&rdb_version.to_le_bytes());
        let checksum = checksum(self.output.payload());
        self.output.append(&checksum.to_le_bytes());
        self.output
    }

    fn length(&mut self, value: u64) {
        match value {
            0..64 => self.output.append(&[value as u8]),
            64..16384 => self.output.append(&(0x4000 | value as u16).to_be_bytes()),
            16384..=0xffff_ffff => {
                self.output.append(&[0x80]);
                self.output.append(&(value as u32).to_be_bytes());
            }
            _ => {
                self.output.append(&[0x81]);
                self.output.append(&value.to_be_bytes());
            }
        }
    }

    /// Appends an integer. Signed integers have the same encoding.
    pub fn write_unsigned(&mut self, value: u64) {
        self.length(OPCODE_UNSIGNED);
        self.length(value);
    }

    /// Appends a double without changing its bits.
    pub fn write_double(&mut self, value: f64) {
        self.length(OPCODE_DOUBLE);
        self.output.append(&value.to_le_bytes());
    }

    /// Appends values that a server has encoded (`RedisModule_SaveDataTypeToString`).
    pub fn write_encoded(&mut self, values: &[u8]) {
        self.output.append(values);
    }

    /// Appends a byte string.
    pub fn write_bytes(&mut self, value: &[u8]) {
        self.length(OPCODE_STRING);
        let Some(integer) = integer_of(value) else {
            self.length(value.len() as u64);
            self.output.append(value);
            return;
        };
        if let Ok(integer) = i8::try_from(integer) {
            self.output.append(&[STRING_I8]);
            self.output.append(&integer.to_le_bytes());
        } else if let Ok(integer) = i16::try_from(integer) {
            self.output.append(&[STRING_I16]);
            self.output.append(&integer.to_le_bytes());
        } else {
            self.output.append(&[STRING_I32]);
            self.output.append(&integer.to_le_bytes());
        }
    }
}

/// One value of a payload.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A signed or unsigned integer; both have the same encoding.
    Integer(u64),
    /// A double.
    Double(f64),
    /// A byte string.
    Bytes(Vec<u8>),
}

/// The values of a payload, in memory.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Values {
    /// The values that are not yet read, in order.
    pub values: VecDeque<Value>,
}

impl Values {
    /// Reads the type id and the values of a payload. Ignores the footer, because the server checks it.
    ///
    /// # Errors
    /// [`Error`] if the bytes are not the payload of a module value.
    pub fn from_dump(payload: &[u8]) -> Result<(u64, Self), Error> {
        let mut reader = Reader::new(payload)?;
        let mut values = VecDeque::new();
        while let Some(value) = reader.next_value()? {
            values.push_back(value);
        }
        Ok((reader.type_id(), Self { values }))
    }

    /// The payload of these values with this type id.
    #[must_use]
    pub fn to_dump(&self, type_id: u64) -> Vec<u8> {
        let mut writer = Writer::new(type_id);
        for value in &self.values {
            match value {
                Value::Integer(value) => writer.write_unsigned(*value),
                Value::Double(value) => writer.write_double(*value),
                Value::Bytes(value) => writer.write_bytes(value),
            }
        }
        writer.finish()
    }
}

/// Checks the checksum in the footer of a payload and returns the RDB version. Cost: one CRC64 pass.
///
/// # Errors
/// [`Error`] if the payload has no footer or the checksum is wrong.
pub fn check_footer(payload: &[u8]) -> Result<u16, Error> {
    let (checked, checksum) = payload.split_last_chunk().ok_or(Error::Truncated)?;
    let (_, rdb_version) = checked.split_last_chunk().ok_or(Error::Truncated)?;
    if self::checksum(checked) != u64::from_le_bytes(*checksum) {
        return Err(Error::Invalid("the checksum is wrong"));
    }
    Ok(u16::from_le_bytes(*rdb_version))
}

/// Reads the values of a payload one after the other.
#[derive(Debug)]
pub struct Reader<'a> {
    type_id: u64,
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Reads the type id of a payload. Ignores the footer, which [`check_footer`] checks.
    ///
    /// # Errors
    /// [`Error`] if the bytes are not the payload of a module value.
    pub fn new(payload: &'a [u8]) -> Result<Self, Error> {
        let body = payload
            .len()
            .checked_sub(FOOTER_BYTES)
            .and_then(|end| payload.get(..end))
            .ok_or(Error::Truncated)?;
        let mut reader = Self {
            type_id: 0,
            rest: body,
        };
        if reader.byte()? != MODULE_VALUE {
            return Err(Error::Invalid("not the payload of a module value"));
        }
        reader.type_id = reader.length()?;
        Ok(reader)
    }

    /// The type id; see [`type_id`].
    #[must_use]
    pub fn type_id(&self) -> u64 {
        self.type_id
    }

    /// The next value; `None` at the end. Takes memory for at most 100 times as many bytes as the payload has.
    ///
    /// # Errors
    /// [`Error`] if there is no valid value, or if bytes follow the end.
    pub fn next_value(&mut self) -> Result<Option<Value>, Error> {
        Ok(Some(match self.length()? {
            OPCODE_END if self.rest.is_empty() => return Ok(None),
            OPCODE_END => return Err(Error::Invalid("bytes after the end")),
            OPCODE_SIGNED | OPCODE_UNSIGNED => Value::Integer(self.length()?),
            OPCODE_DOUBLE => Value::Double(f64::from_le_bytes(self.array()?)),
            OPCODE_STRING => Value::Bytes(self.string()?),
            _ => return Err(Error::Invalid("unknown opcode")),
        }))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let (array, rest) = self.rest.split_first_chunk().ok_or(Error::Truncated)?;
        self.rest = rest;
        Ok(*array)
    }

    fn byte(&mut self) -> Result<u8, Error> {
        self.array().map(|[byte]| byte)
    }

    fn take(&mut self, len: u64) -> Result<&[u8], Error> {
        let (taken, rest) = usize::try_from(len)
            .ok()
            .and_then(|len| self.rest.split_at_checked(len))
            .ok_or(Error::Truncated)?;
        self.rest = rest;
        Ok(taken)
    }

    fn length(&mut self) -> Result<u64, Error> {
        let first = self.byte()?;
        match first >> 6 {
            0 => Ok(u64::from(first & 63)),
            1 => Ok(u64::from(first & 63) << 8 | u64::from(self.byte()?)),
            _ if first == 0x80 => self.array().map(|b| u64::from(u32::from_be_bytes(b))),
            _ if first == 0x81 => self.array().map(u64::from_be_bytes),
            _ => Err(Error::Invalid("not a length")),
        }
    }

    /// Reads a string: plain, the digits of an integer, or compressed with LZF.
    fn string(&mut self) -> Result<Vec<u8>, Error> {
        let Some(&encoding @ STRING_I8..=STRING_LZF) = self.rest.first() else {
            let len = self.length()?;
            let bytes = self.take(len)?;
            let mut copy = with_capacity(len)?;
            copy.extend_from_slice(bytes);
            return Ok(copy);
        };
        self.byte()?;
        let integer = match encoding {
            STRING_I8 => Some(i8::from_le_bytes(self.array()?).into()),
            STRING_I16 => Some(i16::from_le_bytes(self.array()?).into()),
            STRING_I32 => Some(i32::from_le_bytes(self.array()?)),
            _ => None,
        };
        if let Some(integer) = integer {
            return Ok(integer.to_string().into_bytes());
        }
        let compressed_len = self.length()?;
        let len = self.length()?;
        let compressed = self.take(compressed_len)?;
        lzf_decompress(compressed, len)
    }
}

/// Decompresses LZF data, as RDB files and payloads contain them, of strings of this length.
///
/// # Errors
/// [`Error`] if the data are invalid or those of a string of another length, or if there is not enough memory.
pub fn lzf_decompress(compressed: &[u8], len: u64) -> Result<Vec<u8>, Error> {
    // Three bytes of LZF data expand to at most 264 bytes.
    if len > (compressed.len() as u64).saturating_mul(100) {
        return Err(Error::Invalid("not LZF data"));
    }
    lzf_expand(compressed, with_capacity(len)?)
        .filter(|bytes| bytes.len() as u64 == len)
        .ok_or(Error::Invalid("not LZF data"))
}

/// An empty vector with capacity for this many bytes.
fn with_capacity(bytes: u64) -> Result<Vec<u8>, Error> {
    let mut vec = Vec::new();
    // `try_reserve_exact` refuses `usize::MAX`, so a size above it fails, too.
    let capacity = usize::try_from(bytes).unwrap_or(usize::MAX);
    match vec.try_reserve_exact(capacity) {
        Ok(()) => Ok(vec),
        Err(_) => Err(Error::OutOfMemory(bytes)),
    }
}

/// Decompresses LZF (Marc Lehmann's format) into the capacity of `out`: literal runs and copies of previous output. `None` if
/// the data are invalid or longer.
fn lzf_expand(mut from: &[u8], mut out: Vec<u8>) -> Option<Vec<u8>> {
    while let Some((&control, rest)) = from.split_first() {
        from = rest;
        if control < 32 {
            let (literal, rest) = from.split_at_checked(usize::from(control) + 1)?;
            has_room(&out, literal.len())?;
            out.extend_from_slice(literal);
            from = rest;
            continue;
        }
        let mut len = usize::from(control >> 5) + 2;
        if control >> 5 == 7 {
            let (&more, rest) = from.split_first()?;
            len += usize::from(more);
            from = rest;
        }
        let (&low, rest) = from.split_first()?;
        from = rest;
        let back = (usize::from(control & 31) << 8 | usize::from(low)) + 1;
        let start = out.len().checked_sub(back)?;
        has_room(&out, len)?;
        for i in start..start + len {
            out.push(out[i]);
        }
    }
    Some(out)
}

/// `None` if these bytes exceed the capacity.
fn has_room(out: &Vec<u8>, bytes: usize) -> Option<()> {
    (bytes <= out.capacity() - out.len()).then_some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crc::{CRC_64_REDIS, Crc};
    use proptest::prelude::*;

    #[test]
    fn the_type_id_matches_a_payload_of_a_server() {
        // From golden/dumps: the first ten bytes of a Bloom filter's payload.
        let golden = [0x07, 0x81, 0x30, 0x16, 0xe5, 0xa2, 0x89, 0xbe, 0xf8, 0x04];
        let id = type_id(b"MBbloom--", 4);
        let payload = Writer::new(id).finish();
        assert_eq!(payload[..10], golden);
    }

    #[test]
    fn lzf_runs_and_copies_expand() {
        let expand = |from: &[u8], bytes| lzf_expand(from, Vec::with_capacity(bytes));
        assert_eq!(expand(&[0, b'a', 0xe0, 1, 0], 11).unwrap(), b"aaaaaaaaaaa");
        assert_eq!(expand(&[1, b'a', b'b', 0x20, 1], 5).unwrap(), b"ababa");
        assert_eq!(expand(&[0x20, 5], 9), None);
        assert_eq!(expand(&[5, 1], 9), None);
        // Longer than the capacity.
        assert_eq!(expand(&[0, b'a', 0xe0, 1, 0], 8), None);
        assert_eq!(expand(&[1, b'a', b'b'], 1), None);
    }

    #[test]
    fn strings_of_digits_have_the_encoding_of_servers() {
        let encoding = |string: &[u8]| {
            let mut writer = Writer::new(type_id(b"MBbloom--", 4));
            let start = writer.output.len() + 1;
            writer.write_bytes(string);
            let encoding = writer.output[start..].to_vec();
            let (_, read) = Values::from_dump(&writer.finish()).unwrap();
            assert_eq!(read.values, [Value::Bytes(string.to_vec())]);
            encoding
        };
        assert_eq!(encoding(b"0"), [0xc0, 0]);
        assert_eq!(encoding(b"-128"), [0xc0, 0x80]);
        assert_eq!(encoding(b"300"), [0xc1, 0x2c, 1]);
        assert_eq!(encoding(b"-2147483648"), [0xc2, 0, 0, 0, 0x80]);
        for plain in [
            &b""[..],
            b"-",
            b"+1",
            b"-0",
            b"01",
            b"-01",
            b"2147483648",
            b"1\0",
        ] {
            assert_eq!(encoding(plain)[1..], *plain);
        }
    }

    #[test]
    fn invalid_payloads_are_errors() {
        for payload in [&b""[..], b"\x07", &[7; 11], &[0xc3; 40]] {
            assert!(Values::from_dump(payload).is_err());
        }
    }

    #[test]
    fn the_footer_has_the_version_and_the_checksum() {
        let id = type_id(b"MBbloom--", 4);
        let mut payload = Writer::new(id).finish_with(11);
        assert_eq!(check_footer(&payload), Ok(11));
        assert_eq!(check_footer(&Writer::new(id).finish()), Ok(RDB_VERSION));
        assert_eq!(check_footer(&payload[..9]), Err(Error::Truncated));
        payload[3] ^= 1;
        assert!(matches!(check_footer(&payload), Err(Error::Invalid(_))));
    }

    proptest! {
        #[test]
        fn the_checksum_is_that_of_the_catalog(bytes: Vec<u8>, repeat in 1..500_usize, cut: usize) {
            // Also blocks of long lanes.
            let bytes = bytes.repeat(repeat);
            let expected = Crc::<u64>::new(&CRC_64_REDIS).checksum(&bytes);
            prop_assert_eq!(checksum(&bytes), expected);
            let (before, after) = bytes.split_at(cut % (bytes.len() + 1));
            prop_assert_eq!(add_to_checksum(checksum(before), after), expected);
        }

        #[test]
        fn all_outputs_have_the_same_payload(strings: Vec<Vec<u8>>, integer: u64, other in 0..9_usize) {
            fn write<O: Output>(output: O, strings: &[Vec<u8>], integer: u64) -> O {
                let mut writer = Writer::to(output, type_id(b"MBbloom--", 4));
                writer.write_unsigned(integer);
                strings.iter().for_each(|string| writer.write_bytes(string));
                writer.finish_with(12)
            }
            let expected = write(Vec::new(), &strings, integer);
            let Length(len) = write(Length::default(), &strings, integer);
            prop_assert_eq!(len, expected.len() as u64);
            let mut bytes = vec![0; expected.len()];
            prop_assert!(write(Fixed::new(&mut bytes), &strings, integer).is_full());
            prop_assert_eq!(&bytes, &expected);
            let mut short = vec![0; expected.len() - 1 - other];
            prop_assert!(!write(Fixed::new(&mut short), &strings, integer).is_full());
            let mut long = vec![0; expected.len() + 1 + other];
            prop_assert!(!write(Fixed::new(&mut long), &strings, integer).is_full());
        }

        #[test]
        fn written_values_are_read_back(
            integers: Vec<u64>, double: f64, strings: Vec<Vec<u8>>, id: u64,
        ) {
            let mut values = Values::default();
            for integer in integers {
                values.values.extend([0, 20, 52].map(|shift| Value::Integer(integer >> shift)));
            }
            let double = if double.is_nan() { 0.5 } else { double };
            values.values.push_back(Value::Double(double));
            values.values.extend(strings.into_iter().map(Value::Bytes));
            let (read_id, read) = Values::from_dump(&values.to_dump(id)).unwrap();
            prop_assert_eq!(read_id, id);
            prop_assert_eq!(read, values);
        }
    }
}
