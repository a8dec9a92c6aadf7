//! CF.SCANDUMP and CF.LOADCHUNK.

use super::types::{CuckooType, EXISTS, NO_MEMORY, NOT_FOUND};
use crate::family::chunks;
use crate::server::call::{Call, Error};
use crate::server::key::{Entry, Found, OneOf, ReadKey, WriteKey};
use roughly_sketch::cuckoo::HEADER_BYTES;
use roughly_sketch::format::chunks::CHUNK_BYTES;
use std::ffi::CStr;

const BAD_POSITION: &CStr = c"Invalid position";

/// CF.SCANDUMP key iterator
pub fn scandump(call: &mut Call<'_>) -> Result<(), Error> {
    let iterator = call.arg(2).integer().filter(|&iterator| iterator >= 0);
    let iterator = iterator.ok_or(BAD_POSITION)?;
    let key = ReadKey::open(call, 1);
    let has_no_chunks = key
        .get::<CuckooType>()
        .or_missing(NOT_FOUND)?
        .has_no_chunks();
    let filter = key.value(CuckooType::TYPES.iter().copied());
    let filter = filter.or_missing(NOT_FOUND)?;
    let header;
    let chunk = match iterator {
        _ if has_no_chunks => None,
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
    let chunk = call.arg(3).bytes();
    let key = WriteKey::open(call, 1);
    let entry = match key.find_in(call, CuckooType::TYPES.iter().copied())? {
        Found::Entry(_) if iterator == 1 => return Err(EXISTS.into()),
        Found::Entry(mut entry) => {
            let loaded = entry.any().load_chunk(iterator, chunk);
            loaded.map_err(|_| c"Couldn't load chunk!")?;
            entry
        }
        Found::Missing(key) if iterator == 1 => {
            let of = chunks::type_of_header(CuckooType::TYPES, chunk);
            refuse_if!(!of.has_window() && chunk.len() != HEADER_BYTES => c"Invalid header".into());
            let filter = chunks::from_header(call, of, chunk);
            let filter = filter.map_err(|_| c"Couldn't create filter!")?;
            Entry::new(call, key, filter.registration(), filter)?
        }
        Found::Missing(_) => return Err(NOT_FOUND.into()),
    };
    call.replicate_verbatim();
    entry.store();
    call.signal_changed(1, c"cf.loadchunk");
    call.reply_ok();
    Ok(())
}
