//! The memory that a command may take.
//!
//! A command requests the bytes of each large allocation before it allocates them. The requests are added up and
//! compared with what the machine and its control group (`process.rs`) and `maxmemory` leave, and with the limit of a key
//! (`sketch-max-key-bytes`). The log reports which limit refused a request.
//!
//! The setting lets an operator limit users who may write. It applies to commands of clients. It does not apply to commands that
//! must be obeyed (from a primary or the AOF), nor to RDB files, RESTORE and COPY, with which the server creates keys.

mod allocator;
mod process;

#[cfg(debug_assertions)]
pub(super) use allocator::set_refusals;
pub use allocator::{MemoryUsage, ServerAllocator};
pub(super) use allocator::{NATURAL_ALIGNMENT, has_refused, take_refused_bytes};
use process::MemoryLimit;
pub(super) use process::of_process;

use super::argument::Argument;
use super::config::{Setting, store_integer};
use super::context::{Context, ServerInfo};
use super::error::Error;
use super::injected;
use super::log::{self, RateLimit, quoted, size, sizes};
use super::stats::{self, MemoryRefusal};
use roughly_sketch::memory::{Budget, Grants, Purpose};
use std::cell::{Cell, OnceCell};
use std::ffi::{CStr, CString};
use std::sync::atomic::{AtomicI64, Ordering};

/// The setting: bytes from 1 to 2^63 - 1, or 0 for no limit.
pub(super) const SETTINGS: &[Setting] = &[Setting::new(c"sketch-max-key-bytes", c"0", |text| {
    store_integer(text, 0..=i64::MAX, &MAX_KEY_BYTES)
})];

/// Bytes that a key may take: counted as by MEMORY USAGE, including the allocator's rounding, but without the key's name and the
/// server's own objects. 0: no limit.
static MAX_KEY_BYTES: AtomicI64 = AtomicI64::new(0);

/// The error of a command whose key would take more than `max` bytes.
pub(super) fn key_limit_error(max: u64) -> CString {
    let text =
        format!("ERR the key would hold more bytes than sketch-max-key-bytes allows ({max})");
    CString::new(text).unwrap_or_default()
}

/// The limits are not checked for commands that take less than this in total: the server refuses writes above
/// `maxmemory` (deny-oom), and reading the limits costs too much for a small command.
const MIN_CHECKED_BYTES: u64 = 1 << 20;

/// Bytes that `maxmemory` leaves to a command in total if it has taken `taken` already; `u64::MAX` without a limit.
///
/// Cost: reads one section of INFO.
fn maxmemory_leaves(ctx: Context, taken: u64) -> u64 {
    // SAFETY: the context is the running command's.
    let Some(info) = (unsafe { ServerInfo::of(ctx.as_raw(), c"memory") }) else {
        return u64::MAX;
    };
    let number = |field| info.number(field).unwrap_or(0);
    let policy = info.text(c"maxmemory_policy");
    let evicts = policy.is_some_and(|policy| policy != c"noeviction");
    // The server compares this with `maxmemory`: without the buffers of replicas and of the AOF.
    let used = number(c"used_memory").saturating_sub(number(c"mem_not_counted_for_evict"));
    match number(c"maxmemory") {
        0 => u64::MAX,
        maxmemory => left_of(maxmemory, used, evicts, taken),
    }
}

/// [`maxmemory_leaves`] if the server uses `used` bytes.
///
/// Without eviction: the free bytes. With eviction: `maxmemory`, because the server evicts keys before the next
/// command. Between the commands of a transaction or script the server does not evict keys, so all memory in use
/// must stay below twice `maxmemory`.
fn left_of(maxmemory: u64, used: u64, evicts: bool, taken: u64) -> u64 {
    let free_of = |bytes: u64| taken.saturating_add(bytes.saturating_sub(used));
    match evicts {
        true => maxmemory.min(free_of(maxmemory.saturating_mul(2))),
        false => free_of(maxmemory),
    }
}

