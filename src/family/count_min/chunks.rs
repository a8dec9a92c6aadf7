//! Copying a sketch piece by piece: CMS.SCANDUMP and CMS.LOADCHUNK, which work as BF's do.

use super::NOT_FOUND;
use crate::family::chunks::{self, BAD_DATA, Chunked, misplaced};
use crate::server::call::{Call, Error};
use roughly_sketch::count_min::{CountMin, LoadChunkError};
use std::ffi::CStr;

impl Chunked for CountMin {
    const NOT_FOUND: &'static CStr = NOT_FOUND;

    fn header(&self) -> Result<Vec<u8>, Error> {
        Ok(CountMin::header(self))
    }

    fn from_header(header: &[u8], allows: &dyn Fn(u64) -> bool) -> Option<Self> {
        CountMin::from_header(header, allows).ok()
    }

    fn piece(&self, iterator: i64, most: usize) -> Option<(i64, &[u8])> {
        let (piece, next) = self.chunk_at(iterator, most)?;
        Some((next, piece))
    }

    fn load_piece(&mut self, iterator: i64, piece: &[u8]) -> Result<(), &'static CStr> {
        self.load_chunk(iterator, piece)
            .map_err(|error| match error {
                LoadChunkError::CellAboveMaximum => BAD_DATA,
                LoadChunkError::Place(error) => misplaced(error),
            })
    }
}

/// CMS.SCANDUMP key iterator
pub fn scandump(call: &mut Call<'_>) -> Result<(), Error> {
    chunks::scandump::<CountMin>(call)
}

/// CMS.LOADCHUNK key iterator chunk
pub fn loadchunk(call: &mut Call<'_>) -> Result<(), Error> {
    chunks::loadchunk::<CountMin>(call, c"cms.loadchunk")
}
