//! Copying a sketch piece by piece: TOPK.SCANDUMP and TOPK.LOADCHUNK, which work as BF's do. The header
//! holds the items, the chunks hold the buckets.

use super::{NO_MEMORY, NOT_FOUND};
use crate::server::call::{Call, Error};
use crate::server::key::Slot;
use crate::sketch::format::chunks::{CHUNK_BYTES, ChunkError};
use crate::sketch::top_k::TopK;

/// TOPK.SCANDUMP key iterator
pub fn scandump(call: &mut Call<'_>) -> Result<(), Error> {
    let key = call.read::<TopK>(1);
    let sketch = key.get().or_missing(NOT_FOUND)?;
    let iterator = call.arg(2).integer();
    let iterator = iterator.ok_or(c"Second argument must be numeric")?;
    if iterator == 0 {
        let header = sketch.header().map_err(|_| NO_MEMORY)?;
        call.reply_array(2);
        call.reply_integer(1);
        call.reply_bulk(&header);
        return Ok(());
    }
    let (next, chunk) = sketch.chunk(iterator, CHUNK_BYTES).unwrap_or((0, &[]));
    call.reply_array(2);
    call.reply_integer(next);
    call.reply_bulk(chunk);
    Ok(())
}

/// TOPK.LOADCHUNK key iterator chunk
pub fn loadchunk(call: &mut Call<'_>) -> Result<(), Error> {
    let iterator = call.arg(2).integer();
    let iterator = iterator.ok_or(c"ERR Second argument must be numeric")?;
    let chunk = call.arg(3).bytes();
    let mut key = call.write::<TopK>(1);
    match key.get() {
        Slot::WrongType => return Err(Error::WrongType),
        Slot::Missing if iterator == 1 => {
            let sketch = TopK::from_header(chunk, &|bytes| call.allows_bytes(bytes));
            key.set(sketch.map_err(|_| c"ERR received bad data")?)?;
        }
        Slot::Missing => return Err(NOT_FOUND.into()),
        Slot::Found(sketch) => {
            sketch
                .load_chunk(iterator, chunk)
                .map_err(|error| match error {
                    ChunkError::BadIterator => c"ERR received bad data",
                    ChunkError::NoArray => c"ERR invalid offset - no link found",
                    ChunkError::TooLong => c"ERR invalid chunk - Too big for current filter",
                })?;
        }
    }
    drop(key);
    if !chunk.is_empty() {
        call.replicate_verbatim();
        call.signal_changed(1, c"topk.loadchunk");
    }
    call.reply_ok();
    Ok(())
}
