//! The stored forms of a top-k sketch with a window (docs/formats.md): the values of an RDB file or DUMP payload, and the
//! header of a chunked dump, which holds everything except the tables.

use super::candidates::{MAX_CANDIDATE_BYTES, MAX_SUM, NO_PANE};
use super::heap_index::{HeapIndex, NONE};
use super::members::Members;
use super::{RankingCache, TopKWindow, check_limits, request_memory};
use crate::blocks::{BlockChanges, BlockVisitor};
use crate::buffer::Buffer;
use crate::format::{Fields, FormatError, Sink, Source};
use crate::memory::{Budget, OutOfMemory, with_capacity};
use crate::stored::Stored;
use crate::top_k::Shape;
use crate::top_k::item_hash::fingerprint_of;
use crate::top_k::pairs::{PAIR_BYTES, Pairs};
use crate::top_k::random::Random;
use crate::top_k::stored::{MIN_BLOCK_BYTES, shape_of};
use crate::top_k::table::Table;
use crate::window::{MAX_SKETCHES, Timed, Timeline};
use std::ffi::CStr;

/// Bytes of a header before the panes: the mark, the timeline, k, width, depth, decay, random state, and the numbers of
/// elements of the heap and the list.
const HEADER_BYTES: usize = 8 + Timeline::BYTES + 7 * 8;
/// Bytes of a pane in a header: the total, and 1 if there is a table or 0.
const HEADER_PANE_BYTES: usize = 2 * 8;
/// Bytes of an element of the heap or list in a header: position, count, candidate.
const HEADER_ELEMENT_BYTES: usize = 3 * 4;
/// Bytes of a candidate in a header before its item: the age of the pane that keeps it, its sum, and the length of the
/// item.
const HEADER_CANDIDATE_BYTES: usize = 4 + 8 + 8;

const BAD_RANDOM: FormatError = FormatError::Invalid("the random state is not sound");
const BAD_CANDIDATE: FormatError = FormatError::Invalid("nothing keeps a candidate");

impl Stored for TopKWindow {
    const TYPE_NAME: &'static CStr = c"tk-window";
    /// Version 1, which had no sums, was never published.
    const ENCODING_VERSION: u16 = 2;
    /// A sketch without a window has `TOPK\x01\0\0\0`.
    const HEADER_MARK: &'static [u8] = b"TOPKWIN\x02";
    type Cache = RankingCache;
    type Defaults = ();

    fn load_values(
        source: &mut dyn Source,
        encoding_version: u16,
        (): &Self::Defaults,
    ) -> Result<Self, FormatError> {
        if encoding_version < Self::ENCODING_VERSION {
            return Err(FormatError::UnknownVersion(encoding_version));
        }
        let timeline = Timeline::load::<Self>(source)?;
        let [k, width, depth] = [
            source.read_unsigned()?,
            source.read_unsigned()?,
            source.read_unsigned()?,
        ];
        let shape = shape_of(k, width, depth, source.read_double()?)?;
        check_limits(shape, timeline.window())?;
        let random = Random::from_stored(source.read_unsigned()?).ok_or(BAD_RANDOM)?;
        let mut members = |heap| -> Result<Members, FormatError> {
            let elements = source.read_bytes()?;
            if elements.len() as u64 != u64::from(shape.k) * PAIR_BYTES {
                return Err(FormatError::Invalid("a heap has not k elements"));
            }
            let elements = Pairs::from(elements);
            Ok(Members { elements, heap })
        };
        let (heap, list) = (members(HeapIndex::Heap)?, members(HeapIndex::List)?);
        let mut sketch = Self::assemble(timeline, shape, random, heap, list)?;
        for pane in timeline.live() {
            let (total, buckets) = (source.read_unsigned()?, source.read_bytes()?);
            if !buckets.is_empty() && Some(buckets.len() as u64) != shape.bucket_bytes() {
                return Err(FormatError::Invalid(
                    "a table has not width x depth buckets",
                ));
            }
            sketch.load_pane(pane, total, buckets)?;
        }
        for _ in 0..source.read_unsigned()? {
            let item = source.read_bytes()?;
            let (age, closed) = (source.read_unsigned()?, source.read_unsigned()?);
            sketch.load_candidate(item.into(), age, closed)?;
        }
        sketch.place_candidates()?;
        Ok(sketch)
    }

