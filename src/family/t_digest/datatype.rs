//! The type `TDIS-TYPE`.

use super::chunks::ONLY_CHUNK;
use crate::family::rewrite::{RESTORE_BYTES, restore_or_chunks};
use crate::server::aof::AofWriter;
use crate::server::datatype::{DataType, Registration};
use crate::server::rdb::{RdbReader, RdbWriter};
use crate::sketch::format::dump::{DumpWriter, type_id};
use crate::sketch::t_digest::{self, TDigest};
use std::alloc::{Layout, handle_alloc_error};
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

    fn rewrite(&self, aof: &mut AofWriter) {
        let restore = || {
            let mut dump = DumpWriter::new(type_id(b"TDIS-TYPE", 0));
            TDigest::save(self, &mut dump);
            dump.finish()
        };
        restore_or_chunks(
            aof,
            self.payload_bytes(),
            RESTORE_BYTES,
            restore,
            |out| match self.to_chunk() {
                Ok(chunk) => out.emit(c"TDIGEST.LOADCHUNK", ONLY_CHUNK, &chunk),
                // A rewrite that lacks this key must not pass for a good one.
                Err(refused) => handle_alloc_error(
                    Layout::array::<u8>(refused.bytes as usize).unwrap_or(Layout::new::<u8>()),
                ),
            },
        );
    }

    fn try_copy(&self) -> Option<Self> {
        self.try_clone().ok()
    }

    fn digest(&self, feed: &mut dyn FnMut(&[u8])) {
        TDigest::digest(self, feed);
    }
}
