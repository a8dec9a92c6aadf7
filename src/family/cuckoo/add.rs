//! CF.ADD, CF.ADDNX, CF.INSERT, CF.INSERTNX, CF.DEL and CF.COMPACT.

use super::config;
use super::create::{NewFilter, ReserveOptions, insert_options};
use super::types::{Cuckoo, CuckooMut, CuckooType, Insertion, NO_MEMORY, NOT_FOUND};
use crate::family::filters::{self, Thresholds};
use crate::family::new_key;
use crate::family::window_option::in_log;
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::command::Outcome;
use crate::server::data_type::DataType;
use crate::server::key::{Found, WriteKey};
use crate::server::log::{RateLimit, quoted};
use crate::server::stats::{MemoryRefusal, Statistic, Stats};
use roughly_sketch::cuckoo::{Duplicates, MAX_CAPACITY};
use roughly_sketch::memory::{Budget, Purpose};
use roughly_sketch::window::Panes;
use roughly_sketch::window_filter::CuckooWindow;
use std::cell::Cell;
use std::ffi::CStr;

const TOO_MANY: &CStr = c"Maximum expansions reached";

/// Maximum number of sub-filters that one command may add. Further items are refused as if there were no memory. Each
/// item is looked up in all sub-filters, and `cf-max-expansions` is checked only once per command. Without this limit,
/// one command with many equal items would block the server for minutes.
const MAX_GROWTHS: u32 = 4096;

/// The smallest bucket size with which a filter of any size is at least half full before it grows (docs/families/cuckoo.md).
const RECOMMENDED_BUCKET_SIZE: u8 = 4;

/// Whether a filter with so many sub-filters has the maximum number. The limit does not apply to commands from a primary or
/// an AOF, because the sender may have had another limit.
#[inline]
fn is_at_limit(call: &Call<'_>, sub_filters: usize) -> bool {
    sub_filters as u64 >= config::max_sub_filters() && !call.must_obey()
}

/// [`is_at_limit`] after an advance, if these panes are live then.
fn is_later_at_limit(filter: &CuckooMut<'_>, later: Panes) -> bool {
    filter.num_sub_filters_in(later) as u64 >= config::max_sub_filters()
}

/// The numbers of sub-filters that the log reports.
static THRESHOLDS: Thresholds = [(16, RateLimit::per_minute()), (4, RateLimit::per_minute())];

/// The sub-filters that the command has added to those before it. Logs a line when they become too many.
#[inline]
fn growths(call: &Call<'_>, filter: &CuckooMut<'_>, before: usize) -> usize {
    filters::growths(call, &THRESHOLDS, before, filter.num_sub_filters(), || {
        many_sub_filters(call, filter)
    })
}

#[cold]
fn many_sub_filters(call: &Call<'_>, filter: &CuckooMut<'_>) -> String {
    let key = quoted(call.arg(1).bytes());
    let window = in_log(matches!(filter, CuckooMut::Windowed(_)));
    let percent = 100.0 * filter.as_ref().rate_after_growth();
    let filter = filter.as_ref().describe(Panes::ALL);
    let sub_filters = filter.sub_filters;
    let bucket_size = u64::from(filter.bucket_size.max(RECOMMENDED_BUCKET_SIZE));
    // An item has two buckets.
    let equal_items = 2 * bucket_size;
    let capacity = filters::capacity_for(filter.items, equal_items..=MAX_CAPACITY);
    format!(
        "key {key} has grown to {sub_filters} sub-filters, and about {percent:.1} % of look-ups are false positives. Reserve it with CF.RESERVE key {capacity} BUCKETSIZE {bucket_size}{window}, and add an item that occurs more than {equal_items} times with CF.ADDNX"
    )
}

/// CF.ADD key item
pub fn add(call: &mut Call<'_>) -> Result<(), Error> {
    add_one(call, Duplicates::Insert, c"cf.add")
}

/// CF.ADDNX key item
pub fn addnx(call: &mut Call<'_>) -> Result<(), Error> {
    add_one(call, Duplicates::Skip, c"cf.addnx")
}

