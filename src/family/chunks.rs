//! SCANDUMP and LOADCHUNK (spec: bloom.md, "SCANDUMP and LOADCHUNK", which CMS, TOPK and TDIGEST follow). The replies
//! of CF differ, see `cuckoo/chunks.rs`.

use crate::server::call::{Call, Error};
use crate::server::datatype::DataType;
use crate::server::key::{AnyWriteKey, Either, ReadKey, Slot, WriteKey, for_either};
use roughly_sketch::format::chunks::{CHUNK_BYTES, ChunkError};
use roughly_sketch::memory::Budget;
use std::ffi::CStr;

/// Invalid chunk.
pub const BAD_DATA: &CStr = c"ERR received bad data";

/// The replies of a family.
pub trait Chunked: DataType {
    /// The error for a missing key.
    const NOT_FOUND: &'static CStr;
    /// The error if there is no memory for a header.
    const NO_MEMORY: &'static CStr;
    /// The keyspace event of LOADCHUNK.
    const LOADCHUNK_EVENT: &'static CStr;
    /// Whether the header replaces the value of a key, which keeps its time to live, if the command must be obeyed. Only
    /// for a type whose header is its only chunk.
    const HEADER_REPLACES: bool = false;

    /// Checks a new value against a limit of the type.
    ///
    /// # Errors
    /// If the value is above the limit.
    fn check_limit(&self, _call: &Call<'_>) -> Result<(), Error> {
        Ok(())
    }

    /// The error for an invalid chunk.
    #[must_use]
    fn chunk_error(error: ChunkError) -> &'static CStr {
        match error {
            ChunkError::BadIterator | ChunkError::Invalid(_) => BAD_DATA,
            ChunkError::NoArray => c"ERR invalid offset - no link found",
            ChunkError::TooLong => c"ERR invalid chunk - Too big for current filter",
        }
    }
}

/// SCANDUMP key iterator, for a type without windows and its counterpart with windows.
pub fn scandump<P: Chunked, W: Chunked>(call: &mut Call<'_>) -> Result<(), Error> {
    for_either!(call.read_either::<P, W>(1), key => reply_chunk(call, &key))
}

/// Replies with the chunk at the iterator in argument 2.
///
/// # Errors
/// Those of SCANDUMP.
pub fn reply_chunk<T: Chunked>(call: &mut Call<'_>, key: &ReadKey<T>) -> Result<(), Error> {
    let value = key.get().or_missing(T::NOT_FOUND)?;
    let iterator = call.arg(2).integer();
    let iterator = iterator.ok_or(c"Second argument must be numeric")?;
    if iterator == 0 {
        let header = value.header().map_err(|_| T::NO_MEMORY)?;
        call.reply_array(2);
        call.reply_integer(1);
        call.reply_bulk(&header);
        return Ok(());
    }
    let (next, chunk) = value.chunk(iterator, CHUNK_BYTES).unwrap_or((0, &[]));
    call.reply_array(2);
    call.reply_integer(next);
    call.reply_bulk(chunk);
    Ok(())
}

/// LOADCHUNK key iterator chunk, for a type without windows and its counterpart with windows. The header decides which type
/// a new key has.
pub fn loadchunk<P: Chunked, W: Chunked>(call: &mut Call<'_>) -> Result<(), Error> {
    let iterator = load_iterator(call)?;
    let key = open_for_load::<P, W>(call, call.write_any(1), iterator);
    for_either!(key, key => load_chunk(call, key, iterator))
}

/// The key of a LOADCHUNK, for a type without windows, or for its counterpart with windows. The header decides which
/// type a new key has.
pub fn open_for_load<P: DataType, W: DataType>(
    call: &Call<'_>,
    key: AnyWriteKey,
    iterator: i64,
) -> Either<WriteKey<P>, WriteKey<W>> {
    match is_load_of::<W>(call, &key, iterator, W::HEADER_MARK) {
        true => Either::Windowed(key.typed(call)),
        false => Either::Plain(key.typed(call)),
    }
}

/// Whether a LOADCHUNK is for a value of type `T`: the type of the key, or of the header that creates the key.
pub fn is_load_of<T: DataType>(
    call: &Call<'_>,
    key: &AnyWriteKey,
    iterator: i64,
    header_mark: &[u8],
) -> bool {
    match key.is_missing() {
        true => iterator == 1 && call.arg(3).bytes().starts_with(header_mark),
        false => key.holds(T::registration()),
    }
}

/// The iterator of a LOADCHUNK, argument 2.
///
/// # Errors
/// If it is not an integer.
pub fn load_iterator(call: &Call<'_>) -> Result<i64, Error> {
    let iterator = call.arg(2).integer();
    Ok(iterator.ok_or(c"ERR Second argument must be numeric")?)
}

/// Loads the chunk in argument 3.
///
/// # Errors
/// Those of LOADCHUNK.
pub fn load_chunk<T: Chunked>(
    call: &mut Call<'_>,
    mut key: WriteKey<T>,
    iterator: i64,
) -> Result<(), Error> {
    let chunk = call.arg(3).bytes();
    let new = match key.get() {
        Slot::WrongType => return Err(Error::WrongType),
        Slot::Missing if iterator == 1 => {
            let allows = |bytes| match T::MAX_PANES {
                0 => call.allows_bytes(bytes),
                _ => call.allows_with_copy(bytes),
            };
            let value = T::from_header(chunk, Budget::new(&allows)).map_err(|_| BAD_DATA)?;
            value.check_limit(call)?;
            Some(key.create(value)?)
        }
        Slot::Missing => return Err(T::NOT_FOUND.into()),
        Slot::Found(_) if T::HEADER_REPLACES && iterator == 1 && call.must_obey() => {
            let value = T::from_header(chunk, Budget::UNLIMITED).map_err(|_| BAD_DATA)?;
            Some(key.replace(value)?)
        }
        Slot::Found(_) => {
            let loaded = key.change(|value| value.load_chunk(iterator, chunk));
            loaded.found().unwrap_or(Ok(())).map_err(T::chunk_error)?;
            drop(key);
            None
        }
    };
    if !chunk.is_empty() {
        call.replicate_verbatim();
        if let Some(entry) = new {
            entry.store();
        }
        call.signal_changed(1, T::LOADCHUNK_EVENT);
    }
    call.reply_ok();
    Ok(())
}
