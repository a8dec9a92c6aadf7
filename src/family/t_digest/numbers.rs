//! The numbers at the end of a command, all parsed before any of them is used.

use super::NO_MEMORY;
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use smallvec::SmallVec;

/// The numbers of a command, in order. Up to 16 need no allocation.
pub type Numbers<T> = SmallVec<[T; 16]>;

/// Parses the arguments from number `first` on.
///
/// # Errors
/// The first error of `parse`, or [`NO_MEMORY`].
pub fn parse<T>(
    call: &Call<'_>,
    first: usize,
    parse: impl Fn(Argument<'_>) -> Result<T, Error>,
) -> Result<Numbers<T>, Error> {
    let arguments = call.args_from(first);
    let mut numbers = Numbers::new();
    numbers
        .try_reserve_exact(arguments.len())
        .map_err(|_| NO_MEMORY)?;
    for argument in arguments {
        numbers.push(parse(argument)?);
    }
    Ok(numbers)
}
