//! The command table: name, flags, ACL categories, keys and documentation of each command, and their registration.

mod acl;
mod args;
mod handler;
mod options;
mod outcome;

pub use acl::{Denied, User};
pub use args::{Arg, ArgKind, KeySpec};
use args::{NO_KEY_SPEC, raw_args};
pub use handler::{Handler, handler, merge_handler, reader};
pub use options::{MissingValue, Options};
pub use outcome::Outcome;

use super::context;
use super::error::Error;
use redis_module::raw;
use std::ffi::{CStr, CString, c_int};
use std::ptr;

/// The flag of commands that report the positions of their keys, on servers that need it
/// ([`ServerVersion::asks_for_keys`](super::server_version::ServerVersion::asks_for_keys)). All other uses go by the key specs.
const GETKEYS: &[u8] = b" getkeys-api";

/// A command. The constants are templates: they have no name, handler or summary.
#[derive(Debug, Clone, Copy)]
pub struct Command {
    /// Its name, in lower case.
    pub name: &'static CStr,
    /// The function that runs it; see [`handler`].
    pub handler: Handler,
    /// Flags as RedisModule_CreateCommand takes them.
    pub flags: &'static CStr,
    /// ACL categories in addition to that of the family.
    pub acl: &'static CStr,
    /// Number of arguments, with the name; the minimum as a negative number if there may be more.
    pub arity: c_int,
    /// The positions of its keys. The first key is argument 1.
    pub keys: &'static [KeySpec],
    /// Command tips for proxies and clients.
    pub tips: Option<&'static CStr>,
    /// What it does, in one line.
    pub summary: &'static CStr,
    /// Its time complexity.
    pub complexity: &'static CStr,
    /// The version that introduced it, if it is not that of the family.
    pub since: Option<Since>,
    /// Its changes in later versions, each with the version.
    pub history: &'static [(&'static CStr, &'static CStr)],
    /// Its arguments.
    pub args: &'static [Arg],
}

/// The version that introduced a command.
#[derive(Debug, Clone, Copy)]
pub enum Since {
    /// A version of RedisBloom.
    RedisBloom(&'static CStr),
    /// A version of Roughly, which introduced a command that RedisBloom does not have.
    Roughly(&'static CStr),
}

impl Since {
    /// The version number.
    pub const fn version(self) -> &'static CStr {
        match self {
            Self::RedisBloom(version) | Self::Roughly(version) => version,
        }
    }
}

impl Command {
    /// Reads a key.
    pub const READ: Self = Self {
        name: c"",
        handler: Handler::NONE,
        flags: c"readonly",
        acl: c"read",
        arity: 2,
        keys: &[KeySpec::READ],
        // Clients should not cache the reply, because most changes of the key change it.
        tips: Some(c"dont_cache"),
        summary: c"",
        complexity: c"O(1)",
        since: None,
        history: &[],
        args: &[Arg::KEY],
    };
    /// Whether the server allows this number of arguments, with the name.
    pub fn allows_arguments(&self, len: usize) -> bool {
        match usize::try_from(self.arity) {
            Ok(arity) => len == arity,
            Err(_) => len >= self.arity.unsigned_abs() as usize,
        }
    }

    /// The server's error for another number of arguments.
    pub fn wrong_arity(&self) -> Error {
        let name = self.name.to_bytes();
        let text = [b"ERR wrong number of arguments for '", name, b"' command"];
        Error::Formatted(CString::new(text.concat()).unwrap_or_default())
    }

