//! A running command: its arguments, what it owes the client, how it spreads.

use super::argument::Argument;
use super::limit;
use super::log;
use super::memory::{self, Budget};
use redis_module::raw;
use std::cell::{Cell, OnceCell};
use std::ffi::{CStr, CString, c_int};
use std::ops::Range;
use std::slice;

/// What a handler may end with instead of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// Too few or too many words.
    WrongArity,
    /// The key holds a value of another type.
    WrongType,
    /// An error text; its first word is the error code.
    Text(&'static CStr),
    /// An error text made for the occasion.
    Made(CString),
    /// The key would hold so many bytes, which is more than a key may: the setting `sketch-max-key-bytes`.
    KeyTooLarge {
        /// What the key would hold.
        bytes: u64,
        /// What it may hold.
        most: u64,
    },
}

impl From<&'static CStr> for Error {
    fn from(text: &'static CStr) -> Self {
        Self::Text(text)
    }
}

/// A command as a handler sees it. Argument 0 is the command's name.
#[derive(Debug)]
pub struct Call<'a> {
    ctx: *mut raw::RedisModuleCtx,
    args: &'a [Argument<'a>],
    /// Replies still owed to the client: one at first, and for each array its elements. What a
    /// panicking handler leaves unpaid is paid with errors, so that the client is never left waiting.
    owed: usize,
    /// Elements so far of an array of unknown length.
    open: Option<usize>,
    /// Bytes that the command takes in all, as far as they were allowed.
    taken: Cell<u64>,
    /// Those of them by which filters grew.
    grown: Cell<u64>,
    /// What it may take in all; read from the server once a command, when it is first needed.
    budget: OnceCell<Budget>,
    /// What the key that is open for writing held when it was opened, and what it was allowed since.
    /// Kept only where keys are limited.
    key_bytes: Cell<u64>,
    /// Bytes that the key would hold with what its limit refused.
    over_limit: Cell<Option<u64>>,
    /// Whether the log has a line about memory that was refused to the command.
    is_refusal_logged: Cell<bool>,
}

impl<'a> Call<'a> {
    /// A call from what the server passes to a command.
    ///
    /// # Safety
    /// All pointers must be those of a running command, and stay valid for `'a`.
    pub(super) unsafe fn new(
        ctx: *mut raw::RedisModuleCtx,
        argv: *mut *mut raw::RedisModuleString,
        argc: c_int,
    ) -> Self {
        let len = usize::try_from(argc).unwrap_or(0);
        Self {
            ctx,
            // SAFETY: by the promise above; argv holds argc pointers, and an argument is such a pointer.
            args: unsafe { slice::from_raw_parts(argv.cast(), len) },
            owed: 1,
            open: None,
            taken: Cell::new(0),
            grown: Cell::new(0),
            budget: OnceCell::new(),
            key_bytes: Cell::new(0),
            over_limit: Cell::new(None),
            is_refusal_logged: Cell::new(false),
        }
    }

    pub(super) fn ctx(&self) -> *mut raw::RedisModuleCtx {
        self.ctx
    }

    /// A reply goes out, with so many elements to follow.
    #[inline]
    pub(super) fn paid(&mut self, elements: usize) {
        match &mut self.open {
            Some(len) => {
                debug_assert_eq!(elements, 0, "no arrays in an array of unknown length");
                *len += 1;
            }
            None => self.owed = (self.owed + elements).saturating_sub(1),
        }
    }

    /// Begins an array of unknown length. Its elements are plain replies: none of them is an array.
    pub(super) fn open_array(&mut self) {
        assert!(self.open.is_none(), "arrays of unknown length do not nest");
        self.paid(0);
        self.open = Some(0);
    }

    pub(super) fn close_array(&mut self) -> Option<usize> {
        self.open.take()
    }

    /// Pays what is owed, after a handler that did not.
    pub(super) fn settle(&mut self, error: &CStr) {
        self.end_array();
        while self.owed > 0 {
            self.reply_error(error);
        }
    }

    /// Words of the command, its name included.
    #[inline]
    #[must_use]
    pub fn len(&self) -> usize {
        self.args.len()
    }

