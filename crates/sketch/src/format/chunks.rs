//! The positions of chunks in SCANDUMP and LOADCHUNK.
//!
//! Iterator i ≥ 1 is byte i - 1 of the concatenated arrays (docs/contributing/formats.md, "Headers and chunks"). A chunk never extends from one
//! array into the next. LOADCHUNK receives a chunk with the iterator that SCANDUMP returned with it. This iterator is
//! the end of the chunk.

/// The size of the largest chunk that SCANDUMP returns, in bytes: 16 MiB.
pub const CHUNK_BYTES: usize = 16 << 20;

/// The position of a chunk: its array and the offset in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkPosition {
    /// The number of the array, from 0.
    pub array: usize,
    /// The first byte of the chunk in that array.
    pub offset: usize,
}

/// Why a chunk has no position.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ChunkError {
    /// The iterator is not positive, or smaller than the length of the chunk.
    #[error("the iterator does not fit the chunk")]
    BadIterator,
    /// The chunk would start outside every array.
    #[error("the chunk starts in no array")]
    NoArray,
    /// The chunk would reach beyond the end of the array it starts in.
    #[error("the chunk reaches beyond its array")]
    TooLong,
    /// The array must not contain these bytes; the text is the reason.
    #[error("{0}")]
    Invalid(&'static str),
}

/// The position of byte `byte` of the concatenated arrays, and the length of its array. Cost: linear in the number of
/// arrays.
fn position_of(lengths: impl Iterator<Item = usize>, byte: u64) -> Option<(ChunkPosition, usize)> {
    let mut start = 0u64;
    for (array, length) in lengths.enumerate() {
        let end = start.checked_add(length as u64)?;
        if byte < end {
            let offset = usize::try_from(byte - start).ok()?;
            return Some((ChunkPosition { array, offset }, length));
        }
        start = end;
    }
    None
}

/// The chunk of at most `chunk_bytes` bytes at `iterator`: its position, its length, and the iterator of the next chunk.
/// `None` for iterators below 1 or after the end.
#[must_use]
pub fn chunk_at(
    lengths: impl Iterator<Item = usize>,
    iterator: i64,
    chunk_bytes: usize,
) -> Option<(ChunkPosition, usize, i64)> {
    let byte = u64::try_from(iterator).ok()?.checked_sub(1)?;
    let (position, length) = position_of(lengths, byte)?;
    let taken = chunk_bytes.min(length - position.offset);
    let next = iterator.checked_add(i64::try_from(taken).ok()?)?;
    Some((position, taken, next))
}

/// The position of a chunk of `chunk_len` bytes that SCANDUMP returned with `iterator`.
///
/// # Errors
/// See [`ChunkError`]; an empty chunk inside an array has a position.
pub fn position_for(
    lengths: impl Iterator<Item = usize>,
    iterator: i64,
    chunk_len: usize,
) -> Result<ChunkPosition, ChunkError> {
    let iterator = u64::try_from(iterator).map_err(|_| ChunkError::BadIterator)?;
    let chunk_len = chunk_len as u64;
    refuse_if!(iterator == 0 || iterator < chunk_len => ChunkError::BadIterator);
    let byte = (iterator - chunk_len)
        .checked_sub(1)
        .ok_or(ChunkError::NoArray)?;
    let (position, length) = position_of(lengths, byte).ok_or(ChunkError::NoArray)?;
    refuse_if!(chunk_len > (length - position.offset) as u64 => ChunkError::TooLong);
    Ok(position)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn invalid_iterators_have_no_chunk() {
        for iterator in [i64::MIN, -1, 0, 13, i64::MAX] {
            assert_eq!(chunk_at([5, 7].into_iter(), iterator, 4), None);
        }
    }

    #[test]
    fn a_misplaced_chunk_is_an_error_with_its_reason() {
        let position = |iterator, len| position_for([5, 7].into_iter(), iterator, len);
        assert_eq!(position(-1, 2), Err(ChunkError::BadIterator));
        assert_eq!(position(0, 0), Err(ChunkError::BadIterator));
        assert_eq!(position(2, 3), Err(ChunkError::BadIterator));
        assert_eq!(position(2, 2), Err(ChunkError::NoArray));
        assert_eq!(position(99, 1), Err(ChunkError::NoArray));
        assert_eq!(position(7, 6), Err(ChunkError::TooLong));
        assert_eq!(position(7, 2), Err(ChunkError::TooLong));
        assert_eq!(position(i64::MAX, 1), Err(ChunkError::NoArray));
        assert_eq!(
            position(1, 0),
            Ok(ChunkPosition {
                array: 0,
                offset: 0
            })
        );
        assert_eq!(
            position(8, 2),
            Ok(ChunkPosition {
                array: 1,
                offset: 0
            })
        );
    }

    proptest! {
        #[test]
        fn chunks_contain_every_byte_once_and_load_into_their_place(
            arrays in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..6),
            chunk_bytes in 1usize..50,
        ) {
            let lengths = || arrays.iter().map(Vec::len);
            let mut copy: Vec<Vec<u8>> = lengths().map(|length| vec![0; length]).collect();
            let mut iterator = 1;
            while let Some((from, len, next)) = chunk_at(lengths(), iterator, chunk_bytes) {
                prop_assert!(len >= 1 && len <= chunk_bytes);
                let to = position_for(lengths(), next, len).unwrap();
                prop_assert_eq!(from, to);
                copy[to.array][to.offset..to.offset + len]
                    .copy_from_slice(&arrays[from.array][from.offset..from.offset + len]);
                iterator = next;
            }
            prop_assert_eq!(copy, arrays);
        }
    }
}
