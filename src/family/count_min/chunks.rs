//! Copying a sketch piece by piece: CMS.SCANDUMP and CMS.LOADCHUNK, which work as BF's do.

use super::NOT_FOUND;
use crate::server::call::{Call, Error};
use crate::server::key::Slot;
use crate::sketch::count_min::{CountMin, LoadChunkError};
use crate::sketch::format::chunks::{CHUNK_BYTES, ChunkError};

/// CMS.SCANDUMP key iterator
pub fn scandump(call: &mut Call<'_>) -> Result<(), Error> {
    let key = call.read::<CountMin>(1);
    let sketch = key.get().or_missing(NOT_FOUND)?;
    let iterator = call.arg(2).integer();
    let iterator = iterator.ok_or(c"Second argument must be numeric")?;
    call.reply_array(2);
    if iterator == 0 {
        call.reply_integer(1);
        call.reply_bulk(&sketch.header());
        return Ok(());
    }
    let (chunk, next) = sketch.chunk_at(iterator, CHUNK_BYTES).unwrap_or((&[], 0));
    call.reply_integer(next);
    call.reply_bulk(chunk);
    Ok(())
}

/// CMS.LOADCHUNK key iterator chunk
pub fn loadchunk(call: &mut Call<'_>) -> Result<(), Error> {
    let iterator = call.arg(2).integer();
    let iterator = iterator.ok_or(c"ERR Second argument must be numeric")?;
    let chunk = call.arg(3).bytes();
    let mut key = call.write::<CountMin>(1);
    match key.get() {
        Slot::WrongType => return Err(Error::WrongType),
        Slot::Missing if iterator == 1 => {
            let sketch = CountMin::from_header(chunk, &|bytes| call.allows_bytes(bytes));
            key.set(sketch.map_err(|_| c"ERR received bad data")?)?;
        }
        Slot::Missing => return Err(NOT_FOUND.into()),
        Slot::Found(sketch) => {
            sketch
                .load_chunk(iterator, chunk)
                .map_err(|error| match error {
                    LoadChunkError::CellAboveMaximum
                    | LoadChunkError::Place(ChunkError::BadIterator) => c"ERR received bad data",
                    LoadChunkError::Place(ChunkError::NoArray) => {
                        c"ERR invalid offset - no link found"
                    }
                    LoadChunkError::Place(ChunkError::TooLong) => {
                        c"ERR invalid chunk - Too big for current filter"
                    }
                })?;
        }
    }
    drop(key);
    if !chunk.is_empty() {
        call.replicate_verbatim();
        call.signal_changed(1, c"cms.loadchunk");
    }
    call.reply_ok();
    Ok(())
}
