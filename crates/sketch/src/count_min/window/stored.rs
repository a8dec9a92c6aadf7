//! The stored forms: the values of an RDB file or DUMP payload, and a header with chunks of the arrays.
//!
//! Both contain the window, the dimensions, the ages of the blocks, and for each stored pane its number, its total and
//! its cells, which in stale blocks may be those of an expired pane. So a loaded sketch continues exactly like the saved
//! one. The sums are not stored, but computed.

use super::super::MAX_TOTAL;
use super::super::cell::with_cell;
use super::*;
use crate::format::chunks::{ChunkError, ChunkPosition, position_for};
use crate::format::{Fields, FormatError, Sink, Source};
use crate::stored::Stored;
use std::ffi::CStr;

/// The numbers before the panes.
struct Header {
    timeline: Timeline,
    shape: Shape,
    cursor: u64,
    /// The number of stored panes.
    panes: u64,
}

impl Header {
    fn checked(
        timeline: Timeline,
        [width, depth, cell_bytes, cursor, panes]: [u64; 5],
    ) -> Result<Self, FormatError> {
        let cell_size =
            CellSize::from_bytes(cell_bytes).ok_or(FormatError::Invalid("no such cell size"))?;
        let shape = shape_of(width, depth, cell_size)
            .map_err(|_| FormatError::Invalid("a width or depth out of range"))?;
        if panes > timeline.live().count() as u64 {
            return Err(FormatError::Invalid("more panes than the window has"));
        }
        Ok(Self {
            timeline,
            shape,
            cursor,
            panes,
        })
    }

    /// Checks the length of the ages: they are empty if no block is stale. Without panes there are no blocks.
    fn check_ages(&self, len: usize) -> Result<(), FormatError> {
        let bytes = self.shape.bytes().unwrap_or(u64::MAX);
        let all = Ages::bytes_for(blocks(bytes, self.timeline.window()));
        if len == 0 && self.cursor == 0 || len as u64 == all && self.panes > 0 {
            Ok(())
        } else {
            Err(FormatError::Invalid("the ages do not fit the cells"))
        }
    }

    /// The ages. Their length was checked.
    fn ages(&self, ages: Buffer) -> Result<Ages, FormatError> {
        if ages.is_empty() {
            let bytes = match self.panes {
                0 => 0,
                _ => self.shape.bytes().unwrap_or(u64::MAX),
            };
            return Ok(Ages::current(blocks(bytes, self.timeline.window()))?);
        }
        let slots = self.timeline.window().live_panes() as u64;
        let max_age = slots.min(self.timeline.newest());
        Ages::stored(ages, self.cursor, max_age)
            .ok_or(FormatError::Invalid("an age or the cursor is out of range"))
    }
}

impl CountMinWindow {
    /// Stores the total of a pane and returns its slot. The numbers of the panes ascend; `next` is the lowest valid one.
    fn load_pane(&mut self, pane: u64, total: u64, next: &mut u64) -> Result<usize, FormatError> {
        if pane < *next || pane > self.timeline.newest() {
            return Err(FormatError::Invalid("the number of a pane is out of range"));
        }
        *next = pane + 1;
        let sum = self.sum.total.checked_add(total);
        self.sum.total = sum
            .filter(|&sum| sum <= MAX_TOTAL)
            .ok_or(FormatError::Invalid("a total above its maximum"))?;
        let slot = self.timeline.slot(pane);
        self.panes[slot].total = total;
        Ok(slot)
    }

    /// Whether the cells of a block in the slot of a live pane are those of this pane, and not of an expired one.
    pub(super) fn has_cells_of(&self, pane: u64, block: usize) -> bool {
        pane + self.ages.get(block) <= self.timeline.newest()
    }

    /// Computes the sums, which are 0, and checks all cells.
    fn load_sums<C: Cell>(&mut self) -> Result<(), FormatError> {
        let slots = self.panes.len() as u64;
        for pane in self.timeline.live() {
            let slot = self.timeline.slot(pane);
            if self.panes[slot].cells.is_empty() {
                continue;
            }
            for block in 0..blocks(self.sum.cells.len() as u64, self.timeline.window()) as usize {
                let range = self.block_cells::<C>(block);
                let has_cells = self.has_cells_of(pane, block);
                let is_counted = self.ages.get(block) < slots;
                let Pane { total, cells } = &self.panes[slot];
                let cells = &C::all(cells)[range.clone()];
                let sums = &mut C::all_mut(&mut self.sum.cells)[range];
                let (mut out_of_range, mut bits) = (0, 0);
                for (sum, &cell) in sums.iter_mut().zip(cells) {
                    let count = C::count(cell);
                    bits |= count;
                    // Neither operand exceeds the maximum, or this is noticed here.
                    let new = C::count(*sum).wrapping_add(count);
                    out_of_range |= (count | if is_counted { new } else { 0 }) & !C::MAX_COUNT;
                    *sum = if is_counted { C::with_count(new) } else { *sum };
                }
                if out_of_range != 0 {
                    return Err(FormatError::Invalid("a cell above its maximum"));
                }
                if *total == 0 && has_cells && bits != 0 {
                    return Err(FormatError::Invalid("cells of a pane without increments"));
                }
            }
        }
        Ok(())
    }

