//! CF.SCANDUMP and CF.LOADCHUNK.

use super::{EXISTS, NOT_FOUND};
use crate::server::call::{Call, Error};
use crate::server::key::Slot;
use roughly_sketch::cuckoo::{CuckooFilter, HEADER_BYTES};
use roughly_sketch::format::chunks::CHUNK_BYTES;
use roughly_sketch::memory::Budget;
use roughly_sketch::stored::Stored;
use std::ffi::CStr;

const BAD_POSITION: &CStr = c"Invalid position";

/// CF.SCANDUMP key iterator
pub fn scandump(call: &mut Call<'_>) -> Result<(), Error> {
    let iterator = call.arg(2).integer().filter(|&iterator| iterator >= 0);
    let iterator = iterator.ok_or(BAD_POSITION)?;
    let key = call.read::<CuckooFilter>(1);
    let filter = key.get().or_missing(NOT_FOUND)?;
    let header = filter.header_bytes();
    let chunk = match iterator {
        _ if filter.items() == 0 => None,
        0 => Some((1, &header[..])),
        _ => filter.chunk(iterator, CHUNK_BYTES),
    };
    call.reply_array(2);
    call.reply_integer(chunk.map_or(0, |(next, _)| next));
    match chunk {
        Some((_, chunk)) => call.reply_bulk(chunk),
        None => call.reply_null(),
    }
    Ok(())
}

/// CF.LOADCHUNK key iterator chunk
pub fn loadchunk(call: &mut Call<'_>) -> Result<(), Error> {
    let iterator = call.arg(2).integer().filter(|&iterator| iterator != 0);
    let iterator = iterator.ok_or(BAD_POSITION)?;
    let chunk = call.arg(3).bytes();
    let mut key = call.write::<CuckooFilter>(1);
    let new = match (iterator, key.get()) {
        (_, Slot::WrongType) => return Err(Error::WrongType),
        (1, Slot::Found(_)) => return Err(EXISTS.into()),
        (1, Slot::Missing) => {
            if chunk.len() != HEADER_BYTES {
                return Err(c"Invalid header".into());
            }
            let filter =
                CuckooFilter::from_header(chunk, Budget::new(&|bytes| call.allows_bytes(bytes)));
            Some(key.create(filter.map_err(|_| c"Couldn't create filter!")?)?)
        }
        (_, Slot::Missing) => return Err(NOT_FOUND.into()),
        (_, Slot::Found(filter)) => {
            let loaded = filter.load_chunk(iterator, chunk);
            loaded.map_err(|_| c"Couldn't load chunk!")?;
            drop(key);
            None
        }
    };
    call.replicate_verbatim();
    if let Some(entry) = new {
        entry.store();
    }
    call.signal_changed(1, c"cf.loadchunk");
    call.reply_ok();
    Ok(())
}
