//! CMS.INCRBYLIMIT, rate limits.

use super::add::{NOT_INTEGER, increment, reply_refusal, unchanged_by_each};
use super::texts::NOT_FOUND;
use super::types::{Counts, CountsMut};
use crate::server::call::{Call, Error};
use crate::server::key::{Entry, OneOf};
use crate::server::outcome::Outcome;
use crate::server::stats::Stats;
use roughly_sketch::count_min::CountMinError;
use roughly_sketch::window::Panes;

const LIMIT: usize = 2;
const FIRST_ITEM: usize = 3;

/// CMS.INCRBYLIMIT key limit item increment [item increment …]
pub fn incrbylimit(call: &mut Call<'_>) -> Result<(), Error> {
    if call.len() < 5 || call.len().is_multiple_of(2) {
        return Err(Error::WrongArity);
    }
    let found = call.write(1).find(call, Counts::TYPES.iter().copied())?;
    let mut entry = found.or_missing(NOT_FOUND)?;
    let limit = limit(call).ok_or(NOT_INTEGER)?;
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
            call.reply_array(2);
            call.reply_integer(is_accepted.into());
            call.reply_count(estimate);
        },
    )?;
    if above_limit > 0 {
        entry.registration().stats.count_limit_refusals(above_limit);
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

/// Replies to a command that changes nothing: increments of 0, and those above the limit.
#[cold]
fn reply_unchanged(call: &mut Call<'_>, sketch: CountsMut<'_>, stats: &Stats, later: Panes) {
    let max = limit(call).unwrap_or_default();
    call.reply_array((call.len() - FIRST_ITEM) / 2);
    for result in unchanged_by_each(&sketch, call, FIRST_ITEM, max, later).flatten() {
        let (is_accepted, estimate) = match result {
            Ok(estimate) => {
                stats.count_items(1);
                (true, estimate)
            }
            Err(CountMinError::AboveLimit(estimate)) => {
                stats.count_limit_refusals(1);
                (false, estimate)
            }
            Err(error) => {
                reply_refusal(call, error);
                continue;
            }
        };
        call.reply_array(2);
        call.reply_integer(is_accepted.into());
        call.reply_count(estimate);
    }
}

/// Refuses a negative increment.
fn check_sign(_: &Entry, by: i64) -> Result<(), Error> {
    if by < 0 {
        return Err(NOT_INTEGER.into());
    }
    Ok(())
}
