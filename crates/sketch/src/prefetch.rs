//! What the processor is told and asked: hints that memory will be needed soon, and wider vectors where
//! it has them. One of the two places in `sketch` with `unsafe`.

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

/// Does `work` with the wider vectors (AVX2) and the shifts and products without flags (BMI) of processors
/// that have them, as far as what it calls is inlined into it; on others it is done all the same. Cost: a look
/// at three flags, and two copies of the code of `work`.
#[inline]
pub fn with_wide_vectors<R>(work: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("avx2")
        && std::arch::is_x86_feature_detected!("bmi1")
        && std::arch::is_x86_feature_detected!("bmi2")
    {
        #[target_feature(enable = "avx2,bmi1,bmi2")]
        fn wide<R>(work: impl FnOnce() -> R) -> R {
            work()
        }
        // SAFETY: the processor has what the function is compiled for.
        return unsafe { wide(work) };
    }
    work()
}

#[cfg(test)]
mod tests {
    #[test]
    fn wide_work_is_done_once() {
        let mut times = 0;
        let answer = super::with_wide_vectors(|| {
            times += 1;
            5
        });
        assert_eq!((answer, times), (5, 1));
    }

    #[test]
    fn any_index_is_harmless() {
        let bytes = [1, 2, 3];
        for index in [0, 2, 3, usize::MAX] {
            super::prefetch(&bytes, index);
        }
        super::prefetch(&[], 0);
    }
}
