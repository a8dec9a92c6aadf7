//! The type `CMSk-TYPE`.

use crate::family::rewrite::{self, Emit, RESTORE_BYTES};
use crate::server::aof::AofWriter;
use crate::server::datatype::{DataType, Registration};
use crate::server::rdb::{RdbReader, RdbWriter};
use roughly_sketch::buffer::OutOfMemory;
use roughly_sketch::count_min::CountMin;
use roughly_sketch::count_min::stored::{ENCODING_VERSION, NEWEST_ENCODING_VERSION, TYPE_NAME};
use roughly_sketch::format::FormatError;
use roughly_sketch::format::chunks::CHUNK_BYTES;
use roughly_sketch::format::dump::{DumpWriter, type_id};
use std::ffi::CStr;

static REGISTRATION: Registration = Registration::new(CountMin::NAME);

impl DataType for CountMin {
    const NAME: &'static CStr = c"CMSk-TYPE";
    const ENCODING_VERSION: i32 = ENCODING_VERSION as i32;
    const NEWEST_ENCODING_VERSION: i32 = NEWEST_ENCODING_VERSION as i32;

    fn registration() -> &'static Registration {
        &REGISTRATION
    }

    fn load(reader: &mut RdbReader, encoding_version: u32) -> Result<Self, String> {
        let version = u16::try_from(encoding_version);
        let version = version.map_err(|_| FormatError::Invalid("an unknown encoding version"));
        version
            .and_then(|version| CountMin::load(reader, version))
            .map_err(|error| error.to_string())
    }

    fn save(&self, writer: &mut RdbWriter) {
        CountMin::save(self, writer);
    }

    fn rewrite(&self, aof: &mut AofWriter) -> Result<(), String> {
        rewrite_in(self, aof, RESTORE_BYTES, CHUNK_BYTES).map_err(|refused| refused.to_string())
    }

    fn try_copy(&self) -> Option<Self> {
        self.try_clone().ok()
    }

    fn digest(&self, feed: &mut dyn FnMut(&[u8])) {
        CountMin::digest(self, &mut |bytes| feed(bytes));
    }
}

/// Writes the sketch as one RESTORE where its cells have no more than `most_restored` bytes, else as
/// chunks of `chunk_bytes`.
fn rewrite_in(
    sketch: &CountMin,
    out: &mut impl Emit,
    most_restored: u64,
    chunk_bytes: usize,
) -> Result<(), OutOfMemory> {
    let id = type_id(TYPE_NAME, ENCODING_VERSION);
    let cell_bytes = sketch.shape().bytes().unwrap_or(u64::MAX);
    let save = |payload: &mut DumpWriter| sketch.save(payload);
    rewrite::restore_or_chunks(out, id, cell_bytes, most_restored, save, |out| {
        out.emit(c"CMS.LOADCHUNK", 1, &sketch.header());
        let mut iterator = 1;
        while let Some((chunk, next)) = sketch.chunk_at(iterator, chunk_bytes) {
            out.emit(c"CMS.LOADCHUNK", next, chunk);
            iterator = next;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::rewrite::Recorder;
    use roughly_sketch::count_min::CellSize;
    use roughly_sketch::format::dump::Values;

    /// The sketch that the commands make.
    fn made(commands: &[(String, i64, Vec<u8>)]) -> CountMin {
        if let [(command, 0, payload)] = commands {
            assert_eq!(command, "RESTORE");
            let (id, mut values) = Values::from_dump(payload).unwrap();
            assert_eq!(id, type_id(b"CMSk-TYPE", 0));
            return CountMin::load(&mut values, 0).unwrap();
        }
        let [(_, 1, header), chunks @ ..] = commands else {
            panic!("{commands:?}");
        };
        let mut sketch = CountMin::from_header(header, &|_| true).unwrap();
        for (command, iterator, chunk) in chunks {
            assert_eq!(command, "CMS.LOADCHUNK");
            sketch.load_chunk(*iterator, chunk).unwrap();
        }
        sketch
    }

    #[test]
    fn a_rewritten_sketch_is_the_same_whole_or_in_chunks() {
        for cell_size in [1, 2, 4, 8].map(|bytes| CellSize::from_bytes(bytes).unwrap()) {
            let mut sketch = CountMin::new(101, 3, cell_size, &|_| true).unwrap();
            for item in 0..200u8 {
                sketch.increment(&[item], i64::from(item % 3)).unwrap();
            }
            let bytes = sketch.shape().bytes().unwrap();
            for (most_restored, commands) in [
                (u64::MAX, 1),
                (bytes, 1),
                (bytes - 1, 1 + bytes.div_ceil(100)),
                (0, 1 + bytes.div_ceil(100)),
            ] {
                let mut recorder = Recorder::default();
                rewrite_in(&sketch, &mut recorder, most_restored, 100).unwrap();
                assert_eq!(recorder.0.len() as u64, commands);
                assert_eq!(made(&recorder.0), sketch);
            }
        }
    }

    #[test]
    fn a_rewrite_restores_up_to_64_mebibytes() {
        assert_eq!(RESTORE_BYTES, 64 << 20);
        for (width, command, commands) in [
            (16 << 20, "RESTORE", 1),
            ((16 << 20) + 1, "CMS.LOADCHUNK", 6),
        ] {
            let sketch = CountMin::new(width, 1, CellSize::Four, &|_| true).unwrap();
            let mut recorder = Recorder::default();
            rewrite_in(&sketch, &mut recorder, RESTORE_BYTES, CHUNK_BYTES).unwrap();
            assert_eq!(recorder.0[0].0, command);
            assert_eq!(recorder.0.len(), commands);
        }
    }
}
