//! The commands `CMS.*` as the server describes them (docs/commands).

use super::types::{CounterType, NOT_FOUND};
use super::{add, create, merge, query};
use crate::family::chunks::{self, Chunks};
use crate::server::command::{Arg, Command, KeySpec, Since, handler, merge_handler, reader};
use crate::server::key::OneOf;
use crate::server::part::Parts;

const CELL_SIZE: Arg = Arg::integer(c"cell_size").token(c"CELL_SIZE").optional();

const CREATE: Command = Command {
    arity: -4,
    ..Command::CREATE
};

/// SCANDUMP and LOADCHUNK.
const CHUNKS: Chunks = Chunks {
    types: CounterType::TYPES,
    replaced: None,
    not_found: NOT_FOUND,
    event: c"cms.loadchunk",
    error: chunks::chunk_error,
};

/// The family's commands.
pub const COMMANDS: &[Command] = &[
    Command {
        name: c"cms.initbydim",
        handler: handler(create::initbydim),
        summary: c"Creates an empty count-min sketch with the specified width and depth",
        args: &[
            Arg::KEY,
            Arg::integer(c"width"),
            Arg::integer(c"depth"),
            CELL_SIZE,
            Arg::WINDOW_OF_COUNTER,
        ],
        ..CREATE
    },
    Command {
        name: c"cms.initbyprob",
        handler: handler(create::initbyprob),
        summary: c"Creates an empty count-min sketch with the specified error and the probability of exceeding it",
        args: &[
            Arg::KEY,
            Arg::double(c"error"),
            Arg::double(c"probability"),
            CELL_SIZE,
            Arg::WINDOW_OF_COUNTER,
        ],
        ..CREATE
    },
    Command {
        name: c"cms.incrby",
        handler: handler(add::incrby),
        acl: c"write",
        keys: &[KeySpec::ACCESS_UPDATE],
        summary:
            c"Increments the counts of one or more items and returns the new counts",
        complexity: c"O(d * n), d the depth of the sketch, n the number of items",
        args: &[
            Arg::KEY,
            Arg::block(c"items", &[Arg::ITEM, Arg::integer(c"increment")]).multiple(),
        ],
        ..CREATE
    },
    Command {
        name: c"cms.incrbylimit",
        handler: handler(add::incrbylimit),
        arity: -5,
        acl: c"write",
        keys: &[KeySpec::ACCESS_UPDATE],
        summary:
            c"Increments the counts of one or more items whose new counts are within a limit",
        complexity: c"O(d * n), d the depth of the sketch, n the number of items",
        since: Some(Since::Roughly(c"1.0.0")),
        args: &[
            Arg::KEY,
            Arg::integer(c"limit"),
            Arg::block(c"items", &[Arg::ITEM, Arg::integer(c"increment")]).multiple(),
        ],
        ..CREATE
    },
    Command {
        name: c"cms.query",
        handler: reader(Parts::Series, query::query),
        arity: -3,
        summary: c"Returns the counts of one or more items. A count can be too high, but not too low",
        complexity: c"O(d * n), d the depth of the sketch, n the number of items",
        args: &[Arg::KEY, Arg::ITEMS],
        ..Command::READ
    },
    Command {
        name: c"cms.merge",
        handler: merge_handler(merge::merge),
        summary: c"Replaces a count-min sketch with the weighted sum of count-min sketches",
        complexity: c"O(c * n), c the number of cells of a sketch, n the number of sources",
        args: &[
            Arg::KEY,
            Arg::integer(c"numKeys"),
            Arg::SOURCES,
            Arg::block(
                c"weights",
                &[
                    Arg::keyword(c"weights", c"WEIGHTS"),
                    Arg::double(c"weight").multiple(),
                ],
            )
            .optional(),
        ],
        ..Command::MERGE
    },
    Command {
        name: c"cms.info",
        handler: handler(query::info),
        acl: c"read fast",
        summary: c"Returns the width, the depth, and the sum of all counts of a count-min sketch",
        ..Command::READ
    },
    Command {
        name: c"cms.scandump",
        handler: handler(|call| chunks::scandump(call, &CHUNKS)),
        summary:
            c"Returns one chunk of a count-min sketch for CMS.LOADCHUNK",
        since: Some(Since::Roughly(c"1.0.0")),
        ..Command::SCANDUMP
    },
    Command {
        name: c"cms.loadchunk",
        handler: handler(|call| chunks::loadchunk(call, &CHUNKS)),
        summary: c"Restores one chunk of a count-min sketch from CMS.SCANDUMP",
        since: Some(Since::Roughly(c"1.0.0")),
        ..Command::LOADCHUNK
    },
];