    /// Allocates no memory.
    fn save(&self, sink: &mut dyn Sink) {
        self.timeline.save(sink);
        for number in [self.shape.k, self.shape.width, self.shape.depth] {
            sink.write_unsigned(number.into());
        }
        sink.write_double(self.shape.decay);
        sink.write_unsigned(self.random.to_stored());
        for members in [&self.heap, &self.list] {
            sink.write_bytes(members.elements.bytes());
        }
        for pane in self.timeline.live() {
            sink.write_unsigned(self.pane(pane).total);
            sink.write_bytes(self.pane(pane).table.bytes());
        }
        sink.write_unsigned(self.candidates.len().into());
        for number in 0..self.candidates.len() {
            sink.write_bytes(self.candidates.item(number));
            sink.write_unsigned(self.age_of(number));
            sink.write_unsigned(self.candidates.closed(number));
        }
    }

    fn payload_bytes(&self) -> u64 {
        // Opcode and value of a number; opcode and length of a string.
        const NUMBER_BYTES: u64 = 11;
        const STRING_BYTES: u64 = 11;
        // Numbers, the two heaps and the footer.
        const FIXED_BYTES: u64 = 12 * NUMBER_BYTES + 2 * STRING_BYTES + 20;
        let heaps = 2 * u64::from(self.k()) * PAIR_BYTES;
        let tables: u64 = self.arrays().map(|table| table.len() as u64).sum();
        let panes = self.panes.len() as u64 * (NUMBER_BYTES + STRING_BYTES);
        let candidates = u64::from(self.candidates.len()) * (2 * NUMBER_BYTES + STRING_BYTES);
        FIXED_BYTES + heaps + tables + panes + candidates + self.candidates.item_bytes() as u64
    }

    /// The mark; the timeline; k, width, depth; the decay (a double); the random state; the numbers of elements of the
    /// heap and the list that hold candidates. For each live pane, the oldest first: its total; 1 if it has a table,
    /// otherwise 0. For each such element of the heap, then of the list, in ascending order of position: its position in
    /// the heap array, its count, the number of its candidate (32 bits each). For each candidate: the age of the pane
    /// that keeps it or 0 (32 bits; see `age_of`), the sum of its estimates in the closed panes, the length
    /// of the item, the item. Numbers without a size have 64 bits. All numbers are little-endian.
    fn header(&self) -> Result<Vec<u8>, OutOfMemory> {
        let elements = [self.heap.iter().count(), self.list.iter().count()];
        let mut header = with_capacity(
            HEADER_BYTES
                + self.timeline.live().count() * HEADER_PANE_BYTES
                + (elements[0] + elements[1]) * HEADER_ELEMENT_BYTES
                + self.candidate_count() * HEADER_CANDIDATE_BYTES
                + self.candidates.item_bytes(),
        )?;
        header.extend_from_slice(Self::HEADER_MARK);
        header.extend_from_slice(&self.timeline.to_bytes());
        self.shape
            .digest(&mut |field| header.extend_from_slice(field));
        header.extend_from_slice(&self.random.to_stored().to_le_bytes());
        for count in elements {
            header.extend_from_slice(&(count as u64).to_le_bytes());
        }
        for pane in self.timeline.live() {
            let pane = self.pane(pane);
            for number in [pane.total, pane.table.is_allocated().into()] {
                header.extend_from_slice(&number.to_le_bytes());
            }
        }
        for members in [&self.heap, &self.list] {
            for (position, count, candidate) in members.iter() {
                for number in [position, count, candidate] {
                    header.extend_from_slice(&number.to_le_bytes());
                }
            }
        }
        for number in 0..self.candidates.len() {
            let item = self.candidates.item(number);
            // At most 100.
            header.extend_from_slice(&(self.age_of(number) as u32).to_le_bytes());
            header.extend_from_slice(&self.candidates.closed(number).to_le_bytes());
            header.extend_from_slice(&(item.len() as u64).to_le_bytes());
            header.extend_from_slice(item);
        }
        Ok(header)
    }

