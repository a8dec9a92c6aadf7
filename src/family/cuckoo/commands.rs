//! The commands `CF.*`, as the server is told of them (spec: server.md, "Commands").

use super::{add, chunks, create, info, query};
use crate::server::command::{Arg, ArgKind, Command, KeySpec, handler};
use std::ffi::CStr;

const ITEM: Arg = Arg::new(c"item", ArgKind::String);
const ITEMS: Arg = ITEM.multiple();
const ITERATOR: Arg = Arg::new(c"iterator", ArgKind::Integer);
const INSERT_ARGS: &[Arg] = &[
    Arg::key(),
    Arg::new(c"capacity", ArgKind::Integer)
        .token(c"CAPACITY")
        .optional(),
    Arg::flag(c"nocreate", c"NOCREATE"),
    ITEMS.token(c"ITEMS"),
];

const WRITES: &CStr = c"write deny-oom";
const READS: &CStr = c"readonly fast";
/// The answer tells of the whole key, so a cached one is soon wrong.
const DONT_CACHE: Option<&CStr> = Some(c"dont_cache");

/// What most commands have in common.
const READ: Command = Command {
    name: c"",
    handler: handler(query::exists),
    flags: READS,
    acl: c"read",
    arity: 3,
    keys: &[KeySpec::READ],
    tips: None,
    summary: c"",
    complexity: c"O(f), f the number of sub-filters of the key",
    since: c"1.0.0",
    args: &[Arg::key(), ITEM],
};
const WRITE: Command = Command {
    flags: WRITES,
    acl: c"write",
    keys: &[KeySpec::INSERT],
    complexity: c"O(f + i), f the number of sub-filters of the key, i the maximum of iterations",
    ..READ
};
const WRITE_SEVERAL: Command = Command {
    arity: -4,
    complexity: c"O(n * (f + i)), n the number of items, f the number of sub-filters of the key, i the maximum of iterations",
    args: INSERT_ARGS,
    ..WRITE
};

/// The family's commands.
pub const COMMANDS: &[Command] = &[
    Command {
        name: c"cf.reserve",
        handler: handler(create::reserve),
        acl: c"write fast",
        arity: -3,
        summary: c"Creates a new cuckoo filter",
        complexity: c"O(1)",
        args: &[
            Arg::key(),
            Arg::new(c"capacity", ArgKind::Integer),
            Arg::new(c"bucketsize", ArgKind::Integer)
                .token(c"BUCKETSIZE")
                .optional(),
            Arg::new(c"maxiterations", ArgKind::Integer)
                .token(c"MAXITERATIONS")
                .optional(),
            Arg::new(c"expansion", ArgKind::Integer)
                .token(c"EXPANSION")
                .optional(),
        ],
        ..WRITE
    },
    Command {
        name: c"cf.add",
        handler: handler(add::add),
        summary: c"Adds an item to a cuckoo filter, which is created if it does not exist",
        ..WRITE
    },
    Command {
        name: c"cf.addnx",
        handler: handler(add::addnx),
        summary: c"Adds an item to a cuckoo filter unless it seems to be there",
        ..WRITE
    },
    Command {
        name: c"cf.insert",
        handler: handler(add::insert),
        summary: c"Adds items to a cuckoo filter, which is created as the options say if it does not exist",
        ..WRITE_SEVERAL
    },
    Command {
        name: c"cf.insertnx",
        handler: handler(add::insertnx),
        summary: c"Adds items to a cuckoo filter unless they seem to be there",
        ..WRITE_SEVERAL
    },
    Command {
        name: c"cf.exists",
        handler: handler(query::exists),
        summary: c"Tells whether an item may be in a cuckoo filter; never no for one that is",
        ..READ
    },
    Command {
        name: c"cf.mexists",
        handler: handler(query::mexists),
        arity: -3,
        summary: c"Tells of each item whether it may be in a cuckoo filter",
        complexity: c"O(n * f), n the number of items, f the number of sub-filters of the key",
        args: &[Arg::key(), ITEMS],
        ..READ
    },
    Command {
        name: c"cf.count",
        handler: handler(query::count),
        summary: c"Returns how often an item may be in a cuckoo filter; never less than it is",
        ..READ
    },
    Command {
        name: c"cf.del",
        handler: handler(add::del),
        flags: c"write fast",
        keys: &[KeySpec::DELETE],
        summary: c"Deletes an item from a cuckoo filter, once",
        complexity: c"O(f), f the number of sub-filters of the key; now and then O(n), n the size of the key, to compact it",
        ..WRITE
    },
    Command {
        name: c"cf.compact",
        handler: handler(add::compact),
        flags: c"write",
        arity: -1,
        // As in RedisBloom.
        keys: &[KeySpec::ACCESS_UPDATE],
        summary: c"Moves items of a cuckoo filter to older sub-filters and frees those that are empty then",
        complexity: c"O(n), n the size of the key",
        args: &[Arg::key()],
        ..WRITE
    },
    Command {
        name: c"cf.info",
        handler: handler(info::info),
        acl: c"read fast",
        arity: 2,
        tips: DONT_CACHE,
        summary: c"Returns figures of a cuckoo filter",
        args: &[Arg::key()],
        ..READ
    },
    Command {
        name: c"cf.debug",
        handler: handler(info::debug),
        arity: 2,
        tips: DONT_CACHE,
        summary: c"Returns figures of a cuckoo filter in one line",
        complexity: c"O(1)",
        args: &[Arg::key()],
        ..READ
    },
    Command {
        name: c"cf.scandump",
        handler: handler(chunks::scandump),
        tips: DONT_CACHE,
        summary: c"Returns a piece of a cuckoo filter, to be loaded elsewhere with CF.LOADCHUNK",
        complexity: c"O(n), n the size of the piece, at most 16 MiB",
        args: &[Arg::key(), ITERATOR],
        ..READ
    },
    Command {
        name: c"cf.loadchunk",
        handler: handler(chunks::loadchunk),
        arity: 4,
        keys: &[KeySpec::UPDATE],
        summary: c"Loads a piece of a cuckoo filter that CF.SCANDUMP returned",
        complexity: c"O(n), n the size of the piece",
        args: &[Arg::key(), ITERATOR, Arg::new(c"data", ArgKind::String)],
        ..WRITE
    },
];
