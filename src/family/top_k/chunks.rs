//! Copying a sketch piece by piece: TOPK.SCANDUMP and TOPK.LOADCHUNK, which work as BF's do. The header
//! holds the items, the chunks hold the buckets.

use super::{NO_MEMORY, NOT_FOUND};
use crate::family::chunks::{self, Chunked, misplaced};
use crate::server::call::{Call, Error};
use roughly_sketch::top_k::TopK;
use std::ffi::CStr;

impl Chunked for TopK {
    const NOT_FOUND: &'static CStr = NOT_FOUND;

    fn header(&self) -> Result<Vec<u8>, Error> {
        TopK::header(self).map_err(|_| NO_MEMORY.into())
    }

    fn from_header(header: &[u8], allows: &dyn Fn(u64) -> bool) -> Option<Self> {
        TopK::from_header(header, allows).ok()
    }

    fn piece(&self, iterator: i64, most: usize) -> Option<(i64, &[u8])> {
        self.chunk(iterator, most)
    }

    fn load_piece(&mut self, iterator: i64, piece: &[u8]) -> Result<(), &'static CStr> {
        self.load_chunk(iterator, piece).map_err(misplaced)
    }
}

/// TOPK.SCANDUMP key iterator
pub fn scandump(call: &mut Call<'_>) -> Result<(), Error> {
    chunks::scandump::<TopK>(call)
}

/// TOPK.LOADCHUNK key iterator chunk
pub fn loadchunk(call: &mut Call<'_>) -> Result<(), Error> {
    chunks::loadchunk::<TopK>(call, c"topk.loadchunk")
}
