//! The limit of the work of a command.

use super::texts::TOO_MUCH;
use super::types::Counts;
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};

/// Refuses items that would take too long to hash for all rows, see
/// [`CountMin::within_work_limit`](roughly_sketch::count_min::CountMin::within_work_limit). The items start at argument `first`,
/// and each has `args_per_item` arguments. Commands from a primary or an AOF are not refused.
#[inline(always)]
pub fn check(
    call: &Call<'_>,
    sketch: Counts<'_>,
    first: usize,
    args_per_item: usize,
) -> Result<(), Error> {
    let items = call.args_from(first).step_by(args_per_item);
    if sketch.within_work_limit(items.map(Argument::bytes)) || call.must_obey() {
        return Ok(());
    }
    Err(TOO_MUCH.into())
}
