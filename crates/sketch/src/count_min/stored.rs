//! The stored forms (docs/contributing/formats.md, "Count-min sketches"): the values of an RDB file or DUMP payload, and a
//! header with chunks of the cells.

use super::cell::{Cell, CellSize, with_cell};
use super::{CountMin, Dimensions, MAX_TOTAL};
use crate::buffer::Buffer;
use crate::format::chunks::{ChunkError, ChunkPosition};
use crate::format::{Fields, FormatError, Sink, Source};
use crate::memory::{Budget, OutOfMemory};
use crate::stored::Stored;
use std::ffi::CStr;

/// Checks the fields of a sketch and returns its dimensions and total. A total above [`MAX_TOTAL`] has wrapped and counts as
/// [`MAX_TOTAL`].
fn checked(
    width: u64,
    depth: u64,
    cell_bytes: u64,
    total: u64,
) -> Result<(Dimensions, u64), FormatError> {
    let cell_size =
        CellSize::from_bytes(cell_bytes).ok_or(FormatError::Invalid("no such cell size"))?;
    let dimensions = Dimensions::new(width, depth, cell_size)
        .map_err(|_| FormatError::Invalid("a width or depth out of range"))?;
    Ok((dimensions, total.min(MAX_TOTAL)))
}

impl Stored for CountMin {
    const TYPE_NAME: &'static CStr = c"CMSk-TYPE";
    const ENCODING_VERSION: u16 = 0;
    const MAX_ENCODING_VERSION: u16 = 1;
    type Cache = ();
    type LoadOptions = ();

    /// Cost: one pass over cells of 8 bytes, none over others.
    fn load_values(
        source: &mut dyn Source,
        encoding_version: u16,
        (): &Self::LoadOptions,
    ) -> Result<Self, FormatError> {
        let (width, depth) = (source.read_unsigned()?, source.read_unsigned()?);
        let third = source.read_unsigned()?;
        let fourth = match encoding_version {
            0 => None,
            _ => Some(source.read_unsigned()?),
        };
        let cells = source.read_bytes()?;
        let cell_count = width.checked_mul(depth).filter(|&count| count > 0);
        let cell_bytes = cell_count.map_or(0, |count| cells.len() as u64 / count);
        // In version 1 the total and the cell size can be in either order.
        let total = match fourth {
            None => third,
            Some(fourth) if fourth == cell_bytes => third,
            Some(fourth) if third == cell_bytes => fourth,
            Some(_) => return Err(FormatError::Invalid("the cell size does not fit the cells")),
        };
        let (dimensions, total) = checked(width, depth, cell_bytes, total)?;
        if dimensions.bytes() != Some(cells.len() as u64) {
            return Err(FormatError::Invalid("width, depth and cells do not fit"));
        }
        with_cell!(dimensions.cell_size(), C => {
            if C::all(&cells).iter().any(|&cell| C::count(cell) > C::MAX_COUNT) {
                return Err(FormatError::Invalid("a cell above its maximum"));
            }
        });
        Ok(Self::with_cells(dimensions, total, cells))
    }

    fn save(&self, sink: &mut dyn Sink) {
        let dimensions = self.dimensions();
        sink.write_unsigned(dimensions.width());
        sink.write_unsigned(dimensions.depth());
        sink.write_unsigned(self.total);
        sink.write_bytes(&self.cells);
    }

    /// Width, depth, total, and the cell size if it is not the default: 64 bits each, little-endian.
    fn header(&self) -> Result<Vec<u8>, OutOfMemory> {
        let dimensions = self.dimensions();
        let mut header = Vec::with_capacity(32);
        for number in [dimensions.width(), dimensions.depth(), self.total] {
            header.extend_from_slice(&number.to_le_bytes());
        }
        if dimensions.cell_size() != CellSize::default() {
            header.extend_from_slice(&dimensions.cell_size().bytes().to_le_bytes());
        }
        Ok(header)
    }

    fn from_header(header: &[u8], budget: Budget<'_>) -> Result<Self, FormatError> {
        let mut fields = Fields::new(header);
        let (width, depth, total) = (fields.u64()?, fields.u64()?, fields.u64()?);
        let cell_bytes = match fields.rest() {
            [] => CellSize::default().bytes(),
            _ => fields.u64()?,
        };
        refuse_if!(!fields.rest().is_empty() => "bytes after the header");
        let (dimensions, total) = checked(width, depth, cell_bytes, total)?;
        let mut sketch = Self::empty(dimensions, budget)?;
        sketch.total = total;
        Ok(sketch)
    }

    fn arrays(&self) -> impl Iterator<Item = &[u8]> {
        std::iter::once(&*self.cells)
    }

    fn array_mut(&mut self, number: usize) -> Option<&mut [u8]> {
        (number == 0).then_some(&mut *self.cells)
    }

    fn check_chunk(&self, position: ChunkPosition, chunk: &[u8]) -> Result<(), ChunkError> {
        // Chunks may start and end inside a cell. Only cells of 8 bytes can exceed their maximum: the sign bit in the
        // last byte is then set.
        if self.cell_size() == CellSize::Eight {
            let mut last_bytes = chunk.iter().skip(7 - position.offset % 8).step_by(8);
            if last_bytes.any(|&byte| byte > 0x7f) {
                return Err(ChunkError::Invalid("a cell above its maximum"));
            }
        }
        Ok(())
    }

    fn digest(&self, feed: &mut dyn FnMut(&[u8])) {
        let dimensions = self.dimensions();
        for number in [
            dimensions.width(),
            dimensions.depth(),
            dimensions.cell_size().bytes(),
            self.total,
        ] {
            feed(&number.to_le_bytes());
        }
        feed(&self.cells);
    }

    fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let cells = Buffer::copy_of(&self.cells)?;
        Ok(Self::with_cells(self.dimensions(), self.total, cells))
    }
}
