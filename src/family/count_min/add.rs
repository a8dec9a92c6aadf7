//! CMS.INCRBY and CMS.INCRBYLIMIT.

use super::types::{CounterMut, CounterType, NOT_FOUND};
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::command::Outcome;
use crate::server::key::{Entry, WriteKey};
use crate::server::stats::Statistic;
use roughly_sketch::count_min::{CountMinError, NO_LIMIT};
use roughly_sketch::memory::{Purpose, try_push};
use roughly_sketch::window::Panes;
use std::ffi::CStr;
use std::ops::Range;

/// The argument `limit` of CMS.INCRBYLIMIT.
const LIMIT: usize = 2;

/// Increments that a command stores when it checks them. Those of further items are parsed a second time, because a list
/// of all would need memory that can be refused.
const STORED_INCREMENTS: usize = 64;

const NOT_INTEGER: &CStr = c"CMS: Cannot parse number";

/// The new estimate of an item.
type Estimate = Result<u64, CountMinError>;

/// CMS.INCRBY key item increment [item increment …]
pub fn incrby<'a>(call: &mut Call<'a>) -> Result<(), Error> {
    refuse_if!(call.len() < 4 || !call.len().is_multiple_of(2) => Error::WrongArity);
    let found = WriteKey::open(call, 1).find(call)?;
    let mut entry = found.or_missing(NOT_FOUND)?;
    // RedisBloom up to 8.10 increments some rows for an item that it refuses, so refused items are not replicated.
    let mut outcome = Outcome::new(c"CMS.INCRBY", 2);
    let mut overflows = Vec::new();
    increment(
        call,
        &mut entry,
        2,
        |of| match of {
            CounterType::Windowed => Err(CountMinError::WindowDecrement.into()),
            CounterType::Classic => Ok(()),
        },
        NO_LIMIT,
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
        if let CounterMut::Classic(sketch) = entry.get() {
            sketch.increment_saturating(call.arg(item).bytes(), by.unsigned_abs());
        }
    }
    outcome.finish(call, entry, c"cms.incrby");
    Ok(())
}

/// CMS.INCRBYLIMIT key limit item increment [item increment …]
pub fn incrbylimit(call: &mut Call<'_>) -> Result<(), Error> {
    refuse_if!(call.len() < 5 || call.len().is_multiple_of(2) => Error::WrongArity);
    let found = WriteKey::open(call, 1).find(call)?;
    let mut entry = found.or_missing(NOT_FOUND)?;
    let limit = limit(call).ok_or(NOT_INTEGER)?;
    // A copy must accept the accepted increments, whatever it has counted.
    let mut outcome = Outcome::new(c"CMS.INCRBY", 3);
    outcome.verbatim = false;
    let mut above_limit = 0;
    increment(
        call,
        &mut entry,
        3,
        |_| Err(NOT_INTEGER.into()),
        limit,
        |call, pair, by, result| {
            let (is_accepted, estimate) = match result {
                Ok(estimate) if by == 0 => {
                    outcome.replicate_before(call, pair.start);
                    outcome.add_unchanged();
                    (true, estimate)
                }
                Ok(estimate) => {
                    outcome.add(call, pair);
                    (true, estimate)
                }
                Err(CountMinError::AboveLimit(estimate)) => {
                    outcome.replicate_before(call, pair.start);
                    above_limit += 1;
                    (false, estimate)
                }
                Err(error) => {
                    outcome.refuse(call, pair.start);
                    return reply_refusal(call, error);
                }
            };
            call.reply_array(2);
            call.reply_integer(is_accepted.into());
            call.reply_count(estimate);
        },
    )?;
    if above_limit > 0 {
        let stats = &entry.registration().stats;
        stats.count(Statistic::LimitRefusals, above_limit);
    }
    outcome.finish(call, entry, c"cms.incrby");
    Ok(())
}

/// The argument `limit`, if it is a positive integer.
#[inline]
fn limit(call: &Call<'_>) -> Option<u64> {
    let limit = call.arg(LIMIT).integer()?;
    u64::try_from(limit).ok().filter(|&limit| limit > 0)
}

/// The error of an increment, as an element of the reply.
#[cold]
fn reply_refusal(call: &mut Call<'_>, error: CountMinError) {
    match error {
        CountMinError::OutOfMemory(_) => {
            call.reply_memory_error(c"CMS: Insufficient memory for a pane");
        }
        error => call.reply_refusal(error.into()),
    }
}

