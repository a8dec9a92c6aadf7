//! TOPK.ADD and TOPK.INCRBY.

use super::types::{FIRST_ITEM, NO_MEMORY, NOT_FOUND, TOO_MUCH, TopMut, TopType};
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::command::Outcome;
use crate::server::key::WriteKey;
use crate::server::memory::MemoryUsage;
use roughly_sketch::blocks::BlockChanges;
use roughly_sketch::memory::{Budget, Purpose};
use roughly_sketch::top_k::{BLOCK_ITEMS, ItemHash, MAX_INCREMENT};
use std::cell::Cell;
use std::ffi::CStr;

/// The spaces in the middle are part of RedisBloom's text.
const BAD_INCREMENT: &CStr = c"TopK: increment must be an integer greater or equal to 0                            and smaller or equal to 100,000";
/// The candidates of a sketch with a window have too many bytes for another item.
const NO_ROOM: &CStr =
    c"TopK: the items of a sketch with a window can have at most 16 MiB in total";

/// TOPK.ADD key item [item …]
pub fn add(call: &mut Call<'_>) -> Result<(), Error> {
    add_all(call, c"TOPK.ADD", c"topk.add", 1, |_| Some(1))
}

/// TOPK.INCRBY key item increment [item increment …]
pub fn incrby(call: &mut Call<'_>) -> Result<(), Error> {
    refuse_if!(!call.len().is_multiple_of(2) => Error::WrongArity);
    add_all(call, c"TOPK.INCRBY", c"topk.incrby", 2, |increment| {
        let increment = u32::try_from(increment.integer()?).ok()?;
        (increment <= MAX_INCREMENT).then_some(increment)
    })
}

/// Adds the items of a command, and replies with an array of the items that were expelled.
///
/// Each item has `step` arguments. `increment` parses the last of them; `None` is an error and ends the
/// command.
fn add_all(
    call: &mut Call<'_>,
    name: &'static CStr,
    event: &CStr,
    step: usize,
    increment: impl Fn(Argument<'_>) -> Option<u32>,
) -> Result<(), Error> {
    let found = WriteKey::open(call, 1).find::<TopType>(call)?;
    let mut entry = found.or_missing(NOT_FOUND)?;
    let items = (call.len() - FIRST_ITEM) / step;
    let increments = (0..items).map(|number| {
        let first = FIRST_ITEM + number * step;
        let increment = increment(call.arg(first + step - 1));
        (call.arg(first).bytes(), increment.unwrap_or(0))
    });
    let is_within_limit = entry.get().within_work_limit(increments);
    call.check_work(is_within_limit, TOO_MUCH)?;
    // An invalid increment ends the command.
    if let Some(advance) = entry.begin_write(call)
        && increment(call.arg(FIRST_ITEM + step - 1)).is_some()
    {
        entry.advance(call, advance);
    }
    let sketch = entry.get();
    let mut changes = BlockChanges::default();
    let mut outcome = Outcome::new(name, FIRST_ITEM);
    call.reply_array(items);
    if items == 1 {
        add_each::<1>(call, sketch, step, increment, &mut changes, &mut outcome);
    } else {
        add_each::<BLOCK_ITEMS>(call, sketch, step, increment, &mut changes, &mut outcome);
    }
    entry.count_changes(&changes);
    outcome.finish(call, entry, event);
    Ok(())
}

/// Adds the items in blocks of `N`. All items of a block are hashed before the first of them is added.
fn add_each<'a, const N: usize>(
    call: &mut Call<'a>,
    mut sketch: TopMut<'_>,
    step: usize,
    increment: impl Fn(Argument<'_>) -> Option<u32>,
    changes: &mut BlockChanges<MemoryUsage>,
    outcome: &mut Outcome<'a>,
) {
    let items = (call.len() - FIRST_ITEM) / step;
    let mut block = [(&[][..], ItemHash::default(), 0); N];
    let memory = call.memory();
    let is_limited = memory.is_key_limited();
    let mut start = 0;
    while start < items {
        let mut len = 0;
        for (place, number) in block.iter_mut().zip(start..items) {
            let first = FIRST_ITEM + number * step;
            let Some(increment) = increment(call.arg(first + step - 1)) else {
                break;
            };
            let item = call.arg(first).bytes();
            *place = (item, sketch.hash(item), increment);
            len += 1;
        }
        for (number, (item, hash, increment)) in (start..).zip(&block[..len]) {
            let first = FIRST_ITEM + number * step;
            let so_far = growth(changes);
            let fits = !is_limited || {
                let more = sketch.growth(item, hash);
                more == 0 || memory.fits_in_key(so_far + more)
            };
            let taken = Cell::new(so_far);
            let allows = |bytes| {
                let allowed = fits && memory.request(Purpose::Create, bytes);
                taken.set(taken.get() + if allowed { bytes } else { 0 });
                allowed
            };
            let added = sketch.add_hashed(item, hash, *increment, Budget::new(&allows), changes);
            match added {
                Ok(added) => {
                    match added.changed {
                        true => outcome.add(call, first..first + step),
                        false => outcome.add_unchanged(),
                    }
                    match added.expelled {
                        Some(expelled) => call.reply_bulk(expelled),
                        None => call.reply_null(),
                    }
                }
                Err(_) => {
                    outcome.refuse(call, first);
                    call.reply_memory_error(match sketch.has_room(item.len()) {
                        true => NO_MEMORY,
                        false => NO_ROOM,
                    });
                }
            }
            // The memory of expelled items is available again.
            memory.release(taken.get().saturating_sub(growth(changes)));
        }
        start += len;
        if len < N && start < items {
            outcome.replicate_before(call, FIRST_ITEM + start * step);
            for _ in start..items {
                // RedisBloom also replicates pairs that it refused. The server logs an error as critical.
                match call.must_obey() {
                    true => call.reply_null(),
                    false => call.reply_error(BAD_INCREMENT),
                }
            }
            break;
        }
    }
}

/// Bytes by which the sketch has grown.
fn growth(changes: &BlockChanges<MemoryUsage>) -> u64 {
    let allocated = changes.allocated.bytes();
    allocated.saturating_sub(changes.freed.bytes())
}
