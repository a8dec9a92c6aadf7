//! The limits of the memory that a command or a key may take: those of the machine, the control group and `maxmemory`, and the
//! setting `sketch-max-key-bytes`.
//!
//! The setting lets an operator limit users who may write. It applies to commands of clients. It does not apply to commands that
//! must be obeyed (from a primary or the AOF), nor to RDB files, RESTORE and COPY, with which the server creates keys.

use super::control_group;
use crate::server::config::{Setting, store_integer};
use crate::server::context::{Context, ServerInfo};
use crate::server::injected;
use crate::server::stats::MemoryRefusal;
use std::ffi::CString;
use std::sync::atomic::{AtomicI64, Ordering};

/// The limits are not checked for commands that take less than this in total: the server refuses writes above
/// `maxmemory` (deny-oom), and reading the limits costs too much for a small command.
pub(super) const MIN_CHECKED_BYTES: u64 = 1 << 20;

/// Bytes of memory of the machine; `u64::MAX` if the operating system does not report them.
fn machine_bytes() -> u64 {
    // SAFETY: sysconf takes any name.
    let (pages, page) = unsafe {
        (
            libc::sysconf(libc::_SC_PHYS_PAGES),
            libc::sysconf(libc::_SC_PAGESIZE),
        )
    };
    match (u64::try_from(pages), u64::try_from(page)) {
        (Ok(pages), Ok(page)) if pages > 0 => pages.saturating_mul(page),
        _ => u64::MAX,
    }
}

/// The server's memory settings and use, in bytes.
#[derive(Debug, Clone, Copy)]
struct ServerMemory {
    maxmemory: u64,
    /// What the server compares with `maxmemory`: without the buffers of replicas and of the AOF.
    used: u64,
    /// Whether the server evicts keys to stay below `maxmemory`.
    evicts: bool,
}

impl ServerMemory {
    /// `None` if `maxmemory` is 0 (no limit) or cannot be read.
    fn read(ctx: Context) -> Option<Self> {
        // SAFETY: the context is the running command's.
        let info = unsafe { ServerInfo::of(ctx.as_raw(), c"memory") }?;
        let number = |field| info.number(field);
        let maxmemory = number(c"maxmemory").filter(|&bytes| bytes > 0)?;
        let not_counted = number(c"mem_not_counted_for_evict").unwrap_or(0);
        let policy = info.text(c"maxmemory_policy");
        Some(Self {
            maxmemory,
            used: (number(c"used_memory").unwrap_or(0)).saturating_sub(not_counted),
            evicts: policy.is_some_and(|policy| policy != c"noeviction"),
        })
    }

    /// Bytes that a command may take in total if it has taken `taken` already.
    ///
    /// Without eviction: the free bytes. With eviction: `maxmemory`, because the server evicts keys before the next
    /// command. Between the commands of a transaction or script the server does not evict keys, so all memory in use
    /// must stay below twice `maxmemory`.
    fn max_bytes(self, taken: u64) -> u64 {
        if self.evicts {
            let below_twice = self.maxmemory.saturating_mul(2).saturating_sub(self.used);
            self.maxmemory.min(taken.saturating_add(below_twice))
        } else {
            taken.saturating_add(self.maxmemory.saturating_sub(self.used))
        }
    }
}

/// The memory that a command may take in total.
#[derive(Debug, Clone, Copy)]
pub(in crate::server) struct MemoryLimit {
    pub(in crate::server) bytes: u64,
    /// What sets this limit. In the log, the bytes follow it.
    pub(super) source: &'static str,
    pub(super) refusal: MemoryRefusal,
}

/// The memory that the process can have at most: that of the machine, or less if a control group limits it.
///
/// Cost: as [`control_group::limit_bytes`].
pub(in crate::server) fn of_process() -> MemoryLimit {
    let machine = MemoryLimit {
        bytes: injected::bytes_of("machine").unwrap_or_else(machine_bytes),
        source: "the machine has",
        refusal: MemoryRefusal::Machine,
    };
    let control_group = MemoryLimit {
        bytes: injected::bytes_of("control-group").unwrap_or_else(control_group::limit_bytes),
        source: "the control group allows",
        refusal: MemoryRefusal::ControlGroup,
    };
    machine.or_less(control_group)
}

/// The memory that a command of a client may take in total if it has taken `taken` already: at most [`of_process`], and at most
/// what `maxmemory` leaves.
///
/// Cost: reads one section of INFO, and [`of_process`].
pub(super) fn read(ctx: Context, taken: u64) -> MemoryLimit {
    let memory = ServerMemory::read(ctx);
    of_process().or_less(MemoryLimit {
        bytes: memory.map_or(u64::MAX, |memory| memory.max_bytes(taken)),
        source: "maxmemory leaves",
        refusal: MemoryRefusal::Maxmemory,
    })
}

impl MemoryLimit {
    /// The other limit if it is smaller. Of equal limits, the first is named in the log.
    fn or_less(self, other: Self) -> Self {
        match other.bytes < self.bytes {
            true => other,
            false => self,
        }
    }
}

/// The setting: bytes from 1 to 2^63 - 1, or 0 for no limit.
pub(in crate::server) const SETTINGS: &[Setting] = &[Setting {
    name: c"sketch-max-key-bytes",
    default: c"0",
    set: |text| store_integer(text, 0..=i64::MAX, &MAX_BYTES),
    ..Setting::TEMPLATE
}];

/// 0: no limit.
static MAX_BYTES: AtomicI64 = AtomicI64::new(0);

/// Bytes that a key may take; `None` if there is no limit. Counted as by MEMORY USAGE, including the allocator's
/// rounding, but without the key's name and the server's own objects.
#[inline]
pub(in crate::server) fn max_key_bytes() -> Option<u64> {
    let max = MAX_BYTES.load(Ordering::Relaxed).unsigned_abs();
    (max > 0).then_some(max)
}

/// The error of a command whose key would take more than `max` bytes.
pub(in crate::server) fn key_limit_error(max: u64) -> CString {
    let text =
        format!("ERR the key would hold more bytes than sketch-max-key-bytes allows ({max})");
    CString::new(text).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(used: u64, evicts: bool) -> ServerMemory {
        ServerMemory {
            maxmemory: 100,
            used,
            evicts,
        }
    }

    #[test]
    fn without_eviction_a_command_may_take_the_free_memory() {
        assert_eq!(memory(30, false).max_bytes(0), 70);
        // The bytes that the command has taken are already in use.
        assert_eq!(memory(50, false).max_bytes(20), 70);
        assert_eq!(memory(100, false).max_bytes(0), 0);
        assert_eq!(memory(130, false).max_bytes(20), 20);
    }

    #[test]
    fn with_eviction_a_command_may_take_maxmemory_if_usage_stays_below_twice_that() {
        assert_eq!(memory(30, true).max_bytes(0), 100);
        assert_eq!(memory(100, true).max_bytes(20), 100);
        assert_eq!(memory(170, true).max_bytes(0), 30);
        assert_eq!(memory(190, true).max_bytes(20), 30);
        assert_eq!(memory(230, true).max_bytes(0), 0);
    }
}
