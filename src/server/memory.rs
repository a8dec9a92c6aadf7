//! How much memory may be asked for, and how much a block really takes.

use redis_module::raw;

/// Requests below this size are not looked at: the server itself refuses writes above `maxmemory`
/// (deny-oom), and asking it for its limits costs more than so little memory is worth.
const LOOKED_AT_BYTES: u64 = 1 << 20;

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

/// Whether a command may ask for so many bytes at once: no more than the machine has, and no more than
/// `maxmemory` in all unless the command must be `obeyed` (it comes from a primary or the AOF).
///
/// Cost: nothing for less than 1 MiB, else one INFO section.
pub(super) fn allows(ctx: *mut raw::RedisModuleCtx, obeyed: bool, bytes: u64) -> bool {
    if bytes < LOOKED_AT_BYTES {
        return true;
    }
    bytes <= machine_bytes() && (obeyed || maxmemory(ctx).is_none_or(|limit| bytes <= limit))
}

/// Bytes that a block of the global allocator really takes, its allocator's rounding included. 0
/// without a server.
#[must_use]
pub fn block_bytes(block: *const u8) -> usize {
    optional_api!(RedisModule_MallocSize).map_or(0, |size| {
        // SAFETY: the callers pass live blocks of the global allocator (see `Blocks::for_each_block`),
        // which is the server's; the function only reads.
        unsafe { size(block.cast_mut().cast()) }
    })
}
