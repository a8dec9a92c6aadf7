//! Replies, written directly to the client in its protocol (RESP2 or RESP3).

use super::call::{Call, Error};
use super::memory::key_limit;
use std::ffi::{CStr, c_long};

/// The server's error for a key of another type.
pub const WRONG_TYPE: &CStr = c"WRONGTYPE Operation against a key holding the wrong kind of value";

impl Call<'_> {
    /// An integer.
    #[inline]
    pub fn reply_integer(&mut self, value: i64) {
        self.count_reply(0);
        // SAFETY: the context is the running command's; so in all methods here.
        unsafe { api!(RedisModule_ReplyWithLongLong)(self.ctx(), value) };
    }

    /// A count as an integer, capped at 2^63 - 1.
    pub fn reply_count(&mut self, value: u64) {
        self.reply_integer(i64::try_from(value).unwrap_or(i64::MAX));
    }

    /// A boolean: 1 or 0 in RESP2.
    #[inline]
    pub fn reply_boolean(&mut self, value: bool) {
        self.count_reply(0);
        // SAFETY: see above.
        unsafe { api!(RedisModule_ReplyWithBool)(self.ctx(), i32::from(value)) };
    }

    /// A double: a bulk string in RESP2.
    pub fn reply_double(&mut self, value: f64) {
        self.count_reply(0);
        // SAFETY: see above.
        unsafe { api!(RedisModule_ReplyWithDouble)(self.ctx(), value) };
    }

    /// A simple string.
    pub fn reply_simple(&mut self, text: &CStr) {
        self.count_reply(0);
        // SAFETY: the text is a C string, read before the return.
        unsafe { api!(RedisModule_ReplyWithSimpleString)(self.ctx(), text.as_ptr()) };
    }

    /// `OK`.
    pub fn reply_ok(&mut self) {
        self.reply_simple(c"OK");
    }

    /// A bulk string.
    pub fn reply_bulk(&mut self, bytes: &[u8]) {
        self.count_reply(0);
        // SAFETY: the bytes are read before the return.
        unsafe {
            api!(RedisModule_ReplyWithStringBuffer)(self.ctx(), bytes.as_ptr().cast(), bytes.len())
        };
    }

    /// Null, in the client's protocol.
    pub fn reply_null(&mut self) {
        self.count_reply(0);
        // SAFETY: see above.
        unsafe { api!(RedisModule_ReplyWithNull)(self.ctx()) };
    }

    /// An error, as the whole reply or as an element. The first word is the error code.
    pub fn reply_error(&mut self, text: &CStr) {
        self.count_reply(0);
        // SAFETY: the text is a C string, read before the return.
        unsafe { api!(RedisModule_ReplyWithError)(self.ctx(), text.as_ptr()) };
    }

    /// The error for memory that was refused to an item; see
    /// [`Memory::error`](super::memory::Memory::error).
    pub fn reply_memory_error(&mut self, other: &'static CStr) {
        match self.memory().error(other) {
            Error::KeyTooLarge { max, .. } => self.reply_error(&key_limit::error_text(max)),
            _ => self.reply_error(other),
        }
    }

    /// The head of an array; its elements follow as replies.
    pub fn reply_array(&mut self, len: usize) {
        self.count_reply(len);
        // SAFETY: see above. The length fits c_long, because it counts arguments or elements in
        // memory.
        unsafe { api!(RedisModule_ReplyWithArray)(self.ctx(), len as c_long) };
    }

    /// The head of a map: a flat array in RESP2. Keys and values follow alternately.
    pub fn reply_map(&mut self, pairs: usize) {
        self.count_reply(pairs * 2);
        // SAFETY: see `reply_array`.
        unsafe { api!(RedisModule_ReplyWithMap)(self.ctx(), pairs as c_long) };
    }

    /// The head of an array whose length [`Call::end_array`] sets.
    pub fn reply_open_array(&mut self) {
        self.begin_open_array();
        // SAFETY: the constant means that the length follows.
        unsafe {
            api!(RedisModule_ReplyWithArray)(
                self.ctx(),
                c_long::from(redis_module::raw::REDISMODULE_POSTPONED_LEN),
            )
        };
    }

    /// Ends an array begun with [`Call::reply_open_array`].
    pub fn end_array(&mut self) {
        if let Some(len) = self.end_open_array() {
            // SAFETY: an array of unknown length is open.
            unsafe { api!(RedisModule_ReplySetArrayLength)(self.ctx(), len as c_long) };
        }
    }
}
