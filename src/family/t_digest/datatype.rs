//! The type `TDIS-TYPE`.

use super::chunks::ONLY_CHUNK;
use crate::family::rewrite::{RESTORE_BYTES, restore_or_chunks};
use crate::server::aof::AofWriter;
use crate::server::datatype::{DataType, Registration};
use crate::server::rdb::{RdbReader, RdbWriter};
use roughly_sketch::format::dump::{DumpWriter, type_id};
use roughly_sketch::t_digest::{self, TDigest};
use std::ffi::CStr;

static REGISTRATION: Registration = Registration::new(TDigest::NAME);

impl DataType for TDigest {
    const NAME: &'static CStr = c"TDIS-TYPE";
    const ENCODING_VERSION: i32 = t_digest::ENCODING_VERSION;

    fn registration() -> &'static Registration {
        &REGISTRATION
    }

    fn load(reader: &mut RdbReader, encoding_version: u32) -> Result<Self, String> {
        TDigest::load(reader, encoding_version.cast_signed()).map_err(|error| error.to_string())
    }

    fn save(&self, writer: &mut RdbWriter) {
        TDigest::save(self, writer);
    }

    fn rewrite(&self, aof: &mut AofWriter) -> Result<(), String> {
        let id = type_id(b"TDIS-TYPE", 0);
        let save = |payload: &mut DumpWriter| TDigest::save(self, payload);
        let rewritten =
            restore_or_chunks(aof, id, self.payload_bytes(), RESTORE_BYTES, save, |out| {
                out.emit(c"TDIGEST.LOADCHUNK", ONLY_CHUNK, &self.to_chunk()?);
                Ok(())
            });
        rewritten.map_err(|refused| refused.to_string())
    }

    fn try_copy(&self) -> Option<Self> {
        self.try_clone().ok()
    }

    fn digest(&self, feed: &mut dyn FnMut(&[u8])) {
        TDigest::digest(self, feed);
    }
}
