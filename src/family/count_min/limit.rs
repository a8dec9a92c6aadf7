//! CMS.INCRBYLIMIT, rate limits.

use super::NOT_FOUND;
use super::add::{NOT_INTEGER, increment, reply_refusal};
use crate::server::call::{Call, Error};
use crate::server::datatype::DataType;
use crate::server::key::{WriteKey, for_either};
use crate::server::outcome::Outcome;
use roughly_sketch::count_min::{CountMin, CountMinError, CountMinWindow, Sketch};

const LIMIT: usize = 2;
const FIRST_ITEM: usize = 3;

/// CMS.INCRBYLIMIT key limit item increment [item increment …]
pub fn incrbylimit(call: &mut Call<'_>) -> Result<(), Error> {
    if call.len() < 5 || call.len().is_multiple_of(2) {
        return Err(Error::WrongArity);
    }
    for_either!(call.write_either::<CountMin, CountMinWindow>(1), key => limited(call, key))
}

/// Replicates the accepted increments as CMS.INCRBY: a copy must accept them all, whatever it has counted.
fn limited<'a, T: Sketch + DataType>(call: &mut Call<'a>, key: WriteKey<T>) -> Result<(), Error> {
    let mut entry = key.find_or_create(call, || Err(NOT_FOUND.into()))?;
    let limit = call.arg(LIMIT).integer().filter(|&limit| limit > 0);
    let limit = limit.ok_or(NOT_INTEGER)?.unsigned_abs();
    let mut outcome = Outcome::new(c"CMS.INCRBY", FIRST_ITEM).without_options();
    let mut above_limit = 0;
    let sketch = &mut entry;
    increment(
        call,
        sketch,
        FIRST_ITEM,
        check_sign,
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
        T::registration().stats.count_limit_refusals(above_limit);
    }
    outcome.finish(call, entry, c"cms.incrby");
    Ok(())
}

/// Refuses a negative increment.
fn check_sign(by: i64) -> Result<(), Error> {
    if by < 0 {
        return Err(NOT_INTEGER.into());
    }
    Ok(())
}
