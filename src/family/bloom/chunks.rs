//! Copying a filter piece by piece: BF.SCANDUMP and BF.LOADCHUNK.

use super::NOT_FOUND;
use crate::family::chunks::{self, Chunked, misplaced};
use crate::server::call::{Call, Error};
use roughly_sketch::bloom::{Chain, parts};
use std::ffi::CStr;

impl Chunked for Chain {
    const NOT_FOUND: &'static CStr = NOT_FOUND;

    fn header(&self) -> Result<Vec<u8>, Error> {
        Ok(parts::header(self))
    }

    fn from_header(header: &[u8], allows: &dyn Fn(u64) -> bool) -> Option<Self> {
        parts::load_header(header, allows).ok()
    }

    fn piece(&self, iterator: i64, most: usize) -> Option<(i64, &[u8])> {
        self.chunk(iterator, most)
    }

    fn load_piece(&mut self, iterator: i64, piece: &[u8]) -> Result<(), &'static CStr> {
        self.load_chunk(iterator, piece).map_err(misplaced)
    }
}

/// BF.SCANDUMP key iterator
pub fn scandump(call: &mut Call<'_>) -> Result<(), Error> {
    chunks::scandump::<Chain>(call)
}

/// BF.LOADCHUNK key iterator chunk
pub fn loadchunk(call: &mut Call<'_>) -> Result<(), Error> {
    chunks::loadchunk::<Chain>(call, c"bf.loadchunk")
}
