//! SCANDUMP and LOADCHUNK (docs/contributing/formats.md, "Headers and chunks"). The replies of CF
//! differ, see `cuckoo/chunks.rs`.

use crate::server::call::{Call, Error};
use crate::server::data_type::{NewValue, Registration};
use crate::server::key::{Entry, Found, ReadKey, WriteKey};
use roughly_sketch::format::FormatError;
use roughly_sketch::format::chunks::{CHUNK_BYTES, ChunkError};
use roughly_sketch::memory::{Budget, Purpose};
use std::ffi::CStr;
use std::ptr;

/// No memory for a header.
pub const NO_MEMORY: &CStr = c"ERR Insufficient memory";

/// Invalid chunk.
pub const BAD_DATA: &CStr = c"ERR received bad data";

/// The types and the replies of a family.
#[derive(Debug)]
pub struct Chunks {
    /// The types. The first is that of a header without a mark.
    pub types: &'static [&'static Registration],
    /// The type whose header replaces the value of a key, which keeps its time to live, if the command must be obeyed. The
    /// header of this type is its only chunk.
    pub replaced: Option<&'static Registration>,
    /// The error for a missing key.
    pub not_found: &'static CStr,
    /// The keyspace event of LOADCHUNK.
    pub event: &'static CStr,
    /// The error for an invalid chunk.
    pub error: fn(ChunkError) -> &'static CStr,
}

/// The errors for an invalid chunk.
pub fn chunk_error(error: ChunkError) -> &'static CStr {
    match error {
        ChunkError::BadIterator | ChunkError::Invalid(_) => BAD_DATA,
        ChunkError::NoArray => c"ERR invalid offset - no link found",
        ChunkError::TooLong => c"ERR invalid chunk - Too big for current filter",
    }
}

/// SCANDUMP key iterator
pub fn scandump(call: &mut Call<'_>, family: &Chunks) -> Result<(), Error> {
    let key = ReadKey::open(call, 1);
    let value = key.value(family.types.iter().copied());
    let value = value.or_missing(family.not_found)?;
    let iterator = call.arg(2).integer();
    let iterator = iterator.ok_or(c"Second argument must be numeric")?;
    let header;
    let (next, chunk) = match iterator {
        0 => {
            header = value.header().map_err(|_| NO_MEMORY)?;
            (1, &header[..])
        }
        _ => value.chunk(iterator, CHUNK_BYTES).unwrap_or((0, &[])),
    };
    call.reply_array(2);
    call.reply_integer(next);
    call.reply_bulk(chunk);
    Ok(())
}

/// LOADCHUNK key iterator chunk
pub fn loadchunk(call: &mut Call<'_>, family: &Chunks) -> Result<(), Error> {
    let iterator = call.arg(2).integer();
    let iterator = iterator.ok_or(c"ERR Second argument must be numeric")?;
    let chunk = call.arg(3).bytes();
    let key = WriteKey::open(call, 1);
    let entry = match key.find_in(call, family.types.iter().copied())? {
        Found::Missing(key) if iterator == 1 => {
            let of = type_of_header(family.types, chunk);
            let value = from_header(call, of, chunk).map_err(|_| BAD_DATA)?;
            value.check_limit(call)?;
            Entry::new(call, key, value.registration(), value)?
        }
        Found::Missing(_) => return Err(family.not_found.into()),
        Found::Entry(mut entry) => {
            let of = entry.registration();
            let replaces = family
                .replaced
                .is_some_and(|replaced| ptr::eq(of, replaced));
            if iterator == 1 && replaces && call.must_obey() {
                entry.any().load_header(chunk).map_err(|_| BAD_DATA)?;
            } else {
                let loaded = entry.any().load_chunk(iterator, chunk);
                loaded.map_err(family.error)?;
            }
            entry
        }
    };
    if !chunk.is_empty() {
        call.replicate_verbatim();
        entry.store();
        call.signal_changed(1, family.event);
    }
    call.reply_ok();
    Ok(())
}

/// The type whose mark begins a header, otherwise the first.
pub fn type_of_header(types: &[&'static Registration], header: &[u8]) -> &'static Registration {
    let marked = types.iter().find(|of| of.marks(header));
    marked.unwrap_or(&types[0])
}

/// The value that a header describes.
///
/// # Errors
/// [`FormatError`].
pub fn from_header(
    call: &Call<'_>,
    of: &Registration,
    header: &[u8],
) -> Result<NewValue, FormatError> {
    let allows = |bytes| match of.has_window() {
        false => call.memory().request(Purpose::Create, bytes),
        true => call.memory().request(Purpose::CreateInParts, bytes),
    };
    (of.from_header)(header, Budget::new(&allows))
}
