//! The stored forms of a top-k sketch (docs/contributing/formats.md, "Top-k"): the values of an RDB file or DUMP payload,
//! in the format of RedisBloom, and the header of a chunked dump, which holds everything except the bucket array.
//!
//! A load puts each item into the heap as it is read.

use super::decay::Decay;
use super::heap::{Heap, MAX_ELEMENT_BYTES};
use super::item_hash::fingerprint_of;
use super::random::Random;
use super::records::{RECORD_BYTES, Record};
use super::table::Table;
use super::{Parameters, TopK, TopKError, seed_from};
use crate::buffer::Buffer;
use crate::format::{Fields, FormatError, Sink, Source};
use crate::memory::{Budget, OutOfMemory, with_capacity};
use crate::stored::Stored;
use std::ffi::CStr;

/// First bytes of a header: the type and the version of the format.
const HEADER_MARK: [u8; 8] = *b"TOPK\x01\0\0\0";
/// Bytes of a header before its elements: the mark, k, width, depth, decay, random state.
const HEADER_BYTES: usize = 6 * 8;
/// Bytes of an element in a header before its item: position, count, length of the item.
const HEADER_ELEMENT_BYTES: usize = 4 + 4 + 8;

/// Bytes of the smallest block of most allocators.
pub(super) const MIN_BLOCK_BYTES: usize = 16;

/// The loaded sketch. `random` is `None` if no random state was stored; it is then derived from the content.
///
/// A stored heap may be out of order (see [`super::heap`]). If a random state was stored, the heap keeps its order, so
/// that the loaded sketch replies as the saved one does. Otherwise the order is restored.
///
/// # Errors
/// [`FormatError::Invalid`] if the bucket array does not fit the parameters.
fn finish(
    parameters: Parameters,
    buckets: Buffer,
    mut heap: Heap,
    random: Option<Random>,
) -> Result<TopK, FormatError> {
    if Some(buckets.len() as u64) != parameters.bucket_bytes() {
        return Err(FormatError::Invalid(
            "the bucket array has not width x depth buckets",
        ));
    }
    heap.trim()?;
    let table = Table {
        buckets: buckets.into(),
    };
    if let Some(random) = random {
        return Ok(TopK::assemble(parameters, table, heap, random));
    }
    heap.restore_order();
    let mut sketch = TopK::assemble(parameters, table, heap, Random::from_seed(0));
    sketch.random = seed_from(|feed| sketch.digest_content(feed));
    Ok(sketch)
}

impl From<TopKError> for FormatError {
    fn from(error: TopKError) -> Self {
        match error {
            TopKError::InvalidK => FormatError::Invalid("k is out of range"),
            TopKError::InvalidWidth => FormatError::Invalid("the width is out of range"),
            TopKError::InvalidDepth => FormatError::Invalid("the depth is out of range"),
            TopKError::InvalidDecay => FormatError::Invalid("the decay is out of range"),
            TopKError::TooDeepForWindow => {
                FormatError::Invalid("the depth is too large for a window")
            }
            TopKError::TooWideForWindow => FormatError::Invalid("the table of a pane is too large"),
            TopKError::TooManyCandidates => FormatError::Invalid("k is too large for the window"),
            TopKError::Window(_) => FormatError::Invalid("the window is out of range"),
            TopKError::OutOfMemory(refused) => FormatError::OutOfMemory(refused),
        }
    }
}

impl Stored for TopK {
    const TYPE_NAME: &'static CStr = c"TopK-TYPE";
    const ENCODING_VERSION: u16 = 0;
    type Cache = ();
    type LoadOptions = ();

    /// Fingerprints are recomputed: RedisBloom cuts items at a NUL after hashing them, and such an item could not be
    /// found by its stored fingerprint. A duplicate item keeps the larger count. Without a stored random state, the
    /// state is derived from the content.
    fn load_values(source: &mut dyn Source, _: u16, (): &()) -> Result<Self, FormatError> {
        let [k, width, depth] = [
            source.read_unsigned()?,
            source.read_unsigned()?,
            source.read_unsigned()?,
        ];
        let parameters = Parameters::new(k, width, depth, source.read_double()?)?;
        let buckets = source.read_bytes()?;
        let stored_heap = source.read_bytes()?;
        let (records, rest) = stored_heap.as_chunks::<RECORD_BYTES>();
        refuse_if!(records.len() as u64 != k || !rest.is_empty() => "the heap has not k elements");
        let fingerprint_of_empty = fingerprint_of(b"");
        let mut random = None;
        let mut heap = Heap::new(parameters.k)?;
        // Counts the items, so that slots are allocated only once. Elements without an item are zeros.
        let is_empty = |record: &Record| record[..4] == [0; 4] && record[16..20] == [0; 4];
        let max_items = records.iter().filter(|record| !is_empty(record)).count();
        heap.reserve_items(max_items)?;
        for (position, record) in (0..parameters.k).zip(records) {
            let mut fields = Fields::new(record);
            let (fingerprint, _length) = (fields.u32()?, fields.u32()?);
            let maybe_random = fields.u64()?;
            let count = fields.u32()?;
            if position == 0 {
                random = Random::from_stored(maybe_random);
            }
            let buffer = source.read_bytes()?;
            let Some((0, item)) = buffer.split_last() else {
                return Err(FormatError::Invalid("an item does not end with a NUL"));
            };
            // This is not the empty item, but no item at all, or one that RedisBloom cut to nothing.
            if item.is_empty() && fingerprint != fingerprint_of_empty {
                continue;
            }
            heap.put(position, item, count)?;
        }
        finish(parameters, buckets, heap, random)
    }

