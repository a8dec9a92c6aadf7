//! CF.ADD, CF.ADDNX, CF.INSERT, CF.INSERTNX, CF.DEL and CF.COMPACT.

use super::create::{self, InsertOptions, insert_options};
use super::{CuckooSketch, Insertion, NO_MEMORY, NOT_FOUND, config};
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::key::{Entry, Found, WriteKey, for_either};
use crate::server::outcome::Outcome;
use crate::server::stats::MemoryRefusal;
use roughly_sketch::cuckoo::{BLOCK_ITEMS, CuckooFilter};
use roughly_sketch::memory::Budget;
use roughly_sketch::window_filter::WindowMultiset;
use std::cell::Cell;
use std::ffi::CStr;

/// The error of a filter that has the maximum number of sub-filters.
const TOO_MANY: &CStr = c"Maximum expansions reached";

/// Maximum number of sub-filters that one command may add. Further items are refused as if there were no memory. Each
/// item is looked up in all sub-filters, and `cf-max-expansions` is checked only once per command. Without this limit,
/// one command with many equal items would block the server for minutes.
const MAX_GROWTHS: u32 = 4096;

/// Whether an item is added that seems to be in the filter already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum IfExists {
    /// CF.ADD and CF.INSERT.
    Add,
    /// CF.ADDNX and CF.INSERTNX.
    Skip,
}

/// Whether the filter has the maximum number of sub-filters. The limit does not apply to commands from a primary or
/// an AOF, because the sender may have had another limit.
fn is_at_limit(call: &Call<'_>, filter: &impl CuckooSketch) -> bool {
    filter.num_sub_filters() as u64 >= config::max_sub_filters() && !call.must_obey()
}

/// CF.ADD key item
pub fn add(call: &mut Call<'_>) -> Result<(), Error> {
    add_one(call, IfExists::Add, c"cf.add")
}

/// CF.ADDNX key item
pub fn addnx(call: &mut Call<'_>) -> Result<(), Error> {
    add_one(call, IfExists::Skip, c"cf.addnx")
}

fn add_one(call: &mut Call<'_>, if_exists: IfExists, event: &CStr) -> Result<(), Error> {
    let key = call.write_either::<CuckooFilter, WindowMultiset>(1);
    let entry = create::find_or_create(call, key, &config::defaults())?;
    for_either!(entry, entry => add_to(call, entry, if_exists, event));
    Ok(())
}

fn add_to<T: CuckooSketch>(
    call: &mut Call<'_>,
    mut entry: Entry<T>,
    if_exists: IfExists,
    event: &CStr,
) {
    let filter = entry.value();
    let sub_filters = filter.num_sub_filters();
    let mut outcome = Outcome::of_one_item();
    let insertion = if is_at_limit(call, filter) {
        outcome.count_refusal();
        None
    } else {
        let item = call.arg(2).bytes();
        let allows = |bytes| call.allows_growth(bytes);
        let insertion = match if_exists {
            IfExists::Add => filter.insert(item, Budget::new(&allows)),
            IfExists::Skip => filter.insert_unique(item, Budget::new(&allows)),
        };
        match insertion {
            Insertion::Added => outcome.add(call, 2..3),
            Insertion::Exists => {}
            Insertion::Full | Insertion::OutOfMemory => outcome.count_refusal(),
        }
        Some(insertion)
    };
    outcome.growths = filter.num_sub_filters() - sub_filters;
    outcome.finish(call, entry.into_any(), event);
    match insertion {
        Some(Insertion::Added) => call.reply_boolean(true),
        Some(Insertion::Exists) => call.reply_boolean(false),
        Some(Insertion::Full) => call.reply_error(c"Filter is full"),
        Some(Insertion::OutOfMemory) => call.reply_memory_error(NO_MEMORY),
        None => call.reply_error(TOO_MANY),
    }
}

/// CF.INSERT key [CAPACITY n] [NOCREATE] ITEMS item [item …]
pub fn insert(call: &mut Call<'_>) -> Result<(), Error> {
    insert_all(call, IfExists::Add, c"cf.insert")
}

/// CF.INSERTNX key [CAPACITY n] [NOCREATE] ITEMS item [item …]
pub fn insertnx(call: &mut Call<'_>) -> Result<(), Error> {
    insert_all(call, IfExists::Skip, c"cf.insertnx")
}

fn insert_all(call: &mut Call<'_>, if_exists: IfExists, name: &'static CStr) -> Result<(), Error> {
    let options = insert_options(call)?;
    let mut key = call.write_either::<CuckooFilter, WindowMultiset>(1);
    if !options.create {
        for_either!(&mut key, key => key.get().or_missing(NOT_FOUND).map(drop))?;
    }
    let entry = create::find_or_create(call, key, &options.reserve)?;
    for_either!(entry, entry => insert_into(call, entry, &options, if_exists, name));
    Ok(())
}

