//! The numbers of a command.

use super::texts::NO_MEMORY;
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use roughly_sketch::refusable::refusable;
use smallvec::SmallVec;

/// The numbers of a command. Up to 16 need no allocation.
pub type Numbers<T> = SmallVec<[T; 16]>;

/// Parses all arguments from number `first` on, because a command uses none of them unless all are valid. Appends them to
/// `parsed`, which the caller owns so that it is not moved.
///
/// # Errors
/// The first error of `parse`, or if there is no memory.
pub fn parse_all<T>(
    call: &Call<'_>,
    first: usize,
    parsed: &mut Numbers<T>,
    parse: impl Fn(Argument<'_>) -> Result<T, Error>,
) -> Result<(), Error> {
    let arguments = call.args_from(first);
    if arguments.len() > parsed.capacity() - parsed.len() {
        let bytes = (arguments.len() * size_of::<T>()) as u64;
        refusable(bytes, || parsed.try_reserve_exact(arguments.len()).ok()).ok_or(NO_MEMORY)?;
    }
    for argument in arguments {
        parsed.push(parse(argument)?);
    }
    Ok(())
}
