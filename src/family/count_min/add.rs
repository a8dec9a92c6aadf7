//! CMS.INCRBY, and the increments of CMS.INCRBYLIMIT.

use super::texts::{NO_DECREMENTS, NO_PANE_MEMORY, NOT_FOUND};
use super::types::{Counts, CountsMut};
use super::work;
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::key::{Entry, OneOf};
use crate::server::memory::Memory;
use crate::server::outcome::Outcome;
use crate::server::stats::Stats;
use roughly_sketch::count_min::{CountMinError, NO_LIMIT};
use roughly_sketch::memory::{Budget, Grants, Purpose, try_push};
use roughly_sketch::window::Panes;
use std::cell::Cell;
use std::ffi::CStr;
use std::ops::Range;

const FIRST_ITEM: usize = 2;

/// Increments that a command stores when it checks them. Those of further items are parsed a second time, because a list
/// of all would need memory that can be refused.
const STORED_INCREMENTS: usize = 64;

pub const NOT_INTEGER: &CStr = c"CMS: Cannot parse number";
const OVERFLOW: &CStr = c"CMS: INCRBY overflow";
const UNDERFLOW: &CStr = c"CMS: INCRBY underflow";

/// CMS.INCRBY key item increment [item increment …]
pub fn incrby<'a>(call: &mut Call<'a>) -> Result<(), Error> {
    if call.len() < 4 || !call.len().is_multiple_of(2) {
        return Err(Error::WrongArity);
    }
    let found = call.write(1).find(call, Counts::TYPES.iter().copied())?;
    let mut entry = found.or_missing(NOT_FOUND)?;
    // RedisBloom up to 8.10 increments some rows for an item that it refuses, so refused items are not replicated.
    let mut outcome = Outcome::new(c"CMS.INCRBY", FIRST_ITEM);
    let mut overflows = Vec::new();
    increment(
        call,
        &mut entry,
        FIRST_ITEM,
        check_sign,
        NO_LIMIT,
        reply_unchanged,
        |call, pair, by, result| match result {
            Ok(estimate) => {
                match by {
                    0 => outcome.add_unchanged(),
                    _ => outcome.add(call, pair),
                }
                call.reply_count(estimate);
            }
            // Only RedisBloom up to 8.10, which saturates, sends an increment that overflows.
            Err(CountMinError::Overflow) if call.must_obey() => {
                // Without memory for the list, the process ends after the command.
                let _ = try_push(&mut overflows, pair.start);
                outcome.add(call, pair);
                // An error would be logged as critical, although the command is obeyed.
                call.reply_count(u32::MAX.into());
            }
            Err(error) => {
                outcome.refuse(call, pair.start);
                reply_refusal(call, error);
            }
        },
    )?;
    // The order of saturating increments has no effect.
    for item in overflows {
        let by = call.arg(item + 1).integer().unwrap_or_default();
        if let CountsMut::Classic(sketch) = entry.get() {
            sketch.increment_saturating(call.arg(item).bytes(), by.unsigned_abs());
        }
    }
    outcome.finish(call, entry, c"cms.incrby");
    Ok(())
}

/// The error of an increment, as an element of the reply.
pub fn reply_refusal(call: &mut Call<'_>, error: CountMinError) {
    match error {
        CountMinError::Underflow => call.reply_error(UNDERFLOW),
        CountMinError::OutOfMemory(_) => call.reply_memory_error(NO_PANE_MEMORY),
        _ => call.reply_error(OVERFLOW),
    }
}

