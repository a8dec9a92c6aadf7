//! The commands `CMS.*`, as the server is told of them (spec: server.md, "Commands").

use super::{add, create, info, merge, query};
use crate::family::chunks;
use crate::server::command::{Arg, ArgKind, Command, KeySpec, handler, handler_telling_keys};
use roughly_sketch::count_min::CountMin;
use std::ffi::CStr;

const ITEM: Arg = Arg::new(c"item", ArgKind::String);
const ITERATOR: Arg = Arg::new(c"iterator", ArgKind::Integer);
const CELL_SIZE: Arg = Arg::new(c"cell_size", ArgKind::Integer)
    .token(c"CELL_SIZE")
    .optional();

/// The answer tells of the whole key, so a cached one is soon wrong.
const DONT_CACHE: Option<&CStr> = Some(c"dont_cache");

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
    // CMS.INCRBY returns estimates of the counts that are stored.
    keys: &[KeySpec::ACCESS_UPDATE],
    ..READ
};
const CREATE: Command = Command {
    acl: c"write fast",
    arity: -4,
    keys: &[KeySpec::INSERT],
    ..WRITE
};

/// The family's commands.
pub const COMMANDS: &[Command] = &[
    Command {
        name: c"cms.initbydim",
        handler: handler(create::initbydim),
        summary: c"Creates a count-min sketch of given dimensions",
        args: &[
            Arg::key(),
            Arg::new(c"width", ArgKind::Integer),
            Arg::new(c"depth", ArgKind::Integer),
            CELL_SIZE,
        ],
        ..CREATE
    },
    Command {
        name: c"cms.initbyprob",
        handler: handler(create::initbyprob),
        summary: c"Creates a count-min sketch for a wanted error and the probability to exceed it",
        args: &[
            Arg::key(),
            Arg::new(c"error", ArgKind::Double),
            Arg::new(c"probability", ArgKind::Double),
            CELL_SIZE,
        ],
        ..CREATE
    },
    Command {
        name: c"cms.incrby",
        handler: handler(add::incrby),
        arity: -4,
        summary:
            c"Adds to the counts of items in a count-min sketch, and returns what they are then",
        complexity: c"O(d * n), d the depth of the sketch, n the number of items",
        args: &[
            Arg::key(),
            Arg::new(c"items", ArgKind::Block)
                .multiple()
                .parts(&[ITEM, Arg::new(c"increment", ArgKind::Integer)]),
        ],
        ..WRITE
    },
    Command {
        name: c"cms.query",
        handler: handler(query::query),
        arity: -3,
        summary: c"Returns the counts of items in a count-min sketch; never below the true ones",
        complexity: c"O(d * n), d the depth of the sketch, n the number of items",
        args: &[Arg::key(), ITEM.multiple()],
        ..READ
    },
    Command {
        name: c"cms.merge",
        handler: handler_telling_keys(merge::merge),
        arity: -4,
        keys: KeySpec::MERGE,
        summary: c"Makes a count-min sketch the weighted sum of others",
        complexity: c"O(c * n), c the number of cells of a sketch, n the number of sources",
        args: &[
            Arg::new(c"destination", ArgKind::Key(0)),
            Arg::new(c"numkeys", ArgKind::Integer),
            Arg::new(c"source", ArgKind::Key(1)).multiple(),
            Arg::new(c"weight", ArgKind::Integer)
                .token(c"WEIGHTS")
                .optional()
                .multiple(),
        ],
        ..WRITE
    },
    Command {
        name: c"cms.info",
        acl: c"read fast",
        tips: DONT_CACHE,
        summary: c"Returns the dimensions and the total of a count-min sketch",
        ..READ
    },
    Command {
        name: c"cms.scandump",
        handler: handler(chunks::scandump::<CountMin>),
        flags: c"readonly fast",
        arity: 3,
        tips: DONT_CACHE,
        summary:
            c"Returns a piece of a count-min sketch, to be loaded elsewhere with CMS.LOADCHUNK",
        complexity: c"O(n), n the size of the piece, at most 16 MiB",
        since: c"0.1.0",
        args: &[Arg::key(), ITERATOR],
        ..READ
    },
    Command {
        name: c"cms.loadchunk",
        handler: handler(chunks::loadchunk::<CountMin>),
        arity: 4,
        keys: &[KeySpec::UPDATE],
        summary: c"Loads a piece of a count-min sketch that CMS.SCANDUMP returned",
        complexity: c"O(n), n the size of the piece",
        since: c"0.1.0",
        args: &[Arg::key(), ITERATOR, Arg::new(c"data", ArgKind::String)],
        ..WRITE
    },
];
