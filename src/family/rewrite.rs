//! AOF rewrite of values that are restored whole: RESTORE as long as a server can load it back, pieces
//! above that (spec: server.md, "Replication and AOF").

use crate::server::aof::AofWriter;
use roughly_sketch::buffer::OutOfMemory;
use roughly_sketch::format::dump::DumpWriter;
use std::ffi::CStr;

/// The largest payload that goes into one RESTORE: well below what a server takes as one word
/// (proto-max-bulk-len, 512 MB unless set otherwise), so that it loads where that was lowered.
pub const RESTORE_BYTES: u64 = 64 << 20;

/// Bytes of a payload beside the arrays of a value, at most: its type, numbers and footer.
const NUMBER_BYTES: u64 = 100;

/// Takes the commands that make a value again.
pub trait Emit {
    /// `command key number bytes`; the key is that of the value.
    fn emit(&mut self, command: &CStr, number: i64, bytes: &[u8]);
}

impl Emit for AofWriter {
    fn emit(&mut self, command: &CStr, number: i64, bytes: &[u8]) {
        AofWriter::emit(self, command, number, bytes);
    }
}

/// Writes a value as one RESTORE of what `save` writes, where its payload has no more than `most_restored` bytes
/// ([`RESTORE_BYTES`], but in tests) and there is memory for it; else as what `chunks` writes. `payload_bytes` may leave
/// out the numbers.
///
/// # Errors
/// [`OutOfMemory`] of `chunks`.
pub fn restore_or_chunks(
    out: &mut impl Emit,
    type_id: u64,
    payload_bytes: u64,
    most_restored: u64,
    save: impl FnOnce(&mut DumpWriter),
    chunks: impl FnOnce(&mut dyn Emit) -> Result<(), OutOfMemory>,
) -> Result<(), OutOfMemory> {
    if payload_bytes <= most_restored
        && let Ok(mut payload) = DumpWriter::with_capacity(type_id, payload_bytes + NUMBER_BYTES)
    {
        save(&mut payload);
        out.emit(c"RESTORE", 0, &payload.finish());
        return Ok(());
    }
    chunks(out)
}

/// What was emitted, for tests.
#[cfg(test)]
#[derive(Debug, Default)]
pub struct Recorder(pub Vec<(String, i64, Vec<u8>)>);

#[cfg(test)]
impl Emit for Recorder {
    fn emit(&mut self, command: &CStr, number: i64, bytes: &[u8]) {
        let command = command.to_str().expect("ASCII").to_owned();
        self.0.push((command, number, bytes.to_vec()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn payloads_up_to_the_threshold_are_restored_whole() {
        for (bytes, command) in [(9, "RESTORE"), (10, "RESTORE"), (11, "CHUNK")] {
            let mut recorder = Recorder::default();
            restore_or_chunks(
                &mut recorder,
                0,
                bytes,
                10,
                |_| {},
                |out| {
                    out.emit(c"CHUNK", 7, &[2]);
                    Ok(())
                },
            )
            .unwrap();
            let [(emitted, ..)] = &recorder.0[..] else {
                panic!("{recorder:?}");
            };
            assert_eq!(emitted, command);
        }
    }
}