    /// Replaces bytes of a stored array, and updates the sums. After an error nothing has changed.
    fn write_chunk<C: Cell>(
        &mut self,
        position: ChunkPosition,
        chunk: &[u8],
    ) -> Result<(), ChunkError> {
        let Some((pane, _)) = self.stored_panes().nth(position.array) else {
            return Err(ChunkError::NoArray);
        };
        let slot = self.timeline.slot(pane);
        let cell_bytes = size_of::<C::Bytes>();
        let changed =
            position.offset / cell_bytes..(position.offset + chunk.len()).div_ceil(cell_bytes);
        // The cell after the change.
        let replaced = |mut cell: C::Bytes, number: usize| {
            let start = number * cell_bytes;
            for (byte, offset) in cell.as_mut().iter_mut().zip(start..) {
                let new = offset.checked_sub(position.offset);
                if let Some(&new) = new.and_then(|index| chunk.get(index)) {
                    *byte = new;
                }
            }
            cell
        };
        let slots = self.panes.len() as u64;
        let first_block = self.block_of::<C>(changed.start);
        let last_block = self.block_of::<C>(changed.end.saturating_sub(1));
        let ranges = |sketch: &Self, block: usize| {
            let cells = sketch.block_cells::<C>(block);
            cells.start.max(changed.start)..cells.end.min(changed.end)
        };
        for block in first_block..=last_block {
            let is_counted = self.ages.get(block) < slots;
            let must_be_zero = self.panes[slot].total == 0 && self.has_cells_of(pane, block);
            for number in ranges(self, block) {
                let old = C::all(&self.panes[slot].cells)[number];
                let new = C::count(replaced(old, number));
                let sum = C::count(C::all(&self.sum.cells)[number]);
                let sum = sum.wrapping_sub(C::count(old)).wrapping_add(new);
                if (new | if is_counted { sum } else { 0 }) & !C::MAX_COUNT != 0 {
                    return Err(ChunkError::Invalid("a cell above its maximum"));
                }
                if must_be_zero && new != 0 {
                    return Err(ChunkError::Invalid("cells of a pane without increments"));
                }
            }
        }
        for block in first_block..=last_block {
            let is_counted = self.ages.get(block) < slots;
            for number in ranges(self, block) {
                let cell = &mut C::all_mut(&mut self.panes[slot].cells)[number];
                let old = *cell;
                *cell = replaced(old, number);
                if is_counted {
                    let sum = &mut C::all_mut(&mut self.sum.cells)[number];
                    let new = C::count(*sum)
                        .wrapping_sub(C::count(old))
                        .wrapping_add(C::count(*cell));
                    *sum = C::with_count(new);
                }
            }
        }
        Ok(())
    }

    /// The numbers that values and headers contain after the timeline.
    fn numbers(&self) -> [u64; 5] {
        let shape = self.shape();
        [
            shape.width(),
            shape.depth(),
            shape.cell_size().bytes(),
            self.ages.cursor() as u64,
            self.stored_panes().count() as u64,
        ]
    }
}

