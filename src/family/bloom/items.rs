//! Items in and out: BF.ADD, BF.MADD, BF.INSERT, BF.EXISTS, BF.MEXISTS.

use super::create::{self, InsertOptions};
use super::{NOT_FOUND, config, stats};
use crate::server::accepted::Accepted;
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::key::Entry;
use roughly_sketch::bloom::batch::Additions;
use roughly_sketch::bloom::filter::{BLOCK_ITEMS, ItemHash};
use roughly_sketch::bloom::{self, Chain};
use roughly_sketch::memory::Budget;
use std::ffi::CStr;

const FULL: &CStr = c"ERR non scaling filter is full";
const PROBLEM: &CStr = c"ERR problem inserting into filter";

/// Replies with what became of an item.
fn reply_item(call: &mut Call<'_>, added: Result<bool, bloom::Error>) {
    match added {
        Ok(new) => call.reply_boolean(new),
        Err(bloom::Error::Full) => call.reply_error(FULL),
        Err(bloom::Error::Shape) => call.reply_error(PROBLEM),
        Err(bloom::Error::OutOfMemory(_)) => call.reply_memory_error(PROBLEM),
    }
}

/// BF.ADD key item
pub fn add(call: &mut Call<'_>) -> Result<(), Error> {
    let key = call.write::<Chain>(1);
    let mut entry = create::find_or_create(call, key, &config::defaults())?;
    let created = entry.is_new();
    let chain = entry.value();
    let filters = chain.filters().len();
    let hash = chain.hash(call.arg(2).bytes());
    let added = chain.add(hash, Budget::new(&|bytes| call.allows_growth(bytes)));
    if chain.filters().len() > filters {
        stats().count_growths(1);
        entry.recount();
    }
    match added {
        Ok(true) => {
            stats().count_items(1);
            call.replicate_verbatim();
        }
        Ok(false) => {}
        Err(_) => stats().count_refusals(1),
    }
    entry.store();
    if created || added == Ok(true) {
        call.signal_changed(1, c"bf.add");
    }
    reply_item(call, added);
    Ok(())
}

/// BF.MADD key item [item …]
pub fn madd(call: &mut Call<'_>) -> Result<(), Error> {
    let key = call.write::<Chain>(1);
    let mut entry = create::find_or_create(call, key, &config::defaults())?;
    let outcome = add_all(call, entry.value(), 2);
    finish(call, entry, &outcome, c"bf.madd");
    Ok(())
}

/// BF.INSERT key [CAPACITY n] [ERROR e] [EXPANSION n] [NOCREATE] [NONSCALING] ITEMS item [item …]
pub fn insert(call: &mut Call<'_>) -> Result<(), Error> {
    let InsertOptions {
        parameters,
        create,
        first_item,
    } = create::insert_options(call)?;
    let mut key = call.write::<Chain>(1);
    if !create {
        key.get().or_missing(NOT_FOUND)?;
    }
    let mut entry = create::find_or_create(call, key, &parameters)?;
    let outcome = add_all(call, entry.value(), first_item);
    finish(call, entry, &outcome, c"bf.insert");
    Ok(())
}

/// What adding several items came to.
struct Outcome<'a> {
    /// New items.
    added: u64,
    /// Items that were refused.
    refused: u64,
    /// Filters that were made on the way.
    growths: usize,
    /// Those of the items that are replicated.
    accepted: Accepted<'a>,
}

/// Adds the items from word `first` on, and replies with an array of what became of each.
fn add_all<'a>(call: &mut Call<'a>, chain: &mut Chain, first: usize) -> Outcome<'a> {
    let items = call.len() - first;
    let filters = chain.filters().len();
    // The array ends at the first item that a full filter without growth refuses. The length is left
    // open only where that can happen, because an array of unknown length costs the server more.
    let may_end_early = !chain.is_scaling() && (items as u64) > chain.remaining_capacity();
    if may_end_early {
        call.reply_open_array();
    } else {
        call.reply_array(items);
    }
    let mut outcome = Outcome {
        added: 0,
        refused: 0,
        growths: 0,
        accepted: Accepted::new(c"BF.MADD"),
    };
    let mut additions = Additions::new(call.args_from(first).map(Argument::bytes), chain);
    let mut word = first;
    while let Some(added) = additions.add_next(Budget::new(&|bytes| call.allows_growth(bytes))) {
        reply_item(call, added);
        match added {
            Ok(new) => {
                if new {
                    outcome.added += 1;
                    outcome.accepted.accept(call, word..word + 1);
                }
            }
            Err(error) => {
                outcome.refused += 1;
                outcome.accepted.refuse(call, first..word);
                if error == bloom::Error::Full {
                    break;
                }
            }
        }
        word += 1;
    }
    if may_end_early {
        call.end_array();
    }
    outcome.growths = chain.filters().len() - filters;
    outcome
}

/// Counts, replicates, stores and signals what a command did.
fn finish<'a>(call: &mut Call<'a>, mut entry: Entry<Chain>, outcome: &Outcome<'a>, event: &CStr) {
    let created = entry.is_new();
    if outcome.growths > 0 {
        stats().count_growths(outcome.growths as u64);
        entry.recount();
    }
    stats().count_items(outcome.added);
    stats().count_refusals(outcome.refused);
    if outcome.added > 0 {
        outcome.accepted.replicate(call);
    }
    entry.store();
    if created || outcome.added > 0 {
        call.signal_changed(1, event);
    }
}

/// BF.EXISTS key item
pub fn exists(call: &mut Call<'_>) -> Result<(), Error> {
    let key = call.read::<Chain>(1);
    let chain = key.get().found();
    let found = chain.is_some_and(|chain| chain.contains(chain.hash(call.arg(2).bytes())));
    drop(key);
    call.reply_boolean(found);
    Ok(())
}

/// BF.MEXISTS key item [item …]
pub fn mexists(call: &mut Call<'_>) -> Result<(), Error> {
    let key = call.read::<Chain>(1);
    let chain = key.get().found();
    call.reply_array(call.len() - 2);
    let mut hashes = [ItemHash::default(); BLOCK_ITEMS];
    let mut start = 2;
    while start < call.len() {
        let len = BLOCK_ITEMS.min(call.len() - start);
        let found = chain.map_or(0, |chain| {
            for (hash, item) in hashes.iter_mut().zip(call.args_from(start)) {
                *hash = chain.hash(item.bytes());
            }
            chain.contains_block(&hashes[..len])
        });
        for n in 0..len {
            call.reply_boolean(found >> n & 1 != 0);
        }
        start += len;
    }
    Ok(())
}