fn add_one(call: &mut Call<'_>, duplicates: Duplicates, event: &CStr) -> Result<(), Error> {
    let found = WriteKey::open(call, 1).find(call)?;
    let mut entry = new_key::entry_of(call, found, |call| {
        NewFilter::of(call, &ReserveOptions::defaults())
    })?;
    if let Some(advance) = entry.begin_write(call) {
        let item = call.arg(2).bytes();
        let filter = entry.get();
        let unchanged = match is_later_at_limit(&filter, advance.later) {
            true => Some(Insertion::AtLimit),
            false => filter.unchanged_by(item, duplicates, advance.later),
        };
        if let Some(insertion) = unchanged {
            count_unchanged(insertion);
            reply_one(call, insertion);
            return Ok(());
        }
        entry.advance(call, advance);
    }
    let mut filter = entry.get();
    let sub_filters = filter.num_sub_filters();
    let mut outcome = Outcome::of_one_item();
    let insertion = match is_at_limit(call, sub_filters) {
        true => Insertion::AtLimit,
        false => {
            let budget = call.memory().budget(Purpose::Grow);
            filter.insert(call.arg(2).bytes(), duplicates, budget)
        }
    };
    match insertion {
        Insertion::Added => outcome.add(call, 2..3),
        Insertion::Exists => {}
        _ => outcome.count_refusal(),
    }
    outcome.growths = growths(call, &filter, sub_filters);
    outcome.finish(call, entry, event);
    reply_one(call, insertion);
    Ok(())
}

/// Replies with the result of CF.ADD or CF.ADDNX.
#[inline]
fn reply_one(call: &mut Call<'_>, insertion: Insertion) {
    match insertion {
        Insertion::Added => call.reply_boolean(true),
        Insertion::Exists => call.reply_boolean(false),
        // The server logs an error as critical. The primary refused the item, too.
        Insertion::Full if call.must_obey() => call.reply_boolean(false),
        Insertion::Full => call.reply_error(c"Filter is full"),
        Insertion::OutOfMemory => call.reply_memory_error(NO_MEMORY),
        Insertion::AtLimit => call.reply_error(TOO_MANY),
    }
}

/// Counts a refusal that leaves the filter, which has a window, unchanged.
#[cold]
fn count_unchanged(insertion: Insertion) {
    if insertion != Insertion::Exists {
        CuckooWindow::REGISTRATION
            .stats
            .count(Statistic::Refusals, 1);
    }
}

/// CF.INSERT key [CAPACITY n] [NOCREATE] [WINDOW ms [PANES n]] ITEMS item [item …]
pub fn insert(call: &mut Call<'_>) -> Result<(), Error> {
    insert_all(call, Duplicates::Insert, c"cf.insert")
}

/// CF.INSERTNX key [CAPACITY n] [NOCREATE] [WINDOW ms [PANES n]] ITEMS item [item …]
pub fn insertnx(call: &mut Call<'_>) -> Result<(), Error> {
    insert_all(call, Duplicates::Skip, c"cf.insertnx")
}

fn insert_all(
    call: &mut Call<'_>,
    duplicates: Duplicates,
    name: &'static CStr,
) -> Result<(), Error> {
    let options = insert_options(call)?;
    let found = WriteKey::open(call, 1).find(call)?;
    let mut entry = new_key::entry_of(call, found, |call| match options.create {
        true => NewFilter::of(call, &options.reserve),
        false => Err(NOT_FOUND.into()),
    })?;
    let first = options.first_item;
    let mut outcome = Outcome::new(name, first);
    outcome.keyword = Some(c"ITEMS");
    outcome.verbatim = options.accepted_everywhere;
    let items = call.args_from(first).map(Argument::bytes);
    if let Some(advance) = entry.begin_write(call) {
        let filter = entry.get();
        if is_later_at_limit(&filter, advance.later) {
            count_unchanged(Insertion::AtLimit);
            call.reply_error(TOO_MANY);
            return Ok(());
        }
        let unchanged_by = |item| filter.unchanged_by(item, duplicates, advance.later);
        if items.clone().all(|item| unchanged_by(item).is_some()) {
            call.reply_array(items.len());
            for insertion in items.filter_map(unchanged_by) {
                count_unchanged(insertion);
                reply(call, insertion, duplicates);
            }
            return Ok(());
        }
        entry.advance(call, advance);
    }
    let mut filter = entry.get();
    let sub_filters = filter.num_sub_filters();
    if is_at_limit(call, sub_filters) {
        outcome.count_refusal();
        call.reply_error(TOO_MANY);
    } else {
        insert_each(call, &mut filter, first, duplicates, &mut outcome);
        outcome.growths = growths(call, &filter, sub_filters);
    }
    outcome.finish(call, entry, name);
    Ok(())
}

