//! CF.SCANDUMP and CF.LOADCHUNK.

use super::{CuckooSketch, EXISTS, NO_MEMORY, NOT_FOUND};
use crate::family::chunks::open_for_load;
use crate::server::call::{Call, Error};
use crate::server::key::{ReadKey, Slot, WriteKey, for_either};
use roughly_sketch::cuckoo::{CuckooFilter, HEADER_BYTES};
use roughly_sketch::format::chunks::CHUNK_BYTES;
use roughly_sketch::memory::Budget;
use roughly_sketch::window_filter::WindowMultiset;
use std::ffi::CStr;

const BAD_POSITION: &CStr = c"Invalid position";

/// CF.SCANDUMP key iterator
pub fn scandump(call: &mut Call<'_>) -> Result<(), Error> {
    let iterator = call.arg(2).integer().filter(|&iterator| iterator >= 0);
    let iterator = iterator.ok_or(BAD_POSITION)?;
    for_either!(call.read_either::<CuckooFilter, WindowMultiset>(1), key => {
        reply_chunk(call, &key, iterator)
    })
}

fn reply_chunk<T: CuckooSketch>(
    call: &mut Call<'_>,
    key: &ReadKey<T>,
    iterator: i64,
) -> Result<(), Error> {
    let filter = key.get().or_missing(NOT_FOUND)?;
    let header;
    let chunk = match iterator {
        _ if filter.has_no_chunks() => None,
        0 => {
            header = filter.header().map_err(|_| NO_MEMORY)?;
            Some((1, &header[..]))
        }
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
    let key = open_for_load::<CuckooFilter, WindowMultiset>(call, call.write_any(1), iterator);
    for_either!(key, key => load_chunk(call, key, iterator))
}

fn load_chunk<T: CuckooSketch>(
    call: &mut Call<'_>,
    mut key: WriteKey<T>,
    iterator: i64,
) -> Result<(), Error> {
    let chunk = call.arg(3).bytes();
    if iterator == 1 && key.get().found().is_some() {
        return Err(EXISTS.into());
    }
    let loaded = key.change(|filter| filter.load_chunk(iterator, chunk));
    let new = match (iterator, loaded) {
        (_, Slot::WrongType) => return Err(Error::WrongType),
        (1, Slot::Missing) => {
            let is_plain = T::MAX_PANES == 0;
            if is_plain && chunk.len() != HEADER_BYTES {
                return Err(c"Invalid header".into());
            }
            let allows = |bytes| match is_plain {
                true => call.allows_bytes(bytes),
                false => call.allows_with_copy(bytes),
            };
            let filter = T::from_header(chunk, Budget::new(&allows));
            Some(key.create(filter.map_err(|_| c"Couldn't create filter!")?)?)
        }
        (_, Slot::Missing) => return Err(NOT_FOUND.into()),
        (_, Slot::Found(loaded)) => {
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
