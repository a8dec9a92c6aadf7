//! AOF rewrite: the commands that make a key again.

use super::fault;
use redis_module::raw;
use std::ffi::{CStr, c_longlong};

/// Writes commands for one key. The server has selected its database.
#[derive(Debug)]
pub struct AofWriter {
    io: *mut raw::RedisModuleIO,
    key: *mut raw::RedisModuleString,
}

impl AofWriter {
    /// # Safety
    /// `io` and `key` must be those of the running rewrite callback.
    pub(super) unsafe fn new(
        io: *mut raw::RedisModuleIO,
        key: *mut raw::RedisModuleString,
    ) -> Self {
        Self { io, key }
    }

    /// `command key number bytes`: the form of LOADCHUNK (iterator, chunk) and of RESTORE (time to
    /// live, payload).
    pub fn emit(&mut self, command: &CStr, number: i64, bytes: &[u8]) {
        fault::point(match number {
            0 | 1 => "aof_rewrite first",
            _ => "aof_rewrite second",
        });
        // SAFETY: the format takes the key, a long long and a buffer with its length, in this order;
        // all live until the return.
        unsafe {
            api!(RedisModule_EmitAOF)(
                self.io,
                command.as_ptr(),
                c"slb".as_ptr(),
                self.key,
                c_longlong::from(number),
                bytes.as_ptr(),
                bytes.len(),
            );
        }
    }
}