    /// Never true: a command has a name.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.args.is_empty()
    }

    /// Word number `index`.
    ///
    /// # Panics
    /// If there are not so many; handlers check their arity first.
    #[inline]
    #[must_use]
    pub fn arg(&self, index: usize) -> Argument<'a> {
        self.args[index]
    }

    /// The words of these numbers.
    ///
    /// # Panics
    /// If there are not so many.
    #[inline]
    #[must_use]
    pub fn arguments(&self, range: Range<usize>) -> &'a [Argument<'a>] {
        &self.args[range]
    }

    /// The words from number `first` on.
    pub fn args_from(
        &self,
        first: usize,
    ) -> impl ExactSizeIterator<Item = Argument<'a>> + Clone + use<'a> {
        self.args.get(first..).unwrap_or(&[]).iter().copied()
    }

    fn flags(&self) -> c_int {
        // SAFETY: the context is the running command's.
        unsafe { api!(RedisModule_GetContextFlags)(self.ctx) }
    }

    /// Whether the client speaks RESP3.
    #[must_use]
    pub fn is_resp3(&self) -> bool {
        self.flags() & raw::REDISMODULE_CTX_FLAGS_RESP3 as c_int != 0
    }

    /// Whether the command must be obeyed: it comes from a primary or from the AOF, and whoever sent
    /// it has applied it already. Limits that are this server's own do not hold for it.
    #[must_use]
    pub fn must_obey(&self) -> bool {
        let obeyed = raw::REDISMODULE_CTX_FLAGS_REPLICATED | raw::REDISMODULE_CTX_FLAGS_LOADING;
        self.flags() & obeyed as c_int != 0
    }

    /// Whether the command may take so many bytes more, see [`memory`]. What was allowed counts as taken.
    #[must_use]
    pub fn allows_bytes(&self, bytes: u64) -> bool {
        self.allows_total(self.taken.get().saturating_add(bytes))
    }

    /// As [`Call::allows_bytes`], with the bytes that the command takes in all: for commands that also
    /// free memory.
    #[must_use]
    pub fn allows_total(&self, bytes: u64) -> bool {
        self.allows_with_spare(bytes, 0)
    }

    /// As [`Call::allows_bytes`], for a filter that grows because it is full: as much as the command has
    /// grown filters by must be left, since nobody chose that size, and the server needs memory for its own
    /// work on the key (the payload of a DUMP and the reply that holds it). And the key may hold no more
    /// than its limit.
    #[must_use]
    pub fn allows_growth(&self, bytes: u64) -> bool {
        let grown = self.grown.get().saturating_add(bytes);
        let spare = if self.must_obey() { 0 } else { grown };
        let allowed = self.allows_to_grow(bytes, spare);
        if allowed {
            self.grown.set(grown);
        }
        allowed
    }

    /// As [`Call::allows_growth`], for a value that grows because a command says so: nothing is left
    /// beside.
    #[must_use]
    pub fn allows_addition(&self, bytes: u64) -> bool {
        self.allows_to_grow(bytes, 0)
    }

    /// Whether so many bytes may be taken that the command frees again. Only the machine and its control
    /// group limit them: a command without deny-oom works when memory is full.
    #[must_use]
    pub fn allows_temporary(&self, bytes: u64) -> bool {
        bytes < memory::LOOKED_AT_BYTES || bytes <= memory::budget(self.ctx, true, 0).bytes
    }

    fn allows_to_grow(&self, bytes: u64, spare: u64) -> bool {
        let taken = self.taken.get().saturating_add(bytes);
        let allowed = self.allows_in_key(bytes) && self.allows_with_spare(taken, spare);
        if allowed {
            let key_bytes = self.key_bytes.get().saturating_add(bytes);
            self.key_bytes.set(key_bytes);
        }
        allowed
    }

    /// Whether [`Call::allows_in_key`] may refuse anything.
    #[must_use]
    pub fn is_key_limited(&self) -> bool {
        self.key_limit().is_some()
    }

    /// Whether the key that is open for writing may come to hold so many bytes more than when it was
    /// opened (and than what [`Call::allows_growth`] has allowed it since): the setting
    /// `sketch-max-key-bytes`. A value that is made is held to it where it is put into the key.
    #[must_use]
    pub fn allows_in_key(&self, more: u64) -> bool {
        let Some(most) = self.key_limit() else {
            return true;
        };
        let bytes = self.key_bytes.get().saturating_add(more);
        if bytes > most {
            self.over_limit.set(Some(bytes));
            self.log_key_too_large(bytes, most);
        }
        bytes <= most
    }

    /// The error for memory that was refused: the key's limit, if that refused it, or else this one.
    #[must_use]
    pub fn memory_error(&self, otherwise: &'static CStr) -> Error {
        match (self.key_limit(), self.over_limit.get()) {
            (Some(most), Some(bytes)) => Error::KeyTooLarge { bytes, most },
            _ => otherwise.into(),
        }
    }

    /// Logs why memory was refused to the command: one line per command and per second at most.
    pub fn log_refusal(&self, why: impl FnOnce() -> String) {
        if !self.is_refusal_logged.replace(true) {
            log::warning_of_refusal(|| {
                let name = self.arg(0).bytes().to_ascii_uppercase();
                format!("{} is refused memory: {}", name.escape_ascii(), why())
            });
        }
    }

    pub(super) fn log_key_too_large(&self, bytes: u64, most: u64) {
        self.log_refusal(|| {
            format!("its key would hold {bytes} bytes, sketch-max-key-bytes allows {most}")
        });
    }

    /// Bytes that a key may hold after this command; `None` where there is no limit, or the command must
    /// be obeyed. Cost: one load where there is none.
    #[inline]
    pub(super) fn key_limit(&self) -> Option<u64> {
        limit::most_bytes().filter(|_| !self.must_obey())
    }

    pub(super) fn set_key_bytes(&self, bytes: u64) {
        self.key_bytes.set(bytes);
    }

    /// Whether the command may take `taken` bytes in all where `spare` more must be left.
    fn allows_with_spare(&self, taken: u64, spare: u64) -> bool {
        if taken >= memory::LOOKED_AT_BYTES {
            let read = || memory::budget(self.ctx, self.must_obey(), self.taken.get());
            let Budget { bytes, limit } = *self.budget.get_or_init(read);
            if taken.saturating_add(spare) > bytes {
                self.log_refusal(|| {
                    let spare = match spare {
                        0 => String::new(),
                        spare => format!(" and for {spare} to stay free"),
                    };
                    format!("it asks for {taken} bytes in all{spare}, {limit} allows {bytes}")
                });
                return false;
            }
        }
        self.taken.set(taken);
        true
    }

    /// Replicates the command as it came, to replicas and the AOF.
    pub fn replicate_verbatim(&mut self) {
        // SAFETY: the context is the running command's.
        unsafe { api!(RedisModule_ReplicateVerbatim)(self.ctx) };
    }

    /// Replicates another command: name and words.
    pub fn replicate(&mut self, name: &CStr, words: &[&[u8]]) {
        let strings: Vec<_> = words
            .iter()
            // SAFETY: the bytes are copied.
            .map(|word| unsafe {
                api!(RedisModule_CreateString)(self.ctx, word.as_ptr().cast(), word.len())
            })
            .collect();
        // SAFETY: the format "v" takes a vector of strings and its length; the server takes its own
        // references, and ours are given back once each.
        unsafe {
            api!(RedisModule_Replicate)(
                self.ctx,
                name.as_ptr(),
                c"v".as_ptr(),
                strings.as_ptr(),
                strings.len(),
            );
            for string in strings {
                api!(RedisModule_FreeString)(self.ctx, string);
            }
        }
    }

    /// Replicates another command: `name`, the key in word 1, a `keyword` where there is one, and words of
    /// this command. Without words it replicates nothing.
    pub fn replicate_items(&self, name: &CStr, keyword: Option<&CStr>, items: &[Argument<'_>]) {
        if items.is_empty() {
            return;
        }
        let (ctx, name, key) = (self.ctx, name.as_ptr(), self.args[1].as_raw());
        let (strings, len) = (items.as_ptr(), items.len());
        let replicate = api!(RedisModule_Replicate);
        // SAFETY: the formats take a string "s", a text "c", and a vector of strings and its length "v"; an
        // argument is a pointer to a string, and the server takes its own references.
        unsafe {
            match keyword {
                None => replicate(ctx, name, c"sv".as_ptr(), key, strings, len),
                Some(keyword) => {
                    let keyword = keyword.as_ptr();
                    replicate(ctx, name, c"scv".as_ptr(), key, keyword, strings, len)
                }
            }
        };
    }

    /// Tells the server that the key in word `key` changed: WATCH, client-side caching, and a keyspace
    /// event of this name (class module and generic).
    pub fn signal_changed(&mut self, key: usize, event: &CStr) {
        let key = self.args[key].as_raw();
        let class = raw::REDISMODULE_NOTIFY_MODULE | raw::REDISMODULE_NOTIFY_GENERIC;
        // SAFETY: the context and the key's name are the running command's.
        unsafe {
            api!(RedisModule_SignalModifiedKey)(self.ctx, key);
            api!(RedisModule_NotifyKeyspaceEvent)(self.ctx, class, event.as_ptr(), key);
        }
    }
}
