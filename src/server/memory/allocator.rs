//! The global allocator: the server's allocator in a server, otherwise the system's.
//!
//! As a result, `used_memory`, `maxmemory` and defragmentation include the module's memory, and unit tests,
//! benchmarks and fuzz targets that link the library run without a server. Where an allocation function of the server
//! would end the process on failure, this allocator returns null, so that callers can refuse a command.

use crate::server::huge_pages;
use crate::server::injected;
use roughly_sketch::blocks::BlockVisitor;
use roughly_sketch::memory::is_optional;
use std::alloc::{GlobalAlloc, Layout, System};
use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Every block of the server's allocator with at least this many bytes has this alignment. (Most allocators align to
/// 16. If the allocator does not report the size of a block, the server stores it in eight bytes before the block.)
pub(in crate::server) const NATURAL_ALIGNMENT: usize = 8;

/// Servers without `RedisModule_TryCalloc` and `RedisModule_TryRealloc` (Redis 7.0) have only `RedisModule_Calloc` and
/// `RedisModule_Realloc`, which end the process on failure. For at least this many bytes, a block of the same size is
/// therefore first allocated with `RedisModule_TryAlloc` and freed, as a test.
const PROBED_BYTES: usize = 64 << 10;

/// The allocator of the module and of everything that links the library.
#[derive(Debug)]
pub struct ServerAllocator;

/// Whether the server's allocator is available. It becomes available before other code of the module runs.
fn server_is_there() -> bool {
    optional_api!(RedisModule_Alloc).is_some()
}

/// Bytes of the last block that the server's allocator refused and a command needs; 0 if there is none.
static REFUSED_BYTES: AtomicUsize = AtomicUsize::new(0);

/// Whether the server's allocator refused a block that is needed since the last call of [`take_refused_bytes`].
#[inline]
pub(in crate::server) fn has_refused() -> bool {
    REFUSED_BYTES.load(Ordering::Relaxed) != 0
}

/// Bytes of the last block that is needed and that the server's allocator refused since the last call of this function, if any.
pub(in crate::server) fn take_refused_bytes() -> Option<usize> {
    let bytes = REFUSED_BYTES.load(Ordering::Relaxed);
    if bytes == 0 {
        return None;
    }
    REFUSED_BYTES.store(0, Ordering::Relaxed);
    Some(bytes)
}

/// Passes on whether a block of this size is refused. Records a refusal for the log, unless the command does not need the block.
#[inline]
fn recorded(is_refused: bool, size: usize) -> bool {
    if is_refused && !is_optional() {
        REFUSED_BYTES.store(size, Ordering::Relaxed);
    }
    is_refused
}

/// Passes on the result of the server's allocator. Records a refusal for the log.
#[inline]
fn given<T>(block: *mut T, size: usize) -> *mut u8 {
    recorded(block.is_null(), size);
    block.cast()
}

fn try_alloc(size: usize) -> *mut u8 {
    let function = optional_api!(RedisModule_TryAlloc).or(optional_api!(RedisModule_Alloc));
    // SAFETY: both take any size.
    function.map_or(ptr::null_mut(), |alloc| unsafe { given(alloc(size), size) })
}

fn free(block: *mut u8) {
    if let Some(free) = optional_api!(RedisModule_Free) {
        // SAFETY: the callers pass blocks of the server's allocator, or null, which it takes.
        unsafe { free(block.cast()) }
    }
}

/// Whether tests refuse this block.
#[inline(always)]
fn is_refused_by_test(size: usize) -> bool {
    recorded(injected::refuses_allocation(size), size)
}

/// Lets tests refuse the allocations whose failure is an error.
#[cfg(debug_assertions)]
pub(in crate::server) fn set_refusals() {
    use roughly_sketch::refusable::set_refuses;
    set_refuses(|bytes| recorded(injected::refuses_request(), bytes as usize));
}

/// Whether a block of this size can be allocated now: allocates it with `RedisModule_TryAlloc`, and frees it.
fn is_available(size: usize) -> bool {
    if size < PROBED_BYTES {
        return true;
    }
    let probe = try_alloc(size);
    free(probe);
    !probe.is_null()
}

fn try_calloc(size: usize) -> *mut u8 {
    if let Some(calloc) = optional_api!(RedisModule_TryCalloc) {
        // SAFETY: takes any size.
        return unsafe { given(calloc(1, size), size) };
    }
    match optional_api!(RedisModule_Calloc) {
        // SAFETY: takes any size.
        Some(calloc) if is_available(size) => unsafe { calloc(1, size).cast() },
        _ => ptr::null_mut(),
    }
}

fn try_realloc(block: *mut u8, size: usize) -> *mut u8 {
    if let Some(realloc) = optional_api!(RedisModule_TryRealloc) {
        // SAFETY: `block` was allocated by the server's allocator.
        return unsafe { given(realloc(block.cast(), size), size) };
    }
    match optional_api!(RedisModule_Realloc) {
        // SAFETY: as above.
        Some(realloc) if is_available(size) => unsafe { realloc(block.cast(), size).cast() },
        _ => ptr::null_mut(),
    }
}

