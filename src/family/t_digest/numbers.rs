//! The numbers at the end of a command, all parsed before anything is done.

use super::NO_MEMORY;
use crate::server::argument::Argument;
use crate::server::call::{Call, Error};
use std::ops::Deref;

/// So many numbers need no allocation.
const INLINE: usize = 16;

/// The numbers of a command, in order.
pub struct Numbers<T> {
    few: [T; INLINE],
    /// All of them, where they are more than few.
    many: Vec<T>,
    len: usize,
}

impl<T: Copy + Default> Numbers<T> {
    /// Parses the words from number `first` on. The first error ends it.
    pub fn parse(
        call: &Call<'_>,
        first: usize,
        parse: impl Fn(Argument<'_>) -> Result<T, Error>,
    ) -> Result<Self, Error> {
        let words = call.args_from(first);
        let len = words.len();
        let mut numbers = Self {
            few: [T::default(); INLINE],
            many: Vec::new(),
            len,
        };
        if len <= INLINE {
            for (number, word) in numbers.few.iter_mut().zip(words) {
                *number = parse(word)?;
            }
        } else {
            let reserved = numbers.many.try_reserve_exact(len);
            reserved.map_err(|_| NO_MEMORY)?;
            for word in words {
                numbers.many.push(parse(word)?);
            }
        }
        Ok(numbers)
    }
}

impl<T> Deref for Numbers<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        if self.len <= INLINE {
            &self.few[..self.len]
        } else {
            &self.many
        }
    }
}