impl Stored for CountMinWindow {
    const TYPE_NAME: &'static CStr = c"cmswindow";
    const ENCODING_VERSION: u16 = 1;
    /// As a width, it would exceed 2^63.
    const HEADER_MARK: &'static [u8] = b"CMSWIN1\xff";
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
        let mut numbers = [0; 5];
        for number in &mut numbers {
            *number = source.read_unsigned()?;
        }
        let header = Header::checked(timeline, numbers)?;
        let ages = source.read_bytes()?;
        header.check_ages(ages.len())?;
        let mut sketch = Self::empty(header.shape, timeline)?;
        let mut next = timeline.oldest();
        for _ in 0..header.panes {
            let (pane, total) = (source.read_unsigned()?, source.read_unsigned()?);
            let slot = sketch.load_pane(pane, total, &mut next)?;
            let cells = source.read_bytes()?;
            if header.shape.bytes() != Some(cells.len() as u64) {
                return Err(FormatError::Invalid("width, depth and cells do not fit"));
            }
            sketch.panes[slot].cells = cells;
        }
        // After the panes were read: an array has at least as many bytes as the ages of all blocks.
        sketch.ages = header.ages(ages)?;
        if header.panes > 0 {
            sketch.sum.cells = Buffer::zeroed(header.shape.bytes().unwrap_or(u64::MAX))?;
            with_cell!(header.shape.cell_size(), C => sketch.load_sums::<C>())?;
        }
        Ok(sketch)
    }

    fn save(&self, sink: &mut dyn Sink) {
        self.timeline.save(sink);
        for number in self.numbers() {
            sink.write_unsigned(number);
        }
        sink.write_bytes(self.ages.as_bytes());
        for (pane, Pane { total, cells }) in self.stored_panes() {
            sink.write_unsigned(pane);
            sink.write_unsigned(*total);
            sink.write_bytes(cells);
        }
    }

    fn payload_bytes(&self) -> u64 {
        // Opcode and value of a number take at most 10 bytes, so do those of a string without its bytes. The type, the
        // end and the footer; eight numbers and a string; two numbers and a string per pane.
        const FIXED_BYTES: u64 = 1 + 9 + 1 + 10 + 9 * 10;
        let panes = self.stored_panes();
        let panes = panes.map(|(_, pane)| 3 * 10 + pane.cells.len() as u64);
        FIXED_BYTES + self.ages.as_bytes().len() as u64 + panes.sum::<u64>()
    }

    /// The mark, the timeline, five numbers, number and total of each stored pane, the bytes of the ages: 64 bits each,
    /// little-endian. Then the ages.
    fn header(&self) -> Result<Vec<u8>, OutOfMemory> {
        let ages = self.ages.as_bytes();
        let panes = self.stored_panes().count();
        let mut header = with_capacity(8 + Timeline::BYTES + 6 * 8 + panes * 16 + ages.len())?;
        header.extend_from_slice(Self::HEADER_MARK);
        header.extend_from_slice(&self.timeline.to_bytes());
        for number in self.numbers() {
            header.extend_from_slice(&number.to_le_bytes());
        }
        for (pane, slot) in self.stored_panes() {
            header.extend_from_slice(&pane.to_le_bytes());
            header.extend_from_slice(&slot.total.to_le_bytes());
        }
        header.extend_from_slice(&(ages.len() as u64).to_le_bytes());
        header.extend_from_slice(ages);
        Ok(header)
    }

    fn from_header(header: &[u8], budget: Budget<'_>) -> Result<Self, FormatError> {
        let mut fields = Fields::new(header);
        if !fields.skip(Self::HEADER_MARK) {
            return Err(FormatError::Invalid(
                "not a header of a sketch with a window",
            ));
        }
        let timeline = Timeline::from_fields::<Self>(&mut fields)?;
        let mut numbers = [0; 5];
        for number in &mut numbers {
            *number = fields.u64()?;
        }
        let header = Header::checked(timeline, numbers)?;
        let window = timeline.window();
        let mut bytes = Self::slot_bytes(window);
        // At most 101 panes, and the header contains 16 bytes per pane.
        let pane_bytes = header.panes as usize * 16;
        let after_panes = fields.rest().get(pane_bytes..);
        let mut after_panes = Fields::new(after_panes.ok_or(FormatError::Truncated)?);
        let (len, ages) = (after_panes.u64()?, after_panes.rest());
        if len != ages.len() as u64 {
            return Err(FormatError::Invalid("the header has another length"));
        }
        header.check_ages(ages.len())?;
        if header.panes > 0 {
            let arrays = Self::array_bytes(header.shape, window, header.panes);
            bytes = bytes.saturating_add(arrays);
        }
        budget.request(bytes)?;
        let mut sketch = Self::empty(header.shape, timeline)?;
        sketch.ages = header.ages(Buffer::copy_of(ages)?)?;
        let mut next = timeline.oldest();
        let array_bytes = header.shape.bytes().unwrap_or(u64::MAX);
        for _ in 0..header.panes {
            let (pane, total) = (fields.u64()?, fields.u64()?);
            let slot = sketch.load_pane(pane, total, &mut next)?;
            sketch.panes[slot].cells = Buffer::zeroed(array_bytes)?;
        }
        if header.panes > 0 {
            sketch.sum.cells = Buffer::zeroed(array_bytes)?;
        }
        Ok(sketch)
    }

    fn arrays(&self) -> impl Iterator<Item = &[u8]> {
        self.stored_panes().map(|(_, pane)| &*pane.cells)
    }

    /// Also updates the sums. Refuses a chunk that takes a cell or a sum above its maximum.
    fn load_chunk(&mut self, iterator: i64, chunk: &[u8]) -> Result<(), ChunkError> {
        let lengths = self.arrays().map(<[u8]>::len);
        let position = position_for(lengths, iterator, chunk.len())?;
        if chunk.is_empty() {
            return Ok(());
        }
        with_cell!(self.shape().cell_size(), C => self.write_chunk::<C>(position, chunk))
    }

    fn digest(&self, feed: &mut dyn FnMut(&[u8])) {
        feed(&self.timeline.to_bytes());
        for number in self.numbers() {
            feed(&number.to_le_bytes());
        }
        feed(self.ages.as_bytes());
        for (pane, Pane { total, cells }) in self.stored_panes() {
            feed(&pane.to_le_bytes());
            feed(&total.to_le_bytes());
            feed(cells);
        }
    }

    fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let mut copy = Self::empty(self.shape(), self.timeline)?;
        for (pane, copied) in self.panes.iter().zip(&mut copy.panes) {
            copied.total = pane.total;
            copied.cells = Buffer::copy_of(&pane.cells)?;
        }
        copy.sum = CountMin {
            cells: Buffer::copy_of(&self.sum.cells)?,
            ..copy.sum
        };
        copy.sum.total = self.sum.total;
        copy.ages = self.ages.try_clone()?;
        Ok(copy)
    }
}