    /// Adds to a key.
    pub const WRITE: Self = Self {
        flags: c"write deny-oom",
        acl: c"write",
        keys: &[KeySpec::INSERT],
        tips: None,
        ..Self::READ
    };
    /// Creates a key.
    pub const CREATE: Self = Self {
        acl: c"write fast",
        ..Self::WRITE
    };
    /// Merges keys.
    pub const MERGE: Self = Self {
        arity: -4,
        keys: KeySpec::MERGE,
        args: &[Arg::DESTINATION, Arg::NUMKEYS, Arg::SOURCES],
        ..Self::WRITE
    };
    /// Returns a chunk of a key.
    pub const SCANDUMP: Self = Self {
        flags: c"readonly fast",
        arity: 3,
        complexity: c"O(n), n the size of the chunk, at most 16 MiB",
        args: &[Arg::KEY, Arg::integer(c"iterator")],
        ..Self::READ
    };
    /// Loads a chunk that SCANDUMP returned.
    pub const LOADCHUNK: Self = Self {
        arity: 4,
        keys: &[KeySpec::UPDATE],
        complexity: c"O(n), n the size of the chunk",
        args: &[
            Arg::KEY,
            Arg::integer(c"iterator"),
            Arg::new(c"data", ArgKind::String),
        ],
        ..Self::WRITE
    };
}

/// Why a command or a type is not registered.
#[derive(Debug)]
pub(super) enum Unregistered {
    /// Another module has it: `command topk.add`.
    Taken(String),
    /// Another reason, for the log.
    Failed(String),
}

/// Registers a command in the ACL category of its family, which exists since a version. `asks_for_keys`: whether the server
/// asks merges for their keys. Returns false if the server supports
/// ACL categories but refuses those of the command. An error names what the server refused.
///
/// # Safety
/// `ctx` must be that of the running load function.
pub(super) unsafe fn register(
    ctx: *mut raw::RedisModuleCtx,
    command: &Command,
    category: &CStr,
    since: Since,
    asks_for_keys: bool,
) -> Result<bool, Unregistered> {
    let name = command.name.as_ptr();
    let ok = raw::REDISMODULE_OK as c_int;
    // SAFETY: all texts live until the return, and the server copies them.
    unsafe {
        let handler = command.handler.raw;
        assert!(handler.is_some(), "{:?} has no handler", command.name);
        let mut flags = command.flags.to_bytes().to_vec();
        if flags.starts_with(b"write") {
            context::add_write(command.name.to_bytes());
        }
        if command.handler.reports_keys && asks_for_keys {
            flags.extend_from_slice(GETKEYS);
        }
        flags.push(0);
        let flags = flags.as_ptr().cast();
        if api!(RedisModule_CreateCommand)(ctx, name, handler, flags, 1, 1, 1) != ok {
            let name = command.name.to_string_lossy();
            return Err(Unregistered::Taken(format!("command {name}")));
        }
        let proxy = api!(RedisModule_GetCommand)(ctx, name);
        if proxy.is_null() {
            return Err(Unregistered::Failed(format!(
                "command {} is missing after its registration: this server is not supported",
                command.name.to_string_lossy()
            )));
        }
        set_info(proxy, command, since).map_err(Unregistered::Failed)?;
        if let Some(set_categories) = optional_api!(RedisModule_SetCommandACLCategories) {
            let category = category.to_bytes_with_nul();
            let categories = [command.acl.to_bytes(), b" ", category].concat();
            // A server that refuses the family's category refuses the whole list.
            let taken = set_categories(proxy, categories.as_ptr().cast()) == ok;
            if !taken {
                set_categories(proxy, command.acl.as_ptr());
            }
            return Ok(taken);
        }
    }
    Ok(true)
}

/// # Safety
/// `proxy` must be a command of this module, in the running load function.
unsafe fn set_info(
    proxy: *mut raw::RedisModuleCommand,
    command: &Command,
    family_since: Since,
) -> Result<(), String> {
    let mut levels = Vec::new();
    let args = raw_args(command.args, &mut levels);
    let mut keys: Vec<_> = command.keys.iter().map(|spec| spec.to_raw()).collect();
    keys.push(NO_KEY_SPEC);
    let history = command.history.iter();
    let history = history.map(|(since, changes)| (since.as_ptr(), changes.as_ptr()));
    // An empty entry ends the list.
    let history = history.chain([(ptr::null(), ptr::null())]);
    let mut history: Vec<_> = history
        .map(|(since, changes)| raw::RedisModuleCommandHistoryEntry { since, changes })
        .collect();
    let version = raw::RedisModuleCommandInfoVersion {
        version: 1,
        sizeof_historyentry: size_of::<raw::RedisModuleCommandHistoryEntry>(),
        sizeof_keyspec: size_of::<raw::RedisModuleCommandKeySpec>(),
        sizeof_arg: size_of::<raw::RedisModuleCommandArg>(),
    };
    let info = raw::RedisModuleCommandInfo {
        version: &raw const version,
        summary: command.summary.as_ptr(),
        complexity: command.complexity.as_ptr(),
        since: command.since.unwrap_or(family_since).version().as_ptr(),
        history: history.as_mut_ptr(),
        tips: command.tips.map_or(ptr::null(), CStr::as_ptr),
        arity: command.arity,
        key_specs: keys.as_mut_ptr(),
        args,
    };
    // SAFETY: everything `info` points to lives until the return and is copied by the server; arrays
    // end with an empty element.
    let status = unsafe { api!(RedisModule_SetCommandInfo)(proxy, &raw const info) };
    if status != raw::REDISMODULE_OK as c_int {
        return Err(format!(
            "the description of {} was refused: this server is not supported",
            command.name.to_string_lossy()
        ));
    }
    Ok(())
}
