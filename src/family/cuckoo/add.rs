//! CF.ADD, CF.ADDNX, CF.INSERT, CF.INSERTNX, CF.DEL and CF.COMPACT.

use super::config;
use super::create::{self, InsertOptions, insert_options};
use super::{NOT_FOUND, stats};
use crate::server::accepted::Accepted;
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::key::Entry;
use roughly_sketch::cuckoo::{BLOCK_ITEMS, CuckooError, CuckooFilter};
use roughly_sketch::memory::Budget;
use std::cell::Cell;
use std::ffi::CStr;

/// The filter has as many sub-filters as it may have.
const TOO_MANY: &CStr = c"Maximum expansions reached";

/// Sub-filters that one command may add; beyond, its items are refused as if memory were. An item looks
/// into all of them, and `cf-max-expansions` is looked at once a command only: without an end, 500 KB of
/// equal items kept the server busy for minutes. Legitimate growth is far below it.
const MAX_GROWTHS: u32 = 4096;

/// Whether an item goes in although it seems to be there, and whose command it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Way {
    /// Always.
    Again,
    /// Only if it does not seem to be there.
    Unique,
}

/// What became of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Added,
    Existed,
    /// The filter is full and does not grow.
    Full,
    /// There was no memory to grow.
    NoMemory,
}

impl Answer {
    fn of(inserted: Result<bool, CuckooError>) -> Self {
        match inserted {
            Ok(true) => Self::Added,
            Ok(false) => Self::Existed,
            Err(CuckooError::Full) => Self::Full,
            Err(CuckooError::OutOfMemory(_) | CuckooError::Parameters(_)) => Self::NoMemory,
        }
    }
}

/// Whether the filter may take no more items. Commands that must be obeyed are not held to the limit:
/// whoever sent them had another one.
fn is_at_limit(call: &Call<'_>, filter: &CuckooFilter) -> bool {
    filter.num_sub_filters() as u64 >= config::max_sub_filters() && !call.must_obey()
}

/// CF.ADD key item
pub fn add(call: &mut Call<'_>) -> Result<(), Error> {
    add_one(call, Way::Again, c"cf.add")
}

/// CF.ADDNX key item
pub fn addnx(call: &mut Call<'_>) -> Result<(), Error> {
    add_one(call, Way::Unique, c"cf.addnx")
}

fn add_one(call: &mut Call<'_>, way: Way, event: &CStr) -> Result<(), Error> {
    let key = call.write::<CuckooFilter>(1);
    let mut entry = create::find_or_create(call, key, &config::defaults())?;
    let created = entry.is_new();
    let filter = entry.value();
    let sub_filters = filter.num_sub_filters();
    let answer = if is_at_limit(call, filter) {
        None
    } else {
        let item = call.arg(2).bytes();
        let allows = |bytes| call.allows_growth(bytes);
        Some(Answer::of(match way {
            Way::Again => filter.insert(item, Budget::new(&allows)).map(|()| true),
            Way::Unique => filter.insert_unique(item, Budget::new(&allows)),
        }))
    };
    if filter.num_sub_filters() > sub_filters {
        stats().count_growths(1);
        entry.recount();
    }
    let added = answer == Some(Answer::Added);
    if added {
        stats().count_items(1);
        call.replicate_verbatim();
    }
    entry.store();
    if created || added {
        call.signal_changed(1, event);
    }
    match answer {
        Some(Answer::Added) => call.reply_boolean(true),
        Some(Answer::Existed) => call.reply_boolean(false),
        refused => {
            stats().count_refusals(1);
            match refused {
                Some(Answer::Full) => call.reply_error(c"Filter is full"),
                Some(_) => call.reply_memory_error(c"ERR Insufficient memory"),
                None => call.reply_error(TOO_MANY),
            }
        }
    }
    Ok(())
}

/// CF.INSERT key [CAPACITY n] [NOCREATE] ITEMS item [item …]
pub fn insert(call: &mut Call<'_>) -> Result<(), Error> {
    insert_several(call, Way::Again, c"cf.insert")
}

/// CF.INSERTNX key [CAPACITY n] [NOCREATE] ITEMS item [item …]
pub fn insertnx(call: &mut Call<'_>) -> Result<(), Error> {
    insert_several(call, Way::Unique, c"cf.insertnx")
}

fn insert_several(call: &mut Call<'_>, way: Way, name: &'static CStr) -> Result<(), Error> {
    let options = insert_options(call)?;
    let mut key = call.write::<CuckooFilter>(1);
    if !options.create {
        key.get().or_missing(NOT_FOUND)?;
    }
    let mut entry = create::find_or_create(call, key, &options.creation)?;
    let created = entry.is_new();
    let filter = entry.value();
    let outcome = if is_at_limit(call, filter) {
        None
    } else {
        Some(insert_each(call, filter, options.first_item, way, name))
    };
    if let Some(outcome) = &outcome {
        finish(call, &mut entry, &options, outcome, name);
    } else {
        stats().count_refusals(1);
        call.reply_error(TOO_MANY);
    }
    entry.store();
    if created || outcome.is_some_and(|outcome| outcome.added > 0) {
        call.signal_changed(1, name);
    }
    Ok(())
}

