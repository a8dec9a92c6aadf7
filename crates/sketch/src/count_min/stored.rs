//! The stored forms: the RDB's stream of values, and a header with chunks of cells.
//!
//! Both are decoded to [`Parts`] and judged by [`Parts::validate`] (spec: count-min-sketch.md, "RDB"
//! and "Chunks").

use super::cell::{Cell, CellSize, with_cell};
use super::{CountMin, MAX_TOTAL, Shape};
use crate::buffer::Buffer;
use crate::format::chunks::{ChunkError, Place};
use crate::format::{Fields, FormatError, Sink, Source};
use crate::memory::{Budget, OutOfMemory};
use crate::stored::Stored;
use std::ffi::CStr;

/// What a stored form says of a sketch besides its cells, as it was found there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parts {
    /// Cells of a row.
    pub width: u64,
    /// Rows.
    pub depth: u64,
    /// Sum of all increments.
    pub total: u64,
    /// Bytes of a cell.
    pub cell_bytes: u64,
}

impl Parts {
    /// Reads the values of an RDB format, the last of which are the cells.
    ///
    /// # Errors
    /// [`FormatError`].
    pub fn decode(
        source: &mut dyn Source,
        encoding_version: u16,
    ) -> Result<(Self, Buffer), FormatError> {
        let width = source.read_unsigned()?;
        let depth = source.read_unsigned()?;
        let third = source.read_unsigned()?;
        let fourth = match encoding_version {
            0 => None,
            1 => Some(source.read_unsigned()?),
            _ => return Err(FormatError::Invalid("an unknown encoding version")),
        };
        let cells = source.read_bytes()?;
        let cell_count = width.checked_mul(depth).filter(|&count| count > 0);
        let cell_bytes = cell_count.map_or(0, |count| cells.len() as u64 / count);
        // Version 1 has the total and the cell size, in either order.
        let total = match fourth {
            None => third,
            Some(fourth) if fourth == cell_bytes => third,
            Some(fourth) if third == cell_bytes => fourth,
            Some(_) => return Err(FormatError::Invalid("the cell size does not fit the cells")),
        };
        let parts = Self {
            width,
            depth,
            total,
            cell_bytes,
        };
        Ok((parts, cells))
    }

    /// Reads a header of chunks.
    ///
    /// # Errors
    /// [`FormatError`], also if anything follows the header.
    pub fn decode_header(header: &[u8]) -> Result<Self, FormatError> {
        let mut fields = Fields::new(header);
        let parts = Self {
            width: fields.u64()?,
            depth: fields.u64()?,
            total: fields.u64()?,
            cell_bytes: if fields.rest().is_empty() {
                CellSize::default().bytes()
            } else {
                fields.u64()?
            },
        };
        if fields.rest().is_empty() {
            Ok(parts)
        } else {
            Err(FormatError::Invalid("bytes after the header"))
        }
    }

    /// The shape and the total of a sketch that may be. A total above [`MAX_TOTAL`] is one that wrapped
    /// and counts as that.
    ///
    /// # Errors
    /// [`FormatError::Invalid`].
    pub fn validate(&self) -> Result<(Shape, u64), FormatError> {
        let cell_size = CellSize::from_bytes(self.cell_bytes)
            .ok_or(FormatError::Invalid("no such cell size"))?;
        let shape = Shape::new(self.width, self.depth, cell_size)
            .map_err(|_| FormatError::Invalid("a width or depth out of range"))?;
        Ok((shape, self.total.min(MAX_TOTAL)))
    }
}

impl Stored for CountMin {
    const TYPE_NAME: &'static CStr = c"CMSk-TYPE";
    const ENCODING_VERSION: u16 = 0;
    const MAX_ENCODING_VERSION: u16 = 1;
    type Defaults = ();