/// A block with more than natural alignment: it is inside a block of the server, whose address is stored before it.
fn alloc_aligned(layout: Layout, get: fn(usize) -> *mut u8) -> *mut u8 {
    let Some(size) = layout.size().checked_add(layout.align()) else {
        return ptr::null_mut();
    };
    let block = get(size);
    if block.is_null() {
        return block;
    }
    let offset = layout.align() - block.addr() % layout.align();
    // SAFETY: 0 < offset <= align, so the address lies in the block with `layout.size()` bytes after
    // it; a natural block starts at a multiple of 8, as does the aligned one, so at least 8
    // bytes lie before it.
    unsafe {
        let aligned = block.add(offset);
        aligned.cast::<*mut u8>().sub(1).write(block);
        aligned
    }
}

/// A block with this layout. `get` returns one of a size, with natural alignment.
#[inline(always)]
fn new_block(layout: Layout, get: fn(usize) -> *mut u8) -> *mut u8 {
    if is_refused_by_test(layout.size()) {
        return ptr::null_mut();
    }
    let block = match layout.align() > NATURAL_ALIGNMENT {
        true => alloc_aligned(layout, get),
        // The server's allocator aligns such a size naturally.
        false => get(layout.size().max(layout.align())),
    };
    huge_pages::track(block, layout.size());
    block
}

// SAFETY: every path returns blocks of the requested size and alignment from one of two allocators and frees them with
// the same one. The choice is fixed before the module's first allocation, and the form of a block depends only on its
// layout. On failure, every path returns null and does not unwind.
unsafe impl GlobalAlloc for ServerAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !server_is_there() {
            // SAFETY: the caller's contract is that of the system allocator.
            return unsafe { System.alloc(layout) };
        }
        new_block(layout, try_alloc)
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !server_is_there() {
            // SAFETY: the caller's contract is that of the system allocator.
            return unsafe { System.alloc_zeroed(layout) };
        }
        new_block(layout, try_calloc)
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        if !server_is_there() {
            // SAFETY: the caller's contract is that of the system allocator.
            return unsafe { System.dealloc(block, layout) };
        }
        huge_pages::forget(block, layout.size());
        if layout.align() > NATURAL_ALIGNMENT {
            // SAFETY: `alloc_aligned` wrote the server's address just before the block.
            free(unsafe { block.cast::<*mut u8>().sub(1).read() });
        } else {
            free(block);
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, new_size: usize) -> *mut u8 {
        if !server_is_there() {
            // SAFETY: the caller's contract is that of the system allocator.
            return unsafe { System.realloc(block, layout, new_size) };
        }
        if layout.align() <= NATURAL_ALIGNMENT {
            if is_refused_by_test(new_size) {
                return ptr::null_mut();
            }
            let new = try_realloc(block, new_size.max(layout.align()));
            huge_pages::track_resized(block, new, [layout.size(), new_size]);
            return new;
        }
        // SAFETY: the caller guarantees that the size and this alignment form a layout.
        let new_layout = unsafe { Layout::from_size_align_unchecked(new_size, layout.align()) };
        // SAFETY: as for `alloc` and `dealloc`; the two blocks are distinct and have at least the
        // bytes that are copied.
        unsafe {
            let new = self.alloc(new_layout);
            if !new.is_null() {
                ptr::copy_nonoverlapping(block, new, layout.size().min(new_size));
                self.dealloc(block, layout);
            }
            new
        }
    }
}

/// Adds up the sizes of blocks of the global allocator, including its rounding.
#[derive(Debug, Default)]
pub struct MemoryUsage {
    /// Bytes of all blocks. 0 without a server.
    pub(in crate::server) bytes: usize,
    /// The number of blocks.
    pub(in crate::server) blocks: usize,
}

impl MemoryUsage {
    /// Bytes of all blocks that were added.
    pub fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    /// Adds a block.
    ///
    /// # Safety
    /// `block` must be a live block of the global allocator with an alignment of at most [`NATURAL_ALIGNMENT`].
    pub(in crate::server) unsafe fn add(&mut self, block: *const u8) {
        self.blocks += 1;
        if let Some(size) = optional_api!(RedisModule_MallocSize) {
            // SAFETY: by the function's contract; the API function only reads.
            self.bytes += unsafe { size(block.cast_mut().cast()) };
        }
    }
}

impl BlockVisitor for MemoryUsage {
    fn visit<T>(&mut self, vec: &Vec<T>) {
        const { assert!(align_of::<T>() <= NATURAL_ALIGNMENT) };
        if vec.capacity() > 0 && size_of::<T>() > 0 {
            // SAFETY: a vector with capacity has a block of the global allocator, here of natural alignment.
            unsafe { self.add(vec.as_ptr().cast()) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    thread_local! {
        static LAST: Cell<usize> = const { Cell::new(0) };
    }

    fn system_block(size: usize) -> *mut u8 {
        LAST.set(size);
        // SAFETY: the layout is not empty and properly aligned.
        unsafe { System.alloc(Layout::from_size_align(size, NATURAL_ALIGNMENT).unwrap()) }
    }

    #[test]
    fn over_aligned_blocks_are_aligned_and_store_their_origin() {
        for align in [16, 32, 64, 4096] {
            let layout = Layout::from_size_align(100, align).unwrap();
            let block = alloc_aligned(layout, system_block);
            assert_eq!(block.addr() % align, 0);
            // SAFETY: `alloc_aligned` wrote the origin there; it was allocated with this layout.
            unsafe {
                block.write_bytes(7, 100);
                let origin = block.cast::<*mut u8>().sub(1).read();
                assert!(block.addr() + 100 <= origin.addr() + LAST.get());
                System.dealloc(
                    origin,
                    Layout::from_size_align(LAST.get(), NATURAL_ALIGNMENT).unwrap(),
                );
            }
        }
    }
}