/// Inserts the items from argument `first` on, and replies with an array of the results.
fn insert_each<'a>(
    call: &mut Call<'a>,
    filter: &mut CuckooMut<'_>,
    first: usize,
    duplicates: Duplicates,
    outcome: &mut Outcome<'a>,
) {
    let memory = call.memory();
    let growths = Cell::new(0);
    let allows = |bytes| {
        growths.set(growths.get() + 1);
        let is_allowed = growths.get() <= MAX_GROWTHS || memory.must_obey();
        if !is_allowed {
            memory.report_refusal(MemoryRefusal::SubFilters, |key| {
                format!("one command adds at most {MAX_GROWTHS} sub-filters to {key}")
            });
        }
        is_allowed && memory.request(Purpose::Grow, bytes)
    };
    call.reply_array(call.len() - first);
    let items = call.args_from(first).map(Argument::bytes);
    let mut item = first;
    filter.insert_each(items, duplicates, Budget::new(&allows), |insertion| {
        reply(call, insertion, duplicates);
        match insertion {
            Insertion::Added => outcome.add(call, item..item + 1),
            Insertion::Exists => {}
            Insertion::Full | Insertion::AtLimit => outcome.count_refusal(),
            Insertion::OutOfMemory => outcome.refuse(call, item),
        }
        item += 1;
    });
}

fn reply(call: &mut Call<'_>, insertion: Insertion, duplicates: Duplicates) {
    match (insertion, duplicates) {
        (Insertion::Added, Duplicates::Insert) => call.reply_boolean(true),
        (Insertion::Added, Duplicates::Skip) => call.reply_integer(1),
        (Insertion::Exists, _) => call.reply_integer(0),
        (_, Duplicates::Insert) if call.is_resp3() => call.reply_boolean(false),
        _ => call.reply_integer(-1),
    }
}

/// CF.DEL key item
pub fn del(call: &mut Call<'_>) -> Result<(), Error> {
    let item = call.arg(2).bytes();
    let is_missing = |filter: Cuckoo<'_>, later| !filter.contains(item, later);
    let delete = |filter: &mut CuckooMut<'_>, stats: &Stats, budget: Budget<'_>| {
        let deleted = filter.delete(item, budget);
        stats.count(Statistic::ItemsDeleted, deleted.into());
        deleted
    };
    let deleted = change(call, c"Not found", c"cf.del", is_missing, delete)?;
    call.reply_boolean(deleted);
    Ok(())
}

/// CF.COMPACT key
pub fn compact(call: &mut Call<'_>) -> Result<(), Error> {
    refuse_if!(call.len() != 2 => Error::WrongArity);
    let missing = c"Cuckoo filter was not found";
    let compact = |filter: &mut CuckooMut<'_>, _: &_, budget: Budget<'_>| filter.compact(budget);
    change(call, missing, c"cf.compact", |_, _| false, compact)?;
    call.reply_ok();
    Ok(())
}

/// Runs `change` on the filter, advanced to the current pane. It may remove sub-filters, and returns whether it changed
/// the filter. It does not run if `is_unchanged` returns true for the panes that are live after the advance.
fn change(
    call: &mut Call<'_>,
    missing: &'static CStr,
    event: &CStr,
    is_unchanged: impl FnOnce(Cuckoo<'_>, Panes) -> bool,
    change: impl FnOnce(&mut CuckooMut<'_>, &Stats, Budget<'_>) -> bool,
) -> Result<bool, Error> {
    // A key of another type is reported as missing.
    let found = WriteKey::open(call, 1).find::<CuckooType>(call);
    let Ok(Found::Entry(mut entry)) = found else {
        return Err(missing.into());
    };
    if let Some(advance) = entry.begin_write(call) {
        if is_unchanged(entry.get().as_ref(), advance.later) {
            return Ok(false);
        }
        entry.advance(call, advance);
    }
    let stats = &entry.registration().stats;
    let mut filter = entry.get();
    let (sub_filters, deletes) = (filter.num_sub_filters(), filter.deletes());
    let budget = call.memory().budget(Purpose::Temporary);
    let changed = change(&mut filter, stats, budget);
    // A compaction resets the filter's count of deletions; a deletion increments it.
    if changed && filter.deletes() <= deletes {
        stats.count(Statistic::Compactions, 1);
    }
    if filter.num_sub_filters() != sub_filters {
        entry.recount();
    }
    drop(entry);
    if changed {
        call.replicate_verbatim();
        call.signal_changed(1, event);
    }
    Ok(changed)
}