/// What inserting several items came to.
struct Outcome<'a> {
    /// Items that went in.
    added: u64,
    /// Items that were refused.
    refused: u64,
    /// Sub-filters that were made on the way.
    growths: usize,
    /// Those of the items that are replicated.
    accepted: Accepted<'a>,
}

/// Inserts the items from word `first` on, and replies with an array of what became of each.
fn insert_each<'a>(
    call: &mut Call<'a>,
    filter: &mut CuckooFilter,
    first: usize,
    way: Way,
    name: &'static CStr,
) -> Outcome<'a> {
    let sub_filters = filter.num_sub_filters();
    let mut outcome = Outcome {
        added: 0,
        refused: 0,
        growths: 0,
        accepted: Accepted::new(name).keyword(c"ITEMS"),
    };
    let growths_left = Cell::new(if call.must_obey() {
        u32::MAX
    } else {
        MAX_GROWTHS
    });
    call.reply_array(call.len() - first);
    let mut start = first;
    while start < call.len() {
        let mut answers = [Answer::Added; BLOCK_ITEMS];
        let mut places = answers.iter_mut();
        let mut note = |inserted| {
            if let Some(place) = places.next() {
                *place = Answer::of(inserted);
            }
        };
        let items = call.args_from(start).take(BLOCK_ITEMS).map(Argument::bytes);
        let len = items.len();
        let allows = |bytes| {
            let left = growths_left.get().checked_sub(1);
            growths_left.set(left.unwrap_or(0));
            if left.is_none() {
                call.log_refusal(|| format!("it may add {MAX_GROWTHS} sub-filters"));
            }
            left.is_some() && call.allows_growth(bytes)
        };
        match way {
            Way::Again => filter.insert_each(items, Budget::new(&allows), |done| {
                note(done.map(|()| true))
            }),
            Way::Unique => filter.insert_unique_each(items, Budget::new(&allows), note),
        }
        for (word, &answer) in (start..).zip(&answers[..len]) {
            reply(call, answer, way);
            match answer {
                Answer::Added => {
                    outcome.added += 1;
                    outcome.accepted.accept(call, word..word + 1);
                }
                Answer::Existed => {}
                Answer::Full => outcome.refused += 1,
                Answer::NoMemory => {
                    outcome.refused += 1;
                    // Items before this one that existed exist elsewhere too.
                    outcome.accepted.refuse(call, first..word);
                }
            }
        }
        start += len;
    }
    outcome.growths = filter.num_sub_filters() - sub_filters;
    outcome
}

fn reply(call: &mut Call<'_>, answer: Answer, way: Way) {
    match (answer, way) {
        (Answer::Added, Way::Again) => call.reply_boolean(true),
        (Answer::Added, Way::Unique) => call.reply_integer(1),
        (Answer::Existed, _) => call.reply_integer(0),
        (Answer::Full | Answer::NoMemory, Way::Again) if call.is_resp3() => {
            call.reply_boolean(false);
        }
        (Answer::Full | Answer::NoMemory, _) => call.reply_integer(-1),
    }
}

/// Counts and replicates what a command did.
fn finish<'a>(
    call: &mut Call<'a>,
    entry: &mut Entry<CuckooFilter>,
    options: &InsertOptions,
    outcome: &Outcome<'a>,
    name: &CStr,
) {
    if outcome.growths > 0 {
        stats().count_growths(outcome.growths as u64);
        entry.recount();
    }
    stats().count_items(outcome.added);
    stats().count_refusals(outcome.refused);
    if outcome.added == 0 {
        return;
    }
    if outcome.accepted.is_complete() && !options.is_taken_anywhere {
        let items = call.arguments(options.first_item..call.len());
        call.replicate_items(name, Some(c"ITEMS"), items);
    } else {
        outcome.accepted.replicate(call);
    }
}

/// CF.DEL key item
pub fn del(call: &mut Call<'_>) -> Result<(), Error> {
    let mut key = call.write::<CuckooFilter>(1);
    let filter = key.get().found().ok_or(c"Not found")?;
    let sub_filters = filter.num_sub_filters();
    let deleted = filter.delete(
        call.arg(2).bytes(),
        Budget::new(&|bytes| call.allows_temporary(bytes)),
    );
    if filter.num_sub_filters() != sub_filters {
        key.recount();
    }
    drop(key);
    if deleted {
        call.replicate_verbatim();
        call.signal_changed(1, c"cf.del");
    }
    call.reply_boolean(deleted);
    Ok(())
}

/// CF.COMPACT key
pub fn compact(call: &mut Call<'_>) -> Result<(), Error> {
    if call.len() != 2 {
        return Err(Error::WrongArity);
    }
    let mut key = call.write::<CuckooFilter>(1);
    let filter = (key.get().found()).ok_or(c"Cuckoo filter was not found")?;
    let sub_filters = filter.num_sub_filters();
    let changed = filter.compact(Budget::new(&|bytes| call.allows_temporary(bytes)));
    if filter.num_sub_filters() != sub_filters {
        key.recount();
    }
    drop(key);
    if changed {
        call.replicate_verbatim();
        call.signal_changed(1, c"cf.compact");
    }
    call.reply_ok();
    Ok(())
}
