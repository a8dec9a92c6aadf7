//! A running command: its arguments, the state of the client and of the server, its replies and its replication.

use super::argument::{Argument, parse_hexadecimal};
use super::context::Context;
use super::injected;
use super::memory::{Memory, key_limit_error};
use redis_module::raw;
use std::ffi::{CStr, c_long};
use std::ops::Range;

pub use super::error::Error;

/// A command as a handler sees it. Argument 0 is the name of the command.
#[derive(Debug)]
pub struct Call<'a> {
    pub(super) ctx: Context,
    args: &'a [Argument<'a>],
    memory: &'a Memory<'a>,
    /// Replies that the client still expects: one at first, and the elements of each array. If a handler panics, the
    /// shim replies with errors for the rest, so that the client does not wait forever.
    pending_replies: usize,
    /// Elements so far of an array of unknown length.
    open_array_len: Option<usize>,
    /// Whether a value advanced to another pane, and the change was not signaled yet.
    pub(super) pending_advance: bool,
}

impl<'a> Call<'a> {
    /// A call with these arguments, as a handler begins.
    #[inline(always)]
    pub(super) fn new(ctx: Context, args: &'a [Argument<'a>], memory: &'a Memory<'a>) -> Self {
        Self {
            ctx,
            args,
            memory,
            pending_replies: 1,
            open_array_len: None,
            pending_advance: false,
        }
    }

    pub(super) fn ctx(&self) -> *mut raw::RedisModuleCtx {
        self.ctx.as_raw()
    }

    /// Counts a written reply. `elements` is the number of replies that follow as its elements.
    #[inline]
    fn count_reply(&mut self, elements: usize) {
        match &mut self.open_array_len {
            Some(len) => {
                debug_assert_eq!(elements, 0, "no arrays in an array of unknown length");
                *len += 1;
            }
            None => self.pending_replies = (self.pending_replies + elements).saturating_sub(1),
        }
    }

    /// Whether all replies are written and no advance is left to be signaled.
    #[inline]
    pub(super) fn is_complete(&self) -> bool {
        self.pending_replies == 0 && self.open_array_len.is_none() && !self.pending_advance
    }

    /// Replies with `error` for each reply that the handler did not write.
    pub(super) fn finish_replies(&mut self, error: &CStr) {
        self.end_array();
        while self.pending_replies > 0 {
            self.reply_error(error);
        }
    }

    /// The number of arguments, the command's name included.
    #[inline]
    pub fn len(&self) -> usize {
        self.args.len()
    }

    /// Always false: a command has a name.
    pub fn is_empty(&self) -> bool {
        self.args.is_empty()
    }

    /// The argument at `index`.
    ///
    /// # Panics
    /// If there is no such argument. The server checks the arity of the command table before it calls a handler.
    #[inline]
    pub fn arg(&self, index: usize) -> Argument<'a> {
        self.args[index]
    }

    /// The arguments at these indexes.
    ///
    /// # Panics
    /// If there are no such arguments.
    #[inline]
    pub fn arguments(&self, range: Range<usize>) -> &'a [Argument<'a>] {
        &self.args[range]
    }

    /// The arguments from index `first` to the end.
    pub fn args_from(
        &self,
        first: usize,
    ) -> impl ExactSizeIterator<Item = Argument<'a>> + Clone + use<'a> {
        self.args.get(first..).unwrap_or(&[]).iter().copied()
    }

    /// Makes the call that of the command whose name is the argument at `first`.
    ///
    /// # Panics
    /// If there is no such argument.
    pub fn skip_to(&mut self, first: usize) {
        self.args = &self.args[first..];
        self.memory.set_args(self.args);
    }

    /// Random bytes from the kernel, or from the server if the kernel has no such function: the server computes two SHA-256 sums
    /// of two blocks for each 32 bytes.
    pub fn random_bytes<const N: usize>(&self) -> [u8; N] {
        let mut bytes = [0; N];
        let start = bytes.as_mut_ptr();
        // SAFETY: the buffer has N bytes. The C libraries of older systems lack getrandom.
        unsafe {
            let len = libc::syscall(libc::SYS_getrandom, start, N, libc::GRND_NONBLOCK);
            if usize::try_from(len) != Ok(N) {
                api!(RedisModule_GetRandomBytes)(start, N);
            }
        }
        bytes
    }

    /// The time in milliseconds since the Unix epoch: the time that the server has cached for the running command, so
    /// that all commands of a script or transaction see the same time. Redis 7.0 does not offer the cached time to
    /// modules; there it is the current time.
    pub fn unix_ms(&self) -> u64 {
        // SAFETY: both functions take no arguments.
        let ms = unsafe {
            match optional_api!(RedisModule_CachedMicroseconds) {
                Some(cached) => cached() / 1000,
                None => api!(RedisModule_Milliseconds)(),
            }
        };
        injected::time(u64::try_from(ms).unwrap_or(0))
    }

    /// Whether the client speaks RESP3.
    pub fn is_resp3(&self) -> bool {
        self.ctx.flags() & raw::REDISMODULE_CTX_FLAGS_RESP3 != 0
    }

    /// Whether the command must be obeyed: a primary or the node of imported slots sent it, or the server reads it from
    /// the AOF, so it was already applied once. No limit of this server applies to it.
    pub fn must_obey(&self) -> bool {
        self.memory.must_obey()
    }

    /// A limit of this server; `u64::MAX` if the command must be obeyed.
    pub fn limit(&self, max: u64) -> u64 {
        match self.must_obey() {
            true => u64::MAX,
            false => max,
        }
    }

    /// Refuses a command whose items would take too long, unless it must be obeyed.
    ///
    /// # Errors
    /// `too_much`.
    #[inline(always)]
    pub fn check_work(&self, is_within_limit: bool, too_much: &'static CStr) -> Result<(), Error> {
        match is_within_limit || self.must_obey() {
            true => Ok(()),
            false => Err(too_much.into()),
        }
    }

    /// The double, as the server parses doubles: `inf` is valid, `nan` is not. A command that must be obeyed can come from a
    /// server with another parser: all except Valkey 9.1 accept hexadecimal digits.
    #[inline]
    pub fn double(&self, argument: Argument<'_>) -> Option<f64> {
        let hexadecimal = || match self.must_obey() {
            true => parse_hexadecimal(argument.bytes()),
            false => None,
        };
        argument.double().or_else(hexadecimal)
    }

    /// The memory that the command may take.
    #[inline(always)]
    pub fn memory(&self) -> &'a Memory<'a> {
        self.memory
    }
}

