//! BF.ADD, BF.MADD and BF.INSERT.

use super::create;
use super::dialect::reply_flag;
use super::key::{self, for_each_type};
use super::options::{self, InsertOptions};
use super::request::Request;
use super::sketch::{AddError, Additions, Sketch};
use super::texts::NOT_FOUND;
use super::valkey;
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::key::Entry;
use crate::server::log;
use crate::server::log_text::quoted;
use crate::server::outcome::Outcome;
use roughly_sketch::memory::Budget;
use roughly_sketch::window_filter::Addition;
use std::ffi::CStr;

const FULL: &CStr = c"ERR non scaling filter is full";
const PROBLEM: &CStr = c"ERR problem inserting into filter";

/// Replies with the result of an item.
#[inline]
fn reply_item(call: &mut Call<'_>, added: Result<Addition, AddError>) {
    match added {
        Ok(addition) => reply_flag(call, addition == Addition::New),
        Err(AddError::Full) => call.reply_error(FULL),
        Err(AddError::Shape) => call.reply_error(PROBLEM),
        Err(AddError::OutOfMemory) => call.reply_memory_error(PROBLEM),
        Err(AddError::Valkey(error)) => {
            call.reply_error(valkey::error_text(error, PROBLEM));
        }
    }
}

/// BF.ADD key item
pub fn add(call: &mut Call<'_>) -> Result<(), Error> {
    let key = key::write(call);
    let entry = create::find_or_create(call, key, &Request::default())?;
    for_each_type!(entry, entry => add_to(call, entry));
    Ok(())
}

fn add_to<T: Sketch>(call: &mut Call<'_>, mut entry: Entry<T>) {
    let filter = entry.value();
    let sub_filters = filter.num_sub_filters();
    let max_size = filter.max_size(call, 1);
    let allows = |bytes| call.allows_growth(bytes);
    let added = filter.add_item(call.arg(2).bytes(), max_size, Budget::new(&allows));
    let mut outcome = Outcome::of_one_item().with_creation_event(T::CREATION_EVENT);
    outcome.growths = growths(call, filter, sub_filters);
    match added {
        Ok(Addition::New | Addition::Refreshed) => outcome.add(call, 2..3),
        Ok(Addition::Unchanged) => {}
        Err(_) => outcome.count_refusal(),
    }
    outcome.finish(call, entry.into_any(), T::ADD_EVENT.unwrap_or(c"bf.add"));
    reply_item(call, added);
}

/// BF.MADD key item [item …]
pub fn madd(call: &mut Call<'_>) -> Result<(), Error> {
    let key = key::write(call);
    let entry = create::find_or_create(call, key, &Request::default())?;
    let outcome = Outcome::new(ADD_ITEMS, 2);
    for_each_type!(entry, entry => add_all(call, entry, 2, outcome, c"bf.madd"));
    Ok(())
}

/// BF.INSERT key [CAPACITY n] [ERROR e] [EXPANSION n] [NOCREATE] [NONSCALING] [WINDOW ms [PANES n]] ITEMS item [item …]
pub fn insert(call: &mut Call<'_>) -> Result<(), Error> {
    let mut key = key::write(call);
    let InsertOptions {
        request,
        create,
        first_item,
    } = options::insert(call, &key)?;
    if !create {
        for_each_type!(&mut key, key => key.get().or_missing(NOT_FOUND).map(drop))?;
    }
    let entry = create::find_or_create(call, key, &request)?;
    // The options have different syntaxes for keys of different types, and a new key has been replicated with all
    // parameters.
    let outcome = Outcome::new(ADD_ITEMS, first_item).without_options();
    for_each_type!(entry, entry => add_all(call, entry, first_item, outcome, c"bf.insert"));
    Ok(())
}

/// More sub-filters than a filter with a suitable capacity has.
const MANY_SUB_FILTERS: usize = 64;

/// The sub-filters that the command has added to those before it. Logs a line when they become too many.
#[inline]
fn growths<T: Sketch>(call: &Call<'_>, filter: &T, before: usize) -> usize {
    let after = filter.num_sub_filters();
    if before <= MANY_SUB_FILTERS && after > MANY_SUB_FILTERS {
        warn_of_many_sub_filters(call, after);
    }
    after - before
}

#[cold]
fn warn_of_many_sub_filters(call: &Call<'_>, sub_filters: usize) {
    let key = quoted(call.arg(1).bytes());
    log::warning_of_input(&format!(
        "key {key} has grown to {sub_filters} sub-filters: each command tests all of them, and its error rate can exceed the specified one. Create a key with a larger capacity, or with a growth factor of at least 2"
    ));
}

/// The command that is replicated for items. Its syntax is the same for keys of all types.
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
    // The array ends at the first item that a full non-scaling filter refuses; with valkey-bloom's type, at the first
    // error. An array of unknown length is used only if this can happen, because it costs the server more.
    let may_refuse = T::ENDS_AT_ERRORS || filter.growth_factor().is_none();
    let may_end_early = may_refuse && (items as u64) > filter.remaining_capacity();
    if may_end_early {
        call.reply_open_array();
    } else {
        call.reply_array(items);
    }
    let max_size = filter.max_size(call, items as u64);
    let mut additions = filter.additions(call.args_from(first).map(Argument::bytes), max_size);
    for item in first.. {
        let Some(added) = additions.add_next(Budget::new(&|bytes| call.allows_growth(bytes)))
        else {
            break;
        };
        reply_item(call, added);
        match added {
            Ok(Addition::New | Addition::Refreshed) => outcome.add(call, item..item + 1),
            // A valkey-bloom replica refuses all items if some do not fit, also those that the filter already contains.
            Ok(Addition::Unchanged) => outcome.replicate_before(call, item),
            Err(error) => {
                outcome.refuse(call, item);
                if T::ENDS_AT_ERRORS || error == AddError::Full {
                    break;
                }
            }
        }
    }
    drop(additions);
    if may_end_early {
        call.end_array();
    }
    outcome.growths = growths(call, filter, sub_filters);
    let outcome = outcome.with_creation_event(T::CREATION_EVENT);
    outcome.finish(call, entry.into_any(), T::ADD_EVENT.unwrap_or(event));
}
