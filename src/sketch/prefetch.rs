//! Hints that memory will be needed soon. One of the two places in `sketch` with `unsafe`.

/// Asks the processor to bring the cache line of `bytes[index]` near, for reading or writing.
///
/// Nothing happens for an index past the end, nor on processors without such a hint. Worth its cost
/// only for memory larger than the caches: see the "Speed" sections of the spec pages.
#[inline(always)]
pub fn prefetch(bytes: &[u8], index: usize) {
    if index >= bytes.len() {
        return;
    }
    let address = bytes.as_ptr().wrapping_add(index);
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch reads nothing that the program can see and faults on no address; SSE, which
    // has the instruction, is part of every x86-64.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: PRFM reads nothing that the program can see and faults on no address; it writes no
    // register or flag.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{0}]", in(reg) address, options(nostack, readonly, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = address;
}

#[cfg(test)]
mod tests {
    #[test]
    fn any_index_is_harmless() {
        let bytes = [1, 2, 3];
        for index in [0, 2, 3, usize::MAX] {
            super::prefetch(&bytes, index);
        }
        super::prefetch(&[], 0);
    }
}