/// The memory of a running command: what it has requested so far.
#[derive(Debug)]
pub struct Memory<'a> {
    ctx: Context,
    /// Whether the command must be obeyed. The server is asked once per command, when it is first needed.
    is_obeyed: Cell<Option<bool>>,
    /// The name of the command and its arguments, for the log.
    args: Cell<&'a [Argument<'a>]>,
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
            is_obeyed: Cell::new(None),
            args: Cell::new(args),
            taken: Cell::new(0),
            grown: Cell::new(0),
            limit: OnceCell::new(),
            key_bytes: Cell::new(0),
            refused_key_bytes: Cell::new(None),
            is_refusal_reported: Cell::new(false),
        }
    }

    /// Sets the name and the arguments of the command that SKETCH.WITHIN runs.
    pub(super) fn set_args(&self, args: &'a [Argument<'a>]) {
        self.args.set(args);
    }

    /// Requests bytes before they are allocated. Returns whether the command may take them.
    #[must_use]
    pub fn request(&self, purpose: Purpose, bytes: u64) -> bool {
        let is_for_key = matches!(purpose, Purpose::Grow | Purpose::Add);
        if injected::refuses_request() {
            return self.must_obey();
        }
        if purpose == Purpose::Temporary {
            return bytes < MIN_CHECKED_BYTES || bytes <= of_process().bytes || self.must_obey();
        }
        let taken = self.taken.get().saturating_add(bytes);
        let mut grown = self.grown.get();
        let spare = match purpose {
            Purpose::Grow => {
                grown = grown.saturating_add(bytes);
                grown
            }
            Purpose::CreateInParts => taken,
            _ => 0,
        };
        let is_allowed = (!is_for_key || self.fits_in_key(bytes))
            && (taken < MIN_CHECKED_BYTES || self.allows(taken, spare, purpose));
        if is_allowed {
            self.taken.set(taken);
            self.grown.set(grown);
            if is_for_key {
                let key_bytes = self.key_bytes.get().saturating_add(bytes);
                self.key_bytes.set(key_bytes);
            }
        }
        is_allowed
    }

    /// Whether the command may take these bytes in total while `spare` more stay free. An obeyed command may; if the process
    /// cannot have them, the log has a warning before the allocation: the kernel may end the process, and nothing is logged then.
    fn allows(&self, taken: u64, spare: u64, purpose: Purpose) -> bool {
        let is_obeyed = self.must_obey();
        let limit = *self.limit.get_or_init(|| match is_obeyed {
            true => of_process(),
            false => of_process().or_less(MemoryLimit {
                bytes: maxmemory_leaves(self.ctx, self.taken.get()),
                source: "maxmemory leaves",
                refusal: MemoryRefusal::Maxmemory,
            }),
        });
        let spare = if is_obeyed { 0 } else { spare };
        let needed = taken.saturating_add(spare);
        if needed <= limit.bytes {
            return true;
        }
        let (needed, bytes) = sizes(needed, limit.bytes);
        let source = limit.source;
        if is_obeyed {
            if !self.is_refusal_reported.replace(true) {
                let (command, key) = self.command_and_key();
                let key = quoted(key);
                log::warning(&format!(
                    "{command} must be obeyed: key {key} needs {needed}, {source} {bytes}. The kernel may end the server"
                ));
            }
            return true;
        }
        // Only filters grow with bytes in reserve.
        let (verb, value) = match purpose {
            Purpose::Grow | Purpose::Add => ("growing ", "filter"),
            _ => ("", "sketch"),
        };
        self.report_refusal(limit.refusal, |key| {
            let taken_size = size(taken);
            let parts = match spare {
                0 => String::new(),
                _ if spare == taken => {
                    format!(" free ({taken_size} for the {value}, as much in reserve)")
                }
                _ => {
                    let spare = size(spare);
                    format!(" free ({taken_size} for the {value}, {spare} in reserve)")
                }
            };
            format!("{verb}{key} needs {needed}{parts}, {source} {bytes}")
        });
        false
    }

    /// A budget whose requests are for this purpose.
    #[inline]
    pub fn budget(&'a self, purpose: Purpose) -> Budget<'a> {
        Budget::of(self, purpose)
    }

    /// Bytes that were allowed, in total.
    #[inline(always)]
    pub fn taken(&self) -> u64 {
        self.taken.get()
    }

    /// Returns bytes that were requested for [`Purpose::Create`] and that the command has freed.
    pub fn release(&self, bytes: u64) {
        self.taken.set(self.taken.get().saturating_sub(bytes));
    }

    /// See [`Call::must_obey`](super::call::Call::must_obey).
    #[inline(never)]
    pub fn must_obey(&self) -> bool {
        if let Some(is_obeyed) = self.is_obeyed.get() {
            return is_obeyed;
        }
        let is_obeyed = self.ctx.must_obey(self.args.get());
        self.is_obeyed.set(Some(is_obeyed));
        is_obeyed
    }

    /// Bytes that a key may take after this command; `None` if there is no limit or the command must be obeyed. Cost:
    /// one load if there is no limit.
    #[inline]
    pub(super) fn max_key_bytes(&self) -> Option<u64> {
        let max = MAX_KEY_BYTES.load(Ordering::Relaxed).unsigned_abs();
        (max > 0 && !self.must_obey()).then_some(max)
    }

    /// Whether the key has a limit (`sketch-max-key-bytes`).
    #[inline]
    pub fn is_key_limited(&self) -> bool {
        self.max_key_bytes().is_some()
    }

    /// Sets the size of the key that is open for writing, if keys are limited.
    #[inline(always)]
    pub(super) fn set_key_bytes(&self, bytes: impl FnOnce() -> u64) {
        if self.is_key_limited() {
            self.key_bytes.set(bytes());
        }
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
        let args = self.args.get();
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
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a `maxmemory` of 100 leaves.
    fn left(used: u64, evicts: bool, taken: u64) -> u64 {
        left_of(100, used, evicts, taken)
    }

    #[test]
    fn without_eviction_a_command_may_take_the_free_memory() {
        assert_eq!(left(30, false, 0), 70);
        // The bytes that the command has taken are already in use.
        assert_eq!(left(50, false, 20), 70);
        assert_eq!(left(100, false, 0), 0);
        assert_eq!(left(130, false, 20), 20);
    }

    #[test]
    fn with_eviction_a_command_may_take_maxmemory_if_usage_stays_below_twice_that() {
        assert_eq!(left(30, true, 0), 100);
        assert_eq!(left(100, true, 20), 100);
        assert_eq!(left(170, true, 0), 30);
        assert_eq!(left(190, true, 20), 30);
        assert_eq!(left(230, true, 0), 0);
    }
}