/// The keyspace event of an advance.
pub const ADVANCE_EVENT: &CStr = c"sketch.advance";

/// The server's error for a key of another type.
const WRONG_TYPE: &CStr = c"WRONGTYPE Operation against a key holding the wrong kind of value";

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

    /// Replies with an error: that of the command, or that of one of its items.
    #[cold]
    pub fn reply_refusal(&mut self, error: Error) {
        match error {
            Error::WrongArity => {
                self.count_reply(0);
                // SAFETY: the context is the running command's.
                unsafe { api!(RedisModule_WrongArity)(self.ctx()) };
            }
            Error::WrongType => self.reply_error(WRONG_TYPE),
            Error::Text(text) => self.reply_error(text),
            Error::Formatted(text) => self.reply_error(&text),
            Error::KeyTooLarge { bytes, max } => {
                self.memory.report_key_too_large(bytes, max);
                self.reply_error(&key_limit_error(max));
            }
        }
    }

    /// The error for memory that was refused to an item; see
    /// [`Memory::error`](super::memory::Memory::error).
    pub fn reply_memory_error(&mut self, other: &'static CStr) {
        self.reply_refusal(self.memory.error(other));
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

    /// The head of an array whose length [`Call::end_array`] sets. Its elements must not be arrays.
    pub fn reply_open_array(&mut self) {
        assert!(
            self.open_array_len.is_none(),
            "arrays of unknown length do not nest"
        );
        self.count_reply(0);
        self.open_array_len = Some(0);
        // SAFETY: the constant means that the length follows.
        unsafe {
            let unknown = c_long::from(raw::REDISMODULE_POSTPONED_LEN);
            api!(RedisModule_ReplyWithArray)(self.ctx(), unknown)
        };
    }

    /// Ends an array begun with [`Call::reply_open_array`].
    pub fn end_array(&mut self) {
        if let Some(len) = self.open_array_len.take() {
            // SAFETY: an array of unknown length is open.
            unsafe { api!(RedisModule_ReplySetArrayLength)(self.ctx(), len as c_long) };
        }
    }
}

impl Call<'_> {
    /// Replicates the command as the client sent it.
    pub fn replicate_verbatim(&mut self) {
        // SAFETY: the context is the running command's.
        unsafe { api!(RedisModule_ReplicateVerbatim)(self.ctx()) };
    }

    /// Replicates `name key [keyword] items`, where the key is argument 1 and the items are arguments of this command.
    /// Replicates nothing if there are no items.
    // Not inlined: most commands are replicated verbatim.
    #[inline(never)]
    pub fn replicate_items(&self, name: &CStr, keyword: Option<&CStr>, items: &[Argument<'_>]) {
        if items.is_empty() {
            return;
        }
        let (ctx, name, key) = (self.ctx(), name.as_ptr(), self.arg(1).as_raw());
        let (strings, len) = (items.as_ptr(), items.len());
        let replicate = api!(RedisModule_Replicate);
        // SAFETY: the formats take a string "s", a text "c", and a vector of strings and its length "v"; an argument
        // is a pointer to a string, and the server takes its own references.
        unsafe {
            match (keyword, items) {
                // The server allocates its list of arguments once, instead of twice.
                (None, &[item]) => replicate(ctx, name, c"ss".as_ptr(), key, item.as_raw()),
                (None, &[item, value]) => {
                    let (item, value) = (item.as_raw(), value.as_raw());
                    replicate(ctx, name, c"sss".as_ptr(), key, item, value)
                }
                (None, _) => replicate(ctx, name, c"sv".as_ptr(), key, strings, len),
                (Some(keyword), _) => {
                    let keyword = keyword.as_ptr();
                    replicate(ctx, name, c"scv".as_ptr(), key, keyword, strings, len)
                }
            }
        };
    }

    /// Signals an advance of the key in argument 1 that was not signaled yet. No key may be open.
    #[inline]
    pub(super) fn signal_advance(&mut self) {
        if std::mem::take(&mut self.pending_advance) {
            self.signal_pending_advance();
        }
    }

    #[cold]
    fn signal_pending_advance(&mut self) {
        self.signal_changed(1, ADVANCE_EVENT);
    }

    /// Signals that the key in argument `key` changed, for WATCH and client-side caching, and publishes a keyspace event
    /// with this name (in the classes module and generic).
    #[inline]
    pub fn signal_changed(&mut self, key: usize, event: &CStr) {
        self.signal_advance();
        let key = self.arg(key).as_raw();
        let class = raw::REDISMODULE_NOTIFY_MODULE | raw::REDISMODULE_NOTIFY_GENERIC;
        // SAFETY: the context and the key's name are the running command's.
        unsafe {
            api!(RedisModule_SignalModifiedKey)(self.ctx(), key);
            api!(RedisModule_NotifyKeyspaceEvent)(self.ctx(), class, event.as_ptr(), key);
        }
    }
}