    /// Allocates no memory.
    fn save(&self, sink: &mut dyn Sink) {
        let parameters = self.parameters();
        sink.write_unsigned(parameters.k.into());
        sink.write_unsigned(parameters.width.into());
        sink.write_unsigned(parameters.depth.into());
        sink.write_double(parameters.decay);
        sink.write_bytes(&self.table.buckets.bytes);
        let records = self.heap.records();
        records.write(
            |position| self.record(position),
            |bytes| sink.write_bytes(bytes),
        );
        for position in 0..self.heap.len() {
            sink.write_bytes(self.heap.terminated(position));
        }
    }

    /// The mark `TOPK` with the version 1; k, width, depth (64 bits each); the decay (a double); the random state (64
    /// bits); then for each element that holds an item, in ascending order of position: its position in the heap array,
    /// its count (32 bits each), the length of the item (64 bits), the item. All numbers are little-endian.
    fn header(&self) -> Result<Vec<u8>, OutOfMemory> {
        let items: usize = self.heap.iter().map(|element| element.item.len()).sum();
        let elements = self.item_count() * HEADER_ELEMENT_BYTES;
        let mut header = with_capacity(HEADER_BYTES + elements + items)?;
        header.extend_from_slice(&HEADER_MARK);
        self.parameters()
            .digest(&mut |field| header.extend_from_slice(field));
        header.extend_from_slice(&self.random.to_stored().to_le_bytes());
        for element in self.heap.iter() {
            header.extend_from_slice(&element.position.to_le_bytes());
            header.extend_from_slice(&element.count.to_le_bytes());
            header.extend_from_slice(&(element.item.len() as u64).to_le_bytes());
            header.extend_from_slice(element.item);
        }
        Ok(header)
    }

    /// `budget` is asked for the memory that [`TopK::new`] requests, and then for the items.
    fn from_header(header: &[u8], budget: Budget<'_>) -> Result<Self, FormatError> {
        let mut fields = Fields::new(header);
        refuse_if!(fields.array()? != HEADER_MARK => "not the header of a top-k sketch");
        let [k, width, depth] = [fields.u64()?, fields.u64()?, fields.u64()?];
        let parameters = Parameters::new(k, width, depth, fields.f64()?)?;
        let random = Random::from_stored(fields.u64()?);
        refuse_if!(random.is_none() => "the random state is not sound");
        let (mut count, mut item_bytes) = (0, 0);
        for element in header_elements(fields.clone()) {
            let (.., item) = element?;
            count += 1;
            item_bytes += (item.len() + 1).max(MIN_BLOCK_BYTES);
        }
        parameters.request_memory(budget)?;
        budget.request((count * MAX_ELEMENT_BYTES + item_bytes) as u64)?;
        let mut heap = Heap::new(parameters.k)?;
        heap.reserve_items(count)?;
        let mut next_position = 0;
        for element in header_elements(fields) {
            let (position, count, item) = element?;
            if position < next_position || position >= parameters.k {
                return Err(FormatError::Invalid("a heap element is out of place"));
            }
            // The position is below k, so this does not overflow.
            next_position = position + 1;
            heap.put(position, item, count)?;
        }
        let buckets = Buffer::zeroed(parameters.bucket_bytes().unwrap_or(u64::MAX))?;
        finish(parameters, buckets, heap, random)
    }

    fn arrays(&self) -> impl Iterator<Item = &[u8]> {
        std::iter::once(&*self.table.buckets.bytes)
    }

    fn array_mut(&mut self, number: usize) -> Option<&mut [u8]> {
        (number == 0).then(|| &mut *self.table.buckets.bytes)
    }

    /// Feeds the logical state: equal for sketches that give equal replies to all further commands, whatever memory
    /// they hold.
    fn digest(&self, feed: &mut dyn FnMut(&[u8])) {
        self.digest_content(feed);
        feed(&self.random.to_stored().to_le_bytes());
    }

    /// A copy that continues with the same random numbers.
    fn try_clone(&self) -> Result<Self, OutOfMemory> {
        Ok(Self {
            table: self.table.try_clone()?,
            heap: self.heap.try_clone()?,
            decay: Decay::new(self.decay.base),
            ..*self
        })
    }
}

impl TopK {
    /// The heap element at this position in the RDB format.
    fn record(&self, position: usize) -> Record {
        let mut record = [0; RECORD_BYTES];
        if let Some(element) = self.heap.element(position) {
            // RedisBloom does not read the length of an item from its record.
            let length = element.item.len() as u32;
            record[0..4].copy_from_slice(&element.fingerprint.to_le_bytes());
            record[4..8].copy_from_slice(&length.to_le_bytes());
            record[16..20].copy_from_slice(&element.count.to_le_bytes());
        }
        if position == 0 {
            record[8..16].copy_from_slice(&self.random.to_stored().to_le_bytes());
        }
        record
    }
}

/// Position, count and item of each element of a header. The caller must stop at the first error.
fn header_elements(
    mut fields: Fields<'_>,
) -> impl Iterator<Item = Result<(u32, u32, &[u8]), FormatError>> {
    std::iter::from_fn(move || {
        let is_empty = fields.rest().is_empty();
        let mut element = || Ok((fields.u32()?, fields.u32()?, fields.string()?));
        (!is_empty).then(&mut element)
    })
}
