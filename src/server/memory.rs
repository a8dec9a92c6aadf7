//! How much memory may be asked for, and how much a block really takes.

use super::allocator::NATURAL_ALIGNMENT;
use crate::blocks::BlockVisitor;
use redis_module::raw;
use std::ffi::CStr;

/// Requests below this size are not looked at: the server itself refuses writes above `maxmemory`
/// (deny-oom), and asking it for its limits costs more than so little memory is worth.
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

/// What `maxmemory` leaves, in bytes: all of it where the server makes room by evicting keys, else what
/// is not in use. `None` where there is no limit or it cannot be read.
///
/// A reservation of all of `maxmemory` on top of what is in use would leave the server without memory
/// for its own work on the key: a DUMP takes as much again, and the server does not survive a refusal.
fn maxmemory_left(ctx: *mut raw::RedisModuleCtx) -> Option<u64> {
    // SAFETY: the context is the running command's; the data, and the text in them, are freed once,
    // below, after their last use.
    unsafe {
        let info = api!(RedisModule_GetServerInfo)(ctx, c"memory".as_ptr());
        if info.is_null() {
            return None;
        }
        let number = |field: &CStr| {
            let mut error = 0;
            let number =
                api!(RedisModule_ServerInfoGetFieldUnsigned)(info, field.as_ptr(), &raw mut error);
            (error == 0).then_some(number)
        };
        let policy = api!(RedisModule_ServerInfoGetFieldC)(info, c"maxmemory_policy".as_ptr());
        let evicts = !policy.is_null() && CStr::from_ptr(policy) != c"noeviction";
        let maxmemory = number(c"maxmemory").filter(|&bytes| bytes > 0);
        let used = number(c"used_memory").filter(|_| !evicts).unwrap_or(0);
        api!(RedisModule_FreeServerInfo)(ctx, info);
        maxmemory.map(|maxmemory| maxmemory.saturating_sub(used))
    }
}

/// Bytes that a command may ask for in all: no more than the machine (or its control group) has, and no
/// more than `maxmemory` leaves unless the command must be `obeyed` (it comes from a primary or the AOF).
///
/// Cost: some tens of microseconds, most of it for one INFO section.
pub(super) fn most_bytes(ctx: *mut raw::RedisModuleCtx, obeyed: bool) -> u64 {
    let most = machine_bytes().min(control_group_bytes());
    if obeyed {
        most
    } else {
        maxmemory_left(ctx).map_or(most, |left| left.min(most))
    }
}

/// The memory limit of the control group that the server runs in, as a container sees it; no limit
/// where there is none.
fn control_group_bytes() -> u64 {
    // Versions 2 and 1 of control groups.
    let files = [
        "/sys/fs/cgroup/memory.max",
        "/sys/fs/cgroup/memory/memory.limit_in_bytes",
    ];
    let limits = files.iter().filter_map(|file| {
        let text = std::fs::read_to_string(file).ok()?;
        text.trim().parse().ok()
    });
    limits.min().unwrap_or(u64::MAX)
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
