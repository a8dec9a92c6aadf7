//! The syntax of BF.RESERVE and BF.INSERT: that of RedisBloom with the option `WINDOW`, or that of valkey-bloom.

mod redisbloom;
mod valkey;

use super::dialect::Dialect;
use super::request::{InsertOptions, Request};
use super::types::Filter;
use crate::server::call::{Call, Error};
use crate::server::key::Lookup;

/// Whether a command has valkey-bloom's syntax: if replies are those of valkey-bloom, except for a filter with a window,
/// which valkey-bloom lacks, and for commands that must be obeyed, because another server has already parsed them.
fn is_valkey(call: &Call<'_>) -> bool {
    let has_window = || {
        let mut options = call
            .args_from(2)
            .take_while(|argument| !argument.is("ITEMS"));
        options.any(|argument| argument.is("WINDOW"))
    };
    Dialect::current() == Dialect::Valkey && !call.must_obey() && !has_window()
}

/// Parses the arguments of BF.RESERVE.
///
/// # Errors
/// Those of the syntax.
pub fn reserve(call: &Call<'_>) -> Result<Request, Error> {
    match is_valkey(call) {
        true => valkey::reserve(call),
        false => redisbloom::reserve(call),
    }
}

/// Parses the options of BF.INSERT, in valkey-bloom's syntax if the key is of its type.
///
/// # Errors
/// Those of the syntax.
pub fn insert(call: &Call<'_>, key: &Lookup<Filter<'_>>) -> Result<InsertOptions, Error> {
    let is_valkey_key = matches!(key, Lookup::Found(Filter::Valkey(_)));
    match is_valkey_key || valkey::has_own_keyword(call) || is_valkey(call) {
        true => valkey::insert(call),
        false => redisbloom::insert(call, matches!(key, Lookup::Found(_))),
    }
}
