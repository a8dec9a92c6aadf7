//! How much memory may be asked for, and how much a block really takes.

use super::allocator::NATURAL_ALIGNMENT;
use super::control_group;
use redis_module::raw;
use roughly_sketch::blocks::BlockVisitor;
use std::ffi::CStr;
use std::fmt;

/// Commands that take less than this in all are not compared with the limits: the server itself refuses
/// writes above `maxmemory` (deny-oom), and reading its limits costs more than so little memory is worth.
pub(super) const LOOKED_AT_BYTES: u64 = 1 << 20;

/// Bytes of memory that the machine has; no limit where that cannot be found out.
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
    used: u64,
    /// Whether the server evicts keys to stay below `maxmemory`.
    evicts: bool,
}

impl ServerMemory {
    /// `None` where `maxmemory` is 0 (no limit) or cannot be read.
    fn read(ctx: *mut raw::RedisModuleCtx) -> Option<Self> {
        // SAFETY: the context is the running command's; the data, and the text in them, are freed once,
        // below, after their last use.
        unsafe {
            let info = api!(RedisModule_GetServerInfo)(ctx, c"memory".as_ptr());
            if info.is_null() {
                return None;
            }
            let number = |field: &CStr| {
                let mut error = 0;
                let number = api!(RedisModule_ServerInfoGetFieldUnsigned)(
                    info,
                    field.as_ptr(),
                    &raw mut error,
                );
                (error == 0).then_some(number)
            };
            let policy = api!(RedisModule_ServerInfoGetFieldC)(info, c"maxmemory_policy".as_ptr());
            let memory = number(c"maxmemory")
                .filter(|&bytes| bytes > 0)
                .map(|maxmemory| Self {
                    maxmemory,
                    used: number(c"used_memory").unwrap_or(0),
                    evicts: !policy.is_null() && CStr::from_ptr(policy) != c"noeviction",
                });
            api!(RedisModule_FreeServerInfo)(ctx, info);
            memory
        }
    }

    /// Bytes that a command may take in all which has `taken` so many already.
    ///
    /// Without eviction that is what is free. With eviction it is all of `maxmemory`, since the server
    /// makes room before the next command; but not before the next command of a transaction or script, so
    /// that all of it together stays below twice `maxmemory`.
    fn most_bytes(self, taken: u64) -> u64 {
        if self.evicts {
            let below_twice = self.maxmemory.saturating_mul(2).saturating_sub(self.used);
            self.maxmemory.min(taken.saturating_add(below_twice))
        } else {
            taken.saturating_add(self.maxmemory.saturating_sub(self.used))
        }
    }
}

/// What limits the memory of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Limit {
    Machine,
    ControlGroup,
    Maxmemory,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Machine => "the machine",
            Self::ControlGroup => "the control group",
            Self::Maxmemory => "maxmemory",
        })
    }
}

/// The memory that a command may take in all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Budget {
    pub(super) bytes: u64,
    /// The limit that makes it no larger.
    pub(super) limit: Limit,
}

/// The memory that a command may take in all, of which it has `taken` so many already: no more than the machine
/// (or the process's control groups) have, and no more than `maxmemory` leaves unless the command must be
/// `obeyed` (it comes from a primary or the AOF).
///
/// Cost: some tens of microseconds, most of it for one INFO section, and [`control_group::limit_bytes`].
pub(super) fn budget(ctx: *mut raw::RedisModuleCtx, obeyed: bool, taken: u64) -> Budget {
    let memory = Some(ctx).filter(|_| !obeyed).and_then(ServerMemory::read);
    let limits = [
        (Limit::Machine, machine_bytes()),
        (Limit::ControlGroup, control_group::limit_bytes()),
        (
            Limit::Maxmemory,
            memory.map_or(u64::MAX, |memory| memory.most_bytes(taken)),
        ),
    ];
    let budgets = limits.map(|(limit, bytes)| Budget { bytes, limit });
    budgets.into_iter().fold(budgets[0], |least, budget| {
        if budget.bytes < least.bytes {
            budget
        } else {
            least
        }
    })
}

/// Adds up what blocks of the global allocator really take, its rounding included.
#[derive(Debug, Default)]
pub struct Weighed {
    /// Bytes of all blocks. 0 without a server.
    pub(super) bytes: usize,
    /// How many there are.
    pub(super) blocks: usize,
}

impl Weighed {
    /// Bytes of all blocks that were added.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    /// Adds a block.
    ///
    /// # Safety
    /// `block` must be a live block of the global allocator without more than its natural alignment.
    pub(super) unsafe fn add(&mut self, block: *const u8) {
        self.blocks += 1;
        if let Some(size) = optional_api!(RedisModule_MallocSize) {
            // SAFETY: by the promise above; the function only reads.
            self.bytes += unsafe { size(block.cast_mut().cast()) };
        }
    }
}

impl BlockVisitor for Weighed {
    fn visit<T>(&mut self, vec: &Vec<T>) {
        const { assert!(align_of::<T>() <= NATURAL_ALIGNMENT) };
        if vec.capacity() > 0 && size_of::<T>() > 0 {
            // SAFETY: a vector with capacity has a block of the global allocator, here of natural
            // alignment.
            unsafe { self.add(vec.as_ptr().cast()) }
        }
    }
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
    fn without_eviction_a_command_may_take_what_is_free() {
        assert_eq!(memory(30, false).most_bytes(0), 70);
        // What the command has taken is in use already.
        assert_eq!(memory(50, false).most_bytes(20), 70);
        assert_eq!(memory(100, false).most_bytes(0), 0);
        assert_eq!(memory(130, false).most_bytes(20), 20);
    }

    #[test]
    fn with_eviction_a_command_may_take_maxmemory_up_to_twice_of_it_in_use() {
        assert_eq!(memory(30, true).most_bytes(0), 100);
        assert_eq!(memory(100, true).most_bytes(20), 100);
        assert_eq!(memory(170, true).most_bytes(0), 30);
        assert_eq!(memory(190, true).most_bytes(20), 30);
        assert_eq!(memory(230, true).most_bytes(0), 0);
    }
}
