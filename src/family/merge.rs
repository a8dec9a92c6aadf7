//! The MERGE commands: their arguments `destination numkeys source [source …]`, and their sources.

use crate::server::call::{Call, Error};
use std::ffi::CStr;

/// The argument of the first source.
pub const FIRST_SOURCE: usize = 3;

/// The error texts for an invalid `numkeys`.
#[derive(Debug)]
pub struct NumkeysErrors {
    pub not_integer: &'static CStr,
    pub not_positive: &'static CStr,
}

/// The argument `numkeys`, which may be larger than the number of arguments after it.
pub fn numkeys(call: &Call<'_>, errors: &NumkeysErrors) -> Result<usize, Error> {
    let numkeys = call.arg(2).integer().ok_or(errors.not_integer)?;
    if numkeys <= 0 {
        return Err(errors.not_positive.into());
    }
    Ok(usize::try_from(numkeys).unwrap_or(usize::MAX))
}