    /// `budget` is asked for the memory that [`TopKWindow::new`] requests, and then for the tables and the candidates.
    fn from_header(header: &[u8], budget: Budget<'_>) -> Result<Self, FormatError> {
        let mut fields = Fields::new(header);
        if !fields.skip(Self::HEADER_MARK) {
            return Err(FormatError::Invalid(
                "not the header of a top-k sketch with a window",
            ));
        }
        let timeline = Timeline::from_fields::<Self>(&mut fields)?;
        let [k, width, depth] = [fields.u64()?, fields.u64()?, fields.u64()?];
        let shape = shape_of(k, width, depth, fields.f64()?)?;
        check_limits(shape, timeline.window())?;
        let random = Random::from_stored(fields.u64()?).ok_or(BAD_RANDOM)?;
        let element_counts = [fields.u64()?, fields.u64()?];
        let panes = fields.clone();
        let mut tables = 0;
        for _ in timeline.live() {
            let (_total, has_table) = (fields.u64()?, fields.u64()?);
            if has_table > 1 {
                return Err(FormatError::Invalid("a pane has not 0 or 1 tables"));
            }
            tables += has_table;
        }
        let elements = fields.clone();
        for _ in 0..element_counts[0].saturating_add(element_counts[1]) {
            fields.array::<HEADER_ELEMENT_BYTES>()?;
        }
        let (mut candidates, mut item_bytes) = (0u64, 0u64);
        for candidate in header_candidates(fields.clone()) {
            let (_, _, item) = candidate?;
            candidates += 1;
            item_bytes += item.len().max(MIN_BLOCK_BYTES) as u64;
        }
        request_memory(shape, timeline.window(), budget)?;
        budget.request(table_bytes(shape, tables))?;
        budget.request(candidates * MAX_CANDIDATE_BYTES as u64 + item_bytes)?;

        let heap = header_members(shape, HeapIndex::Heap)?;
        let list = header_members(shape, HeapIndex::List)?;
        let mut sketch = Self::assemble(timeline, shape, random, heap, list)?;
        let (mut panes, mut elements) = (panes, elements);
        for pane in timeline.live() {
            let total = panes.u64()?;
            let buckets = Buffer::zeroed(table_bytes(shape, panes.u64()?))?;
            sketch.load_pane(pane, total, buckets)?;
        }
        for (members, count) in [
            (&mut sketch.heap, element_counts[0]),
            (&mut sketch.list, element_counts[1]),
        ] {
            load_elements(members, count, &mut elements)?;
        }
        for candidate in header_candidates(fields) {
            let (age, closed, item) = candidate?;
            let mut copy = with_capacity(item.len())?;
            copy.extend_from_slice(item);
            sketch.load_candidate(copy, age.into(), closed)?;
        }
        sketch.place_candidates()?;
        Ok(sketch)
    }

    /// The tables, that of the oldest live pane first.
    fn arrays(&self) -> impl Iterator<Item = &[u8]> {
        (self.timeline.live())
            .map(|pane| self.pane(pane).table.bytes())
            .filter(|bytes| !bytes.is_empty())
    }

    fn array_mut(&mut self, number: usize) -> Option<&mut [u8]> {
        self.stamp.change();
        let slot = (self.timeline.live())
            .map(|pane| self.timeline.slot(pane))
            .filter(|&slot| self.panes[slot].table.is_allocated())
            .nth(number)?;
        Some(self.panes[slot].table.bytes_mut())
    }

