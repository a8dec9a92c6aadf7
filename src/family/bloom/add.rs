//! BF.ADD, BF.MADD, BF.INSERT and BF.ADDNX.

use super::config::Dialect;
use super::create::NewFilter;
use super::syntax::{self, Request};
use super::types::{
    AddError, Added, FilterMut, FilterType, NOT_FOUND, PROBLEM, VALKEY_ADD_EVENT,
    VALKEY_CREATION_EVENT,
};
use crate::family::filters::{self, Thresholds};
use crate::family::new_key;
use crate::family::window_option::in_log;
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::command::Outcome;
use crate::server::data_type::DataType;
use crate::server::key::{Entry, WriteKey};
use crate::server::log::{RateLimit, quoted};
use crate::server::stats::Statistic;
use roughly_sketch::bloom::MAX_CAPACITY;
use roughly_sketch::memory::Purpose;
use roughly_sketch::window::Panes;
use roughly_sketch::window_filter::{Addition, BloomWindow, IfPresent};
use std::ffi::CStr;
use std::ops::ControlFlow;

/// The command that is replicated for items. Its syntax is the same for keys of all types.
const ADD_ITEMS: &CStr = c"BF.MADD";

/// Replies with the result of an item.
///
/// RedisBloom and valkey-bloom also replicate items that they refused, because the filter is full or cannot grow. The reply to
/// their refusal here is no error, which the server would log as critical.
#[inline]
fn reply_item(call: &mut Call<'_>, dialect: Dialect, added: Added) {
    match added {
        Ok(addition) => dialect.reply_flag(call, addition == Addition::New),
        Err(AddError::OutOfMemory) => call.reply_memory_error(PROBLEM),
        Err(_) if call.must_obey() => dialect.reply_flag(call, false),
        Err(error) => call.reply_error(error.text()),
    }
}

/// The keyspace events of a command that adds items: of the items, and of a new key if it has its own.
#[inline(always)]
fn events(of: FilterType, event: &'static CStr) -> (&'static CStr, Option<&'static CStr>) {
    match of {
        FilterType::Valkey => (VALKEY_ADD_EVENT, Some(VALKEY_CREATION_EVENT)),
        FilterType::Classic | FilterType::Windowed => (event, None),
    }
}

/// The filter at the key. A missing one is created with the parameters of the settings.
#[inline(always)]
fn find_or_create(call: &mut Call<'_>) -> Result<Entry<FilterType>, Error> {
    let found = WriteKey::open(call, 1).find(call)?;
    new_key::entry_of(call, found, |call| NewFilter::of(call, &Request::default()))
}

/// BF.ADD key item
pub fn add(call: &mut Call<'_>) -> Result<(), Error> {
    let mut entry = find_or_create(call)?;
    if let Some(advance) = entry.begin_write(call) {
        let item = call.arg(2).bytes();
        let unchanged = (entry.get()).unchanged_by(item, IfPresent::Refresh, advance.later);
        if let Some(added) = unchanged {
            reply_unchanged(call, Dialect::current(), added);
            return Ok(());
        }
        entry.advance(call, advance);
    }
    let (event, creation_event) = events(entry.of(), c"bf.add");
    let mut filter = entry.get();
    let sub_filters = filter.num_sub_filters();
    let max_size = filter.max_size(call, 1);
    let budget = call.memory().budget(Purpose::Grow);
    let added = filter.add(call.arg(2).bytes(), max_size, budget);
    let mut outcome = Outcome::of_one_item();
    outcome.creation_event = creation_event;
    match added {
        Ok(Addition::New | Addition::Refreshed) => outcome.add(call, 2..3),
        Ok(Addition::Unchanged) => {}
        Err(AddError::Shape) if call.must_obey() => {
            filter.fail_growth();
            outcome.obey_refusal(call, 2..3);
        }
        Err(_) => outcome.count_refusal(),
    }
    outcome.growths = growths(call, &filter, sub_filters);
    outcome.finish(call, entry, event);
    reply_item(call, Dialect::current(), added);
    Ok(())
}

/// BF.MADD key item [item …]
pub fn madd(call: &mut Call<'_>) -> Result<(), Error> {
    let entry = find_or_create(call)?;
    let outcome = Outcome::new(ADD_ITEMS, 2);
    add_all(call, entry, 2, IfPresent::Refresh, outcome, c"bf.madd");
    Ok(())
}

/// BF.INSERT key [CAPACITY n] [ERROR e] [EXPANSION n] [NOCREATE] [NONSCALING] [WINDOW ms [PANES n]] ITEMS item [item …]
pub fn insert(call: &mut Call<'_>) -> Result<(), Error> {
    let key = WriteKey::open(call, 1);
    let options = syntax::insert(call, &key.get::<FilterType>())?;
    let found = key.find(call)?;
    let entry = new_key::entry_of(call, found, |call| match options.create {
        true => NewFilter::of(call, &options.request),
        false => Err(NOT_FOUND.into()),
    })?;
    let first = options.first_item;
    let mut outcome = Outcome::new(ADD_ITEMS, first);
    // The options have different syntaxes for keys of different types, and a new key has been replicated with all
    // parameters.
    outcome.verbatim = first == 3 && call.arg(2).is("ITEMS");
    add_all(
        call,
        entry,
        first,
        IfPresent::Refresh,
        outcome,
        c"bf.insert",
    );
    Ok(())
}