fn insert_into<T: CuckooSketch>(
    call: &mut Call<'_>,
    mut entry: Entry<T>,
    options: &InsertOptions,
    if_exists: IfExists,
    name: &'static CStr,
) {
    let first_item = options.first_item;
    let mut outcome = Outcome::new(name, first_item).keyword(c"ITEMS");
    if !options.accepted_everywhere {
        outcome = outcome.without_options();
    }
    let filter = entry.value();
    if is_at_limit(call, filter) {
        outcome.count_refusal();
        call.reply_error(TOO_MANY);
    } else {
        let sub_filters = filter.num_sub_filters();
        insert_each(call, filter, first_item, if_exists, &mut outcome);
        outcome.growths = filter.num_sub_filters() - sub_filters;
    }
    outcome.finish(call, entry.into_any(), name);
}

/// Inserts the items from argument `first` on, and replies with an array of the results.
fn insert_each<'a, T: CuckooSketch>(
    call: &mut Call<'a>,
    filter: &mut T,
    first: usize,
    if_exists: IfExists,
    outcome: &mut Outcome<'a>,
) {
    let growths_left = Cell::new(if call.must_obey() {
        u32::MAX
    } else {
        MAX_GROWTHS
    });
    call.reply_array(call.len() - first);
    let mut start = first;
    while start < call.len() {
        let mut insertions = [Insertion::Added; BLOCK_ITEMS];
        let mut places = insertions.iter_mut();
        let note = |insertion| {
            if let Some(place) = places.next() {
                *place = insertion;
            }
        };
        let items = call.args_from(start).take(BLOCK_ITEMS).map(Argument::bytes);
        let len = items.len();
        let allows = |bytes| {
            let left = growths_left.get().checked_sub(1);
            growths_left.set(left.unwrap_or(0));
            if left.is_none() {
                call.report_refusal(MemoryRefusal::SubFilters, |key| {
                    format!("one command adds at most {MAX_GROWTHS} sub-filters to {key}")
                });
            }
            left.is_some() && call.allows_growth(bytes)
        };
        match if_exists {
            IfExists::Add => filter.insert_each(items, Budget::new(&allows), note),
            IfExists::Skip => filter.insert_unique_each(items, Budget::new(&allows), note),
        }
        for (item, &insertion) in (start..).zip(&insertions[..len]) {
            reply(call, insertion, if_exists);
            match insertion {
                Insertion::Added => outcome.add(call, item..item + 1),
                Insertion::Exists => {}
                Insertion::Full => outcome.count_refusal(),
                Insertion::OutOfMemory => outcome.refuse(call, item),
            }
        }
        start += len;
    }
}

fn reply(call: &mut Call<'_>, insertion: Insertion, if_exists: IfExists) {
    match (insertion, if_exists) {
        (Insertion::Added, IfExists::Add) => call.reply_boolean(true),
        (Insertion::Added, IfExists::Skip) => call.reply_integer(1),
        (Insertion::Exists, _) => call.reply_integer(0),
        (Insertion::Full | Insertion::OutOfMemory, IfExists::Add) if call.is_resp3() => {
            call.reply_boolean(false);
        }
        (Insertion::Full | Insertion::OutOfMemory, _) => call.reply_integer(-1),
    }
}

/// CF.DEL key item
pub fn del(call: &mut Call<'_>) -> Result<(), Error> {
    for_either!(call.write_either::<CuckooFilter, WindowMultiset>(1), key => delete_from(call, key))
}

fn delete_from<T: CuckooSketch>(call: &mut Call<'_>, key: WriteKey<T>) -> Result<(), Error> {
    let item = call.arg(2).bytes();
    let deleted = change(call, key, c"Not found", c"cf.del", |filter, budget| {
        filter.delete(item, budget)
    })?;
    if deleted {
        T::registration().stats.count_deletions(1);
    }
    call.reply_boolean(deleted);
    Ok(())
}

/// CF.COMPACT key
pub fn compact(call: &mut Call<'_>) -> Result<(), Error> {
    if call.len() != 2 {
        return Err(Error::WrongArity);
    }
    let missing = c"Cuckoo filter was not found";
    for_either!(call.write_either::<CuckooFilter, WindowMultiset>(1), key => {
        change(call, key, missing, c"cf.compact", CuckooSketch::compact)?;
    });
    call.reply_ok();
    Ok(())
}

/// Runs `change` on the filter, advanced to the current pane. It may remove sub-filters, and returns whether it changed
/// the filter.
fn change<T: CuckooSketch>(
    call: &mut Call<'_>,
    key: WriteKey<T>,
    missing: &'static CStr,
    event: &CStr,
    change: impl FnOnce(&mut T, Budget<'_>) -> bool,
) -> Result<bool, Error> {
    // A key of another type is reported as missing.
    let Ok(Found::Entry(mut entry)) = key.find() else {
        return Err(missing.into());
    };
    entry.advance(call);
    let filter = entry.value();
    let (sub_filters, deletes) = (filter.num_sub_filters(), filter.deletes());
    let changed = change(filter, Budget::new(&|bytes| call.allows_temporary(bytes)));
    let is_compacted = filter.deletes() <= deletes;
    if filter.num_sub_filters() != sub_filters {
        entry.recount();
    }
    // A compaction resets the filter's count of deletions; a deletion increments it.
    if changed && is_compacted {
        T::registration().stats.count_compaction();
    }
    drop(entry);
    if changed {
        call.replicate_verbatim();
        call.signal_changed(1, event);
    }
    Ok(changed)
}
