//! CMS.INCRBY.

use super::{NOT_FOUND, check_work};
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use crate::server::outcome::Outcome;
use roughly_sketch::count_min::{CountMin, CountMinError};
use std::ffi::CStr;

const FIRST_ITEM: usize = 2;

const NOT_INTEGER: &CStr = c"CMS: Cannot parse number";
const OVERFLOW: &CStr = c"CMS: INCRBY overflow";
const UNDERFLOW: &CStr = c"CMS: INCRBY underflow";

/// CMS.INCRBY key item increment [item increment …]
pub fn incrby<'a>(call: &mut Call<'a>) -> Result<(), Error> {
    if call.len() < 4 || !call.len().is_multiple_of(2) {
        return Err(Error::WrongArity);
    }
    let key = call.write::<CountMin>(1);
    let mut entry = key.find_or_create(call, || Err(NOT_FOUND.into()))?;
    let sketch = entry.value();
    // RedisBloom up to 8.10 increments some rows for an item that it refuses, so refused items are not replicated.
    let mut outcome = Outcome::new(c"CMS.INCRBY", FIRST_ITEM);
    let mut item = FIRST_ITEM;
    let mut record = |call: &mut Call<'a>, by: i64, result: Result<u64, CountMinError>| {
        match result {
            Ok(estimate) => {
                match by {
                    0 => outcome.add_unchanged(),
                    _ => outcome.add(call, item..item + 2),
                }
                call.reply_count(estimate);
            }
            Err(error) => {
                outcome.refuse(call, item);
                call.reply_error(match error {
                    CountMinError::Underflow => UNDERFLOW,
                    _ => OVERFLOW,
                });
            }
        }
        item += 2;
    };
    if call.len() == 4 {
        // The increment is parsed once.
        let by = call.arg(3).integer().ok_or(NOT_INTEGER)?;
        check_work(call, sketch, 2)?;
        call.reply_array(1);
        record(call, by, sketch.increment(call.arg(2).bytes(), by));
    } else {
        // All increments are checked before the first item is counted. Parsing them twice is cheaper than storing
        // them.
        let increments = call.args_from(3).step_by(2).map(Argument::integer);
        if increments.clone().any(|by| by.is_none()) {
            return Err(NOT_INTEGER.into());
        }
        check_work(call, sketch, 2)?;
        let items = call.args_from(2).step_by(2).map(Argument::bytes);
        call.reply_array(items.len());
        let increments = increments.map(Option::unwrap_or_default);
        sketch.increment_all(items.zip(increments), |by, result| record(call, by, result));
    }
    outcome.finish(call, entry, c"cms.incrby");
    Ok(())
}
