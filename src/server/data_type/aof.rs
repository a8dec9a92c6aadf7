//! AOF rewrite: the commands that recreate a key (docs/contributing/decisions.md, "Replication and persistence").

use super::registration::{DataType, Registration};
use crate::server::argument::Argument;
use crate::server::injected;
use redis_module::raw;
use roughly_dump::{Writer, type_id};
use roughly_sketch::memory::OutOfMemory;
use roughly_sketch::refusable::refusable;
use std::ffi::{CStr, c_void};

/// Maximum number of bytes per LOADCHUNK command. The server copies the argument of a command when it writes and when it loads the
/// file. By default, jemalloc returns blocks above 8 MiB to the operating system when they are freed, so that each
/// larger argument needs new pages.
pub const CHUNK_BYTES: usize = 4 << 20;

/// Writes commands for one key. The server has selected its database.
#[derive(Debug)]
pub struct AofWriter {
    io: *mut raw::RedisModuleIO,
    key: *mut raw::RedisModuleString,
    value: *mut c_void,
    of: &'static Registration,
}

impl AofWriter {
    /// # Safety
    /// `io`, `key` and `value` must be those of the running rewrite callback, and `of` the type of the value.
    pub(super) unsafe fn new(
        io: *mut raw::RedisModuleIO,
        key: *mut raw::RedisModuleString,
        value: *mut c_void,
        of: &'static Registration,
    ) -> Self {
        Self { io, key, value, of }
    }
}

/// Receives the commands that recreate a value.
pub trait Emit {
    /// Emits `command key [number] bytes`, where `key` is the key of the value. LOADCHUNK (iterator, chunk) and RESTORE
    /// (time to live, payload) have a number.
    fn emit(&mut self, command: &CStr, number: Option<i64>, bytes: &[u8]);

    /// Passes the values of the payload, encoded by the server, to `read`: it compresses strings as in RDB files. Returns false
    /// without a server.
    fn encode(&self, read: &mut dyn FnMut(&[u8])) -> bool {
        _ = read;
        false
    }
}

impl Emit for AofWriter {
    fn emit(&mut self, command: &CStr, number: Option<i64>, bytes: &[u8]) {
        injected::point(match number {
            None | Some(0 | 1) => "aof_rewrite first",
            _ => "aof_rewrite second",
        });
        let (io, key, command) = (self.io, self.key, command.as_ptr());
        let (start, len) = (bytes.as_ptr(), bytes.len());
        let emit = api!(RedisModule_EmitAOF);
        // SAFETY: the formats take the key "s", a long long "l" (i64) and a buffer with its length "b", in this order; all live until the
        // return.
        unsafe {
            match number {
                Some(number) => emit(io, command, c"slb".as_ptr(), key, number, start, len),
                None => emit(io, command, c"sb".as_ptr(), key, start, len),
            }
        };
    }

    fn encode(&self, read: &mut dyn FnMut(&[u8])) -> bool {
        // SAFETY: the callback has the value, which is of this type. The server calls the callback that saves it, which only reads it.
        // The string lives until it is freed.
        unsafe {
            let ctx = api!(RedisModule_GetContextFromIO)(self.io);
            let save = api!(RedisModule_SaveDataTypeToString);
            let string = save(ctx, self.value, self.of.handle());
            if string.is_null() {
                return false;
            }
            read(Argument::new(string).bytes());
            api!(RedisModule_FreeString)(ctx, string);
        }
        true
    }
}

/// Emits the commands that recreate a value: the type's [`DataType::PAYLOAD_COMMAND`] or one RESTORE if the payload has at
/// most `max_restore_bytes` ([`DataType::MAX_RESTORE_BYTES`], except in tests) and there is memory for it, or RESTORE if
/// the value has no header; otherwise LOADCHUNK for the header and each chunk.
///
/// # Errors
/// [`OutOfMemory`] if there is no memory for the payload and the header. Then nothing was emitted.
pub fn rewrite<T: DataType>(
    value: &T,
    out: &mut impl Emit,
    max_restore_bytes: u64,
) -> Result<(), OutOfMemory> {
    if let Some(command) = T::PAYLOAD_COMMAND {
        if (command.payload_bytes)(value) <= max_restore_bytes
            && let Ok(payload) = (command.payload)(value)
        {
            out.emit(command.name, None, &payload);
            return Ok(());
        }
        return rewrite_in_chunks(value, out);
    }
    let bytes = value.payload_bytes();
    if bytes <= max_restore_bytes || !value.has_header() {
        match payload(value, bytes, out) {
            Ok(payload) => {
                out.emit(c"RESTORE", Some(0), &payload);
                return Ok(());
            }
            Err(refused) if !value.has_header() => return Err(refused),
            Err(_) => {}
        }
    }
    rewrite_in_chunks(value, out)
}

fn rewrite_in_chunks<T: DataType>(value: &T, out: &mut impl Emit) -> Result<(), OutOfMemory> {
    out.emit(T::LOADCHUNK, Some(1), &value.header()?);
    let mut iterator = 1;
    while let Some((next, chunk)) = value.chunk(iterator, CHUNK_BYTES) {
        out.emit(T::LOADCHUNK, Some(next), chunk);
        iterator = next;
    }
    Ok(())
}

/// The DUMP payload of a value, which has at most `max_bytes` bytes.
fn payload<T: DataType>(
    value: &T,
    max_bytes: u64,
    out: &impl Emit,
) -> Result<Vec<u8>, OutOfMemory> {
    let name = T::TYPE_NAME
        .to_bytes()
        .first_chunk()
        .expect("nine characters");
    let id = type_id(name, T::ENCODING_VERSION);
    let writer = refusable(max_bytes, || Writer::with_capacity(id, max_bytes).ok());
    let mut writer = writer.ok_or(OutOfMemory { bytes: max_bytes })?;
    if !out.encode(&mut |values| writer.write_encoded(values)) {
        value.save(&mut writer);
    }
    Ok(writer.finish())
}