    /// Cost: one pass over cells of 8 bytes, none over others.
    fn load(
        source: &mut dyn Source,
        encoding_version: u16,
        (): &Self::Defaults,
    ) -> Result<Self, FormatError> {
        let (parts, cells) = Parts::decode(source, encoding_version)?;
        let (shape, total) = parts.validate()?;
        if shape.bytes() != Some(cells.len() as u64) {
            return Err(FormatError::Invalid("width, depth and cells do not fit"));
        }
        with_cell!(shape.cell_size(), C => {
            if C::all(&cells).iter().any(|&cell| C::count(cell) > C::MAX_COUNT) {
                return Err(FormatError::Invalid("a cell above its maximum"));
            }
        });
        Ok(Self::with_cells(shape, total, cells))
    }

    fn save(&self, sink: &mut dyn Sink) {
        sink.write_unsigned(self.shape.width());
        sink.write_unsigned(self.shape.depth());
        sink.write_unsigned(self.total);
        sink.write_bytes(&self.cells);
    }

    fn payload_bytes(&self) -> u64 {
        // The type, the end and the footer, three numbers and the head of the cells.
        const FIXED_BYTES: u64 = 1 + 9 + 1 + 10 + 4 * 10;
        FIXED_BYTES + self.cells.len() as u64
    }

    /// Width, depth and total, and the cell size where it is not the default one.
    fn header(&self) -> Result<Vec<u8>, OutOfMemory> {
        let shape = self.shape;
        let mut header = Vec::with_capacity(32);
        for number in [shape.width(), shape.depth(), self.total] {
            header.extend_from_slice(&number.to_le_bytes());
        }
        if shape.cell_size() != CellSize::default() {
            header.extend_from_slice(&shape.cell_size().bytes().to_le_bytes());
        }
        Ok(header)
    }

    fn from_header(header: &[u8], budget: Budget<'_>) -> Result<Self, FormatError> {
        let (shape, total) = Parts::decode_header(header)?.validate()?;
        let mut sketch = Self::empty(shape, budget)?;
        sketch.total = total;
        Ok(sketch)
    }

    fn arrays(&self) -> impl Iterator<Item = &[u8]> {
        std::iter::once(&*self.cells)
    }

    fn array_mut(&mut self, number: usize) -> Option<&mut [u8]> {
        (number == 0).then_some(&mut *self.cells)
    }

    fn check_chunk(&self, place: Place, chunk: &[u8]) -> Result<(), ChunkError> {
        // Chunks may begin and end within a cell. Only cells of 8 bytes hold counts above their maximum: those with the
        // sign bit in the last byte set.
        if self.shape.cell_size() == CellSize::Eight {
            let mut last_bytes = chunk.iter().skip(7 - place.offset % 8).step_by(8);
            if last_bytes.any(|&byte| byte > 0x7f) {
                return Err(ChunkError::Invalid("a cell above its maximum"));
            }
        }
        Ok(())
    }

    fn digest(&self, feed: &mut dyn FnMut(&[u8])) {
        let shape = self.shape;
        for number in [
            shape.width(),
            shape.depth(),
            shape.cell_size().bytes(),
            self.total,
        ] {
            feed(&number.to_le_bytes());
        }
        feed(&self.cells);
    }

    fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let cells = Buffer::copy_of(&self.cells)?;
        Ok(Self::with_cells(self.shape, self.total, cells))
    }
}

#[cfg(test)]
mod tests {
    use super::super::CountMinError;
    use super::super::cell::ALL_SIZES;
    use super::*;
    use roughly_dump::{Value, Values};

    fn stream(numbers: &[u64], cells: &[u8]) -> Values {
        let numbers = numbers.iter().map(|&number| Value::Integer(number));
        Values {
            values: numbers.chain([Value::Bytes(cells.to_vec())]).collect(),
        }
    }

    fn load(numbers: &[u64], cells: &[u8]) -> Result<CountMin, FormatError> {
        let version = u16::from(numbers.len() == 4);
        CountMin::load(&mut stream(numbers, cells), version, &())
    }