/// Increments the items of the pairs from argument `first` on, and begins a reply of one element per item. Calls `answer`
/// with the arguments of each pair, the increment and the result; it writes the element.
///
/// All increments are checked before the first item is counted: `check` is called with the smallest of them, or with 0 if
/// none is negative. If none of them changes the sketch in a new pane, `unchanged` replies and counts refusals.
// Inlined: the callers differ in few instructions, and a command with one item takes few.
#[inline(always)]
pub fn increment<'a>(
    call: &mut Call<'a>,
    entry: &mut Entry,
    first: usize,
    check: fn(&Entry, i64) -> Result<(), Error>,
    max: u64,
    unchanged: fn(&mut Call<'a>, CountsMut<'_>, &Stats, Panes),
    mut answer: impl FnMut(&mut Call<'a>, Range<usize>, i64, Result<u64, CountMinError>),
) -> Result<(), Error> {
    let stats = &entry.registration().stats;
    let mut pair = first;
    let mut answer = |call: &mut Call<'a>, by, result| {
        answer(call, pair..pair + 2, by, result);
        pair += 2;
    };
    if call.len() == first + 2 {
        // The increment is parsed once.
        let by = call.arg(first + 1).integer().ok_or(NOT_INTEGER)?;
        check(entry, by)?;
        work::check(call, entry.get::<CountsMut<'_>>().as_ref(), first, 2)?;
        if let Some(later) = advance_unless_unchanged(call, entry, first, max) {
            unchanged(call, entry.get(), stats, later);
            return Ok(());
        }
        call.reply_array(1);
        let growth = Growth::of(call.memory());
        let item = call.arg(first).bytes();
        let sketch = entry.get::<CountsMut<'_>>();
        let result = sketch.increment(item, by, max, growth.budget());
        answer(call, by, result);
        growth.recount(entry);
    } else {
        let mut stored = [0; STORED_INCREMENTS];
        let mut min = 0;
        for (n, by) in call.args_from(first + 1).step_by(2).enumerate() {
            let by = by.integer().ok_or(NOT_INTEGER)?;
            min = by.min(min);
            if let Some(place) = stored.get_mut(n) {
                *place = by;
            }
        }
        check(entry, min)?;
        work::check(call, entry.get::<CountsMut<'_>>().as_ref(), first, 2)?;
        if let Some(later) = advance_unless_unchanged(call, entry, first, max) {
            unchanged(call, entry.get(), stats, later);
            return Ok(());
        }
        let growth = Growth::of(call.memory());
        let items = call.args_from(first).step_by(2).map(Argument::bytes);
        call.reply_array(items.len());
        let further = call
            .args_from(first + 1 + 2 * STORED_INCREMENTS)
            .step_by(2)
            .map(|by| by.integer().unwrap_or_default());
        let pairs = items.zip(stored.into_iter().chain(further));
        let sketch = entry.get::<CountsMut<'_>>();
        sketch.increment_all(pairs, max, growth.budget(), |by, result| {
            answer(call, by, result);
        });
        growth.recount(entry);
    }
    Ok(())
}

/// Refuses a negative increment of a sketch with a window.
fn check_sign(entry: &Entry, by: i64) -> Result<(), Error> {
    if by < 0 && entry.registration().has_window() {
        return Err(NO_DECREMENTS.into());
    }
    Ok(())
}

/// [`CountsMut::unchanged_by`] for each pair from argument `first` on. The increments are valid.
pub fn unchanged_by_each<'s, 'v, 'a>(
    sketch: &'s CountsMut<'v>,
    call: &Call<'a>,
    first: usize,
    max: u64,
    later: Panes,
) -> impl Iterator<Item = Option<Result<u64, CountMinError>>> + use<'s, 'v, 'a> {
    let pairs = call.arguments(first..call.len()).as_chunks().0.iter();
    pairs.map(move |[item, by]| {
        let by = by.integer().unwrap_or_default();
        sketch.unchanged_by(item.bytes(), by, max, later)
    })
}

/// Advances the sketch, unless no increment changes it: then returns the panes that are live now.
#[inline(always)]
fn advance_unless_unchanged(
    call: &mut Call<'_>,
    entry: &mut Entry,
    first: usize,
    max: u64,
) -> Option<Panes> {
    entry.advance_unless(call, |value, call, later| {
        let sketch = value.of_family();
        let mut unchanged = unchanged_by_each(&sketch, call, first, max, later);
        unchanged.all(|result| result.is_some()).then_some(later)
    })
}

/// Replies to a CMS.INCRBY that changes nothing.
#[cold]
fn reply_unchanged(call: &mut Call<'_>, sketch: CountsMut<'_>, stats: &Stats, later: Panes) {
    call.reply_array((call.len() - FIRST_ITEM) / 2);
    for result in unchanged_by_each(&sketch, call, FIRST_ITEM, NO_LIMIT, later).flatten() {
        match result {
            Ok(estimate) => {
                stats.count_items(1);
                call.reply_count(estimate);
            }
            Err(error) => {
                stats.count_refusals(1);
                reply_refusal(call, error);
            }
        }
    }
}

/// The memory that increments request.
struct Growth<'a> {
    memory: &'a Memory<'a>,
    /// Whether they have requested any.
    is_requested: Cell<bool>,
}

impl<'a> Growth<'a> {
    #[inline(always)]
    fn of(memory: &'a Memory<'a>) -> Self {
        Self {
            memory,
            is_requested: Cell::new(false),
        }
    }

    /// The budget of the increments.
    #[inline(always)]
    fn budget(&self) -> Budget<'_> {
        Budget::of(self, Purpose::Add)
    }

    /// Must be called after the increments: counts the memory that they allocated.
    #[inline(always)]
    fn recount(self, entry: &mut Entry) {
        if self.is_requested.get() {
            entry.recount();
        }
    }
}

impl Grants for Growth<'_> {
    fn grants(&self, purpose: Purpose, bytes: u64) -> bool {
        self.is_requested.set(true);
        self.memory.request(purpose, bytes)
    }
}
