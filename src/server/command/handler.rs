//! Handlers: the functions that the server calls for commands.

use super::args::KeySpec;
use crate::server::call::Call;
use crate::server::context::{Context, end_without_memory};
use crate::server::error::Error;
use crate::server::guard::guarded;
use crate::server::log::size;
use crate::server::memory::{Memory, has_refused, take_refused_bytes};
use crate::server::part::{Part, Parts};
use crate::server::stats::MemoryRefusal;
use redis_module::raw;
use std::ffi::{CStr, c_int};
use std::ptr;
use std::slice;

/// A handler that reads a part of a window.
pub type ReadFn = fn(&mut Call<'_>, Part<'_>) -> Result<(), Error>;

/// A handler as a family writes it: a function, not a pointer to one.
pub trait Run: Fn(&mut Call<'_>) -> Result<(), Error> + Copy + 'static {}

impl<H: Fn(&mut Call<'_>) -> Result<(), Error> + Copy + 'static> Run for H {}

/// A handler of a command that reads a key in argument 1, which can have a window, and takes the panes that count from
/// [`panes`](crate::server::panes::panes).
pub trait Read: Fn(&mut Call<'_>, Part<'_>) -> Result<(), Error> + Copy + 'static {}

impl<H: Fn(&mut Call<'_>, Part<'_>) -> Result<(), Error> + Copy + 'static> Read for H {}

/// The reply if a handler panics; the log has the details.
const INTERNAL_ERROR: &CStr = c"ERR internal error, see the server's log";

/// What runs a command; created by [`handler`], [`reader`] or [`merge_handler`].
#[derive(Debug, Clone, Copy)]
pub struct Handler {
    /// `None` only in the templates of [`super::command::Command`].
    pub(super) raw: raw::RedisModuleCmdFunc,
    /// The commands that run it on a part of the window.
    pub parts: Parts,
    /// What they run; `None` without such commands.
    pub read: Option<ReadFn>,
    /// Whether the server can ask it for the positions of the keys.
    pub(super) reports_keys: bool,
}

impl Handler {
    /// No handler, for templates.
    pub(super) const NONE: Self = Self {
        raw: None,
        parts: Parts::None,
        read: None,
        reports_keys: false,
    };
}

/// Makes a function callable by the server: wraps its arguments, replies with its errors, and catches its panics.
///
/// A function's type has size zero and exactly one value, so the compiler can generate one shim per function, which
/// needs no pointer to the function.
pub const fn handler<H: Run>(_handler: H) -> Handler {
    const { assert!(size_of::<H>() == 0, "a handler is a plain function") };
    Handler {
        raw: Some(shim::<H>),
        ..Handler::NONE
    }
}

/// As [`handler`], for a command that `parts` can run.
pub const fn reader<H: Read>(parts: Parts, reader: H) -> Handler {
    Handler {
        parts,
        read: Some(read::<H>),
        ..handler(move |call: &mut Call<'_>| reader(call, Part::Whole))
    }
}

/// As [`handler`], for a command whose keys are [`KeySpec::MERGE`]. The server also calls such a handler for the
/// positions of the keys, so each call first asks the server which kind of call it is.
pub const fn merge_handler<H: Run>(handler: H) -> Handler {
    let mut handler = self::handler(handler);
    handler.raw = Some(merge_shim::<H>);
    handler.reports_keys = true;
    handler
}

/// A handler.
#[inline(always)]
fn value_of<H: Copy>() -> H {
    // SAFETY: H has no size (asserted in `handler`), so any aligned address is valid for a reference to a value of H;
    // and such a value exists: `handler` received it.
    unsafe { *ptr::NonNull::<H>::dangling().as_ref() }
}

/// Calls a handler.
fn read<H: Read>(call: &mut Call<'_>, part: Part<'_>) -> Result<(), Error> {
    value_of::<H>()(call, part)
}

unsafe extern "C" fn shim<H: Run>(
    ctx: *mut raw::RedisModuleCtx,
    argv: *mut *mut raw::RedisModuleString,
    argc: c_int,
) -> c_int {
    let len = usize::try_from(argc).unwrap_or(0);
    // SAFETY: the pointers are those of the command that the server runs now: argv holds argc pointers, and an argument is
    // such a pointer.
    let (ctx, args) = unsafe { (Context::new(ctx), slice::from_raw_parts(argv.cast(), len)) };
    let memory = Memory::new(ctx, args);
    let mut call = Call::new(ctx, args, &memory);
    take_refused_bytes();
    let result = guarded("a command", || value_of::<H>()(&mut call));
    let is_done = matches!(result, Some(Ok(()))) && call.is_complete();
    if !is_done || has_refused() {
        complete(&mut call, result);
    }
    raw::REDISMODULE_OK as c_int
}

/// Does what is left after a handler: logs refused memory, signals an advance, and writes the missing replies. `None` is a
/// panic.
#[cold]
fn complete(call: &mut Call<'_>, result: Option<Result<(), Error>>) {
    if let Some(bytes) = take_refused_bytes() {
        if call.must_obey() {
            let (command, key) = call.memory().command_and_key();
            end_without_memory(&command, key, bytes as u64);
        }
        call.memory()
            .report_refusal(MemoryRefusal::Allocator, |key| {
                format!("the allocator has no {} for {key}", size(bytes as u64))
            });
    }
    call.signal_advance();
    if let Some(Err(error)) = result {
        call.reply_refusal(error);
    }
    call.finish_replies(INTERNAL_ERROR);
}

/// The server asks only commands with the flag `getkeys-api` for the positions of their keys.
unsafe extern "C" fn merge_shim<H: Run>(
    ctx: *mut raw::RedisModuleCtx,
    argv: *mut *mut raw::RedisModuleString,
    argc: c_int,
) -> c_int {
    // SAFETY: the pointers are those of the command that the server runs or asks about. Argument 2 is read only if there is one.
    unsafe {
        if api!(RedisModule_IsKeysPositionRequest)(ctx) == 0 {
            return shim::<H>(ctx, argv, argc);
        }
        let report = api!(RedisModule_KeyAtPosWithFlags);
        let [destination, sources] = KeySpec::MERGE;
        report(ctx, 1, destination.flags as c_int);
        let mut count = 0;
        let ok = raw::REDISMODULE_OK as c_int;
        if argc > 3 && api!(RedisModule_StringToLongLong)(*argv.add(2), &raw mut count) == ok {
            // The command itself replies to an invalid number with an error.
            let count = c_int::try_from(count).unwrap_or(0).clamp(0, argc - 3);
            for index in 3..3 + count {
                report(ctx, index, sources.flags as c_int);
            }
        }
        ok
    }
}
