//! BF.ADD, BF.MADD and BF.INSERT.

use super::create::{self, InsertOptions};
use super::{NOT_FOUND, config};
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::outcome::Outcome;
use roughly_sketch::bloom::batch::Additions;
use roughly_sketch::bloom::{self, Chain};
use roughly_sketch::memory::Budget;
use std::ffi::CStr;

const FULL: &CStr = c"ERR non scaling filter is full";
const PROBLEM: &CStr = c"ERR problem inserting into filter";

/// Replies with the result of an item.
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
    let chain = entry.value();
    let filters = chain.filters().len();
    let hash = chain.hash(call.arg(2).bytes());
    let added = chain.add(hash, Budget::new(&|bytes| call.allows_growth(bytes)));
    let mut outcome = Outcome::of_one_item();
    outcome.growths = chain.filters().len() - filters;
    match added {
        Ok(true) => outcome.add(call, 2..3),
        Ok(false) => {}
        Err(_) => outcome.count_refusal(),
    }
    outcome.finish(call, entry, c"bf.add");
    reply_item(call, added);
    Ok(())
}

/// BF.MADD key item [item …]
pub fn madd(call: &mut Call<'_>) -> Result<(), Error> {
    let key = call.write::<Chain>(1);
    let mut entry = create::find_or_create(call, key, &config::defaults())?;
    let outcome = add_all(call, entry.value(), 2);
    outcome.finish(call, entry, c"bf.madd");
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
    outcome.finish(call, entry, c"bf.insert");
    Ok(())
}

/// Adds the items from argument `first` on, and replies with an array of the results.
fn add_all<'a>(call: &mut Call<'a>, chain: &mut Chain, first: usize) -> Outcome<'a> {
    let items = call.len() - first;
    let filters = chain.filters().len();
    // A full non-scaling filter refuses items, and the array ends at the first refused item. An array of unknown
    // length is used only if this can happen, because it costs the server more.
    let may_end_early = !chain.is_scaling() && (items as u64) > chain.remaining_capacity();
    if may_end_early {
        call.reply_open_array();
    } else {
        call.reply_array(items);
    }
    let mut outcome = Outcome::new(c"BF.MADD", first);
    let mut additions = Additions::new(call.args_from(first).map(Argument::bytes), chain);
    for item in first.. {
        let Some(added) = additions.add_next(Budget::new(&|bytes| call.allows_growth(bytes)))
        else {
            break;
        };
        reply_item(call, added);
        match added {
            Ok(true) => outcome.add(call, item..item + 1),
            Ok(false) => {}
            Err(error) => {
                outcome.refuse(call, item);
                if error == bloom::Error::Full {
                    break;
                }
            }
        }
    }
    if may_end_early {
        call.end_array();
    }
    outcome.growths = chain.filters().len() - filters;
    outcome
}
