//! How much memory may be asked for, and how much a block really takes.

use super::allocator::NATURAL_ALIGNMENT;
use crate::blocks::BlockVisitor;
use redis_module::raw;

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

/// The server's `maxmemory` in bytes, `None` where it is not set or cannot be read.
fn maxmemory(ctx: *mut raw::RedisModuleCtx) -> Option<u64> {
    // SAFETY: the context is the running command's; the data are freed once, below.
    unsafe {
        let info = api!(RedisModule_GetServerInfo)(ctx, c"memory".as_ptr());
        if info.is_null() {
            return None;
        }
        let mut error = 0;
        let bytes = api!(RedisModule_ServerInfoGetFieldUnsigned)(
            info,
            c"maxmemory".as_ptr(),
            &raw mut error,
        );
        api!(RedisModule_FreeServerInfo)(ctx, info);
        (error == 0 && bytes > 0).then_some(bytes)
    }
}

/// Bytes that a command may ask for at once: no more than the machine (or its control group) has, and
/// no more than `maxmemory` unless the command must be `obeyed` (it comes from a primary or the AOF).
///
/// Cost: some tens of microseconds, most of it for one INFO section.
pub(super) fn most_bytes(ctx: *mut raw::RedisModuleCtx, obeyed: bool) -> u64 {
    let most = machine_bytes().min(control_group_bytes());
    if obeyed {
        most
    } else {
        maxmemory(ctx).map_or(most, |limit| limit.min(most))
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
