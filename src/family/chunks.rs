//! Copying a value piece by piece: SCANDUMP and LOADCHUNK of the families whose values are a header and
//! arrays of bytes (spec: bloom.md, "SCANDUMP and LOADCHUNK", which CMS and TOPK follow). CF has errors of
//! its own, and a t-digest is one piece.

use crate::server::call::{Call, Error};
use crate::server::datatype::DataType;
use crate::server::key::Slot;
use roughly_sketch::format::chunks::{CHUNK_BYTES, ChunkError};
use std::ffi::CStr;

/// The piece is none, or not of such a value.
pub const BAD_DATA: &CStr = c"ERR received bad data";

/// A value that goes over in pieces.
pub trait Chunked: DataType {
    /// What is answered where there is no key.
    const NOT_FOUND: &'static CStr;

    /// The first piece: all but the arrays.
    ///
    /// # Errors
    /// What is answered where it cannot be made.
    fn header(&self) -> Result<Vec<u8>, Error>;

    /// The value with empty arrays, `None` for a header that is wrong or too large. `allows` is asked
    /// before memory is taken.
    fn from_header(header: &[u8], allows: &dyn Fn(u64) -> bool) -> Option<Self>;

    /// The piece of at most `most` bytes at an iterator, and the iterator of the next.
    fn piece(&self, iterator: i64, most: usize) -> Option<(i64, &[u8])>;

    /// Puts a piece of an array to its place.
    ///
    /// # Errors
    /// What is answered to one that has no place.
    fn load_piece(&mut self, iterator: i64, piece: &[u8]) -> Result<(), &'static CStr>;
}

/// What is answered to a piece that has no place.
pub fn misplaced(error: ChunkError) -> &'static CStr {
    match error {
        ChunkError::BadIterator => BAD_DATA,
        ChunkError::NoArray => c"ERR invalid offset - no link found",
        ChunkError::TooLong => c"ERR invalid chunk - Too big for current filter",
    }
}

/// SCANDUMP key iterator
pub fn scandump<T: Chunked>(call: &mut Call<'_>) -> Result<(), Error> {
    let key = call.read::<T>(1);
    let value = key.get().or_missing(T::NOT_FOUND)?;
    let iterator = call.arg(2).integer();
    let iterator = iterator.ok_or(c"Second argument must be numeric")?;
    if iterator == 0 {
        let header = value.header()?;
        call.reply_array(2);
        call.reply_integer(1);
        call.reply_bulk(&header);
        return Ok(());
    }
    let (next, piece) = value.piece(iterator, CHUNK_BYTES).unwrap_or((0, &[]));
    call.reply_array(2);
    call.reply_integer(next);
    call.reply_bulk(piece);
    Ok(())
}

/// LOADCHUNK key iterator piece; `event` is what listeners are told.
pub fn loadchunk<T: Chunked>(call: &mut Call<'_>, event: &CStr) -> Result<(), Error> {
    let iterator = call.arg(2).integer();
    let iterator = iterator.ok_or(c"ERR Second argument must be numeric")?;
    let piece = call.arg(3).bytes();
    let mut key = call.write::<T>(1);
    let new = match key.get() {
        Slot::WrongType => return Err(Error::WrongType),
        Slot::Missing if iterator == 1 => {
            let value = T::from_header(piece, &|bytes| call.allows_bytes(bytes));
            Some(key.create(value.ok_or(BAD_DATA)?)?)
        }
        Slot::Missing => return Err(T::NOT_FOUND.into()),
        Slot::Found(value) => {
            value.load_piece(iterator, piece)?;
            drop(key);
            None
        }
    };
    if !piece.is_empty() {
        call.replicate_verbatim();
        if let Some(entry) = new {
            entry.store();
        }
        call.signal_changed(1, event);
    }
    call.reply_ok();
    Ok(())
}
