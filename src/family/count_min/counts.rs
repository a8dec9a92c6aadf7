//! Counting and asking: CMS.INCRBY and CMS.QUERY.

use super::{NOT_FOUND, stats};
use crate::server::accepted::Accepted;
use crate::server::call::{Call, Error};
use roughly_sketch::count_min::{CountMin, CountMinError};
use std::ffi::CStr;

/// More than can be hashed for the sketch's depth.
const TOO_MUCH: &CStr = c"CMS: too much work for the depth of the sketch";
const NO_NUMBER: &CStr = c"CMS: Cannot parse number";
const OVERFLOW: &CStr = c"CMS: INCRBY overflow";
const UNDERFLOW: &CStr = c"CMS: INCRBY underflow";

/// CMS.INCRBY key item increment [item increment …]
pub fn incrby<'a>(call: &mut Call<'a>) -> Result<(), Error> {
    if call.len() < 4 || !call.len().is_multiple_of(2) {
        return Err(Error::WrongArity);
    }
    let mut key = call.write::<CountMin>(1);
    let sketch = key.get().or_missing(NOT_FOUND)?;
    let mut outcome = Outcome::new();
    let mut reply = |call: &mut Call<'a>, by: i64, answer: Result<u64, CountMinError>| {
        outcome.add(call, by, answer.is_ok());
        match answer {
            Ok(estimate) => call.reply_count(estimate),
            Err(CountMinError::Underflow) => call.reply_error(UNDERFLOW),
            Err(_) => call.reply_error(OVERFLOW),
        }
    };
    if call.len() == 4 {
        // One item, as most commands have: its increment is read once.
        let by = call.arg(3).integer().ok_or(NO_NUMBER)?;
        check_work(call, sketch, 2)?;
        call.reply_array(1);
        reply(call, by, sketch.increment(call.arg(2).bytes(), by));
    } else {
        // All are read before one is counted: not one item is where one of the increments is no number.
        // Reading them again takes less than keeping them would.
        let increments = call.args_from(3).step_by(2).map(|word| word.integer());
        if increments.clone().any(|by| by.is_none()) {
            return Err(NO_NUMBER.into());
        }
        check_work(call, sketch, 2)?;
        let items = call.args_from(2).step_by(2).map(|item| item.bytes());
        call.reply_array(items.len());
        let increments = increments.map(Option::unwrap_or_default);
        sketch.increment_all(items.zip(increments), |by, answer| reply(call, by, answer));
    }
    drop(key);
    finish(call, &outcome);
    Ok(())
}

/// Refuses items that would take too long to hash for all rows, see [`CountMin::within_work_limit`]; each takes
/// so many `words`. What must be obeyed was bearable elsewhere.
fn check_work(call: &Call<'_>, sketch: &CountMin, words: usize) -> Result<(), Error> {
    let items = call.args_from(2).step_by(words).map(|item| item.bytes());
    if sketch.within_work_limit(items) || call.must_obey() {
        return Ok(());
    }
    Err(TOO_MUCH.into())
}

/// What counting several items came to.
#[derive(Debug)]
struct Outcome<'a> {
    /// Items looked at so far.
    items: usize,
    /// Those that were counted.
    counted: usize,
    /// Whether any of them changed something.
    changed: bool,
    /// Those that are replicated. RedisBloom up to 8.10 counts a refused item as far as it goes, so refused
    /// items must not be among them.
    accepted: Accepted<'a>,
}

impl<'a> Outcome<'a> {
    fn new() -> Self {
        Self {
            items: 0,
            counted: 0,
            changed: false,
            accepted: Accepted::new(c"CMS.INCRBY"),
        }
    }

    /// Adds the next item.
    fn add(&mut self, call: &Call<'a>, by: i64, counted: bool) {
        const FIRST_ITEM: usize = 2;
        let item = FIRST_ITEM + 2 * self.items;
        let changed = counted && by != 0;
        if !counted {
            self.accepted.refuse(call, FIRST_ITEM..item);
        } else if changed {
            self.accepted.accept(call, item..item + 2);
        }
        self.items += 1;
        self.counted += usize::from(counted);
        self.changed |= changed;
    }
}

/// Counts, replicates and signals what the command did.
fn finish<'a>(call: &mut Call<'a>, outcome: &Outcome<'a>) {
    stats().count_items(outcome.counted as u64);
    stats().count_refusals((outcome.items - outcome.counted) as u64);
    if !outcome.changed {
        return;
    }
    outcome.accepted.replicate(call);
    call.signal_changed(1, c"cms.incrby");
}

/// CMS.QUERY key item [item …]
pub fn query(call: &mut Call<'_>) -> Result<(), Error> {
    let key = call.read::<CountMin>(1);
    let sketch = key.get().or_missing(NOT_FOUND)?;
    check_work(call, sketch, 1)?;
    let items = call.args_from(2).map(|item| item.bytes());
    call.reply_array(items.len());
    sketch.query_all(items, |estimate| call.reply_count(estimate));
    Ok(())
}
