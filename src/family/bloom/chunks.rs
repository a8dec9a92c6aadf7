//! Copying a filter piece by piece: BF.SCANDUMP and BF.LOADCHUNK.

use super::NOT_FOUND;
use crate::server::call::{Call, Error};
use crate::server::key::Slot;
use crate::sketch::bloom::{Chain, parts};
use crate::sketch::format::chunks::{CHUNK_BYTES, ChunkError};

/// BF.SCANDUMP key iterator
pub fn scandump(call: &mut Call<'_>) -> Result<(), Error> {
    let key = call.read::<Chain>(1);
    let chain = key.get().or_missing(NOT_FOUND)?;
    let iterator = call.arg(2).integer();
    let iterator = iterator.ok_or(c"Second argument must be numeric")?;
    call.reply_array(2);
    if iterator == 0 {
        call.reply_integer(1);
        call.reply_bulk(&parts::header(chain));
        return Ok(());
    }
    let (next, chunk) = chain.chunk(iterator, CHUNK_BYTES).unwrap_or((0, &[]));
    call.reply_integer(next);
    call.reply_bulk(chunk);
    Ok(())
}

/// BF.LOADCHUNK key iterator chunk
pub fn loadchunk(call: &mut Call<'_>) -> Result<(), Error> {
    let iterator = call.arg(2).integer();
    let iterator = iterator.ok_or(c"ERR Second argument must be numeric")?;
    let chunk = call.arg(3).bytes();
    let mut key = call.write::<Chain>(1);
    match key.get() {
        Slot::WrongType => return Err(Error::WrongType),
        Slot::Missing if iterator == 1 => {
            let chain = parts::load_header(chunk, &|bytes| call.allows_bytes(bytes));
            key.set(chain.map_err(|_| c"ERR received bad data")?)?;
        }
        Slot::Missing => return Err(NOT_FOUND.into()),
        Slot::Found(chain) => {
            chain
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
        call.signal_changed(1, c"bf.loadchunk");
    }
    call.reply_ok();
    Ok(())
}
