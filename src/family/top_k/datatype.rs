//! The type `TopK-TYPE`.

use crate::family::rewrite::{Emit, RESTORE_BYTES, restore_or_chunks};
use crate::server::aof::AofWriter;
use crate::server::datatype::{DataType, Registration};
use crate::server::rdb::{RdbReader, RdbWriter};
use roughly_sketch::buffer::OutOfMemory;
use roughly_sketch::format::chunks::CHUNK_BYTES;
use roughly_sketch::format::dump::{DumpWriter, type_id};
use roughly_sketch::top_k::{TopK, stored};
use std::ffi::CStr;

static REGISTRATION: Registration = Registration::new(TopK::NAME);

impl DataType for TopK {
    const NAME: &'static CStr = c"TopK-TYPE";
    const ENCODING_VERSION: i32 = stored::ENCODING_VERSION as i32;

    fn registration() -> &'static Registration {
        &REGISTRATION
    }

    fn load(reader: &mut RdbReader, encoding_version: u32) -> Result<Self, String> {
        TopK::load(reader, encoding_version).map_err(|error| error.to_string())
    }

    fn save(&self, writer: &mut RdbWriter) {
        TopK::save(self, writer);
    }

    fn rewrite(&self, aof: &mut AofWriter) -> Result<(), String> {
        rewrite(self, aof, RESTORE_BYTES).map_err(|refused| refused.to_string())
    }

    fn try_copy(&self) -> Option<Self> {
        self.try_clone().ok()
    }

    fn digest(&self, feed: &mut dyn FnMut(&[u8])) {
        TopK::digest(self, feed);
    }
}

/// Writes the commands that make a sketch again: one RESTORE if its payload has no more than
/// `most_restored` bytes, else its header and its chunks.
fn rewrite(sketch: &TopK, aof: &mut impl Emit, most_restored: u64) -> Result<(), OutOfMemory> {
    #[allow(clippy::cast_possible_truncation)] // 0
    let id = type_id(b"TopK-TYPE", stored::ENCODING_VERSION as u16);
    let payload_bytes = sketch.payload_bytes();
    let save = |payload: &mut DumpWriter| sketch.save(payload);
    let chunks = |aof: &mut dyn Emit| {
        aof.emit(c"TOPK.LOADCHUNK", 1, &sketch.header()?);
        let mut iterator = 1;
        while let Some((next, chunk)) = sketch.chunk(iterator, CHUNK_BYTES) {
            aof.emit(c"TOPK.LOADCHUNK", next, chunk);
            iterator = next;
        }
        Ok(())
    };
    restore_or_chunks(aof, id, payload_bytes, most_restored, save, chunks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::family::rewrite::Recorder;
    use roughly_sketch::format::dump::Values;

    fn sample() -> TopK {
        let mut sketch = TopK::new(10, 30, 3, 0.9, &|_| true).expect("a sketch");
        for number in 0..500u32 {
            let item = format!("item:{}", number * number % 97);
            sketch.add(item.as_bytes(), number % 9).expect("memory");
        }
        sketch
    }

    #[test]
    fn a_small_sketch_is_rewritten_as_one_restore() {
        let sketch = sample();
        let mut recorder = Recorder::default();
        rewrite(&sketch, &mut recorder, RESTORE_BYTES).expect("memory");
        let [(command, time_to_live, payload)] = &recorder.0[..] else {
            panic!("{recorder:?}");
        };
        assert_eq!((&command[..], *time_to_live), ("RESTORE", 0));
        assert!(payload.len() as u64 <= sketch.payload_bytes());
        let (id, mut values) = Values::from_dump(payload).expect("a payload");
        assert_eq!(id, type_id(b"TopK-TYPE", 0));
        assert_eq!(TopK::load(&mut values, 0), Ok(sketch));
    }

    #[test]
    fn a_large_sketch_is_rewritten_in_chunks() {
        let sketch = sample();
        let mut recorder = Recorder::default();
        rewrite(&sketch, &mut recorder, sketch.payload_bytes() - 1).expect("memory");
        assert!(
            recorder
                .0
                .iter()
                .all(|emitted| emitted.0 == "TOPK.LOADCHUNK")
        );
        let (_, iterator, header) = &recorder.0[0];
        assert_eq!(*iterator, 1);
        let mut loaded = TopK::from_header(header, &|_| true).expect("a header");
        for (_, iterator, chunk) in &recorder.0[1..] {
            loaded.load_chunk(*iterator, chunk).expect("a place");
        }
        assert_eq!(loaded, sketch);
    }
}
