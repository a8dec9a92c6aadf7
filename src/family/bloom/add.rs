//! BF.ADD, BF.MADD and BF.INSERT.

use super::create::{self, Creation, InsertOptions};
use super::sketch::{Additions, Sketch};
use super::{NOT_FOUND, config};
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::key::{Entry, for_either};
use crate::server::outcome::Outcome;
use roughly_sketch::bloom::{self, Chain};
use roughly_sketch::memory::Budget;
use roughly_sketch::window_filter::{Addition, WindowSet};
use std::ffi::CStr;

const FULL: &CStr = c"ERR non scaling filter is full";
const PROBLEM: &CStr = c"ERR problem inserting into filter";

/// Replies with the result of an item.
fn reply_item(call: &mut Call<'_>, added: Result<Addition, bloom::Error>) {
    match added {
        Ok(addition) => call.reply_boolean(addition == Addition::New),
        Err(bloom::Error::Full) => call.reply_error(FULL),
        Err(bloom::Error::Shape) => call.reply_error(PROBLEM),
        Err(bloom::Error::OutOfMemory(_)) => call.reply_memory_error(PROBLEM),
    }
}

/// BF.ADD key item
pub fn add(call: &mut Call<'_>) -> Result<(), Error> {
    let key = call.write_either::<Chain, WindowSet>(1);
    let entry = create::find_or_create(call, key, &Creation::plain(config::defaults()))?;
    for_either!(entry, entry => add_to(call, entry));
    Ok(())
}

fn add_to<T: Sketch>(call: &mut Call<'_>, mut entry: Entry<T>) {
    let filter = entry.value();
    let sub_filters = filter.num_sub_filters();
    let allows = |bytes| call.allows_growth(bytes);
    let added = filter.add_item(call.arg(2).bytes(), Budget::new(&allows));
    let mut outcome = Outcome::of_one_item();
    outcome.growths = filter.num_sub_filters() - sub_filters;
    match added {
        Ok(Addition::New | Addition::Refreshed) => outcome.add(call, 2..3),
        Ok(Addition::Unchanged) => {}
        Err(_) => outcome.count_refusal(),
    }
    outcome.finish(call, entry, c"bf.add");
    reply_item(call, added);
}

/// BF.MADD key item [item …]
pub fn madd(call: &mut Call<'_>) -> Result<(), Error> {
    let key = call.write_either::<Chain, WindowSet>(1);
    let entry = create::find_or_create(call, key, &Creation::plain(config::defaults()))?;
    let outcome = Outcome::new(ADD_ITEMS, 2);
    for_either!(entry, entry => add_all(call, entry, 2, outcome, c"bf.madd"));
    Ok(())
}

/// BF.INSERT key [CAPACITY n] [ERROR e] [EXPANSION n] [NOCREATE] [NONSCALING] [WINDOW ms [PANES n]] ITEMS item [item …]
pub fn insert(call: &mut Call<'_>) -> Result<(), Error> {
    let InsertOptions {
        creation,
        create,
        first_item,
    } = create::insert_options(call)?;
    let mut key = call.write_either::<Chain, WindowSet>(1);
    if !create {
        for_either!(&mut key, key => key.get().or_missing(NOT_FOUND).map(drop))?;
    }
    let entry = create::find_or_create(call, key, &creation)?;
    let mut outcome = Outcome::new(ADD_ITEMS, first_item);
    if creation.window.is_some() {
        // A filter without a window can be replicated to RedisBloom, which does not accept the option.
        outcome = outcome.without_options();
    }
    for_either!(entry, entry => add_all(call, entry, first_item, outcome, c"bf.insert"));
    Ok(())
}

/// The command that is replicated for some of the items of a command.
const ADD_ITEMS: &CStr = c"BF.MADD";

/// Adds the items from argument `first` on, and replies with an array of the results.
fn add_all<'a, T: Sketch>(
    call: &mut Call<'a>,
    mut entry: Entry<T>,
    first: usize,
    mut outcome: Outcome<'a>,
    event: &CStr,
) {
    let filter = entry.value();
    let items = call.len() - first;
    let sub_filters = filter.num_sub_filters();
    // A full non-scaling filter refuses items, and the array ends at the first refused item. An array of unknown
    // length is used only if this can happen, because it costs the server more.
    let may_end_early =
        filter.growth_factor().is_none() && (items as u64) > filter.remaining_capacity();
    if may_end_early {
        call.reply_open_array();
    } else {
        call.reply_array(items);
    }
    let mut additions = filter.additions(call.args_from(first).map(Argument::bytes));
    for item in first.. {
        let Some(added) = additions.add_next(Budget::new(&|bytes| call.allows_growth(bytes)))
        else {
            break;
        };
        reply_item(call, added);
        match added {
            Ok(Addition::New | Addition::Refreshed) => outcome.add(call, item..item + 1),
            Ok(Addition::Unchanged) => {}
            Err(error) => {
                outcome.refuse(call, item);
                if error == bloom::Error::Full {
                    break;
                }
            }
        }
    }
    drop(additions);
    if may_end_early {
        call.end_array();
    }
    outcome.growths = filter.num_sub_filters() - sub_filters;
    outcome.finish(call, entry, event);
}