/// Increments the items of the pairs from argument `first` on, and begins a reply of one element per item. Calls `answer`
/// with the arguments of each pair, the increment and the result; it writes the element.
///
/// All increments are checked before the first item is counted: `check_negative` is called if one of them is negative.
// Inlined: the callers differ in few instructions, and a command with one item takes few.
#[inline(always)]
fn increment<'a>(
    call: &mut Call<'a>,
    entry: &mut Entry<CounterType>,
    first: usize,
    check_negative: fn(CounterType) -> Result<(), Error>,
    max: u64,
    mut answer: impl FnMut(&mut Call<'a>, Range<usize>, i64, Estimate),
) -> Result<(), Error> {
    let mut pair = first;
    let mut answer = |call: &mut Call<'a>, by, result| {
        answer(call, pair..pair + 2, by, result);
        pair += 2;
    };
    if call.len() == first + 2 {
        // The increment is parsed once.
        let by = call.arg(first + 1).integer().ok_or(NOT_INTEGER)?;
        if by < 0 {
            check_negative(entry.of())?;
        }
        if let Some(later) = begin(call, entry, first, max)? {
            answer_unchanged(call, entry, first, max, later, &mut answer);
            return Ok(());
        }
        call.reply_array(1);
        let budget = call.memory().budget(Purpose::Add);
        let item = call.arg(first).bytes();
        let sketch = entry.get();
        let limit = sketch.limit(call, max);
        let result = sketch.increment(item, by, limit, budget);
        answer(call, by, result);
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
        if min < 0 {
            check_negative(entry.of())?;
        }
        if let Some(later) = begin(call, entry, first, max)? {
            answer_unchanged(call, entry, first, max, later, &mut answer);
            return Ok(());
        }
        let budget = call.memory().budget(Purpose::Add);
        let items = call.args_from(first).step_by(2).map(Argument::bytes);
        call.reply_array(items.len());
        let further = call
            .args_from(first + 1 + 2 * STORED_INCREMENTS)
            .step_by(2)
            .map(|by| by.integer().unwrap_or_default());
        let pairs = items.zip(stored.into_iter().chain(further));
        let sketch = entry.get();
        let limit = sketch.limit(call, max);
        sketch.increment_all(pairs, limit, budget, |by, result| {
            answer(call, by, result);
        });
    }
    if call.memory().taken() > 0 {
        entry.recount();
    }
    Ok(())
}

/// The increment of each pair from argument `first` on, and its [`CounterMut::unchanged_by`]. The increments are valid.
fn unchanged_by_each<'s, 'v, 'a>(
    sketch: &'s CounterMut<'v>,
    call: &Call<'a>,
    first: usize,
    max: u64,
    later: Panes,
) -> impl Iterator<Item = (i64, Option<Estimate>)> + use<'s, 'v, 'a> {
    let pairs = call.arguments(first..call.len()).as_chunks().0.iter();
    pairs.map(move |[item, by]| {
        let by = by.integer().unwrap_or_default();
        (by, sketch.unchanged_by(item.bytes(), by, max, later))
    })
}

/// Checks the work of the command, and advances the sketch, unless no increment changes it: then returns the panes that are live
/// now.
#[inline(always)]
fn begin(
    call: &mut Call<'_>,
    entry: &mut Entry<CounterType>,
    first: usize,
    max: u64,
) -> Result<Option<Panes>, Error> {
    (entry.get().as_ref()).check_work(call, first, 2)?;
    let Some(advance) = entry.begin_write(call) else {
        return Ok(None);
    };
    let later = advance.later;
    let is_unchanged = unchanged_by_each(&entry.get(), call, first, max, later)
        .all(|(_, result)| result.is_some());
    if is_unchanged {
        return Ok(Some(later));
    }
    entry.advance(call, advance);
    Ok(None)
}

/// Replies to increments that change nothing, without an advance.
#[cold]
fn answer_unchanged<'a>(
    call: &mut Call<'a>,
    entry: &mut Entry<CounterType>,
    first: usize,
    max: u64,
    later: Panes,
    answer: &mut dyn FnMut(&mut Call<'a>, i64, Estimate),
) {
    call.reply_array((call.len() - first) / 2);
    let sketch = entry.get();
    for (by, result) in unchanged_by_each(&sketch, call, first, max, later) {
        if let Some(result) = result {
            answer(call, by, result);
        }
    }
}