    /// A sketch with something in every cell that items 0 to 99 have.
    fn counted(width: u64, depth: u64, cell_size: CellSize) -> CountMin {
        let mut sketch = CountMin::new(width, depth, cell_size, Budget::UNLIMITED).unwrap();
        for item in 0..100u8 {
            sketch.increment(&[item], i64::from(item % 3)).unwrap();
        }
        sketch
    }

    #[test]
    fn the_cell_size_follows_from_the_length() {
        for cell_size in ALL_SIZES {
            let sketch = counted(7, 3, cell_size);
            let mut values = Values::default();
            sketch.save(&mut values);
            assert_eq!(CountMin::load(&mut values, 0, &()), Ok(sketch));
        }
    }

    #[test]
    fn version_1_has_the_total_and_the_cell_size_in_either_order() {
        for (bytes, cell_size) in [1, 2, 4, 8].into_iter().zip(ALL_SIZES) {
            let cells = vec![1; 6 * bytes as usize];
            for total in [0, 1, 2, 3, 4, 8, 77] {
                let sketch = load(&[3, 2, total, bytes], &cells).unwrap();
                assert_eq!(load(&[3, 2, bytes, total], &cells).as_ref(), Ok(&sketch));
                assert_eq!(
                    (sketch.total(), sketch.shape().cell_size()),
                    (total, cell_size)
                );
            }
            assert!(load(&[3, 2, bytes + 1, 16], &cells).is_err());
        }
        assert!(CountMin::load(&mut stream(&[3, 2, 0, 4], &[0; 24]), 2, &()).is_err());
    }

    #[test]
    fn a_wrapped_total_is_the_greatest_one() {
        let total = |total| load(&[1, 1, total], &[0; 4]).unwrap().total();
        for wrapped in [1 << 63, u64::MAX] {
            assert_eq!(total(wrapped), MAX_TOTAL);
        }
        assert_eq!(total(MAX_TOTAL - 1), MAX_TOTAL - 1);
        let mut header = [1, 1, u64::MAX].map(u64::to_le_bytes).concat();
        let sketch = CountMin::from_header(&header, Budget::UNLIMITED).unwrap();
        assert_eq!(sketch.total(), MAX_TOTAL);
        header.truncate(23);
        assert_eq!(
            CountMin::from_header(&header, Budget::UNLIMITED),
            Err(FormatError::Truncated)
        );
    }

    #[test]
    fn contradictions_are_refused() {
        let greatest = i64::MAX as u64;
        for (numbers, len) in [
            ([0, 1, 0], 0),
            ([1, 0, 0], 0),
            ([1, 0, 0], 4),
            ([0, 0, 0], 4),
            ([1, 1, 0], 0),
            ([1, 1, 0], 3),
            ([1, 1, 0], 16),
            ([2, 3, 0], 23),
            ([2, 3, 0], 25),
            ([1 << 32, 1 << 32, 0], 0),
            ([1 << 62, 4, 0], 4),
            ([greatest, 1, 0], 8),
            ([greatest, 2, 0], 8),
            ([u64::MAX, 1, 0], 8),
            ([u64::MAX, u64::MAX, 0], 1),
        ] {
            let refused = load(&numbers, &vec![0; len]);
            assert!(
                matches!(refused, Err(FormatError::Invalid(_))),
                "{numbers:?} {len}"
            );
        }
        assert_eq!(
            load(&[1, 2, 0], &[[0xff; 8], [0; 8]].concat()),
            Err(FormatError::Invalid("a cell above its maximum"))
        );
        assert!(load(&[1, 2, 0], &[0xff; 8]).is_ok());
    }

