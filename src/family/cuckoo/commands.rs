//! The commands `CF.*` as the server describes them (docs/commands).

use super::{add, chunks, create, query};
use crate::server::command::{Arg, Command, KeySpec, handler, reader};
use crate::server::part::Parts;

const READ: Command = Command {
    flags: c"readonly fast",
    arity: 3,
    complexity: c"O(f), f the number of sub-filters of the key",
    args: &[Arg::KEY, Arg::ITEM],
    ..Command::READ
};
const WRITE: Command = Command {
    arity: 3,
    complexity:
        c"O(f + i), f the number of sub-filters of the key, i the maximum number of iterations",
    args: &[Arg::KEY, Arg::ITEM],
    ..Command::WRITE
};
const WRITE_SEVERAL: Command = Command {
    arity: -4,
    complexity: c"O(n * (f + i)), n the number of items, f the number of sub-filters of the key, i the maximum number of iterations",
    args: &[
        Arg::KEY,
        Arg::block(
            c"capacity",
            &[
                Arg::keyword(c"capacity", c"CAPACITY"),
                Arg::integer(c"capacity"),
            ],
        )
        .optional(),
        Arg::flag(c"nocreate", c"NOCREATE"),
        Arg::WINDOW,
        Arg::ITEMS_KEYWORD,
        Arg::ITEMS,
    ],
    ..Command::WRITE
};

/// The family's commands.
pub const COMMANDS: &[Command] = &[
    Command {
        name: c"cf.reserve",
        handler: handler(create::reserve),
        arity: -3,
        summary: c"Creates an empty cuckoo filter",
        args: &[
            Arg::KEY,
            Arg::integer(c"capacity"),
            Arg::option(c"bucketsize", c"BUCKETSIZE", &[Arg::integer(c"bucketsize")]),
            Arg::option(c"maxiterations", c"MAXITERATIONS", &[Arg::integer(c"maxiterations")]),
            Arg::option(c"expansion", c"EXPANSION", &[Arg::integer(c"expansion")]),
            Arg::WINDOW_OF_CUCKOO,
        ],
        ..Command::CREATE
    },
    Command {
        name: c"cf.add",
        handler: handler(add::add),
        summary: c"Adds an item to a cuckoo filter. Creates the filter if it does not exist",
        ..WRITE
    },
    Command {
        name: c"cf.addnx",
        handler: handler(add::addnx),
        summary: c"Adds an item to a cuckoo filter if the filter does not contain it. Creates the filter if it does not exist",
        ..WRITE
    },
    Command {
        name: c"cf.insert",
        handler: handler(add::insert),
        summary: c"Adds one or more items to a cuckoo filter. Creates the filter with the specified options if it does not exist",
        ..WRITE_SEVERAL
    },
    Command {
        name: c"cf.insertnx",
        handler: handler(add::insertnx),
        summary: c"Adds one or more items to a cuckoo filter, except those that it already contains. Creates the filter with the specified options if it does not exist",
        ..WRITE_SEVERAL
    },
    Command {
        name: c"cf.exists",
        handler: reader(Parts::Within, query::exists),
        summary: c"Tests whether an item is in a cuckoo filter. False positives are possible",
        ..READ
    },
    Command {
        name: c"cf.mexists",
        handler: reader(Parts::Within, query::mexists),
        arity: -3,
        summary: c"Tests for each item whether it is in a cuckoo filter",
        complexity: c"O(n * f), n the number of items, f the number of sub-filters of the key",
        args: &[Arg::KEY, Arg::ITEMS],
        ..READ
    },
    Command {
        name: c"cf.count",
        handler: reader(Parts::Within, query::count),
        summary: c"Returns how many times an item may be in a cuckoo filter",
        ..READ
    },
    Command {
        name: c"cf.del",
        handler: handler(add::del),
        flags: c"write fast",
        keys: &[KeySpec::DELETE],
        summary: c"Deletes one occurrence of an item from a cuckoo filter",
        complexity: c"O(f), f the number of sub-filters of the key; O(n), n the size of the key, when the command compacts the filter",
        ..WRITE
    },
    Command {
        name: c"cf.compact",
        handler: handler(add::compact),
        flags: c"write",
        arity: -1,
        // As in RedisBloom.
        keys: &[KeySpec::ACCESS_UPDATE],
        summary: c"Moves items of a cuckoo filter to older sub-filters and frees the sub-filters that become empty",
        complexity: c"O(n), n the size of the key",
        ..Command::WRITE
    },
    Command {
        name: c"cf.info",
        handler: handler(query::info),
        acl: c"read fast",
        arity: 2,
        summary: c"Returns the size, parameters, and number of items of a cuckoo filter",
        args: &[Arg::KEY],
        ..READ
    },
    Command {
        name: c"cf.debug",
        handler: handler(query::debug),
        flags: c"readonly fast",
        summary: c"Returns the parameters and the number of items of a cuckoo filter as one string",
        ..Command::READ
    },
    Command {
        name: c"cf.scandump",
        handler: handler(chunks::scandump),
        summary: c"Returns one chunk of a cuckoo filter for CF.LOADCHUNK",
        ..Command::SCANDUMP
    },
    Command {
        name: c"cf.loadchunk",
        handler: handler(chunks::loadchunk),
        summary: c"Restores one chunk of a cuckoo filter from CF.SCANDUMP",
        ..Command::LOADCHUNK
    },
];
