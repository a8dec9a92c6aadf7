//! Numbers among the arguments of a command.

use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use smallvec::SmallVec;
use std::ffi::CStr;

/// The numbers of a command, in order. Up to 16 need no allocation.
pub type Numbers<T> = SmallVec<[T; 16]>;

/// Parses the arguments from number `first` on. A command uses none of them unless all are valid.
///
/// # Errors
/// The first error of `parse`, or `no_memory`.
pub fn parse_all<T>(
    call: &Call<'_>,
    first: usize,
    no_memory: &'static CStr,
    parse: impl Fn(Argument<'_>) -> Result<T, Error>,
) -> Result<Numbers<T>, Error> {
    let arguments = call.args_from(first);
    let mut numbers = Numbers::new();
    numbers
        .try_reserve_exact(arguments.len())
        .map_err(|_| no_memory)?;
    for argument in arguments {
        numbers.push(parse(argument)?);
    }
    Ok(numbers)
}
