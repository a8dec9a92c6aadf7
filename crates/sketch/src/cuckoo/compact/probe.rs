//! Finds empty slots by testing the buckets of one older sub-filter after another.
//!
//! Each fingerprint in turn must move to the oldest sub-filter with an empty slot for it. Whether a sub-filter has an
//! empty slot depends only on the fingerprints that were offered to it before. Each sub-filter is offered the
//! fingerprints for which the older ones had no empty slot, in the same order. So a whole block can be offered to one
//! sub-filter after another with the same result. Within a block the memory accesses are then independent of each
//! other.

use super::BLOCK_SLOTS;
use crate::cuckoo::bucket;
use crate::cuckoo::item::other_bucket;
use crate::cuckoo::sub_filter::SubFilter;
use crate::prefetch::prefetch;

/// Second buckets that are prefetched ahead of their use. First buckets are adjacent and need no prefetch.
const PREFETCH_DISTANCE: usize = 32;

/// Moves the fingerprints of `block`; see [`FreeSlots::move_block`](super::FreeSlots::move_block). Adds the number of
/// fingerprints offered to each sub-filter to `probes`.
pub(super) fn move_block(
    earlier: &mut [SubFilter],
    block: &mut [u8],
    first_bucket: u64,
    probes: &mut u64,
) -> bool {
    let mut pending = [0; BLOCK_SLOTS];
    let mut len = 0;
    for (slot, &fingerprint) in (0..).zip(block.iter()) {
        pending[len] = slot;
        len += usize::from(fingerprint != 0);
    }
    let all = len;
    for sub_filter in earlier {
        if len == 0 {
            break;
        }
        *probes += len as u64;
        let offer = match sub_filter.bucket_size() {
            1 => offer::<1>,
            2 => offer::<2>,
            4 => offer::<4>,
            8 => offer::<8>,
            _ => offer_any_size,
        };
        len = offer(sub_filter, block, first_bucket, &mut pending[..len]);
    }
    len < all
}

/// Moves the fingerprints in the slots `pending` of a block into a sub-filter as far as it has empty slots. Afterwards
/// the front of `pending` lists the slots of the remaining fingerprints. Returns their number.
///
/// Whether a bucket has an empty slot is unpredictable, so nothing here branches on it.
fn offer<const SIZE: usize>(
    sub_filter: &mut SubFilter,
    block: &mut [u8],
    first_bucket: u64,
    pending: &mut [u16],
) -> usize {
    let bucket_mask = sub_filter.bucket_mask();
    let slots = &mut **sub_filter.slots_mut();
    let starts = |slot: usize, fingerprint| {
        let home = first_bucket + (slot / SIZE) as u64;
        [home, other_bucket(home, fingerprint)].map(|bucket| (bucket & bucket_mask) as usize * SIZE)
    };
    let prefetch_second = |slots: &[u8], block: &[u8], slot: u16| {
        let slot = usize::from(slot);
        prefetch(slots, starts(slot, block[slot])[1]);
    };
    for &slot in pending.iter().take(PREFETCH_DISTANCE) {
        prefetch_second(slots, block, slot);
    }
    let mut kept = 0;
    for i in 0..pending.len() {
        if let Some(&slot) = pending.get(i + PREFETCH_DISTANCE) {
            prefetch_second(slots, block, slot);
        }
        let slot = usize::from(pending[i]);
        let fingerprint = block[slot];
        let stored = bucket::store_either::<SIZE>(slots, starts(slot, fingerprint), fingerprint);
        block[slot] = fingerprint * u8::from(!stored);
        pending[kept] = pending[i];
        kept += usize::from(!stored);
    }
    kept
}

/// [`offer`] for other bucket sizes.
fn offer_any_size(
    sub_filter: &mut SubFilter,
    block: &mut [u8],
    first_bucket: u64,
    pending: &mut [u16],
) -> usize {
    let bucket_size = sub_filter.bucket_size();
    let mut kept = 0;
    for i in 0..pending.len() {
        let slot = usize::from(pending[i]);
        let fingerprint = block[slot];
        let home = first_bucket + (slot / bucket_size) as u64;
        let buckets = [home, other_bucket(home, fingerprint)];
        if (buckets.iter())
            .any(|&hash| bucket::store(sub_filter.bucket_mut(hash), fingerprint).is_some())
        {
            block[slot] = 0;
        } else {
            pending[kept] = pending[i];
            kept += 1;
        }
    }
    kept
}
