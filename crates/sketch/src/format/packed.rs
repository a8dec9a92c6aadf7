//! The values of a stored form as packed bytes: headers, digests, and the size of a payload.
//!
//! The fields of a sketch with a window are described once, by [`Stored::save`](crate::stored::Stored::save) and
//! [`Stored::load`](crate::stored::Stored::load). Its header and its digest contain the same values: a number as eight
//! little-endian bytes, a string as its length and its bytes. A header has no arrays; they are sent as chunks. The headers of
//! the filters with a window have some numbers with fewer bytes, and strings without their length.

use super::{Fields, FormatError, Sink, Source};
use crate::buffer::Buffer;
use crate::memory::{Budget, OutOfMemory, with_capacity};

/// A header: `mark`, and the values that `save` writes, without arrays. `save` is called twice, and must write the same.
///
/// # Errors
/// [`OutOfMemory`] if the allocator refuses the bytes.
pub fn packed_header(mark: &[u8], save: impl Fn(&mut dyn Sink)) -> Result<Vec<u8>, OutOfMemory> {
    let mut size = 0;
    feed_header(mark, &save, &mut |bytes| size += bytes.len());
    let mut header = with_capacity(size)?;
    feed_header(mark, &save, &mut |bytes| header.extend_from_slice(bytes));
    Ok(header)
}

/// Passes the bytes of [`packed_header`] to `feed`.
pub fn feed_header(mark: &[u8], save: impl Fn(&mut dyn Sink), feed: &mut dyn FnMut(&[u8])) {
    feed(mark);
    save(&mut Packed(feed));
}

/// The values of a header, in the order in which they were saved.
#[derive(Debug)]
pub struct PackedSource<'a> {
    fields: Fields<'a>,
    /// `None`: the arrays are empty.
    budget: Option<Budget<'a>>,
}

impl<'a> PackedSource<'a> {
    /// Reads the values of a header that begins with `mark`. Requests the bytes of arrays from `budget`; without one, arrays are
    /// empty, and the caller allocates them after the header was checked.
    ///
    /// # Errors
    /// [`FormatError::Invalid`] if the header begins with something else.
    pub fn new(
        header: &'a [u8],
        mark: &[u8],
        budget: Option<Budget<'a>>,
    ) -> Result<Self, FormatError> {
        let mut fields = Fields::new(header);
        refuse_if!(!fields.skip(mark) => "not a header of this type");
        Ok(Self { fields, budget })
    }

    /// Checks that all bytes were read.
    ///
    /// # Errors
    /// [`FormatError::Invalid`] if there are more.
    pub fn finish(self) -> Result<(), FormatError> {
        refuse_if!(!self.fields.rest().is_empty() => "bytes after the end");
        Ok(())
    }
}

impl Source for PackedSource<'_> {
    fn read_unsigned(&mut self) -> Result<u64, FormatError> {
        self.fields.u64()
    }

    fn read_double(&mut self) -> Result<f64, FormatError> {
        self.fields.f64()
    }

    fn read_bytes(&mut self) -> Result<Buffer, FormatError> {
        Ok(Buffer::copy_of(self.fields.string()?)?)
    }

    fn read_small(&mut self, bytes: usize) -> Result<u64, FormatError> {
        let mut number = [0; 8];
        number[..bytes].copy_from_slice(self.fields.take(bytes)?);
        Ok(u64::from_le_bytes(number))
    }

    fn read_fixed(&mut self, len: usize) -> Result<Buffer, FormatError> {
        Ok(Buffer::copy_of(self.fields.take(len)?)?)
    }

    /// An array of zeros.
    fn read_array(&mut self, len: u64) -> Result<Buffer, FormatError> {
        let Some(budget) = self.budget else {
            return Ok(Buffer::default());
        };
        budget.request(len)?;
        Ok(Buffer::zeroed(len)?)
    }
}

/// Feeds the values of a header.
struct Packed<'a>(&'a mut dyn FnMut(&[u8]));

impl Sink for Packed<'_> {
    fn write_unsigned(&mut self, value: u64) {
        (self.0)(&value.to_le_bytes());
    }

    fn write_three(&mut self, values: [u64; 3]) {
        (self.0)(values.map(u64::to_le_bytes).as_flattened());
    }

    fn write_small(&mut self, value: u64, bytes: usize) {
        (self.0)(&value.to_le_bytes()[..bytes]);
    }

    fn write_double(&mut self, value: f64) {
        (self.0)(&value.to_le_bytes());
    }

    fn write_bytes(&mut self, value: &[u8]) {
        self.write_unsigned(value.len() as u64);
        (self.0)(value);
    }

    fn write_fixed(&mut self, value: &[u8]) {
        (self.0)(value);
    }

    fn write_array(&mut self, _: &[u8]) {}
}

