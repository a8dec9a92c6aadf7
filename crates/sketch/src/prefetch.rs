//! Processor features: prefetch hints, and wider vectors.
//!
//! One of the two files of the crate with `unsafe`.

/// Prefetches the cache line of `bytes[index]`, for reading or writing.
///
/// Does nothing for an index beyond the end, and on processors without such a hint. It helps only if the memory is
/// larger than the caches; see docs/contributing/decisions.md, "Speed".
#[inline(always)]
pub fn prefetch(bytes: &[u8], index: usize) {
    if index >= bytes.len() {
        return;
    }
    let address = bytes.as_ptr().wrapping_add(index);
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch has no effect that the program can observe, and no address makes it fault; every x86-64
    // processor has SSE, which includes the instruction.
    unsafe {
        use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        _mm_prefetch::<_MM_HINT_T0>(address.cast());
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: PRFM has no effect that the program can observe, no address makes it fault, and it writes no register
    // or flag.
    unsafe {
        std::arch::asm!("prfm pldl1keep, [{0}]", in(reg) address, options(nostack, readonly, preserves_flags));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = address;
}

/// Runs `work` compiled for AVX2 and BMI if the processor has them, otherwise the normal code. This applies only to
/// code that is inlined into `work`. Cost: a test of three flags, and a second copy of the code.
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
        // SAFETY: the processor has the features that the function is compiled for.
        return unsafe { wide(work) };
    }
    work()
}

#[cfg(test)]
mod tests {
    #[test]
    fn work_runs_once() {
        let mut times = 0;
        let answer = super::with_wide_vectors(|| {
            times += 1;
            5
        });
        assert_eq!((answer, times), (5, 1));
    }

    #[test]
    fn any_index_is_allowed() {
        let bytes = [1, 2, 3];
        for index in [0, 2, 3, usize::MAX] {
            super::prefetch(&bytes, index);
        }
        super::prefetch(&[], 0);
    }
}
