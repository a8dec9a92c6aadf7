//! The settings `bf-replies` and `bf-new-keys`: whether BF.* commands behave as those of RedisBloom or of valkey-bloom
//! (docs/configuration.md, "Replies and types of Bloom filters").

use crate::server::call::{Call, Error};
use crate::server::config::{Setting, store_choice};
use std::ffi::CString;
use std::sync::atomic::{AtomicBool, Ordering};

const MODULES: [&str; 2] = ["redisbloom", "valkey-bloom"];

static REPLIES: AtomicBool = AtomicBool::new(false);
static NEW_KEYS: AtomicBool = AtomicBool::new(false);

/// The settings.
pub const SETTINGS: &[Setting] = &[
    Setting {
        name: c"bf-replies",
        default: c"redisbloom",
        set: |text| store_choice(text, MODULES, &REPLIES),
        ..Setting::TEMPLATE
    },
    Setting {
        name: c"bf-new-keys",
        default: c"redisbloom",
        set: |text| store_choice(text, MODULES, &NEW_KEYS),
        ..Setting::TEMPLATE
    },
];

/// Whether replies, errors and the syntax of options are those of valkey-bloom.
#[inline]
#[must_use]
pub fn replies_are_valkey() -> bool {
    REPLIES.load(Ordering::Relaxed)
}

/// Whether a client's command creates keys of valkey-bloom's type if its options do not decide.
#[must_use]
pub fn new_keys_are_valkey() -> bool {
    NEW_KEYS.load(Ordering::Relaxed)
}

/// The reply for an item: a boolean in RESP3, or an integer in both protocols if replies are those of valkey-bloom.
#[inline]
pub fn reply_flag(call: &mut Call<'_>, flag: bool) {
    if replies_are_valkey() {
        call.reply_integer(i64::from(flag));
    } else {
        call.reply_boolean(flag);
    }
}

/// The error for a wrong number of arguments. valkey-bloom's text has the command in upper case.
#[must_use]
pub fn wrong_arity(call: &Call<'_>) -> Error {
    if !replies_are_valkey() {
        return Error::WrongArity;
    }
    let name = call.arg(0).bytes().to_ascii_uppercase();
    let name = name.escape_ascii();
    CString::new(format!(
        "ERR wrong number of arguments for '{name}' command"
    ))
    .map_or(Error::WrongArity, Error::Formatted)
}
