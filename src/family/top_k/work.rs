//! The items of a command, and the limit of its work.

use super::texts::TOO_MUCH;
use crate::server::call::{Call, Error};

/// The argument of the first item.
pub const FIRST_ITEM: usize = 2;

/// Refuses a command whose items are not within the limit, because they would take too long; see
/// [`TopK::within_work_limit`](roughly_sketch::top_k::TopK::within_work_limit). Commands from a primary or an AOF are not
/// refused.
///
/// # Errors
/// If the command is refused.
#[inline(always)]
pub fn check(call: &Call<'_>, is_within_limit: bool) -> Result<(), Error> {
    if is_within_limit || call.must_obey() {
        return Ok(());
    }
    Err(TOO_MUCH.into())
}
