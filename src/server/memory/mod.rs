//! The memory that a command may take.
//!
//! A command requests the bytes of each large allocation before it allocates them. The requests are added up and
//! compared with what the machine, its control group and `maxmemory` leave (`limit.rs`), and with the limit of a key
//! (`sketch-max-key-bytes`). The log reports which limit refused a request.

mod allocator;
mod control_group;
mod limit;

#[cfg(debug_assertions)]
pub(super) use allocator::set_refusals;
pub use allocator::{MemoryUsage, ServerAllocator};
pub(super) use allocator::{NATURAL_ALIGNMENT, has_refused, take_refused_bytes};
use limit::MemoryLimit;
pub(super) use limit::{SETTINGS, key_limit_error, of_process};

use super::argument::Argument;
use super::context::Context;
use super::error::Error;
use super::injected;
use super::log::{self, RateLimit, quoted, size, sizes};
use super::stats::{self, MemoryRefusal};
use roughly_sketch::memory::{Budget, Grants, Purpose};
use std::cell::{Cell, OnceCell};
use std::ffi::CStr;

/// The memory of a running command: what it has requested so far.
#[derive(Debug)]
pub struct Memory<'a> {
    ctx: Context,
    /// The arguments of the command, for the log.
    args: &'a [Argument<'a>],
    /// How many arguments are before the name of the command (SKETCH.WITHIN).
    first: Cell<usize>,
    /// Bytes that were allowed, in total.
    taken: Cell<u64>,
    /// The part of `taken` that was allowed for [`Purpose::Grow`].
    grown: Cell<u64>,
    /// Bytes that the command may take in total. Read from the server once per command, when it is first needed.
    limit: OnceCell<MemoryLimit>,
    /// Size in bytes of the key that is open for writing: its size when it was opened, plus the bytes allowed since.
    /// Set only if keys are limited.
    key_bytes: Cell<u64>,
    /// Size in bytes that the key would have with the request that its limit refused.
    refused_key_bytes: Cell<Option<u64>>,
    /// Whether a refusal was counted and logged.
    is_refusal_reported: Cell<bool>,
}

/// What the log shows for a purpose before the key, and what it calls the value. Only filters grow with bytes in reserve.
fn words(purpose: Purpose) -> (&'static str, &'static str) {
    match purpose {
        Purpose::Create | Purpose::CreateInParts | Purpose::Temporary => ("", "sketch"),
        Purpose::Grow | Purpose::Add => ("growing ", "filter"),
    }
}

impl Grants for Memory<'_> {
    fn grants(&self, purpose: Purpose, bytes: u64) -> bool {
        self.request(purpose, bytes)
    }
}