    #[test]
    fn headers_are_24_bytes_or_name_another_cell_size() {
        for cell_size in ALL_SIZES {
            let header = counted(7, 3, cell_size).header().unwrap();
            let fields: Vec<u64> = header
                .as_chunks()
                .0
                .iter()
                .map(|field| u64::from_le_bytes(*field))
                .collect();
            match cell_size {
                CellSize::Four => assert_eq!(fields, [7, 3, 99]),
                other => assert_eq!(fields, [7, 3, 99, other.bytes()]),
            }
            let longer = [header.as_slice(), &[0]].concat();
            assert!(CountMin::from_header(&longer, Budget::UNLIMITED).is_err());
            assert!(CountMin::from_header(&header[..header.len() - 1], Budget::UNLIMITED).is_err());
        }
        let header = [7, 3, 99, 4].map(u64::to_le_bytes).concat();
        assert!(CountMin::from_header(&header, Budget::UNLIMITED).is_ok());
        let header = [7, 3, 99, 3].map(u64::to_le_bytes).concat();
        assert!(CountMin::from_header(&header, Budget::UNLIMITED).is_err());
    }

    #[test]
    fn headers_ask_before_they_take_memory() {
        let header = |width| [width, 1, 0].map(u64::to_le_bytes).concat();
        let refused = |bytes| Err(FormatError::OutOfMemory(OutOfMemory { bytes }));
        let no = &|bytes| bytes < 4_000_000_000;
        assert_eq!(
            CountMin::from_header(&header(1 << 30), Budget::new(no)),
            refused(1 << 32)
        );
        assert_eq!(
            CountMin::from_header(&header(1 << 62), Budget::UNLIMITED),
            refused(u64::MAX)
        );
        assert!(CountMin::from_header(&header(10), Budget::new(no)).is_ok());
    }

    #[test]
    fn chunks_make_the_same_sketch() {
        for cell_size in ALL_SIZES {
            let sketch = counted(101, 3, cell_size);
            for chunk_bytes in [1, 5, 64, 1 << 24] {
                let mut copy =
                    CountMin::from_header(&sketch.header().unwrap(), Budget::UNLIMITED).unwrap();
                let mut iterator = 1;
                while let Some((next, chunk)) = sketch.chunk(iterator, chunk_bytes) {
                    copy.load_chunk(next, chunk).unwrap();
                    iterator = next;
                }
                assert_eq!(copy, sketch);
            }
            assert_eq!(sketch.chunk(0, 9), None);
            assert_eq!(sketch.chunk(-1, 9), None);
        }
    }

    #[test]
    fn misplaced_chunks_change_nothing() {
        let mut sketch = counted(10, 2, CellSize::Two);
        let before = sketch.try_clone().unwrap();
        for (iterator, len, error) in [
            (0, 1, ChunkError::BadIterator),
            (3, 4, ChunkError::BadIterator),
            (4, 4, ChunkError::NoArray),
            (99, 4, ChunkError::NoArray),
            (42, 41, ChunkError::TooLong),
        ] {
            assert_eq!(sketch.load_chunk(iterator, &vec![9; len]), Err(error));
        }
        assert_eq!(sketch.load_chunk(7, &[]), Ok(()));
        assert_eq!(sketch, before);
    }

    #[test]
    fn chunks_take_no_cell_above_its_maximum() {
        let mut sketch = counted(10, 2, CellSize::Eight);
        let before = sketch.try_clone().unwrap();
        // Chunks of 1 to 20 bytes from every start, all of ones: refused where a last byte is in them.
        for start in 0..24 {
            for len in 1..=20 {
                let chunk = vec![0xff; len];
                let refused = (start..start + len).any(|byte| byte % 8 == 7);
                let iterator = (start + len + 1) as i64;
                match sketch.load_chunk(iterator, &chunk) {
                    Ok(()) => assert!(!refused),
                    Err(error) => {
                        assert_eq!(error, ChunkError::Invalid("a cell above its maximum"));
                        assert!(refused);
                    }
                }
            }
        }
        let counts = u64::all(&sketch.cells);
        assert!(counts.iter().all(|&cell| u64::count(cell) <= MAX_TOTAL));
        assert_eq!(
            sketch.increment(b"a", i64::MAX),
            Err(CountMinError::Overflow)
        );
        assert_ne!(sketch, before);
    }
}
