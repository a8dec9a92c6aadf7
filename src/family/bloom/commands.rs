//! The commands `BF.*` as the server describes them (docs/commands).

use super::types::{FilterType, NOT_FOUND};
use super::{add, create, merge, query};
use crate::family::chunks::{self, Chunks};
use crate::server::command::{Arg, ArgKind, Command, Since, handler, merge_handler, reader};
use crate::server::key::OneOf;
use crate::server::part::Parts;

const EXPANSION: Arg = Arg::option(c"expansion", c"EXPANSION", &[Arg::integer(c"expansion")]);
const NONSCALING: Arg = Arg::flag(c"nonscaling", c"NONSCALING");

const READ: Command = Command {
    flags: c"readonly fast",
    ..Command::READ
};

const CHUNKS: Chunks = Chunks {
    types: FilterType::TYPES,
    replaced: None,
    not_found: NOT_FOUND,
    event: c"bf.loadchunk",
    error: chunks::chunk_error,
};

/// The family's commands.
pub const COMMANDS: &[Command] = &[
    Command {
        name: c"bf.reserve",
        handler: handler(create::reserve),
        arity: -4,
        summary: c"Creates an empty Bloom filter",
        args: &[
            Arg::KEY,
            Arg::double(c"error_rate"),
            Arg::integer(c"capacity"),
            EXPANSION,
            NONSCALING,
            Arg::WINDOW_OF_BLOOM,
        ],
        ..Command::CREATE
    },
    Command {
        name: c"bf.add",
        handler: handler(add::add),
        arity: 3,
        summary: c"Adds an item to a Bloom filter. Creates the filter if it does not exist",
        complexity: c"O(k), k the number of hash functions of all sub-filters of the key",
        args: &[Arg::KEY, Arg::ITEM],
        ..Command::WRITE
    },
    Command {
        name: c"bf.madd",
        handler: handler(add::madd),
        arity: -3,
        summary: c"Adds one or more items to a Bloom filter. Creates the filter if it does not exist",
        complexity: c"O(k * n), k the number of hash functions, n the number of items",
        args: &[Arg::KEY, Arg::ITEMS],
        ..Command::WRITE
    },
    Command {
        name: c"bf.addnx",
        handler: handler(add::addnx),
        arity: -3,
        summary: c"Adds the items that a Bloom filter does not contain, without a refresh of the others",
        complexity: c"O(k * n), k the number of hash functions, n the number of items",
        since: Some(Since::Roughly(c"1.0.0")),
        args: &[Arg::KEY, Arg::ITEMS],
        ..Command::WRITE
    },
    Command {
        name: c"bf.insert",
        handler: handler(add::insert),
        arity: -4,
        summary: c"Adds one or more items to a Bloom filter. Creates the filter with the specified options if it does not exist",
        complexity: c"O(k * n), k the number of hash functions, n the number of items",
        args: &[
            Arg::KEY,
            Arg::option(c"capacity", c"CAPACITY", &[Arg::integer(c"capacity")]),
            Arg::option(c"error", c"ERROR", &[Arg::double(c"error")]),
            EXPANSION,
            Arg::flag(c"nocreate", c"NOCREATE"),
            NONSCALING,
            Arg::double(c"ratio").token(c"TIGHTENING").optional(),
            Arg::new(c"seed", ArgKind::String).token(c"SEED").optional(),
            Arg::integer(c"scaled_capacity").token(c"VALIDATESCALETO").optional(),
            Arg::WINDOW,
            Arg::ITEMS_KEYWORD,
            Arg::ITEMS,
        ],
        ..Command::WRITE
    },
    Command {
        name: c"bf.exists",
        handler: reader(Parts::Within, query::exists),
        arity: 3,
        summary: c"Tests whether an item was added to a Bloom filter. False positives are possible, false negatives are not",
        complexity: c"O(k), k the number of hash functions of all sub-filters of the key",
        args: &[Arg::KEY, Arg::ITEM],
        ..READ
    },
    Command {
        name: c"bf.mexists",
        handler: reader(Parts::Within, query::mexists),
        arity: -3,
        summary: c"Tests for each item whether it was added to a Bloom filter",
        complexity: c"O(k * n), k the number of hash functions, n the number of items",
        args: &[Arg::KEY, Arg::ITEMS],
        ..READ
    },
    Command {
        name: c"bf.card",
        handler: reader(Parts::Within, query::card),
        acl: c"read fast",
        summary: c"Returns the number of items that were added to a Bloom filter",
        since: Some(Since::RedisBloom(c"2.4.4")),
        ..READ
    },
    Command {
        name: c"bf.merge",
        handler: merge_handler(merge::merge),
        summary: c"Merges Bloom filters that were created with the same parameters into one",
        complexity: c"O(b * n), b the bytes of a filter, n the number of filters",
        since: Some(Since::Roughly(c"1.0.0")),
        ..Command::MERGE
    },
    Command {
        name: c"bf.info",
        handler: handler(query::info),
        acl: c"read fast",
        arity: -2,
        summary: c"Returns the capacity, memory, and number of items of a Bloom filter",
        complexity: c"O(f), f the number of sub-filters of the key",
        args: &[
            Arg::KEY,
            Arg::new(c"single_value", ArgKind::OneOf).optional().parts(&[
                Arg::keyword(c"capacity", c"CAPACITY"),
                Arg::keyword(c"SIZE", c"SIZE"),
                Arg::keyword(c"FILTERS", c"FILTERS"),
                Arg::keyword(c"ITEMS", c"ITEMS"),
                Arg::keyword(c"EXPANSION", c"EXPANSION"),
                Arg::keyword(c"ERROR", c"ERROR"),
                Arg::keyword(c"TIGHTENING", c"TIGHTENING"),
                Arg::keyword(c"MAXSCALEDCAPACITY", c"MAXSCALEDCAPACITY"),
            ]),
        ],
        ..READ
    },
    Command {
        name: c"bf.debug",
        handler: handler(query::debug),
        summary: c"Returns details of each sub-filter of a Bloom filter",
        complexity: c"O(f), f the number of sub-filters of the key",
        ..READ
    },
    Command {
        name: c"bf.load",
        handler: handler(create::load),
        arity: 3,
        summary: c"Restores a Bloom filter from a payload in the AOF of valkey-bloom",
        complexity: c"O(n), n the size of the payload",
        since: Some(Since::Roughly(c"1.0.0")),
        args: &[Arg::KEY, Arg::new(c"payload", ArgKind::String)],
        ..Command::WRITE
    },
    Command {
        name: c"bf.scandump",
        handler: handler(|call| chunks::scandump(call, &CHUNKS)),
        summary: c"Returns one chunk of a Bloom filter for BF.LOADCHUNK",
        ..Command::SCANDUMP
    },
    Command {
        name: c"bf.loadchunk",
        handler: handler(|call| chunks::loadchunk(call, &CHUNKS)),
        summary: c"Restores one chunk of a Bloom filter from BF.SCANDUMP",
        ..Command::LOADCHUNK
    },
];
