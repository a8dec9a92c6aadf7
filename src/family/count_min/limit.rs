//! CMS.INCRBYLIMIT, rate limits.

use super::add::{NOT_INTEGER, Unchanged, increment, reply_refusal};
use super::texts::NOT_FOUND;
use super::types::Counts;
use crate::server::call::{Call, Error};
use crate::server::key::{Entry, OneOf};
use crate::server::outcome::Outcome;
use roughly_sketch::count_min::CountMinError;

const LIMIT: usize = 2;
const FIRST_ITEM: usize = 3;

/// CMS.INCRBYLIMIT key limit item increment [item increment …]
pub fn incrbylimit(call: &mut Call<'_>) -> Result<(), Error> {
    if call.len() < 5 || call.len().is_multiple_of(2) {
        return Err(Error::WrongArity);
    }
    let found = call.write(1).find(call, Counts::TYPES.iter().copied())?;
    let mut entry = found.or_missing(NOT_FOUND)?;
    let limit = call.arg(LIMIT).integer().filter(|&limit| limit > 0);
    let limit = limit.ok_or(NOT_INTEGER)?.unsigned_abs();
    // A copy must accept the accepted increments, whatever it has counted.
    let mut outcome = Outcome::new(c"CMS.INCRBY", FIRST_ITEM).without_options();
    let mut above_limit = 0;
    increment(
        call,
        &mut entry,
        FIRST_ITEM,
        check_sign,
        limit,
        reply_unchanged,
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
            reply_item(call, is_accepted, estimate);
        },
    )?;
    if above_limit > 0 {
        entry.registration().stats.count_limit_refusals(above_limit);
    }
    outcome.finish(call, entry, c"cms.incrby");
    Ok(())
}

#[inline]
fn reply_item(call: &mut Call<'_>, is_accepted: bool, estimate: u64) {
    call.reply_array(2);
    call.reply_integer(is_accepted.into());
    call.reply_count(estimate);
}

/// Replies to a command that changes nothing: increments of 0, and those above the limit.
#[cold]
fn reply_unchanged(call: &mut Call<'_>, entry: &Entry, results: &[Unchanged]) {
    let (mut accepted, mut above_limit) = (0, 0);
    call.reply_array(results.len());
    for &result in results {
        match result {
            Ok(estimate) => {
                accepted += 1;
                reply_item(call, true, estimate);
            }
            Err(CountMinError::AboveLimit(estimate)) => {
                above_limit += 1;
                reply_item(call, false, estimate);
            }
            Err(error) => reply_refusal(call, error),
        }
    }
    let stats = &entry.registration().stats;
    stats.count_items(accepted);
    stats.count_limit_refusals(above_limit);
}

/// Refuses a negative increment.
fn check_sign(_: &Entry, by: i64) -> Result<(), Error> {
    if by < 0 {
        return Err(NOT_INTEGER.into());
    }
    Ok(())
}
