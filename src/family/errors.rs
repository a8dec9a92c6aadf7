//! Errors that the commands of several families reply.

use crate::server::call::{Call, Error};
use std::ffi::{CStr, CString};
use std::fmt::Display;

/// The text of an error of a sketch, which is that of the commands.
#[cold]
pub fn text_of(error: impl Display) -> CString {
    CString::new(error.to_string()).unwrap_or_default()
}

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
