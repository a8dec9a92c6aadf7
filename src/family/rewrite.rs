//! AOF rewrite of the types that a RESTORE brings back: in one command, or in chunks where that would
//! be too long to be loaded again (spec: server.md, "Replication and AOF").

use crate::server::aof::AofWriter;
use std::ffi::CStr;

/// The longest payload that goes into one RESTORE, in bytes: far below `proto-max-bulk-len`, which is
/// 512 MiB unless someone lowers it.
pub const RESTORE_BYTES: u64 = 64 << 20;

/// What takes the commands of a rewrite: an AOF, or a recorder in tests.
pub trait Emit {
    /// Takes `command key number bytes`, for the key that is being rewritten.
    fn emit(&mut self, command: &CStr, number: i64, bytes: &[u8]);
}

impl Emit for AofWriter {
    fn emit(&mut self, command: &CStr, number: i64, bytes: &[u8]) {
        AofWriter::emit(self, command, number, bytes);
    }
}

/// Emits a value: as `RESTORE key 0 payload` if its payload takes at most `most_restored` bytes, else as
/// the commands that `chunks` emits. `payload_bytes` is the payload's size or a little more; `restore`
/// makes it.
pub fn restore_or_chunks(
    out: &mut impl Emit,
    payload_bytes: u64,
    most_restored: u64,
    restore: impl FnOnce() -> Vec<u8>,
    chunks: impl FnOnce(&mut dyn Emit),
) {
    if payload_bytes <= most_restored {
        out.emit(c"RESTORE", 0, &restore());
    } else {
        chunks(out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keeps what is emitted.
    #[derive(Default)]
    struct Recorder(Vec<(String, i64, Vec<u8>)>);

    impl Emit for Recorder {
        fn emit(&mut self, command: &CStr, number: i64, bytes: &[u8]) {
            let command = command.to_str().unwrap().to_owned();
            self.0.push((command, number, bytes.to_vec()));
        }
    }

    fn emitted(payload_bytes: u64, most_restored: u64) -> Vec<(String, i64, Vec<u8>)> {
        let mut recorder = Recorder::default();
        restore_or_chunks(
            &mut recorder,
            payload_bytes,
            most_restored,
            || b"payload".to_vec(),
            |out| {
                out.emit(c"X.LOADCHUNK", 1, b"header");
                out.emit(c"X.LOADCHUNK", 2, b"chunk");
            },
        );
        recorder.0
    }

    #[test]
    fn up_to_the_limit_a_value_is_restored_in_one() {
        let restored = [("RESTORE".to_owned(), 0, b"payload".to_vec())];
        assert_eq!(emitted(7, 7), restored);
        assert_eq!(emitted(7, RESTORE_BYTES), restored);
    }

    #[test]
    fn above_the_limit_it_goes_in_chunks() {
        let chunks = [
            ("X.LOADCHUNK".to_owned(), 1, b"header".to_vec()),
            ("X.LOADCHUNK".to_owned(), 2, b"chunk".to_vec()),
        ];
        assert_eq!(emitted(8, 7), chunks);
    }
}
