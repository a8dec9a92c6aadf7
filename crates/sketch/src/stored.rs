//! [`Stored`]: conversion of sketches to and from bytes.

use crate::blocks::Blocks;
use crate::cache::Cache;
use crate::format::chunks::{self, ChunkError, ChunkPosition};
use crate::format::packed::{Feed, PackedSource, PayloadSize, packed_header};
use crate::format::{FormatError, Sink, Source};
use crate::memory::{Budget, OutOfMemory};
use crate::window::Timed;
use std::ffi::CStr;

/// A sketch with its stored forms: the values of an RDB file, and a header with chunks.
///
/// The values are what RDB files and DUMP payloads hold. The header describes a sketch without its arrays; the
/// chunks are parts of the concatenated arrays (see [`chunks`]). SCANDUMP, LOADCHUNK, AOF rewrite, RDB load
/// and save, COPY and DEBUG DIGEST are written once, for every sketch that implements this trait.
///
/// Threads can share a sketch: no read changes it. What a read keeps is in the [`Stored::Cache`].
pub trait Stored: Blocks + Timed + Send + Sync + Sized {
    /// The name of the type in RDB files and DUMP payloads: nine characters of `A-Z a-z 0-9 - _`.
    const TYPE_NAME: &'static CStr;
    /// The encoding version that [`Stored::save`] writes.
    const ENCODING_VERSION: u16;
    /// The lowest encoding version that [`Stored::load`] reads.
    const MIN_ENCODING_VERSION: u16 = Self::ENCODING_VERSION;
    /// The highest encoding version that [`Stored::load`] reads.
    const MAX_ENCODING_VERSION: u16 = Self::ENCODING_VERSION;

    /// The first bytes of a header, if the family has another type with another header. No header of the other types begins
    /// with them.
    const HEADER_MARK: &'static [u8] = &[];

    /// What reads keep for later reads.
    type Cache: Cache<Self>;

    /// What the caller supplies: parameters that old encoding versions do not store, or a limit.
    type LoadOptions: Default;

    /// Reads the values of an encoding version. Takes memory in proportion to the bytes read.
    ///
    /// # Errors
    /// [`FormatError`]: an unknown encoding version, values that end early or
    /// contradict the format, or memory that was refused.
    fn load(
        source: &mut dyn Source,
        encoding_version: u16,
        options: &Self::LoadOptions,
    ) -> Result<Self, FormatError> {
        let versions = Self::MIN_ENCODING_VERSION..=Self::MAX_ENCODING_VERSION;
        if !versions.contains(&encoding_version) {
            return Err(FormatError::UnknownVersion(encoding_version));
        }
        Self::load_values(source, encoding_version, options)
    }

    /// [`Stored::load`] for an encoding version from [`Stored::MIN_ENCODING_VERSION`] to
    /// [`Stored::MAX_ENCODING_VERSION`].
    ///
    /// # Errors
    /// [`FormatError`]: values that end early or contradict the format, or memory that was refused.
    fn load_values(
        source: &mut dyn Source,
        encoding_version: u16,
        options: &Self::LoadOptions,
    ) -> Result<Self, FormatError>;

    /// Writes the values of [`Stored::ENCODING_VERSION`].
    fn save(&self, sink: &mut dyn Sink);

    /// An upper bound for the bytes of a DUMP payload. Cost: that of [`Stored::save`] without its strings.
    fn payload_bytes(&self) -> u64 {
        PayloadSize::of(|sink| self.save(sink))
    }

    /// Whether [`Stored::header`] can describe this value. Only values of old encoding versions may lack a header.
    fn has_header(&self) -> bool {
        true
    }

    /// The header: everything except the arrays. By default the mark and the values of [`Stored::save`].
    ///
    /// # Errors
    /// [`OutOfMemory`] if the allocator refuses the bytes.
    fn header(&self) -> Result<Vec<u8>, OutOfMemory> {
        packed_header(Self::HEADER_MARK, |sink| self.save(sink))
    }

    /// The sketch that a header describes, with zeroed arrays. Requests their bytes from `budget` before it allocates them. By
    /// default, reads the values of a default header as [`Stored::load`] does.
    ///
    /// # Errors
    /// [`FormatError`]: anything but what [`Stored::header`] writes, or memory that was refused.
    fn from_header(header: &[u8], budget: Budget<'_>) -> Result<Self, FormatError> {
        load_header(header, budget)
    }

    /// The arrays that chunks are cut from, in order.
    fn arrays(&self) -> impl Iterator<Item = &[u8]>;

    /// The array with this number, from 0, for [`Stored::load_chunk`]. By default `None`, for types without arrays and those
    /// that load chunks differently.
    fn array_mut(&mut self, _number: usize) -> Option<&mut [u8]> {
        None
    }

    /// Checks the contents of a chunk that has a position.
    ///
    /// # Errors
    /// [`ChunkError`] if the arrays must not contain such bytes there.
    fn check_chunk(&self, _place: ChunkPosition, _chunk: &[u8]) -> Result<(), ChunkError> {
        Ok(())
    }

    /// The iterator of the next chunk, and the chunk of at most `max_bytes` bytes at `iterator`. `None` for iterators
    /// below 1 or after the end. Cost: linear in the number of arrays.
    fn chunk(&self, iterator: i64, max_bytes: usize) -> Option<(i64, &[u8])> {
        let lengths = self.arrays().map(<[u8]>::len);
        let (position, len, next) = chunks::chunk_at(lengths, iterator, max_bytes)?;
        let array = self.arrays().nth(position.array)?;
        Some((next, array.get(position.offset..)?.get(..len)?))
    }

    /// Copies a chunk to its position. `iterator` is the one that [`Stored::chunk`] returned with it.
    ///
    /// # Errors
    /// [`ChunkError`] if it is not inside one array or has invalid bytes; nothing is changed.
    fn load_chunk(&mut self, iterator: i64, chunk: &[u8]) -> Result<(), ChunkError> {
        let lengths = self.arrays().map(<[u8]>::len);
        let position = chunks::position_for(lengths, iterator, chunk.len())?;
        self.check_chunk(position, chunk)?;
        self.array_mut(position.array)
            .and_then(|array| array.get_mut(position.offset..)?.get_mut(..chunk.len()))
            .ok_or(ChunkError::TooLong)?
            .copy_from_slice(chunk);
        Ok(())
    }

    /// Feeds the whole state to a digest: equal states feed equal bytes. By default the values of [`Stored::save`].
    fn digest(&self, feed: &mut dyn FnMut(&[u8])) {
        self.save(&mut Feed(feed));
    }

    /// A copy.
    ///
    /// # Errors
    /// [`OutOfMemory`] if the allocator refuses memory.
    fn try_clone(&self) -> Result<Self, OutOfMemory>;
}

/// [`Stored::from_header`] for the header of [`packed_header`].
///
/// # Errors
/// [`FormatError`]: anything but such a header, or memory that was refused.
pub fn load_header<T: Stored>(header: &[u8], budget: Budget<'_>) -> Result<T, FormatError> {
    let mut source = PackedSource::new(header, T::HEADER_MARK, Some(budget))?;
    let sketch = T::load(&mut source, T::ENCODING_VERSION, &T::LoadOptions::default())?;
    source.finish()?;
    Ok(sketch)
}
