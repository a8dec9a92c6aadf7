//! Moving fingerprints into older sub-filters by looking into their buckets, one sub-filter at a time.
//!
//! The contract is that each fingerprint in turn goes to the oldest sub-filter with room. But the first
//! sub-filter is tried by all of them in turn, whatever becomes of the others; the second by those that
//! the first had no room for, again in turn; and so on. So it makes no difference whether one
//! fingerprint after another is offered to all sub-filters, or all of them to one sub-filter after
//! another. The latter leaves nothing to wait for: no fingerprint of a block depends on the memory
//! that another one asks for.

use super::bucket;
use super::item::other_bucket;
use super::sub_filter::SubFilter;
use super::vacancies::BLOCK_SLOTS;
use crate::prefetch::prefetch;

/// Moves the fingerprints of `block`; see [`Vacancies::empty`](super::vacancies::Vacancies::empty).
/// Adds to `probes` how many times a fingerprint was offered to a sub-filter.
pub(super) fn empty(
    earlier: &mut [SubFilter],
    block: &mut [u8],
    first_bucket: u64,
    probes: &mut u64,
) -> bool {
    let mut waiting = [0; BLOCK_SLOTS];
    let mut len = 0;
    for (slot, &fingerprint) in (0..).zip(block.iter()) {
        waiting[len] = slot;
        len += usize::from(fingerprint != 0);
    }
    let all = len;
    for sub_filter in earlier {
        if len == 0 {
            break;
        }
        *probes += len as u64;
        let pass = match sub_filter.bucket_size() {
            1 => pass::<1>,
            2 => pass::<2>,
            4 => pass::<4>,
            8 => pass::<8>,
            _ => pass_of_any_size,
        };
        len = pass(sub_filter, block, first_bucket, &mut waiting[..len]);
    }
    len < all
}

/// Second buckets that are asked for before they are needed. The first ones follow one another, and
/// need no asking for.
///
/// Without this a move took 25 ns where the older sub-filter had 8 MiB, with it 15; 32, 64 and a whole
/// block were alike.
const ASKED_AHEAD: usize = 32;

/// Offers the fingerprints in the slots `waiting` of a block to a sub-filter. Those that it has no room
/// for are in the first slots of `waiting` afterwards; how many, is the answer.
///
/// Whether there is room cannot be foreseen, so nothing in here branches on it.
fn pass<const SIZE: usize>(
    sub_filter: &mut SubFilter,
    block: &mut [u8],
    first_bucket: u64,
    waiting: &mut [u16],
) -> usize {
    let bucket_mask = sub_filter.bucket_mask();
    let slots = &mut **sub_filter.slots_mut();
    #[allow(clippy::cast_possible_truncation)] // within the slots
    let starts = |slot: usize, fingerprint| {
        let home = first_bucket + (slot / SIZE) as u64;
        [home, other_bucket(home, fingerprint)].map(|bucket| (bucket & bucket_mask) as usize * SIZE)
    };
    let ask = |slots: &[u8], block: &[u8], slot: u16| {
        let slot = usize::from(slot);
        prefetch(slots, starts(slot, block[slot])[1]);
    };
    for &slot in waiting.iter().take(ASKED_AHEAD) {
        ask(slots, block, slot);
    }
    let mut kept = 0;
    for i in 0..waiting.len() {
        if let Some(&slot) = waiting.get(i + ASKED_AHEAD) {
            ask(slots, block, slot);
        }
        let slot = usize::from(waiting[i]);
        let fingerprint = block[slot];
        let filled = bucket::fill_either::<SIZE>(slots, starts(slot, fingerprint), fingerprint);
        block[slot] = fingerprint * u8::from(!filled);
        waiting[kept] = waiting[i];
        kept += usize::from(!filled);
    }
    kept
}

/// [`pass`] for bucket sizes that fit no word.
fn pass_of_any_size(
    sub_filter: &mut SubFilter,
    block: &mut [u8],
    first_bucket: u64,
    waiting: &mut [u16],
) -> usize {
    let bucket_size = sub_filter.bucket_size();
    let mut kept = 0;
    for i in 0..waiting.len() {
        let slot = usize::from(waiting[i]);
        let fingerprint = block[slot];
        let home = first_bucket + (slot / bucket_size) as u64;
        let buckets = [home, other_bucket(home, fingerprint)];
        if (buckets.iter())
            .any(|&hash| bucket::fill(sub_filter.bucket_mut(hash), fingerprint).is_some())
        {
            block[slot] = 0;
        } else {
            waiting[kept] = waiting[i];
            kept += 1;
        }
    }
    kept
}