/// Feeds the values to a digest, arrays included.
pub struct Feed<'a>(pub &'a mut dyn FnMut(&[u8]));

impl Sink for Feed<'_> {
    fn write_unsigned(&mut self, value: u64) {
        (self.0)(&value.to_le_bytes());
    }

    fn write_double(&mut self, value: f64) {
        (self.0)(&value.to_le_bytes());
    }

    fn write_bytes(&mut self, value: &[u8]) {
        self.write_unsigned(value.len() as u64);
        (self.0)(value);
    }
}

/// An upper bound for the bytes of a DUMP payload of the values. Reads no array.
#[derive(Debug)]
pub struct PayloadSize(u64);

impl PayloadSize {
    /// The bytes of the values that `save` writes.
    #[must_use]
    pub fn of(save: impl FnOnce(&mut dyn Sink)) -> u64 {
        // The type (a byte and a number), the end, and the footer.
        let mut size = Self(1 + 9 + 1 + 10);
        save(&mut size);
        size.0
    }
}

impl Sink for PayloadSize {
    /// The opcode, and a number of at most nine bytes.
    fn write_unsigned(&mut self, _: u64) {
        self.0 += 10;
    }

    fn write_double(&mut self, _: f64) {
        self.0 += 9;
    }

    /// The opcode, two or three lengths, and the bytes: a compressed string is shorter than its bytes.
    fn write_bytes(&mut self, value: &[u8]) {
        self.0 += 16 + value.len() as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn save(sink: &mut dyn Sink) {
        sink.write_unsigned(258);
        sink.write_double(1.0);
        sink.write_bytes(b"ab");
        sink.write_array(b"array");
        sink.write_small(258, 2);
        sink.write_fixed(b"cd");
        sink.write_signed(-1);
    }

    #[test]
    fn a_header_has_all_values_except_for_arrays() {
        let header = packed_header(b"MARK", save).unwrap();
        let numbers = [258u64.to_le_bytes(), 1f64.to_le_bytes(), 2u64.to_le_bytes()].concat();
        let expected = [b"MARK", &numbers[..], b"ab", &[2, 1], b"cd", &[255; 8]].concat();
        assert_eq!(header, expected);
        let mut source = PackedSource::new(&header, b"MARK", Some(Budget::UNLIMITED)).unwrap();
        assert_eq!(source.read_unsigned(), Ok(258));
        assert_eq!(source.read_double(), Ok(1.0));
        assert_eq!(*source.read_bytes().unwrap(), *b"ab");
        assert_eq!(*source.read_array(5).unwrap(), [0; 5]);
        assert_eq!(source.read_small(2), Ok(258));
        assert_eq!(*source.read_fixed(2).unwrap(), *b"cd");
        assert_eq!(source.read_signed(), Ok(-1));
        source.finish().unwrap();

        assert!(PackedSource::new(&header, b"MORE", None).is_err());
        let mut refused =
            PackedSource::new(&header, b"MARK", Some(Budget::new(&|_| false))).unwrap();
        assert!(refused.read_array(5).is_err());
        assert!(refused.finish().is_err());
        let mut long = PackedSource::new(&[255; 8], b"", None).unwrap();
        assert_eq!(long.read_bytes(), Err(FormatError::Truncated));
    }

    #[test]
    fn a_digest_has_the_arrays() {
        let mut fed = Vec::new();
        save(&mut Feed(&mut |bytes| fed.extend_from_slice(bytes)));
        let header = packed_header(b"", save).unwrap();
        let array = [&5u64.to_le_bytes()[..], b"array"].concat();
        let rest = [
            &258u64.to_le_bytes()[..],
            &2u64.to_le_bytes(),
            b"cd",
            &[255; 8],
        ]
        .concat();
        assert_eq!(fed, [&header[..26], &array, &rest].concat());
    }

    #[test]
    fn the_size_of_a_payload_is_an_upper_bound() {
        let mut dump = roughly_dump::Writer::new(0);
        let numbers = [0, 63, 64, 1 << 14, u64::MAX];
        let strings = [0, 1, 63, 64, 1 << 14, 1 << 20].map(|len| vec![7; len]);
        let save = |sink: &mut dyn Sink| {
            (numbers.iter()).for_each(|&number| sink.write_unsigned(number));
            strings.iter().for_each(|string| sink.write_bytes(string));
            sink.write_double(0.5);
        };
        save(&mut dump);
        let payload = dump.finish().len() as u64;
        let bound = PayloadSize::of(save);
        let is_close = payload <= bound && bound < payload + 150;
        assert!(is_close, "{payload} {bound}");
    }
}
