//! The description of a command, and its registration.

use super::allocator;
use super::call::{Call, Error};
use super::guard::guarded;
use super::limit;
use super::module::Family;
use super::reply::WRONG_TYPE;
use redis_module::raw;
use std::ffi::{CStr, c_int};
use std::ptr;

/// What the server calls.
pub type RawHandler = unsafe extern "C" fn(
    *mut raw::RedisModuleCtx,
    *mut *mut raw::RedisModuleString,
    c_int,
) -> c_int;

/// What an operator sees of a bug of ours; the log has the details.
const INTERNAL_ERROR: &CStr = c"ERR internal error, see the server's log";

/// What runs a command, see [`handler`].
#[derive(Debug, Clone, Copy)]
pub struct Handler {
    /// `None` in the templates of [`Command`] only.
    raw: Option<RawHandler>,
    /// Whether the server can ask it for the command's keys.
    reports_keys: bool,
}

/// Makes a handler callable by the server: with its arguments wrapped, its errors answered, and its
/// panics caught.
///
/// The handler is a function's own type, which has no size and one value, so the shim below can be made
/// for it at compile time and needs no pointer to it.
#[must_use]
pub const fn handler<H>(_handler: H) -> Handler
where
    H: Fn(&mut Call<'_>) -> Result<(), Error> + Copy + 'static,
{
    const { assert!(size_of::<H>() == 0, "a handler is a plain function") };
    Handler {
        raw: Some(shim::<H>),
        reports_keys: false,
    }
}

/// As [`handler`], for a command whose keys are [`KeySpec::MERGE`]. The server can ask it for the keys, which every call
/// checks.
#[must_use]
pub const fn merge_handler<H>(handler: H) -> Handler
where
    H: Fn(&mut Call<'_>) -> Result<(), Error> + Copy + 'static,
{
    let mut handler = self::handler(handler);
    handler.raw = Some(merge_shim::<H>);
    handler.reports_keys = true;
    handler
}

unsafe extern "C" fn shim<H>(
    ctx: *mut raw::RedisModuleCtx,
    argv: *mut *mut raw::RedisModuleString,
    argc: c_int,
) -> c_int
where
    H: Fn(&mut Call<'_>) -> Result<(), Error> + Copy + 'static,
{
    // SAFETY: H has no size (asserted in `handler`), so any aligned address is one of a value of it,
    // and one exists: `handler` was given it.
    let run = unsafe { ptr::NonNull::<H>::dangling().as_ref() };
    // SAFETY: the pointers are those of the command that the server runs now.
    let mut call = unsafe { Call::new(ctx, argv, argc) };
    allocator::take_refused_bytes();
    let result = guarded("a command", || run(&mut call));
    if let Some(bytes) = allocator::take_refused_bytes() {
        call.log_refusal(|| format!("the allocator has no {bytes} bytes for it"));
    }
    match result {
        Some(Ok(())) => {}
        Some(Err(Error::WrongArity)) => {
            call.paid(0);
            // SAFETY: as above.
            unsafe { api!(RedisModule_WrongArity)(ctx) };
        }
        Some(Err(Error::WrongType)) => call.reply_error(WRONG_TYPE),
        Some(Err(Error::Text(text))) => call.reply_error(text),
        Some(Err(Error::Made(text))) => call.reply_error(&text),
        Some(Err(Error::KeyTooLarge { bytes, most })) => {
            call.log_key_too_large(bytes, most);
            call.reply_error(&limit::error_text(most));
        }
        None => {}
    }
    call.settle(INTERNAL_ERROR);
    raw::REDISMODULE_OK as c_int
}

unsafe extern "C" fn merge_shim<H>(
    ctx: *mut raw::RedisModuleCtx,
    argv: *mut *mut raw::RedisModuleString,
    argc: c_int,
) -> c_int
where
    H: Fn(&mut Call<'_>) -> Result<(), Error> + Copy + 'static,
{
    // SAFETY: the pointers are those of the command that the server runs, or asks about, now.
    if unsafe { report_keys(ctx, argv, argc) } {
        return raw::REDISMODULE_OK as c_int;
    }
    // SAFETY: as above; and it runs the command.
    unsafe { shim::<H>(ctx, argv, argc) }
}

/// Reports the positions of a command's keys, if the server asks for them instead of running the command. It asks for
/// commands with [`GETKEYS`] only, see [`merge_handler`].
///
/// # Safety
/// The pointers must be those of a command that the server runs or asks about.
unsafe fn report_keys(
    ctx: *mut raw::RedisModuleCtx,
    argv: *mut *mut raw::RedisModuleString,
    argc: c_int,
) -> bool {
    // SAFETY: by the promise above. Argument 2 is read only if there is one.
    unsafe {
        if api!(RedisModule_IsKeysPositionRequest)(ctx) == 0 {
            return false;
        }
        let report = api!(RedisModule_KeyAtPosWithFlags);
        let [destination, sources] = KeySpec::MERGE;
        report(ctx, 1, destination.flags as c_int);
        let mut count = 0;
        let ok = raw::REDISMODULE_OK as c_int;
        if argc > 3 && api!(RedisModule_StringToLongLong)(*argv.add(2), &raw mut count) == ok {
            // The command itself replies with an error to a wrong number.
            let count = c_int::try_from(count).unwrap_or(0).clamp(0, argc - 3);
            for source in 3..3 + count {
                report(ctx, source, sources.flags as c_int);
            }
        }
        true
    }
}

/// The flag of commands that report their keys. ACLs, clients and COMMAND GETKEYS use the key specs, but a cluster
/// routes a module's command by its first key alone if it cannot ask for the keys.
const GETKEYS: &[u8] = b" getkeys-api";

/// The type of an argument, for `COMMAND DOCS`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgKind {
    /// A key; the number says which of the command's key specs finds it.
    Key(c_int),
    /// A string.
    String,
    /// An integer.
    Integer,
    /// A double.
    Double,
    /// A keyword.
    Token,
    /// One of [`Arg::parts`].
    OneOf,
    /// All of [`Arg::parts`], in order.
    Block,
}

/// An argument, for `COMMAND DOCS` and the hints of redis-cli.
#[derive(Debug, Clone, Copy)]
pub struct Arg {
    name: &'static CStr,
    kind: ArgKind,
    token: Option<&'static CStr>,
    flags: u32,
    parts: &'static [Arg],
}

impl Arg {
    /// A required argument that occurs once.
    #[must_use]
    pub const fn new(name: &'static CStr, kind: ArgKind) -> Self {
        Self {
            name,
            kind,
            token: None,
            flags: 0,
            parts: &[],
        }
    }

    /// The key of a command with one key.
    pub const KEY: Self = Self::new(c"key", ArgKind::Key(0));
    /// An item.
    pub const ITEM: Self = Self::new(c"item", ArgKind::String);
    /// One or more items.
    pub const ITEMS: Self = Self::ITEM.multiple();
    /// The first arguments of a command whose keys are [`KeySpec::MERGE`].
    pub const DESTINATION: Self = Self::new(c"destination", ArgKind::Key(0));
    /// The number of [`Arg::SOURCES`].
    pub const NUMKEYS: Self = Self::integer(c"numkeys");
    /// The sources of a merge.
    pub const SOURCES: Self = Self::new(c"source", ArgKind::Key(1)).multiple();

    /// An integer.
    #[must_use]
    pub const fn integer(name: &'static CStr) -> Self {
        Self::new(name, ArgKind::Integer)
    }

    /// A double.
    #[must_use]
    pub const fn double(name: &'static CStr) -> Self {
        Self::new(name, ArgKind::Double)
    }

    /// An optional keyword.
    #[must_use]
    pub const fn flag(name: &'static CStr, token: &'static CStr) -> Self {
        Self::new(name, ArgKind::Token).token(token).optional()
    }

    /// After a keyword.
    #[must_use]
    pub const fn token(mut self, token: &'static CStr) -> Self {
        self.token = Some(token);
        self
    }

    /// Optional.
    #[must_use]
    pub const fn optional(mut self) -> Self {
        self.flags |= raw::REDISMODULE_CMD_ARG_OPTIONAL;
        self
    }

    /// One or more times.
    #[must_use]
    pub const fn multiple(mut self) -> Self {
        self.flags |= raw::REDISMODULE_CMD_ARG_MULTIPLE;
        self
    }

    /// Consists of these, for [`ArgKind::OneOf`] and [`ArgKind::Block`].
    #[must_use]
    pub const fn parts(mut self, parts: &'static [Arg]) -> Self {
        self.parts = parts;
        self
    }
}

/// The position of a command's keys and what it does with them.
///
/// The flags decide which ACL key permissions a command needs: ACCESS needs `%R`; INSERT, UPDATE and DELETE need
/// `%W`. A command whose reply contains stored data has ACCESS, so that a user with `%W` only cannot read through
/// it. The flags are those of the server's comparable command, which each constant names.
#[derive(Debug, Clone, Copy)]
pub struct KeySpec {
    flags: u32,
    first: c_int,
    counted: bool,
}

impl KeySpec {
    const fn first(flags: u32) -> Self {
        Self {
            flags,
            first: 1,
            counted: false,
        }
    }

    /// Argument 1 is read, as by GET.
    pub const READ: Self =
        Self::first(raw::REDISMODULE_CMD_KEY_RO | raw::REDISMODULE_CMD_KEY_ACCESS);
    /// Argument 1 is created, or something is added to it, as by SADD and PFADD. A reply that reports whether an
    /// item existed does not need ACCESS, because SADD has none.
    pub const INSERT: Self =
        Self::first(raw::REDISMODULE_CMD_KEY_RW | raw::REDISMODULE_CMD_KEY_INSERT);
    /// Part of argument 1 is replaced, as by SETRANGE.
    pub const UPDATE: Self =
        Self::first(raw::REDISMODULE_CMD_KEY_RW | raw::REDISMODULE_CMD_KEY_UPDATE);
    /// Argument 1 is changed, and stored data is returned, as by INCR, or combined, as by PFMERGE.
    pub const ACCESS_UPDATE: Self = Self::first(
        raw::REDISMODULE_CMD_KEY_RW
            | raw::REDISMODULE_CMD_KEY_ACCESS
            | raw::REDISMODULE_CMD_KEY_UPDATE,
    );
    /// Something is removed from argument 1, as by SREM. A reply that reports whether it existed does not need
    /// ACCESS, because SREM has none.
    pub const DELETE: Self =
        Self::first(raw::REDISMODULE_CMD_KEY_RW | raw::REDISMODULE_CMD_KEY_DELETE);
    /// The keys of a merge: argument 1 is the destination. Argument 2 is the number of sources that follow,
    /// which are read.
    pub const MERGE: &'static [Self; 2] = &[Self::ACCESS_UPDATE, Self::COUNTED_SOURCES];
    const COUNTED_SOURCES: Self = Self {
        flags: raw::REDISMODULE_CMD_KEY_RO | raw::REDISMODULE_CMD_KEY_ACCESS,
        first: 2,
        counted: true,
    };

    fn to_raw(self) -> raw::RedisModuleCommandKeySpec {
        let mut spec = NO_KEY_SPEC;
        spec.flags = u64::from(self.flags);
        spec.begin_search_type = raw::RedisModuleKeySpecBeginSearchType_REDISMODULE_KSPEC_BS_INDEX;
        spec.bs.index =
            raw::RedisModuleCommandKeySpec__bindgen_ty_1__bindgen_ty_1 { pos: self.first };
        if self.counted {
            spec.find_keys_type = raw::RedisModuleKeySpecFindKeysType_REDISMODULE_KSPEC_FK_KEYNUM;
            spec.fk.keynum = raw::RedisModuleCommandKeySpec__bindgen_ty_2__bindgen_ty_2 {
                keynumidx: 0,
                firstkey: 1,
                keystep: 1,
            };
        } else {
            spec.find_keys_type = raw::RedisModuleKeySpecFindKeysType_REDISMODULE_KSPEC_FK_RANGE;
            spec.fk.range = raw::RedisModuleCommandKeySpec__bindgen_ty_2__bindgen_ty_1 {
                lastkey: 0,
                keystep: 1,
                limit: 0,
            };
        }
        spec
    }
}

const NO_KEY_SPEC: raw::RedisModuleCommandKeySpec = raw::RedisModuleCommandKeySpec {
    notes: ptr::null(),
    flags: 0,
    begin_search_type: raw::RedisModuleKeySpecBeginSearchType_REDISMODULE_KSPEC_BS_INVALID,
    bs: raw::RedisModuleCommandKeySpec__bindgen_ty_1 {
        keyword: raw::RedisModuleCommandKeySpec__bindgen_ty_1__bindgen_ty_2 {
            keyword: ptr::null(),
            startfrom: 0,
        },
    },
    find_keys_type: raw::RedisModuleKeySpecFindKeysType_REDISMODULE_KSPEC_FK_OMITTED,
    fk: raw::RedisModuleCommandKeySpec__bindgen_ty_2 {
        range: raw::RedisModuleCommandKeySpec__bindgen_ty_2__bindgen_ty_1 {
            lastkey: 0,
            keystep: 0,
            limit: 0,
        },
    },
};

const NO_ARG: raw::RedisModuleCommandArg = raw::RedisModuleCommandArg {
    name: ptr::null(),
    type_: 0,
    key_spec_index: 0,
    token: ptr::null(),
    summary: ptr::null(),
    since: ptr::null(),
    flags: 0,
    deprecated_since: ptr::null(),
    subargs: ptr::null_mut(),
    display_text: ptr::null(),
};

/// A command. The constants are templates: they have no name, handler and summary.
#[derive(Debug, Clone, Copy)]
pub struct Command {
    /// Its name, in lower case as the server shows it.
    pub name: &'static CStr,
    /// What runs it, see [`handler`].
    pub handler: Handler,
    /// Flags as RedisModule_CreateCommand takes them.
    pub flags: &'static CStr,
    /// ACL categories besides the family's.
    pub acl: &'static CStr,
    /// Number of arguments, with the name; the minimum as a negative number if there may be more.
    pub arity: c_int,
    /// The positions of its keys. The first key is argument 1.
    pub keys: &'static [KeySpec],
    /// Hints to proxies and clients, as the server defines them.
    pub tips: Option<&'static CStr>,
    /// What it does, in one line.
    pub summary: &'static CStr,
    /// Its time complexity.
    pub complexity: &'static CStr,
    /// The version that introduced it, if it is not that of the family: of RedisBloom's command set, or of Roughly for
    /// a command that RedisBloom lacks.
    pub since: Option<&'static CStr>,
    /// Its arguments.
    pub args: &'static [Arg],
}

/// Clients should not cache the reply, because most changes of the key change it.
pub const DONT_CACHE: Option<&CStr> = Some(c"dont_cache");

impl Command {
    /// Reads a key.
    pub const READ: Self = Self {
        name: c"",
        handler: Handler {
            raw: None,
            reports_keys: false,
        },
        flags: c"readonly",
        acl: c"read",
        arity: 2,
        keys: &[KeySpec::READ],
        tips: None,
        summary: c"",
        complexity: c"O(1)",
        since: None,
        args: &[Arg::KEY],
    };
    /// Adds to a key.
    pub const WRITE: Self = Self {
        flags: c"write deny-oom",
        acl: c"write",
        keys: &[KeySpec::INSERT],
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
        tips: DONT_CACHE,
        complexity: c"O(n), n the size of the piece, at most 16 MiB",
        args: &[Arg::KEY, Arg::integer(c"iterator")],
        ..Self::READ
    };
    /// Loads a chunk that SCANDUMP returned.
    pub const LOADCHUNK: Self = Self {
        arity: 4,
        keys: &[KeySpec::UPDATE],
        complexity: c"O(n), n the size of the piece",
        args: &[
            Arg::KEY,
            Arg::integer(c"iterator"),
            Arg::new(c"data", ArgKind::String),
        ],
        ..Self::WRITE
    };
}

/// The arguments of a command as the server takes them. All levels live in `levels` until the server
/// has copied them; each ends with an empty one.
fn raw_args(
    args: &'static [Arg],
    levels: &mut Vec<Box<[raw::RedisModuleCommandArg]>>,
) -> *mut raw::RedisModuleCommandArg {
    if args.is_empty() {
        return ptr::null_mut();
    }
    let mut level: Vec<_> = args
        .iter()
        .map(|arg| {
            let (kind, key_spec_index) = match arg.kind {
                ArgKind::Key(spec) => (
                    raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_KEY,
                    spec,
                ),
                ArgKind::String => (
                    raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_STRING,
                    -1,
                ),
                ArgKind::Integer => (
                    raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_INTEGER,
                    -1,
                ),
                ArgKind::Double => (
                    raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_DOUBLE,
                    -1,
                ),
                ArgKind::Token => (
                    raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_PURE_TOKEN,
                    -1,
                ),
                ArgKind::OneOf => (
                    raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_ONEOF,
                    -1,
                ),
                ArgKind::Block => (
                    raw::RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_BLOCK,
                    -1,
                ),
            };
            raw::RedisModuleCommandArg {
                name: arg.name.as_ptr(),
                type_: kind,
                key_spec_index,
                token: arg.token.map_or(ptr::null(), CStr::as_ptr),
                flags: arg.flags as c_int,
                subargs: raw_args(arg.parts, levels),
                ..NO_ARG
            }
        })
        .collect();
    level.push(NO_ARG);
    let mut level = level.into_boxed_slice();
    let start = level.as_mut_ptr();
    levels.push(level);
    start
}

/// Registers a command of a family; returns whether it is in all of its ACL categories, if the server has categories.
/// An error names what the server refused.
///
/// # Safety
/// `ctx` must be that of the running load function.
pub(super) unsafe fn register(
    ctx: *mut raw::RedisModuleCtx,
    command: &Command,
    family: &Family,
) -> Result<bool, String> {
    let name = command.name.as_ptr();
    let ok = raw::REDISMODULE_OK as c_int;
    // SAFETY: all texts live until the return, and the server copies what it keeps.
    unsafe {
        assert!(
            command.handler.raw.is_some(),
            "{:?} has no handler",
            command.name
        );
        let mut flags = command.flags.to_bytes().to_vec();
        if command.handler.reports_keys {
            flags.extend_from_slice(GETKEYS);
        }
        flags.push(0);
        let flags = flags.as_ptr().cast();
        if api!(RedisModule_CreateCommand)(ctx, name, command.handler.raw, flags, 1, 1, 1) != ok {
            return Err(format!(
                "command {} is refused: does another module own it, RedisBloom perhaps? MODULE LIST shows all",
                command.name.to_string_lossy()
            ));
        }
        let proxy = api!(RedisModule_GetCommand)(ctx, name);
        if proxy.is_null() {
            return Err(format!(
                "command {} is not there after it was made: this server is not one that the module knows",
                command.name.to_string_lossy()
            ));
        }
        set_info(proxy, command, family.since)?;
        if let Some(set_categories) = optional_api!(RedisModule_SetCommandACLCategories) {
            let category = family.category.to_bytes_with_nul();
            let categories = [command.acl.to_bytes(), b" ", category].concat();
            // A server that has no category of ours refuses all that are named with it.
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
/// `proxy` must be a command of this module's, in the running load function.
unsafe fn set_info(
    proxy: *mut raw::RedisModuleCommand,
    command: &Command,
    family_since: &CStr,
) -> Result<(), String> {
    let mut levels = Vec::new();
    let args = raw_args(command.args, &mut levels);
    let mut keys: Vec<_> = command.keys.iter().map(|spec| spec.to_raw()).collect();
    keys.push(NO_KEY_SPEC);
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
        since: command.since.unwrap_or(family_since).as_ptr(),
        history: ptr::null_mut(),
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
            "the description of {} is refused: this server is not one that the module knows",
            command.name.to_string_lossy()
        ));
    }
    Ok(())
}
