//! A running command: its arguments, the state of the client and of the server, and its pending replies.
//!
//! Further methods of [`Call`] are in `reply.rs`, `replicate.rs`, `window.rs` and `key/`.

use super::argument::Argument;
use super::context::Context;
use super::memory::Memory;
use redis_module::raw;
use std::ffi::CStr;
use std::ops::Range;

pub use super::error::Error;

/// A command as a handler sees it. Argument 0 is the name of the command.
#[derive(Debug)]
pub struct Call<'a> {
    ctx: Context,
    args: &'a [Argument<'a>],
    memory: &'a Memory<'a>,
    /// The milliseconds that a read of a window covers (SKETCH.WITHIN); 0 for the whole window.
    pub(super) within_ms: u64,
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
            within_ms: 0,
            pending_replies: 1,
            open_array_len: None,
            pending_advance: false,
        }
    }

    pub(super) fn ctx(&self) -> *mut raw::RedisModuleCtx {
        self.ctx.as_raw()
    }

    pub(super) fn context(&self) -> Context {
        self.ctx
    }

    /// Counts a written reply. `elements` is the number of replies that follow as its elements.
    #[inline]
    pub(super) fn count_reply(&mut self, elements: usize) {
        match &mut self.open_array_len {
            Some(len) => {
                debug_assert_eq!(elements, 0, "no arrays in an array of unknown length");
                *len += 1;
            }
            None => self.pending_replies = (self.pending_replies + elements).saturating_sub(1),
        }
    }

    /// Begins an array of unknown length. Its elements must not be arrays.
    pub(super) fn begin_open_array(&mut self) {
        assert!(
            self.open_array_len.is_none(),
            "arrays of unknown length do not nest"
        );
        self.count_reply(0);
        self.open_array_len = Some(0);
    }

    /// Ends the array of unknown length, if there is one, and returns its length.
    pub(super) fn end_open_array(&mut self) -> Option<usize> {
        self.open_array_len.take()
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
    #[must_use]
    pub fn len(&self) -> usize {
        self.args.len()
    }

    /// Always false: a command has a name.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.args.is_empty()
    }

    /// The argument at `index`.
    ///
    /// # Panics
    /// If there is no such argument. The server checks the arity of the command table before it calls a handler.
    #[inline]
    #[must_use]
    pub fn arg(&self, index: usize) -> Argument<'a> {
        self.args[index]
    }

    /// The arguments at these indexes.
    ///
    /// # Panics
    /// If there are no such arguments.
    #[inline]
    #[must_use]
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

    /// Makes the call that of the command whose name is the argument at `first`. Its reads cover the last `ms` milliseconds, at
    /// least 1, of a window.
    ///
    /// # Panics
    /// If there is no such argument.
    pub fn narrow(&mut self, first: usize, ms: u64) {
        self.args = &self.args[first..];
        self.memory.set_first(first);
        self.within_ms = ms;
    }

    /// Whether the command reads a part of the window (SKETCH.WITHIN).
    #[inline]
    #[must_use]
    pub fn is_within(&self) -> bool {
        self.within_ms != 0
    }

    /// Random bytes from the server.
    #[must_use]
    pub fn random_bytes<const N: usize>(&self) -> [u8; N] {
        Context::random_bytes()
    }

    /// The time in milliseconds since the Unix epoch, which is the same for all commands of a script or transaction.
    #[must_use]
    pub fn unix_ms(&self) -> u64 {
        Context::unix_ms()
    }

    /// Whether the client speaks RESP3.
    #[must_use]
    pub fn is_resp3(&self) -> bool {
        self.ctx.is_resp3()
    }

    /// Whether the command must be obeyed: a primary or the node of imported slots sent it, or the server reads it from
    /// the AOF, so it was already applied once. No limit of this server applies to it.
    #[must_use]
    pub fn must_obey(&self) -> bool {
        self.memory.must_obey()
    }

    /// The memory that the command may take.
    #[must_use]
    #[inline(always)]
    pub fn memory(&self) -> &'a Memory<'a> {
        self.memory
    }
}