    /// Feeds the logical state: equal for sketches that give equal replies to all further commands, whatever memory
    /// they hold.
    fn digest(&self, feed: &mut dyn FnMut(&[u8])) {
        feed(&self.timeline.to_bytes());
        self.shape.digest(feed);
        feed(&self.random.to_stored().to_le_bytes());
        for pane in self.timeline.live() {
            let pane = self.pane(pane);
            feed(&pane.total.to_le_bytes());
            feed(&(pane.table.bytes().len() as u64).to_le_bytes());
            feed(pane.table.bytes());
        }
        for members in [&self.heap, &self.list] {
            for (position, count, candidate) in members.iter() {
                for number in [position, count, candidate] {
                    feed(&number.to_le_bytes());
                }
            }
            feed(&NONE.to_le_bytes());
        }
        for number in 0..self.candidates.len() {
            let item = self.candidates.item(number);
            feed(&self.age_of(number).to_le_bytes());
            feed(&self.candidates.closed(number).to_le_bytes());
            feed(&(item.len() as u64).to_le_bytes());
            feed(item);
        }
    }

    /// A copy that continues with the same random numbers.
    fn try_clone(&self) -> Result<Self, OutOfMemory> {
        let mut copy = Self::assemble(
            self.timeline,
            self.shape,
            self.random,
            self.heap.try_clone()?,
            self.list.try_clone()?,
        )?;
        for (pane, original) in copy.panes.iter_mut().zip(&self.panes) {
            pane.table = original.table.try_clone()?;
            pane.total = original.total;
        }
        copy.candidates = self.candidates.try_clone()?;
        Ok(copy)
    }
}

impl Timed for TopKWindow {
    const MAX_PANES: u64 = MAX_SKETCHES;

    fn timeline(&self) -> Option<&Timeline> {
        Some(&self.timeline)
    }

    fn advance(&mut self, pane: u64) -> bool {
        self.advance_with(pane, &mut BlockChanges::<()>::default())
    }

    fn advance_recorded(
        &mut self,
        pane: u64,
        changes: &mut BlockChanges<impl BlockVisitor>,
    ) -> bool {
        self.advance_with(pane, changes)
    }

    fn pane_total(&self, pane: u64) -> u64 {
        match self.timeline.live().contains(&pane) {
            true => self.pane(pane).total,
            false => 0,
        }
    }
}

impl TopKWindow {
    /// The age of the closed pane that keeps the candidate: the newest pane has age 0. 0 if no closed pane keeps it.
    fn age_of(&self, number: u32) -> u64 {
        match self.candidates.kept_by(number) {
            NO_PANE => 0,
            slot => {
                let slots = self.panes.len() as u64;
                (self.timeline.newest() % slots + slots - u64::from(slot)) % slots
            }
        }
    }

    /// Sets a stored pane. The length of the buckets is 0 or that of the shape.
    fn load_pane(&mut self, pane: u64, total: u64, buckets: Buffer) -> Result<(), FormatError> {
        let table = Table::from(buckets);
        if total > 0 && !table.is_allocated() {
            return Err(FormatError::Invalid("a pane with counts has no table"));
        }
        let slot = self.timeline.slot(pane);
        self.panes[slot].table = table;
        self.panes[slot].total = total;
        Ok(())
    }

    /// Adds a stored candidate with the age of the pane that keeps it or 0, and its sum.
    fn load_candidate(&mut self, item: Vec<u8>, age: u64, closed: u64) -> Result<(), FormatError> {
        let kept_by = match age {
            0 => NO_PANE,
            _ => {
                let pane = self.timeline.newest().checked_sub(age);
                let pane = pane.filter(|&pane| {
                    pane >= self.timeline.oldest() && self.pane(pane).table.is_allocated()
                });
                // At most 101 slots.
                self.timeline.slot(pane.ok_or(BAD_CANDIDATE)?) as u8
            }
        };
        if closed > MAX_SUM {
            return Err(FormatError::Invalid("a sum is out of range"));
        }
        if !self.candidates.has_room(item.len()) {
            return Err(FormatError::Invalid("the candidates have too many bytes"));
        }
        let fingerprint = fingerprint_of(&item);
        if !self.candidates.load(item, fingerprint, kept_by, closed)? {
            return Err(FormatError::Invalid("a candidate is stored twice"));
        }
        Ok(())
    }

