//! The stored forms.
//!
//! The values are the timeline, the width, the depth, the bytes of a cell, the seed (two integers), the number of stored panes, and
//! for each of them its first unit, its total, its number of entries, and the hash and the count of each entry in ascending order
//! of the hashes; or 0 and its cells.

use super::super::MAX_TOTAL;
use super::exact::Entry;
use super::*;
use crate::buffer::Buffer;
use crate::format::chunks::{ChunkError, ChunkPosition};
use crate::format::{FormatError, Sink, Source};
use crate::memory::with_capacity;
use crate::stored::Stored;
use std::ffi::CStr;

const ABOVE_TOTAL: &str = "a cell above the total of its pane";

impl Pane {
    /// Reads `len` entries.
    fn load_exact<C: Cell>(
        total: u64,
        len: u64,
        max_len: usize,
        source: &mut dyn Source,
    ) -> Result<Self, FormatError> {
        let len = usize::try_from(len).ok().filter(|&len| len <= max_len);
        let len = len.ok_or(FormatError::Invalid("too many entries for a pane"))?;
        let mut entries = with_capacity::<Entry>(len)?;
        let (mut sum, mut is_saturated) = (0u64, false);
        for _ in 0..len {
            let (hash, count) = (source.read_unsigned()?, source.read_unsigned()?);
            if entries.last().is_some_and(|last| last.hash >= hash) {
                return Err(FormatError::Invalid("entries are not in order"));
            }
            refuse_if!(count == 0 || count > total.min(C::MAX_COUNT) => "a count out of range");
            sum = sum.saturating_add(count);
            is_saturated |= count == C::MAX_COUNT;
            entries.push(Entry { hash, count });
        }
        // A count that would be above the maximum is lower than the increments.
        if sum > total || sum < total && !is_saturated {
            return Err(FormatError::Invalid("counts and total of a pane differ"));
        }
        Ok(Self {
            total,
            counts: PaneCounts::Exact(Exact::new(len, entries.into_iter())?),
        })
    }

    /// Whether no cell is above the total if these bytes replace those from `offset` on.
    fn accepts<C: Cell>(&self, offset: usize, bytes: &[u8]) -> bool {
        let own = self.array().map_or(&[][..], |cells| C::all(cells));
        let cell_bytes = size_of::<C::Bytes>();
        // The first and the last bytes may be parts of a cell.
        let head = offset.next_multiple_of(cell_bytes) - offset;
        let (head, rest) = bytes.split_at(head.min(bytes.len()));
        let cells = C::all(rest);
        let tail = &rest[size_of_val(cells)..];
        let accepts_part = |at: usize, part: &[u8]| {
            part.is_empty() || {
                let mut cell = own[at / cell_bytes];
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
    const ENCODING_VERSION: u16 = 3;
    /// As a width, it would exceed 2^63.
    const HEADER_MARK: &'static [u8] = b"CMSWIN3\xff";
    type Cache = ();
    type LoadOptions = ();

    /// Cost: one pass over all cells.
    fn load_values(source: &mut dyn Source, _: u16, (): &()) -> Result<Self, FormatError> {
        let timeline = Timeline::load::<Self>(source)?;
        let (width, depth) = (source.read_unsigned()?, source.read_unsigned()?);
        let cell_size = CellSize::from_bytes(source.read_unsigned()?)
            .ok_or(FormatError::Invalid("no such cell size"))?;
        const OUT_OF_RANGE: FormatError = FormatError::Invalid("a width or depth out of range");
        let dimensions = Dimensions::new(width, depth, cell_size).map_err(|_| OUT_OF_RANGE)?;
        check_array(dimensions, timeline.window()).map_err(|_| OUT_OF_RANGE)?;
        let mut sketch = Self::empty(timeline, dimensions, Seed::load(source)?);
        sketch.panes = PaneList::load(&timeline, source, |source| {
            let total = source.read_unsigned()?;
            let sum = sketch.total.checked_add(total);
            sketch.total = sum
                .filter(|&sum| total > 0 && sum <= MAX_TOTAL)
                .ok_or(FormatError::Invalid("a total out of range"))?;
            let len = source.read_unsigned()?;
            if len > 0 {
                let max_len = sketch.grid.max_entries;
                return with_cell!(cell_size, C => {
                    Pane::load_exact::<C>(total, len, max_len, source)
                });
            }
            let cells: Buffer = source.read_array(sketch.grid.array_bytes)?;
            let largest = with_cell!(cell_size, C => {
                C::all(&cells).iter().map(|&cell| C::count(cell)).max()
            });
            match largest.unwrap_or(0) > total {
                true => Err(FormatError::Invalid(ABOVE_TOTAL)),
                false => Ok(Pane {
                    total,
                    counts: PaneCounts::Array(cells),
                }),
            }
        })?;
        Ok(sketch)
    }

    fn save(&self, sink: &mut dyn Sink) {
        self.timeline.save::<Self>(sink);
        sink.write_unsigned(self.dimensions.width());
        sink.write_unsigned(self.dimensions.depth());
        sink.write_unsigned(self.dimensions.cell_size().bytes());
        self.seed().save(sink);
        self.panes.save(sink, |pane, sink| {
            sink.write_unsigned(pane.total);
            match &pane.counts {
                PaneCounts::Exact(exact) => {
                    sink.write_unsigned(exact.len() as u64);
                    for Entry { hash, count } in exact.entries() {
                        sink.write_unsigned(hash);
                        sink.write_unsigned(count);
                    }
                }
                PaneCounts::Array(cells) => {
                    sink.write_unsigned(0);
                    sink.write_array(cells);
                }
            }
        });
    }

    fn arrays(&self) -> impl Iterator<Item = &[u8]> {
        let arrays = self
            .panes
            .all()
            .iter()
            .flat_map(|pane| pane.content.array());
        arrays.map(|cells| &**cells)
    }

    fn array_mut(&mut self, number: usize) -> Option<&mut [u8]> {
        let mut arrays = self.panes.contents_mut().flat_map(Pane::array_mut);
        arrays.nth(number).map(|cells| &mut **cells)
    }

    /// Refuses cells above the total of the pane.
    fn check_chunk(&self, place: ChunkPosition, chunk: &[u8]) -> Result<(), ChunkError> {
        let panes = self.panes.all().iter();
        let mut panes = panes.filter(|pane| pane.content.array().is_some());
        let pane = panes.nth(place.array);
        let pane = pane.ok_or(ChunkError::NoArray)?;
        let accepts = with_cell!(self.dimensions.cell_size(), C => {
            pane.content.accepts::<C>(place.offset, chunk)
        });
        accepts
            .then_some(())
            .ok_or(ChunkError::Invalid(ABOVE_TOTAL))
    }

    fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let mut copy = Self::empty(self.timeline, self.dimensions, self.seed());
        copy.panes
            .reserve(self.panes.all().len(), &self.timeline, Budget::UNLIMITED)?;
        copy.total = self.total;
        for pane in self.panes.all() {
            copy.panes.push(pane.first, pane.content.try_clone()?);
        }
        Ok(copy)
    }
}
