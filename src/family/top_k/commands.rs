//! The commands `TOPK.*` as the server describes them (docs/commands).

use super::types::{NOT_FOUND, TopType};
use super::{add, create, query};
use crate::family::chunks::{self, Chunks};
use crate::server::command::{Arg, Command, KeySpec, Since, handler, reader};
use crate::server::key::OneOf;
use crate::server::part::Parts;

/// Adds to a key and replies with items that the key contained.
const WRITE: Command = Command {
    keys: &[KeySpec::ACCESS_UPDATE],
    ..Command::WRITE
};

/// SCANDUMP and LOADCHUNK.
const CHUNKS: Chunks = Chunks {
    types: TopType::TYPES,
    replaced: None,
    not_found: NOT_FOUND,
    event: c"topk.loadchunk",
    error: chunks::chunk_error,
};

/// The family's commands.
pub const COMMANDS: &[Command] = &[
    Command {
        name: c"topk.reserve",
        handler: handler(create::reserve),
        arity: -3,
        summary: c"Creates an empty top-k sketch, which lists the k most frequent items of a stream",
        args: &[
            Arg::KEY,
            Arg::integer(c"topk"),
            Arg::block(
                c"params",
                &[
                    Arg::integer(c"width"),
                    Arg::integer(c"depth"),
                    Arg::double(c"decay"),
                ],
            )
            .optional(),
            Arg::WINDOW_OF_COUNTER,
        ],
        ..Command::CREATE
    },
    Command {
        name: c"topk.add",
        handler: handler(add::add),
        arity: -3,
        summary: c"Adds one or more items to a top-k sketch. Returns, for each item, the item that left the list, or null",
        complexity: c"O(n * (depth + log k)), n the number of items",
        args: &[Arg::KEY, Arg::ITEMS],
        ..WRITE
    },
    Command {
        name: c"topk.incrby",
        handler: handler(add::incrby),
        arity: -4,
        summary: c"Increments the counts of one or more items of a top-k sketch. Returns, for each item, the item that left the list, or null",
        complexity: c"O(n * (depth + log k)), n the number of items; up to O(log(increment)) more for each bucket that counts another item",
        args: &[
            Arg::KEY,
            Arg::block(c"item_increment", &[Arg::ITEM, Arg::integer(c"increment")]).multiple(),
        ],
        ..WRITE
    },
    Command {
        name: c"topk.query",
        handler: reader(Parts::Series, query::query),
        arity: -3,
        summary: c"Tests for each item whether it is one of the k most frequent items",
        complexity: c"O(n), n the number of items",
        args: &[Arg::KEY, Arg::ITEMS],
        ..Command::READ
    },
    Command {
        name: c"topk.count",
        handler: reader(Parts::Series, query::count),
        arity: -3,
        summary: c"Returns the estimated counts of one or more items",
        complexity: c"O(n * depth), n the number of items",
        history: &[(
            c"2.4.0",
            c"Deprecated by RedisBloom, because the counts are estimates",
        )],
        args: &[Arg::KEY, Arg::ITEMS],
        ..Command::READ
    },
    Command {
        name: c"topk.list",
        handler: reader(Parts::Series, query::list),
        arity: -2,
        summary: c"Returns the k most frequent items, ordered by descending count",
        complexity: c"O(k log k)",
        args: &[Arg::KEY, Arg::flag(c"withcount", c"WITHCOUNT")],
        ..Command::READ
    },
    Command {
        name: c"topk.info",
        handler: handler(query::info),
        acl: c"read fast",
        summary: c"Returns the parameters of a top-k sketch",
        ..Command::READ
    },
    Command {
        name: c"topk.scandump",
        handler: handler(|call| chunks::scandump(call, &CHUNKS)),
        summary: c"Returns one chunk of a top-k sketch for TOPK.LOADCHUNK",
        complexity: c"O(n), n the size of the chunk; the first chunk has all items, each other chunk at most 16 MiB",
        since: Some(Since::Roughly(c"1.0.0")),
        ..Command::SCANDUMP
    },
    Command {
        name: c"topk.loadchunk",
        handler: handler(|call| chunks::loadchunk(call, &CHUNKS)),
        summary: c"Restores one chunk of a top-k sketch from TOPK.SCANDUMP",
        since: Some(Since::Roughly(c"1.0.0")),
        ..Command::LOADCHUNK
    },
];