    /// Stores their positions in the loaded candidates, and checks that something keeps each of them.
    fn place_candidates(&mut self) -> Result<(), FormatError> {
        for members in [&self.heap, &self.list] {
            for position in 0..members.elements.len() {
                let (count, number_plus_1) = members.elements.get(position);
                let Some(number) = number_plus_1.checked_sub(1) else {
                    if count > 0 {
                        return Err(FormatError::Invalid("a count has no candidate"));
                    }
                    continue;
                };
                if number >= self.candidates.len() {
                    return Err(FormatError::Invalid("a candidate does not exist"));
                }
                let slot = &mut self.candidates.get_mut(number).positions[members.heap as usize];
                if *slot != NONE {
                    return Err(FormatError::Invalid("a candidate is in a heap twice"));
                }
                // A position is below k, which has 32 bits.
                *slot = position as u32;
            }
        }
        let newest = self.pane(self.timeline.newest());
        if !newest.table.is_allocated() && self.heap.iter().next().is_some() {
            return Err(FormatError::Invalid("the newest pane has no table"));
        }
        // A closed pane keeps only candidates that were in its heap.
        let mut kept = with_capacity(self.panes.len())?;
        kept.resize(self.panes.len(), 0);
        for number in 0..self.candidates.len() {
            if self.candidates.is_unused(number) {
                return Err(BAD_CANDIDATE);
            }
            let kept_by = self.candidates.kept_by(number);
            if kept_by != NO_PANE {
                kept[usize::from(kept_by)] += 1;
            }
        }
        if kept.into_iter().any(|candidates| candidates > self.k()) {
            return Err(FormatError::Invalid("a pane keeps more than k candidates"));
        }
        Ok(())
    }
}

/// A heap of k elements without candidates.
fn header_members(shape: Shape, heap: HeapIndex) -> Result<Members, FormatError> {
    Ok(Members::new(shape.k, heap)?)
}

/// Bytes of this many tables, or `u64::MAX` if they do not fit in 64 bits.
fn table_bytes(shape: Shape, tables: u64) -> u64 {
    let bytes = (shape.bucket_bytes()).and_then(|bytes| bytes.checked_mul(tables));
    bytes.unwrap_or(u64::MAX)
}

/// Reads `count` elements of a header into a heap.
fn load_elements(
    members: &mut Members,
    count: u64,
    fields: &mut Fields<'_>,
) -> Result<(), FormatError> {
    let mut next_position = 0;
    for _ in 0..count {
        let [position, count, candidate] = [fields.u32()?, fields.u32()?, fields.u32()?];
        let number_plus_1 = candidate.checked_add(1);
        if position < next_position || position as usize >= members.elements.len() {
            return Err(FormatError::Invalid("a heap element is out of place"));
        }
        let number_plus_1 =
            number_plus_1.ok_or(FormatError::Invalid("a candidate does not exist"))?;
        // The position is below k, so this does not overflow.
        next_position = position + 1;
        members
            .elements
            .set(position as usize, (count, number_plus_1));
    }
    Ok(())
}

/// Age of the pane, sum and item of each candidate of a header. The caller must stop at the first error.
fn header_candidates(
    mut fields: Fields<'_>,
) -> impl Iterator<Item = Result<(u32, u64, &[u8]), FormatError>> {
    std::iter::from_fn(move || (!fields.rest().is_empty()).then(|| header_candidate(&mut fields)))
}

fn header_candidate<'a>(fields: &mut Fields<'a>) -> Result<(u32, u64, &'a [u8]), FormatError> {
    let (age, closed, length) = (fields.u32()?, fields.u64()?, fields.u64()?);
    let (item, rest) = usize::try_from(length)
        .ok()
        .and_then(|length| fields.rest().split_at_checked(length))
        .ok_or(FormatError::Truncated)?;
    *fields = Fields::new(rest);
    Ok((age, closed, item))
}
