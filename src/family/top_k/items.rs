//! Items in and out: TOPK.ADD, TOPK.INCRBY, TOPK.QUERY, TOPK.COUNT.

use super::{NO_MEMORY, NOT_FOUND, stats};
use crate::server::accepted::Accepted;
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::memory::Weighed;
use roughly_sketch::blocks::BlockChanges;
use roughly_sketch::memory::Budget;
use roughly_sketch::top_k::{BLOCK, ItemHash, MAX_INCREMENT, TopK};
use std::cell::Cell;
use std::ffi::CStr;
use std::ops::RangeInclusive;

const INCREMENTS: RangeInclusive<i64> = 0..=MAX_INCREMENT as i64;
/// With the blanks that the peer's text has.
const BAD_INCREMENT: &CStr = c"TopK: increment must be an integer greater or equal to 0                            and smaller or equal to 100,000";

/// More than can be hashed, or decayed, for the sketch's depth.
const TOO_MUCH: &CStr = c"TopK: too much work for the depth of the sketch";

/// The word where the items start.
const FIRST_ITEM: usize = 2;

/// TOPK.ADD key item [item …]
pub fn add(call: &mut Call<'_>) -> Result<(), Error> {
    add_all(call, c"TOPK.ADD", c"topk.add", 1, |_| Some(1))
}

/// TOPK.INCRBY key item increment [item increment …]
pub fn incrby(call: &mut Call<'_>) -> Result<(), Error> {
    if !call.len().is_multiple_of(2) {
        return Err(Error::WrongArity);
    }
    add_all(call, c"TOPK.INCRBY", c"topk.incrby", 2, |words| {
        let increment = words.last()?.integer()?;
        INCREMENTS.contains(&increment).then_some(())?;
        u32::try_from(increment).ok()
    })
}

/// What adding several items came to.
struct Outcome<'a> {
    /// Items that were added.
    added: u64,
    /// Items whose memory was refused.
    refused: u64,
    /// Whether the sketch is another than before.
    changed: bool,
    /// Those of the items that are replicated.
    accepted: Accepted<'a>,
}

/// Refuses items and increments that would take too long, see [`TopK::within_work_limit`]. What must be obeyed
/// was bearable elsewhere.
fn check_work<'a>(
    call: &Call<'_>,
    sketch: &TopK,
    items: impl Iterator<Item = (&'a [u8], u32)>,
) -> Result<(), Error> {
    if sketch.within_work_limit(items) || call.must_obey() {
        return Ok(());
    }
    Err(TOO_MUCH.into())
}

