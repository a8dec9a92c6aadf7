//! Planes: one bit per bucket of a sub-filter.

use crate::cuckoo::bucket;
use crate::cuckoo::sub_filter::SubFilter;

/// Appends the plane of a sub-filter, the first bucket lowest. A bit is set if the bucket has an empty slot. The bits of
/// fewer than 64 buckets are repeated.
pub(super) fn plane_of(sub_filter: &SubFilter, plane: &mut Vec<u64>) {
    let buckets = sub_filter.bucket_mask() + 1;
    let slots = sub_filter.slots();
    if buckets < 64 {
        let bits = (0..64).map(|bucket| {
            let free = bucket::contains(sub_filter.bucket(bucket), 0);
            u64::from(free) << bucket
        });
        plane.push(bits.sum());
        return;
    }
    let bucket_size = sub_filter.bucket_size();
    for slots in slots.chunks_exact(64 * bucket_size) {
        plane.push(match bucket_size {
            1 => free_buckets(slots, 8, bucket::empty_1),
            2 => free_buckets(slots, 4, bucket::empty_2),
            4 => free_buckets(slots, 2, bucket::empty_4),
            size => (slots.chunks_exact(size).rev()).fold(0, |bits, slots| {
                bits << 1 | u64::from(bucket::contains(slots, 0))
            }),
        });
    }
}

/// One bit per bucket, the first lowest. `free` tests the `buckets` buckets of a word of eight slots.
#[inline]
fn free_buckets(slots: &[u8], buckets: u32, free: impl Fn(u64) -> u64) -> u64 {
    let words = slots.as_chunks().0.iter().rev();
    words.fold(0, |bits, &word| {
        bits << buckets | free(u64::from_le_bytes(word))
    })
}
