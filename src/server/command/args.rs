//! The arguments of a command as the server describes them: `COMMAND DOCS`, and which of them are keys.

use redis_module::raw::{
    self, RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_BLOCK as BLOCK,
    RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_DOUBLE as DOUBLE,
    RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_INTEGER as INTEGER,
    RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_KEY as KEY,
    RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_ONEOF as ONE_OF,
    RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_PURE_TOKEN as PURE_TOKEN,
    RedisModuleCommandArgType_REDISMODULE_ARG_TYPE_STRING as STRING,
};
use std::ffi::{CStr, c_int};
use std::ptr;

/// The type of an argument, for `COMMAND DOCS`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArgKind {
    /// A key, with the number of its key spec.
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
    /// The keyword before [`Arg::ITEMS`] of a command with options.
    pub const ITEMS_KEYWORD: Self = Self::keyword(c"items", c"ITEMS");
    const WINDOW_MS: Self = Self::integer(c"milliseconds").token(c"WINDOW");
    const PANES: Self = Self::integer(c"panes").token(c"PANES").optional();
    const FINEST: Self = Self::integer(c"finest").token(c"FINEST").optional();
    const ERROR: Self = Self::double(c"error").token(c"ERROR").optional();
    const SEED: Self = Self::new(c"hex", ArgKind::String).token(c"SEED").optional();
    /// The option `WINDOW` of the commands that insert items and create the key.
    pub const WINDOW: Self = Self::block(c"window", &[Self::WINDOW_MS, Self::PANES]).optional();
    /// The option of the command that creates a Bloom filter.
    pub const WINDOW_OF_BLOOM: Self =
        Self::block(c"window", &[Self::WINDOW_MS, Self::PANES, Self::SEED]).optional();
    /// The option of the command that creates a cuckoo filter.
    pub const WINDOW_OF_CUCKOO: Self = Self::block(
        c"window",
        &[Self::WINDOW_MS, Self::PANES, Self::ERROR, Self::SEED],
    )
    .optional();
    /// The option of the commands that create a count-min sketch or a top-k.
    pub const WINDOW_OF_COUNTER: Self = Self::block(
        c"window",
        &[Self::WINDOW_MS, Self::PANES, Self::FINEST, Self::SEED],
    )
    .optional();
    /// The option of the command that creates a t-digest.
    pub const WINDOW_OF_DIGEST: Self =
        Self::block(c"window", &[Self::WINDOW_MS, Self::PANES, Self::FINEST]).optional();
    /// The first arguments of a command whose keys are [`KeySpec::MERGE`].
    pub const DESTINATION: Self = Self::new(c"destination", ArgKind::Key(0));
    /// The number of [`Arg::SOURCES`].
    pub const NUMKEYS: Self = Self::integer(c"numkeys");
    /// The sources of a merge.
    pub const SOURCES: Self = Self::new(c"source", ArgKind::Key(1)).multiple();

    /// An integer.
    pub const fn integer(name: &'static CStr) -> Self {
        Self::new(name, ArgKind::Integer)
    }

    /// A double.
    pub const fn double(name: &'static CStr) -> Self {
        Self::new(name, ArgKind::Double)
    }

    /// An optional keyword.
    pub const fn flag(name: &'static CStr, token: &'static CStr) -> Self {
        Self::keyword(name, token).optional()
    }

    /// A keyword.
    pub const fn keyword(name: &'static CStr, token: &'static CStr) -> Self {
        Self::new(name, ArgKind::Token).token(token)
    }

    /// An optional keyword with values, in the form that RedisBloom uses for most of its options.
    pub const fn option(name: &'static CStr, token: &'static CStr, values: &'static [Arg]) -> Self {
        Self::block(name, values).token(token).optional()
    }

    /// Several arguments that belong together.
    pub const fn block(name: &'static CStr, parts: &'static [Arg]) -> Self {
        Self::new(name, ArgKind::Block).parts(parts)
    }

    /// Preceded by a keyword.
    pub const fn token(mut self, token: &'static CStr) -> Self {
        self.token = Some(token);
        self
    }

    /// Optional.
    pub const fn optional(mut self) -> Self {
        self.flags |= raw::REDISMODULE_CMD_ARG_OPTIONAL;
        self
    }

    /// One or more times.
    pub const fn multiple(mut self) -> Self {
        self.flags |= raw::REDISMODULE_CMD_ARG_MULTIPLE;
        self
    }

    /// Consists of these, for [`ArgKind::OneOf`] and [`ArgKind::Block`].
    pub const fn parts(mut self, parts: &'static [Arg]) -> Self {
        self.parts = parts;
        self
    }
}

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

/// The arguments of a command in the form of the module API. `levels` owns all levels until the server has copied them;
/// each level ends with an empty element.
pub(super) fn raw_args(
    args: &'static [Arg],
    levels: &mut Vec<Box<[raw::RedisModuleCommandArg]>>,
) -> *mut raw::RedisModuleCommandArg {
    if args.is_empty() {
        return ptr::null_mut();
    }
    let mut level: Vec<_> = args
        .iter()
        .map(|arg| {
            let key_spec_index = match arg.kind {
                ArgKind::Key(spec) => spec,
                _ => -1,
            };
            raw::RedisModuleCommandArg {
                name: arg.name.as_ptr(),
                type_: match arg.kind {
                    ArgKind::Key(_) => KEY,
                    ArgKind::String => STRING,
                    ArgKind::Integer => INTEGER,
                    ArgKind::Double => DOUBLE,
                    ArgKind::Token => PURE_TOKEN,
                    ArgKind::OneOf => ONE_OF,
                    ArgKind::Block => BLOCK,
                },
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

/// The position of a command's keys and what it does with them.
///
/// The flags decide which ACL key permissions a command needs: ACCESS needs `%R`; INSERT, UPDATE and DELETE need
/// `%W`. A command whose reply contains stored data has ACCESS, so that a user with `%W` only cannot read through
/// it. The flags are those of the server's comparable command, which each constant names.
#[derive(Debug, Clone, Copy)]
pub struct KeySpec {
    pub(super) flags: u32,
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
    /// The argument at this position is read.
    pub const fn read_at(first: c_int) -> Self {
        Self {
            first,
            ..Self::READ
        }
    }
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

    pub(super) fn to_raw(self) -> raw::RedisModuleCommandKeySpec {
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

pub(super) const NO_KEY_SPEC: raw::RedisModuleCommandKeySpec = raw::RedisModuleCommandKeySpec {
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