/// Adds the items of a command, of which each takes so many `words`, and from which `increment` reads by
/// how much: `None` is an error, and the end. Replies with an array of what each expelled. Counts,
/// replicates and signals what was done.
fn add_all(
    call: &mut Call<'_>,
    name: &'static CStr,
    event: &CStr,
    words: usize,
    increment: impl Fn(&[Argument<'_>]) -> Option<u32>,
) -> Result<(), Error> {
    let mut key = call.write::<TopK>(1);
    let sketch = key.get().or_missing(NOT_FOUND)?;
    let items = (call.len() - FIRST_ITEM) / words;
    let works = (0..items).map(|number| {
        let first = FIRST_ITEM + number * words;
        let item = call.arg(first);
        let increment = increment(&[item, call.arg(first + words - 1)]);
        (item.bytes(), increment.unwrap_or(0))
    });
    check_work(call, sketch, works)?;
    let mut changes = BlockChanges::default();
    call.reply_array(items);
    let outcome = if items == 1 {
        add_each::<1>(call, sketch, name, words, increment, &mut changes)
    } else {
        add_each::<BLOCK>(call, sketch, name, words, increment, &mut changes)
    };
    key.count_changes(&changes);
    drop(key);
    stats().count_items(outcome.added);
    stats().count_refusals(outcome.refused);
    if outcome.changed {
        outcome.accepted.replicate(call);
        call.signal_changed(1, event);
    }
    Ok(())
}

/// Adds the items in blocks of `N`, hashed ahead.
fn add_each<'a, const N: usize>(
    call: &mut Call<'a>,
    sketch: &mut TopK,
    name: &'static CStr,
    words: usize,
    increment: impl Fn(&[Argument<'_>]) -> Option<u32>,
    changes: &mut BlockChanges<Weighed>,
) -> Outcome<'a> {
    let items = (call.len() - FIRST_ITEM) / words;
    let mut outcome = Outcome {
        added: 0,
        refused: 0,
        changed: false,
        accepted: Accepted::new(name),
    };
    let mut block = [(&[][..], ItemHash::default(), 0); N];
    let is_limited = call.is_key_limited();
    let mut start = 0;
    while start < items {
        let mut len = 0;
        for (place, number) in block.iter_mut().zip(start..items) {
            let first = FIRST_ITEM + number * words;
            let item = call.arg(first);
            let Some(increment) = increment(&[item, call.arg(first + words - 1)]) else {
                break;
            };
            *place = (item.bytes(), sketch.hash(item.bytes()), increment);
            len += 1;
        }
        for (number, (item, hash, increment)) in (start..).zip(&block[..len]) {
            let first = FIRST_ITEM + number * words;
            let so_far = changes.came.bytes().saturating_sub(changes.gone.bytes());
            let fits = !is_limited || {
                let more = sketch.growth(item, hash);
                more == 0 || call.allows_in_key(so_far + more)
            };
            // What expelled items took counts no more.
            let total = Cell::new(so_far);
            let allows = |bytes| {
                total.set(total.get().saturating_add(bytes));
                fits && call.allows_total(total.get())
            };
            match sketch.add_hashed(item, hash, *increment, Budget::new(&allows), changes) {
                Ok(added) => {
                    outcome.added += 1;
                    outcome.changed |= added.changed;
                    outcome.accepted.accept(call, first..first + words);
                    match added.expelled {
                        Some(expelled) => call.reply_bulk(expelled),
                        None => call.reply_null(),
                    }
                }
                Err(_) => {
                    outcome.refused += 1;
                    outcome.accepted.refuse(call, FIRST_ITEM..first);
                    call.reply_memory_error(NO_MEMORY);
                }
            }
        }
        start += len;
        if len < N && start < items {
            let accepted = FIRST_ITEM..FIRST_ITEM + start * words;
            outcome.accepted.refuse(call, accepted);
            for _ in start..items {
                call.reply_error(BAD_INCREMENT);
            }
            break;
        }
    }
    outcome
}

/// TOPK.QUERY key item [item …]
pub fn query(call: &mut Call<'_>) -> Result<(), Error> {
    let key = call.read::<TopK>(1);
    let sketch = key.get().or_missing(NOT_FOUND)?;
    call.reply_array(call.len() - FIRST_ITEM);
    for item in call.args_from(FIRST_ITEM) {
        call.reply_boolean(sketch.query(item.bytes()));
    }
    Ok(())
}

/// TOPK.COUNT key item [item …]
pub fn count(call: &mut Call<'_>) -> Result<(), Error> {
    let key = call.read::<TopK>(1);
    let sketch = key.get().or_missing(NOT_FOUND)?;
    let works = call.args_from(FIRST_ITEM).map(|item| (item.bytes(), 0));
    check_work(call, sketch, works)?;
    call.reply_array(call.len() - FIRST_ITEM);
    let mut items = call.args_from(FIRST_ITEM).map(Argument::bytes);
    let mut block = [(&[][..], ItemHash::default()); BLOCK];
    while items.len() > 0 {
        let len = BLOCK.min(items.len());
        for (place, item) in block.iter_mut().zip(items.by_ref().take(len)) {
            *place = (item, sketch.hash(item));
        }
        for (item, hash) in &block[..len] {
            call.reply_integer(sketch.count_hashed(item, hash).into());
        }
    }
    Ok(())
}
