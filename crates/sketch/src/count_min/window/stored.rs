//! The stored forms.
//!
//! The values are the timeline, the width, the depth, the bytes of a cell, the seed (two integers), the number of stored panes, and
//! for each of them its first unit, its total and its cells.

use super::super::MAX_TOTAL;
use super::*;
use crate::format::chunks::{ChunkError, ChunkPosition};
use crate::format::{FormatError, Sink, Source};
use crate::stored::{Stored, load_header};
use std::ffi::CStr;

const ABOVE_TOTAL: &str = "a cell above the total of its pane";

impl Pane {
    /// Whether no cell is above the total if these bytes replace those from `offset` on.
    fn accepts<C: Cell>(&self, offset: usize, bytes: &[u8]) -> bool {
        let cell_bytes = size_of::<C::Bytes>();
        // The first and the last bytes may be parts of a cell.
        let head = offset.next_multiple_of(cell_bytes) - offset;
        let (head, rest) = bytes.split_at(head.min(bytes.len()));
        let cells = C::all(rest);
        let tail = &rest[size_of_val(cells)..];
        let accepts_part = |at: usize, part: &[u8]| {
            part.is_empty() || {
                let mut cell = C::all(&self.cells)[at / cell_bytes];
                cell.as_mut()[at % cell_bytes..][..part.len()].copy_from_slice(part);
                C::count(cell) <= self.total
            }
        };
        let largest = cells.iter().map(|&cell| C::count(cell)).max();
        largest.unwrap_or(0) <= self.total
            && accepts_part(offset, head)
            && accepts_part(offset + bytes.len() - tail.len(), tail)
    }
}

impl Stored for CountMinWindow {
    const TYPE_NAME: &'static CStr = c"cmswindow";
    const ENCODING_VERSION: u16 = 2;
    /// As a width, it would exceed 2^63.
    const HEADER_MARK: &'static [u8] = b"CMSWIN2\xff";
    type Cache = ();
    type Defaults = ();

    /// Cost: one pass over all cells.
    fn load_values(
        source: &mut dyn Source,
        encoding_version: u16,
        (): &Self::Defaults,
    ) -> Result<Self, FormatError> {
        if encoding_version != Self::ENCODING_VERSION {
            return Err(FormatError::UnknownVersion(encoding_version));
        }
        let timeline = Timeline::load::<Self>(source)?;
        let (width, depth) = (source.read_unsigned()?, source.read_unsigned()?);
        let cell_size = CellSize::from_bytes(source.read_unsigned()?)
            .ok_or(FormatError::Invalid("no such cell size"))?;
        const OUT_OF_RANGE: FormatError = FormatError::Invalid("a width or depth out of range");
        let shape = Shape::new(width, depth, cell_size).map_err(|_| OUT_OF_RANGE)?;
        let bytes = array_bytes(shape, timeline.window()).map_err(|_| OUT_OF_RANGE)?;
        let mut sketch = Self::empty(timeline, shape, Seed::load(source)?);
        sketch.panes = PaneList::load(&timeline, source, |source| {
            let total = source.read_unsigned()?;
            let sum = sketch.total.checked_add(total);
            sketch.total = sum
                .filter(|&sum| total > 0 && sum <= MAX_TOTAL)
                .ok_or(FormatError::Invalid("a total out of range"))?;
            let cells = source.read_array(bytes)?;
            let pane = Pane { total, cells };
            match with_cell!(cell_size, C => pane.accepts::<C>(0, &pane.cells)) {
                true => Ok(pane),
                false => Err(FormatError::Invalid(ABOVE_TOTAL)),
            }
        })?;
        Ok(sketch)
    }

    fn save(&self, sink: &mut dyn Sink) {
        self.timeline.save::<Self>(sink);
        sink.write_unsigned(self.shape.width());
        sink.write_unsigned(self.shape.depth());
        sink.write_unsigned(self.shape.cell_size().bytes());
        self.seed().save(sink);
        self.panes.save(sink, |pane, sink| {
            sink.write_unsigned(pane.total);
            sink.write_array(&pane.cells);
        });
    }

    fn from_header(header: &[u8], budget: Budget<'_>) -> Result<Self, FormatError> {
        load_header(header, budget)
    }

    fn arrays(&self) -> impl Iterator<Item = &[u8]> {
        self.panes.all().iter().map(|pane| &*pane.content.cells)
    }

    fn array_mut(&mut self, number: usize) -> Option<&mut [u8]> {
        self.panes
            .contents_mut()
            .nth(number)
            .map(|pane| &mut *pane.cells)
    }

    /// Refuses cells above the total of the pane.
    fn check_chunk(&self, place: ChunkPosition, chunk: &[u8]) -> Result<(), ChunkError> {
        let pane = self
            .panes
            .all()
            .get(place.array)
            .ok_or(ChunkError::NoArray)?;
        let accepts = with_cell!(self.shape.cell_size(), C => {
            pane.content.accepts::<C>(place.offset, chunk)
        });
        accepts
            .then_some(())
            .ok_or(ChunkError::Invalid(ABOVE_TOTAL))
    }

    fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let mut copy = Self::empty(self.timeline, self.shape, self.seed());
        copy.panes
            .reserve(self.panes.all().len(), &self.timeline, Budget::UNLIMITED)?;
        copy.total = self.total;
        for pane in self.panes.all() {
            let cells = Buffer::copy_of(&pane.content.cells)?;
            copy.panes.push(
                pane.first,
                Pane {
                    cells,
                    ..pane.content
                },
            );
        }
        Ok(copy)
    }
}
