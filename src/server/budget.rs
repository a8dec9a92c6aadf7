//! The memory that a command may take.
//!
//! A command requests the bytes of each large allocation before it allocates them. The requests are added up and
//! compared with what the machine, its control group and `maxmemory` leave ([`memory_limit`]), and with the limit of a
//! key (`sketch-max-key-bytes`). The log reports which limit refused a request.

use super::call::{Call, Error};
use super::key_limit;
use super::log;
use super::log_text::{quoted, size, sizes};
use super::memory_limit::{self, MemoryLimit};
use super::stats::{self, MemoryRefusal};
use std::cell::{Cell, OnceCell};
use std::ffi::CStr;

/// What a command has requested so far.
#[derive(Debug, Default)]
pub(super) struct CommandBudget {
    /// Bytes that were allowed, in total.
    taken: Cell<u64>,
    /// The part of `taken` that [`Call::allows_growth`] allowed.
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

/// What a command needs memory for.
#[derive(Debug, Clone, Copy)]
enum Purpose {
    /// A value, or the copy of one.
    Value,
    /// The growth of a value.
    Growth,
}

impl Purpose {
    /// What the log shows before the key, and what it calls the value. Only filters grow with bytes in reserve.
    fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Value => ("", "sketch"),
            Self::Growth => ("growing ", "filter"),
        }
    }
}

impl Call<'_> {
    /// Requests bytes for a value that is created.
    #[must_use]
    pub fn allows_bytes(&self, bytes: u64) -> bool {
        self.allows_total(self.budget.taken.get().saturating_add(bytes))
    }

    /// As [`Call::allows_bytes`], but as many bytes must stay free as the command takes. For a value with many arrays that
    /// a client describes in a few bytes: the server enlarges the payload of its DUMP array by array.
    #[must_use]
    pub fn allows_with_copy(&self, bytes: u64) -> bool {
        let total = self.budget.taken.get().saturating_add(bytes);
        let spare = if self.must_obey() { 0 } else { total };
        self.allows_with_spare(total, spare, Purpose::Value)
    }

    /// As [`Call::allows_bytes`], but `bytes` is the total of the command: for commands that also free memory.
    #[must_use]
    pub fn allows_total(&self, bytes: u64) -> bool {
        self.allows_with_spare(bytes, 0, Purpose::Value)
    }

    /// Requests bytes for the growth of a full filter. If filters grow by n bytes in this command, another n bytes must
    /// stay free: the client did not choose that size, and the server needs memory for its own work on the key (the
    /// payload of a DUMP and the reply that contains it). The limit of the key applies.
    #[must_use]
    pub fn allows_growth(&self, bytes: u64) -> bool {
        let grown = self.budget.grown.get().saturating_add(bytes);
        let spare = if self.must_obey() { 0 } else { grown };
        let allowed = self.allows_to_grow(bytes, spare);
        if allowed {
            self.budget.grown.set(grown);
        }
        allowed
    }

    /// As [`Call::allows_growth`], for growth by a size that the client chose: no other bytes need to stay free.
    #[must_use]
    pub fn allows_addition(&self, bytes: u64) -> bool {
        self.allows_to_grow(bytes, 0)
    }

    /// Requests bytes that the command frees again. Only the machine and its control group limit them, because a
    /// command without deny-oom must work when memory is full.
    #[must_use]
    pub fn allows_temporary(&self, bytes: u64) -> bool {
        bytes < memory_limit::MIN_CHECKED_BYTES
            || bytes <= memory_limit::read(self.ctx(), true, 0).bytes
    }

    fn allows_to_grow(&self, bytes: u64, spare: u64) -> bool {
        let budget = &self.budget;
        let taken = budget.taken.get().saturating_add(bytes);
        let allowed =
            self.allows_in_key(bytes) && self.allows_with_spare(taken, spare, Purpose::Growth);
        if allowed {
            let key_bytes = budget.key_bytes.get().saturating_add(bytes);
            budget.key_bytes.set(key_bytes);
        }
        allowed
    }

    /// Whether [`Call::allows_in_key`] can refuse anything.
    #[must_use]
    pub fn is_key_limited(&self) -> bool {
        self.max_key_bytes().is_some()
    }

    /// Whether the limit of a key (`sketch-max-key-bytes`) allows `additional` bytes for the key that is open for
    /// writing, in addition to its size when it was opened and the bytes that [`Call::allows_growth`] and
    /// [`Call::allows_addition`] have allowed since. A new value is checked when it is put into the key.
    #[must_use]
    pub fn allows_in_key(&self, additional: u64) -> bool {
        let Some(max) = self.max_key_bytes() else {
            return true;
        };
        let bytes = self.budget.key_bytes.get().saturating_add(additional);
        if bytes > max {
            self.budget.refused_key_bytes.set(Some(bytes));
            self.report_key_too_large(bytes, max);
        }
        bytes <= max
    }

    /// The error for refused memory: that of the key's limit if this limit refused the memory, otherwise `other`.
    #[must_use]
    pub fn memory_error(&self, other: &'static CStr) -> Error {
        match (self.max_key_bytes(), self.budget.refused_key_bytes.get()) {
            (Some(max), Some(bytes)) => Error::KeyTooLarge { bytes, max },
            _ => other.into(),
        }
    }

    /// Counts that memory was refused to the command, at most once per command, and logs the reason, at most one line
    /// per command and per second. `reason` receives the key as the log shows it: `key "name"`.
    pub fn report_refusal(&self, refusal: MemoryRefusal, reason: impl FnOnce(&str) -> String) {
        if !self.budget.is_refusal_reported.replace(true) {
            stats::count_memory_refusal(refusal);
            log::warning_of_refusal(|| {
                let command = self.arg(0).bytes().to_ascii_uppercase();
                let key = quoted(self.arg(1).bytes());
                let reason = reason(&format!("key {key}"));
                format!("{} refused: {reason}", command.escape_ascii())
            });
        }
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
        key_limit::max_bytes().filter(|_| !self.must_obey())
    }

    pub(super) fn set_key_bytes(&self, bytes: u64) {
        self.budget.key_bytes.set(bytes);
    }

    /// Whether the command may take `taken` bytes in total while `spare` more stay free. `purpose` is for the log.
    fn allows_with_spare(&self, taken: u64, spare: u64, purpose: Purpose) -> bool {
        let budget = &self.budget;
        if taken >= memory_limit::MIN_CHECKED_BYTES {
            let read = || memory_limit::read(self.ctx(), self.must_obey(), budget.taken.get());
            let MemoryLimit { bytes, source } = *budget.limit.get_or_init(read);
            let needed = taken.saturating_add(spare);
            if needed > bytes {
                self.report_refusal(source.into(), |key| {
                    let (needed, bytes) = sizes(needed, bytes);
                    let (verb, value) = purpose.words();
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
        budget.taken.set(taken);
        true
    }
}