impl<'a> Memory<'a> {
    /// The memory of a command that has requested nothing.
    #[inline(always)]
    pub(super) fn new(ctx: Context, args: &'a [Argument<'a>]) -> Self {
        Self {
            ctx,
            args,
            first: Cell::new(0),
            taken: Cell::new(0),
            grown: Cell::new(0),
            limit: OnceCell::new(),
            key_bytes: Cell::new(0),
            refused_key_bytes: Cell::new(None),
            is_refusal_reported: Cell::new(false),
        }
    }

    /// The name of the command is the argument at `first`.
    pub(super) fn set_first(&self, first: usize) {
        self.first.set(first);
    }

    /// Requests bytes before they are allocated. Returns whether the command may take them.
    #[must_use]
    pub fn request(&self, purpose: Purpose, bytes: u64) -> bool {
        if injected::refuses_request() {
            return self.must_obey();
        }
        match purpose {
            Purpose::Create => self.take(bytes, 0, purpose),
            Purpose::CreateInParts => {
                let total = self.taken.get().saturating_add(bytes);
                self.take(bytes, self.unless_obeyed(total), purpose)
            }
            Purpose::Grow => {
                let grown = self.grown.get().saturating_add(bytes);
                let allowed = self.take_for_key(bytes, self.unless_obeyed(grown), purpose);
                if allowed {
                    self.grown.set(grown);
                }
                allowed
            }
            Purpose::Add => self.take_for_key(bytes, 0, purpose),
            Purpose::Temporary => {
                bytes < limit::MIN_CHECKED_BYTES || bytes <= of_process().bytes || self.must_obey()
            }
        }
    }

    /// A budget whose requests are for this purpose.
    #[must_use]
    #[inline]
    pub fn budget(&'a self, purpose: Purpose) -> Budget<'a> {
        Budget::of(self, purpose)
    }

    /// Returns bytes that were requested for [`Purpose::Create`] and that the command has freed.
    pub fn release(&self, bytes: u64) {
        self.taken.set(self.taken.get().saturating_sub(bytes));
    }

    /// See [`Call::must_obey`](super::call::Call::must_obey).
    #[must_use]
    pub fn must_obey(&self) -> bool {
        let name = self.args.first().map_or(&[][..], |name| name.bytes());
        self.ctx.must_obey(name)
    }

    fn unless_obeyed(&self, bytes: u64) -> u64 {
        match self.must_obey() {
            true => 0,
            false => bytes,
        }
    }

    /// As [`Memory::take`], also within the limit of the key.
    fn take_for_key(&self, bytes: u64, spare: u64, purpose: Purpose) -> bool {
        let allowed = self.fits_in_key(bytes) && self.take(bytes, spare, purpose);
        if allowed {
            let key_bytes = self.key_bytes.get().saturating_add(bytes);
            self.key_bytes.set(key_bytes);
        }
        allowed
    }

    /// Whether the key has a limit (`sketch-max-key-bytes`).
    #[must_use]
    #[inline]
    pub fn is_key_limited(&self) -> bool {
        self.max_key_bytes().is_some()
    }

    /// Whether the limit of the key that is open for writing allows `additional` bytes, in addition to its size when it was
    /// opened and the bytes that were allowed since. A new value is checked when it is put into the key.
    #[must_use]
    pub fn fits_in_key(&self, additional: u64) -> bool {
        let Some(max) = self.max_key_bytes() else {
            return true;
        };
        let bytes = self.key_bytes.get().saturating_add(additional);
        if bytes > max {
            self.refused_key_bytes.set(Some(bytes));
            self.report_key_too_large(bytes, max);
        }
        bytes <= max
    }

    /// The error for refused memory: that of the key's limit if this limit refused the memory, otherwise `other`.
    #[must_use]
    pub fn error(&self, other: &'static CStr) -> Error {
        match (self.max_key_bytes(), self.refused_key_bytes.get()) {
            (Some(max), Some(bytes)) => Error::KeyTooLarge { bytes, max },
            _ => other.into(),
        }
    }

    /// Counts that memory was refused to the command, at most once per command, and logs the reason, at most one line
    /// per command and per second. `reason` receives the key as the log shows it: `key "name"`.
    pub fn report_refusal(&self, refusal: MemoryRefusal, reason: impl FnOnce(&str) -> String) {
        static WARNINGS: RateLimit = RateLimit::per_second();
        if !self.is_refusal_reported.replace(true) {
            stats::count_memory_refusal(refusal);
            WARNINGS.warning(|| {
                let (command, key) = self.command_and_key();
                let reason = reason(&format!("key {}", quoted(key)));
                format!("{command} refused: {reason}")
            });
        }
    }

    /// The name of the command and its first key, for the log.
    pub(super) fn command_and_key(&self) -> (String, &'a [u8]) {
        let args = &self.args[self.first.get()..];
        let command = args[0].bytes().to_ascii_uppercase();
        let key = args.get(1).map_or(&[][..], |key| key.bytes());
        (command.escape_ascii().to_string(), key)
    }

    pub(super) fn report_key_too_large(&self, bytes: u64, max: u64) {
        self.report_refusal(MemoryRefusal::KeyLimit, |key| {
            let (bytes, max) = sizes(bytes, max);
            format!("{key} would hold {bytes}, sketch-max-key-bytes allows {max}")
        });
    }

    /// Bytes that a key may take after this command; `None` if there is no limit or the command must be obeyed. Cost:
    /// one load if there is no limit.
    #[inline]
    pub(super) fn max_key_bytes(&self) -> Option<u64> {
        limit::max_key_bytes().filter(|_| !self.must_obey())
    }

    pub(super) fn set_key_bytes(&self, bytes: u64) {
        self.key_bytes.set(bytes);
    }

    /// Warns, before the allocation, that a command that must be obeyed takes more than the process can have, once per
    /// command: the kernel may end the process, and nothing is logged then.
    #[cold]
    fn warn_of_obeyed(&self, needed: u64, limit: MemoryLimit) {
        if !self.is_refusal_reported.replace(true) {
            let (command, key) = self.command_and_key();
            let (needed, bytes) = sizes(needed, limit.bytes);
            let (key, source) = (quoted(key), limit.source);
            log::warning(&format!(
                "{command} must be obeyed: key {key} needs {needed}, {source} {bytes}. The kernel may end the server"
            ));
        }
    }

    /// Whether the command may take these bytes while `spare` more stay free.
    fn take(&self, bytes: u64, spare: u64, purpose: Purpose) -> bool {
        let taken = self.taken.get().saturating_add(bytes);
        if taken >= limit::MIN_CHECKED_BYTES {
            let read = || match self.must_obey() {
                true => of_process(),
                false => limit::read(self.ctx, self.taken.get()),
            };
            let limit = *self.limit.get_or_init(read);
            let MemoryLimit { bytes, source, .. } = limit;
            let needed = taken.saturating_add(spare);
            if needed > bytes && self.must_obey() {
                self.warn_of_obeyed(needed, limit);
            } else if needed > bytes {
                self.report_refusal(limit.refusal, |key| {
                    let (needed, bytes) = sizes(needed, bytes);
                    let (verb, value) = words(purpose);
                    let parts = match spare {
                        0 => String::new(),
                        _ if spare == taken => {
                            let taken = size(taken);
                            format!(" free ({taken} for the {value}, as much in reserve)")
                        }
                        _ => {
                            let (taken, spare) = (size(taken), size(spare));
                            format!(" free ({taken} for the {value}, {spare} in reserve)")
                        }
                    };
                    format!("{verb}{key} needs {needed}{parts}, {source} {bytes}")
                });
                return false;
            }
        }
        self.taken.set(taken);
        true
    }
}
