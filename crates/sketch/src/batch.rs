//! Several items at once: in a batch, the cache misses of all items overlap.

/// Items per batch of operations on buckets. Each batch prefetches at least twice as many cache lines per sub-filter: enough
/// for all the cache misses that a processor can have in flight (10 to 48), and few enough for the first-level cache.
pub const BATCH_ITEMS: usize = 16;

/// Sub-filters that additions prefetch. The processor's speculation fetches the buckets of further ones.
pub const PREFETCHED_SUB_FILTERS: usize = 4;

/// Replaces the first elements of `batch` by the next ones of an iterator, as many as fit, and returns them.
#[inline(always)]
pub fn fill<'b, T>(batch: &'b mut [T], elements: &mut impl Iterator<Item = T>) -> &'b [T] {
    let mut len = 0;
    for (place, element) in batch.iter_mut().zip(elements) {
        *place = element;
        len += 1;
    }
    &batch[..len]
}
