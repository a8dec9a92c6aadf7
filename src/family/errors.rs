//! Errors that the commands of several families reply.

use crate::server::call::{Call, Error};
use std::ffi::CStr;

/// Refuses a command whose items would take too long. Commands from a primary or an AOF are not refused.
#[inline(always)]
pub fn check_work(
    call: &Call<'_>,
    is_within_limit: bool,
    too_much: &'static CStr,
) -> Result<(), Error> {
    if is_within_limit || call.must_obey() {
        return Ok(());
    }
    Err(too_much.into())
}
