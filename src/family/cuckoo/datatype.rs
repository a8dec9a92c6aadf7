//! The type `MBbloomCF`.

use super::config;
use crate::server::aof::AofWriter;
use crate::server::datatype::{DataType, Registration};
use crate::server::rdb::{RdbReader, RdbWriter};
use roughly_sketch::cuckoo::{CuckooFilter, ENCODING_VERSION};
use roughly_sketch::format::chunks::CHUNK_BYTES;
use std::ffi::CStr;

static REGISTRATION: Registration = Registration::new(CuckooFilter::NAME);

impl DataType for CuckooFilter {
    const NAME: &'static CStr = c"MBbloomCF";
    const ENCODING_VERSION: i32 = ENCODING_VERSION as i32;

    fn registration() -> &'static Registration {
        &REGISTRATION
    }

    fn load(reader: &mut RdbReader, encoding_version: u32) -> Result<Self, String> {
        CuckooFilter::load(reader, encoding_version, config::parameters())
            .map_err(|error| error.to_string())
    }

    fn save(&self, writer: &mut RdbWriter) {
        CuckooFilter::save(self, writer);
    }

    fn rewrite(&self, aof: &mut AofWriter) -> Result<(), String> {
        aof.emit(c"CF.LOADCHUNK", 1, &self.header());
        let mut iterator = 1;
        while let Some((chunk, next)) = self.chunk(iterator, CHUNK_BYTES) {
            aof.emit(c"CF.LOADCHUNK", next, chunk);
            iterator = next;
        }
        Ok(())
    }

    fn try_copy(&self) -> Option<Self> {
        self.try_clone().ok()
    }

    fn digest(&self, mut feed: &mut dyn FnMut(&[u8])) {
        CuckooFilter::digest(self, &mut feed);
    }
}
