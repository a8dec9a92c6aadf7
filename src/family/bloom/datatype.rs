//! The type `MBbloom--`.

use crate::server::aof::AofWriter;
use crate::server::datatype::{DataType, Registration};
use crate::server::rdb::{RdbReader, RdbWriter};
use roughly_sketch::bloom::{Chain, parts};
use roughly_sketch::format::chunks::CHUNK_BYTES;
use roughly_sketch::format::dump::{DumpWriter, type_id};
use std::ffi::CStr;

static REGISTRATION: Registration = Registration::new(Chain::NAME);

impl DataType for Chain {
    const NAME: &'static CStr = c"MBbloom--";
    const ENCODING_VERSION: i32 = parts::ENCODING_VERSION as i32;

    fn registration() -> &'static Registration {
        &REGISTRATION
    }

    fn load(reader: &mut RdbReader, encoding_version: u32) -> Result<Self, String> {
        parts::load(reader, encoding_version).map_err(|error| error.to_string())
    }

    fn save(&self, writer: &mut RdbWriter) {
        parts::save(self, writer);
    }

    fn rewrite(&self, aof: &mut AofWriter) -> Result<(), String> {
        if !parts::has_header(self) {
            // Found in the oldest files only; small enough for one command.
            let mut dump = DumpWriter::new(type_id(b"MBbloom--", 4));
            parts::save(self, &mut dump);
            aof.emit(c"RESTORE", 0, &dump.finish());
            return Ok(());
        }
        aof.emit(c"BF.LOADCHUNK", 1, &parts::header(self));
        let mut iterator = 1;
        while let Some((next, chunk)) = self.chunk(iterator, CHUNK_BYTES) {
            aof.emit(c"BF.LOADCHUNK", next, chunk);
            iterator = next;
        }
        Ok(())
    }

    fn try_copy(&self) -> Option<Self> {
        self.try_clone().ok()
    }

    fn digest(&self, feed: &mut dyn FnMut(&[u8])) {
        Chain::digest(self, feed);
    }
}
