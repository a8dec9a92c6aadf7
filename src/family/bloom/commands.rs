//! The commands `BF.*`, as the server is told of them (spec: server.md, "Commands").

use super::{add, create, info, merge, query};
use crate::family::chunks;
use crate::server::command::{Arg, ArgKind, Command, KeySpec, handler, handler_telling_keys};
use roughly_sketch::bloom::Chain;
use std::ffi::CStr;

const ITEM: Arg = Arg::new(c"item", ArgKind::String);
const ITEMS: Arg = ITEM.multiple();
const ITERATOR: Arg = Arg::new(c"iterator", ArgKind::Integer);
const EXPANSION: Arg = Arg::new(c"expansion", ArgKind::Integer)
    .token(c"EXPANSION")
    .optional();
const NONSCALING: Arg = Arg::flag(c"nonscaling", c"NONSCALING");

const WRITES: &CStr = c"write deny-oom";
const READS: &CStr = c"readonly fast";
/// The answer tells of the whole key, so a cached one is soon wrong.
const DONT_CACHE: Option<&CStr> = Some(c"dont_cache");

/// What most commands have in common.
const READ: Command = Command {
    name: c"",
    handler: handler(info::card),
    flags: READS,
    acl: c"read",
    arity: 2,
    keys: &[KeySpec::READ],
    tips: None,
    summary: c"",
    complexity: c"O(1)",
    since: c"1.0.0",
    args: &[Arg::key()],
};
const WRITE: Command = Command {
    flags: WRITES,
    acl: c"write",
    keys: &[KeySpec::INSERT],
    ..READ
};

/// The family's commands.
pub const COMMANDS: &[Command] = &[
    Command {
        name: c"bf.reserve",
        handler: handler(create::reserve),
        acl: c"write fast",
        arity: -4,
        summary: c"Creates a new Bloom filter",
        args: &[
            Arg::key(),
            Arg::new(c"error_rate", ArgKind::Double),
            Arg::new(c"capacity", ArgKind::Integer),
            EXPANSION,
            NONSCALING,
        ],
        ..WRITE
    },
    Command {
        name: c"bf.add",
        handler: handler(add::add),
        arity: 3,
        summary: c"Adds an item to a Bloom filter, which is created if it does not exist",
        complexity: c"O(k), k the number of hash functions of all filters of the key",
        args: &[Arg::key(), ITEM],
        ..WRITE
    },
    Command {
        name: c"bf.madd",
        handler: handler(add::madd),
        arity: -3,
        summary: c"Adds items to a Bloom filter, which is created if it does not exist",
        complexity: c"O(k * n), k the number of hash functions, n the number of items",
        args: &[Arg::key(), ITEMS],
        ..WRITE
    },
    Command {
        name: c"bf.insert",
        handler: handler(add::insert),
        arity: -4,
        summary: c"Adds items to a Bloom filter, which is created as the options say if it does not exist",
        complexity: c"O(k * n), k the number of hash functions, n the number of items",
        args: &[
            Arg::key(),
            Arg::new(c"capacity", ArgKind::Integer).token(c"CAPACITY").optional(),
            Arg::new(c"error", ArgKind::Double).token(c"ERROR").optional(),
            EXPANSION,
            Arg::flag(c"nocreate", c"NOCREATE"),
            NONSCALING,
            ITEMS.token(c"ITEMS"),
        ],
        ..WRITE
    },
    Command {
        name: c"bf.exists",
        handler: handler(query::exists),
        arity: 3,
        summary: c"Tells whether an item may be in a Bloom filter; never no for one that is",
        complexity: c"O(k), k the number of hash functions of all filters of the key",
        args: &[Arg::key(), ITEM],
        ..READ
    },
    Command {
        name: c"bf.mexists",
        handler: handler(query::mexists),
        arity: -3,
        summary: c"Tells of each item whether it may be in a Bloom filter",
        complexity: c"O(k * n), k the number of hash functions, n the number of items",
        args: &[Arg::key(), ITEMS],
        ..READ
    },
    Command {
        name: c"bf.card",
        handler: handler(info::card),
        acl: c"read fast",
        summary: c"Returns the number of items that were added to a Bloom filter",
        since: c"2.4.4",
        ..READ
    },
    Command {
        name: c"bf.merge",
        handler: handler_telling_keys(merge::merge),
        arity: -4,
        keys: KeySpec::MERGE,
        summary: c"Adds to a Bloom filter all items of others that were made with the same parameters",
        complexity: c"O(b * n), b the bytes of a filter, n the number of filters",
        since: c"0.1.0",
        args: &[
            Arg::new(c"destination", ArgKind::Key(0)),
            Arg::new(c"numkeys", ArgKind::Integer),
            Arg::new(c"source", ArgKind::Key(1)).multiple(),
        ],
        ..WRITE
    },
    Command {
        name: c"bf.info",
        handler: handler(info::info),
        acl: c"read fast",
        arity: -2,
        tips: DONT_CACHE,
        summary: c"Returns figures of a Bloom filter",
        complexity: c"O(f), f the number of filters of the key",
        args: &[
            Arg::key(),
            Arg::new(c"field", ArgKind::OneOf).optional().parts(&[
                Arg::new(c"capacity", ArgKind::Token).token(c"CAPACITY"),
                Arg::new(c"size", ArgKind::Token).token(c"SIZE"),
                Arg::new(c"filters", ArgKind::Token).token(c"FILTERS"),
                Arg::new(c"items", ArgKind::Token).token(c"ITEMS"),
                Arg::new(c"expansion", ArgKind::Token).token(c"EXPANSION"),
            ]),
        ],
        ..READ
    },
    Command {
        name: c"bf.debug",
        handler: handler(info::debug),
        tips: DONT_CACHE,
        summary: c"Returns figures of each filter of a Bloom filter key",
        complexity: c"O(f), f the number of filters of the key",
        ..READ
    },
    Command {
        name: c"bf.scandump",
        handler: handler(chunks::scandump::<Chain>),
        arity: 3,
        tips: DONT_CACHE,
        summary: c"Returns a piece of a Bloom filter, to be loaded elsewhere with BF.LOADCHUNK",
        complexity: c"O(n), n the size of the piece, at most 16 MiB",
        args: &[Arg::key(), ITERATOR],
        ..READ
    },
    Command {
        name: c"bf.loadchunk",
        handler: handler(chunks::loadchunk::<Chain>),
        arity: 4,
        keys: &[KeySpec::UPDATE],
        summary: c"Loads a piece of a Bloom filter that BF.SCANDUMP returned",
        complexity: c"O(n), n the size of the piece",
        args: &[Arg::key(), ITERATOR, Arg::new(c"data", ArgKind::String)],
        ..WRITE
    },
];