/// BF.ADDNX key item [item …], which RedisBloom and valkey-bloom do not have.
pub fn addnx(call: &mut Call<'_>) -> Result<(), Error> {
    let found = WriteKey::open(call, 1).find(call)?;
    let entry = found.or_missing(NOT_FOUND)?;
    let mut outcome = Outcome::new(ADD_ITEMS, 2);
    outcome.verbatim = false;
    add_all(call, entry, 2, IfPresent::Skip, outcome, c"bf.addnx");
    Ok(())
}

/// The numbers of sub-filters that the log reports.
static THRESHOLDS: Thresholds = [(64, RateLimit::per_minute()), (8, RateLimit::per_minute())];

/// The sub-filters that the command has added to those before it. Logs a line when they become too many.
#[inline]
fn growths(call: &Call<'_>, filter: &FilterMut<'_>, before: usize) -> usize {
    filters::growths(call, &THRESHOLDS, before, filter.num_sub_filters(), || {
        many_sub_filters(call, filter)
    })
}

#[cold]
fn many_sub_filters(call: &Call<'_>, filter: &FilterMut<'_>) -> String {
    let key = quoted(call.arg(1).bytes());
    let window = in_log(matches!(filter, FilterMut::Windowed(_)));
    let filter = filter.as_ref().describe(Panes::ALL);
    let (sub_filters, error_rate) = (filter.sub_filters, filter.error_rate);
    let capacity = filters::capacity_for(filter.items, 1..=MAX_CAPACITY);
    format!(
        "key {key} has grown to {sub_filters} sub-filters: each command tests all of them. Reserve it with BF.RESERVE key {error_rate} {capacity}{window}"
    )
}

/// Adds the items from argument `first` on, and replies with an array of the results.
fn add_all<'a>(
    call: &mut Call<'a>,
    mut entry: Entry<FilterType>,
    first: usize,
    if_present: IfPresent,
    mut outcome: Outcome<'a>,
    event: &'static CStr,
) {
    let dialect = Dialect::current();
    let (event, creation_event) = events(entry.of(), event);
    let ends_at_errors = entry.of() == FilterType::Valkey;
    outcome.creation_event = creation_event;
    if let Some(advance) = entry.begin_write(call) {
        let filter = entry.get();
        let mut results = unchanged_by_each(&filter, call, first, if_present, advance.later);
        if results.all(|added| added.is_some()) {
            let results = unchanged_by_each(&filter, call, first, if_present, advance.later);
            call.reply_open_array();
            for added in results.flatten() {
                reply_unchanged(call, dialect, added);
            }
            call.end_array();
            return;
        }
        drop(results);
        entry.advance(call, advance);
    }
    let mut filter = entry.get();
    let items = call.len() - first;
    let sub_filters = filter.num_sub_filters();
    // An array of unknown length is used only if the command may end early, because it costs the server more.
    let may_end_early = filter.may_end_early(items);
    if may_end_early {
        call.reply_open_array();
    } else {
        call.reply_array(items);
    }
    let max_size = filter.max_size(call, items);
    let budget = call.memory().budget(Purpose::Grow);
    let arguments = call.args_from(first).map(Argument::bytes);
    let mut item = first;
    let mut fails_to_grow = false;
    filter.add_each(arguments, if_present, max_size, budget, |added| {
        reply_item(call, dialect, added);
        match added {
            Ok(Addition::New | Addition::Refreshed) => outcome.add(call, item..item + 1),
            // A valkey-bloom replica refuses all items if some do not fit, also those that the filter already contains.
            Ok(Addition::Unchanged) => outcome.replicate_before(call, item),
            Err(AddError::Shape) if call.must_obey() => {
                // The primary's filter contains the items after the first of these.
                fails_to_grow = true;
                outcome.obey_refusal(call, item..item + 1);
            }
            Err(error) => {
                outcome.refuse(call, item);
                if ends_at_errors || error == AddError::Full {
                    return ControlFlow::Break(());
                }
            }
        }
        item += 1;
        ControlFlow::Continue(())
    });
    if may_end_early {
        call.end_array();
    }
    if fails_to_grow {
        filter.fail_growth();
    }
    outcome.growths = growths(call, &filter, sub_filters);
    outcome.finish(call, entry, event);
}

/// Replies with a result that leaves the filter, which has a window, unchanged. Counts a refusal.
#[cold]
fn reply_unchanged(call: &mut Call<'_>, dialect: Dialect, added: Added) {
    if added.is_err() {
        BloomWindow::REGISTRATION
            .stats
            .count(Statistic::Refusals, 1);
    }
    reply_item(call, dialect, added);
}

/// [`FilterMut::unchanged_by`] for each item from argument `first` on, up to the one that ends the command.
fn unchanged_by_each<'f, 'v, 'a>(
    filter: &'f FilterMut<'v>,
    call: &Call<'a>,
    first: usize,
    if_present: IfPresent,
    later: Panes,
) -> impl Iterator<Item = Option<Added>> + use<'f, 'v, 'a> {
    let items = call.args_from(first).map(Argument::bytes);
    items.scan(false, move |has_ended, item| {
        if *has_ended {
            return None;
        }
        let added = filter.unchanged_by(item, if_present, later);
        *has_ended = added == Some(Err(AddError::Full));
        Some(added)
    })
}
