//! The settings `bf-replies` and `bf-new-keys`: whether BF.* commands behave as those of RedisBloom or of valkey-bloom
//! (docs/configuration.md, "Replies and types of Bloom filters").

use crate::server::call::{Call, Error};
use crate::server::config::{Setting, store_choice};
use crate::server::key::Lookup;
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

/// The module whose replies, errors and syntax of options the commands have (`bf-replies`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    RedisBloom,
    Valkey,
}

/// Whether a client's command creates keys of valkey-bloom's type if its options do not decide.
#[must_use]
pub fn new_keys_are_valkey() -> bool {
    NEW_KEYS.load(Ordering::Relaxed)
}

impl Dialect {
    /// The configured dialect.
    #[inline]
    #[must_use]
    pub fn current() -> Self {
        match REPLIES.load(Ordering::Relaxed) {
            true => Self::Valkey,
            false => Self::RedisBloom,
        }
    }

    /// What a look-up finds. RedisBloom treats a key of another type like a missing key, valkey-bloom replies with an error.
    ///
    /// # Errors
    /// [`Error::WrongType`] in valkey-bloom's dialect, and if the command reads a part of a window.
    #[inline(always)]
    pub fn lenient<V>(self, call: &Call<'_>, found: Lookup<V>) -> Result<Option<V>, Error> {
        match self {
            Self::RedisBloom => found.lenient(call),
            Self::Valkey => found.optional(),
        }
    }

    /// The reply for an item: in RedisBloom's dialect a boolean in RESP3, otherwise an integer.
    #[inline]
    pub fn reply_flag(self, call: &mut Call<'_>, flag: bool) {
        match self {
            Self::RedisBloom => call.reply_boolean(flag),
            Self::Valkey => call.reply_integer(i64::from(flag)),
        }
    }

    /// The error for a wrong number of arguments. valkey-bloom's text has the command in upper case.
    #[must_use]
    pub fn wrong_arity(self, call: &Call<'_>) -> Error {
        if self == Self::RedisBloom {
            return Error::WrongArity;
        }
        let name = call.arg(0).bytes().to_ascii_uppercase();
        let name = name.escape_ascii();
        CString::new(format!(
            "ERR wrong number of arguments for '{name}' command"
        ))
        .map_or(Error::WrongArity, Error::Formatted)
    }
}
