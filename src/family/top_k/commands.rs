//! The commands `TOPK.*`, as the server is told of them (spec: server.md, "Commands").

use super::{add, create, info, query};
use crate::family::chunks;
use crate::server::command::{Arg, ArgKind, Command, KeySpec, handler};
use roughly_sketch::top_k::TopK;

const ITEM: Arg = Arg::new(c"item", ArgKind::String);
const ITEMS: Arg = ITEM.multiple();
const ITERATOR: Arg = Arg::new(c"iterator", ArgKind::Integer);

/// What most commands have in common.
const READ: Command = Command {
    name: c"",
    handler: handler(info::info),
    flags: c"readonly",
    acl: c"read",
    arity: 2,
    keys: &[KeySpec::READ],
    tips: None,
    summary: c"",
    complexity: c"O(1)",
    since: c"2.0.0",
    args: &[Arg::key()],
};
const WRITE: Command = Command {
    flags: c"write deny-oom",
    acl: c"write",
    // TOPK.ADD and TOPK.INCRBY return items that were stored.
    keys: &[KeySpec::ACCESS_UPDATE],
    ..READ
};

/// The family's commands.
pub const COMMANDS: &[Command] = &[
    Command {
        name: c"topk.reserve",
        handler: handler(create::reserve),
        acl: c"write fast",
        arity: -3,
        keys: &[KeySpec::INSERT],
        summary: c"Creates a top-k sketch, which keeps the k most frequent items of a stream",
        args: &[
            Arg::key(),
            Arg::new(c"k", ArgKind::Integer),
            Arg::new(c"parameters", ArgKind::Block).optional().parts(&[
                Arg::new(c"width", ArgKind::Integer),
                Arg::new(c"depth", ArgKind::Integer),
                Arg::new(c"decay", ArgKind::Double),
            ]),
        ],
        ..WRITE
    },
    Command {
        name: c"topk.add",
        handler: handler(add::add),
        arity: -3,
        summary: c"Adds items to a top-k sketch, and returns those that had to leave the list",
        complexity: c"O(n * (depth + log k)), n the number of items",
        args: &[Arg::key(), ITEMS],
        ..WRITE
    },
    Command {
        name: c"topk.incrby",
        handler: handler(add::incrby),
        arity: -4,
        summary: c"Adds items several times each to a top-k sketch, and returns those that had to leave the list",
        complexity: c"O(n * (depth + log k)), n the number of items, and in buckets of other items up to O(log(increment))",
        args: &[
            Arg::key(),
            Arg::new(c"pair", ArgKind::Block).multiple().parts(&[
                ITEM,
                Arg::new(c"increment", ArgKind::Integer),
            ]),
        ],
        ..WRITE
    },
    Command {
        name: c"topk.query",
        handler: handler(query::query),
        arity: -3,
        summary: c"Tells of each item whether it is among the k most frequent ones",
        complexity: c"O(n), n the number of items",
        args: &[Arg::key(), ITEMS],
        ..READ
    },
    Command {
        name: c"topk.count",
        handler: handler(query::count),
        arity: -3,
        summary: c"Returns estimates of how often items were added to a top-k sketch",
        complexity: c"O(n * depth), n the number of items",
        args: &[Arg::key(), ITEMS],
        ..READ
    },
    Command {
        name: c"topk.list",
        handler: handler(query::list),
        arity: -2,
        summary: c"Returns the k most frequent items, most frequent first",
        complexity: c"O(k log k)",
        args: &[Arg::key(), Arg::flag(c"withcount", c"WITHCOUNT")],
        ..READ
    },
    Command {
        name: c"topk.info",
        handler: handler(info::info),
        acl: c"read fast",
        summary: c"Returns the parameters of a top-k sketch",
        ..READ
    },
    Command {
        name: c"topk.scandump",
        handler: handler(chunks::scandump::<TopK>),
        flags: c"readonly fast",
        arity: 3,
        tips: Some(c"dont_cache"),
        summary: c"Returns a piece of a top-k sketch, to be loaded elsewhere with TOPK.LOADCHUNK",
        complexity: c"O(n), n the size of the piece: that of all items, then at most 16 MiB",
        since: c"0.1.0",
        args: &[Arg::key(), ITERATOR],
        ..READ
    },
    Command {
        name: c"topk.loadchunk",
        handler: handler(chunks::loadchunk::<TopK>),
        arity: 4,
        keys: &[KeySpec::UPDATE],
        summary: c"Loads a piece of a top-k sketch that TOPK.SCANDUMP returned",
        complexity: c"O(n), n the size of the piece",
        since: c"0.1.0",
        args: &[Arg::key(), ITERATOR, Arg::new(c"data", ArgKind::String)],
        ..WRITE
    },
];
