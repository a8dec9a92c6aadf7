//! The commands `TDIGEST.*` as the server describes them (spec: server.md, "Commands").

use super::{add, create, info, merge, query};
use crate::family::chunks;
use crate::server::command::{Arg, Command, DONT_CACHE, KeySpec, handler, merge_handler};
use roughly_sketch::t_digest::TDigest;

const VALUES: Arg = Arg::double(c"value").multiple();
const RANKS: Arg = Arg::integer(c"rank").multiple();
const COMPRESSION: Arg = Arg::integer(c"compression")
    .token(c"COMPRESSION")
    .optional();

const READ: Command = Command {
    acl: c"read fast",
    ..Command::READ
};
const LOOK_UP: Command = Command {
    arity: -3,
    complexity: c"O(n * log c), n the number of arguments, c the compression; after a write O(b * log b) more, b the samples since the last compression",
    args: &[Arg::KEY, VALUES],
    ..READ
};

/// The family's commands.
pub const COMMANDS: &[Command] = &[
    Command {
        name: c"tdigest.create",
        handler: handler(create::create),
        arity: -2,
        summary: c"Creates an empty t-digest",
        args: &[Arg::KEY, COMPRESSION],
        ..Command::CREATE
    },
    Command {
        name: c"tdigest.reset",
        handler: handler(add::reset),
        keys: &[KeySpec::DELETE],
        summary: c"Empties a t-digest and keeps its compression",
        ..Command::CREATE
    },
    Command {
        name: c"tdigest.add",
        handler: handler(add::add),
        arity: -3,
        summary: c"Adds samples to a t-digest",
        complexity: c"O(n) for n samples, and a compression of O(c * log c) whenever 5 * c of them have come, c the compression",
        args: &[Arg::KEY, VALUES],
        ..Command::WRITE
    },
    Command {
        name: c"tdigest.merge",
        handler: merge_handler(merge::merge),
        summary: c"Merges t-digests into one, which is created if it does not exist",
        complexity: c"O(n * c * log c), n the number of sources, c the largest compression",
        args: &[
            Arg::DESTINATION,
            Arg::NUMKEYS,
            Arg::SOURCES,
            COMPRESSION,
            Arg::flag(c"override", c"OVERRIDE"),
        ],
        ..Command::MERGE
    },
    Command {
        name: c"tdigest.min",
        handler: handler(query::min),
        summary: c"Returns the smallest sample of a t-digest",
        ..READ
    },
    Command {
        name: c"tdigest.max",
        handler: handler(query::max),
        summary: c"Returns the largest sample of a t-digest",
        ..READ
    },
    Command {
        name: c"tdigest.quantile",
        handler: handler(query::quantile),
        summary: c"Estimates the values below which given shares of the samples lie",
        args: &[
            Arg::KEY,
            Arg::double(c"quantile").multiple(),
        ],
        ..LOOK_UP
    },
    Command {
        name: c"tdigest.cdf",
        handler: handler(query::cdf),
        summary: c"Estimates the shares of the samples that are below given values, counting half of the equal ones",
        ..LOOK_UP
    },
    Command {
        name: c"tdigest.rank",
        handler: handler(query::rank),
        summary: c"Estimates how many samples are below given values, counting half of the equal ones",
        ..LOOK_UP
    },
    Command {
        name: c"tdigest.revrank",
        handler: handler(query::revrank),
        summary: c"Estimates how many samples are above given values, counting half of the equal ones",
        ..LOOK_UP
    },
    Command {
        name: c"tdigest.byrank",
        handler: handler(query::byrank),
        summary: c"Estimates the values with given numbers of samples below them",
        args: &[Arg::KEY, RANKS],
        ..LOOK_UP
    },
    Command {
        name: c"tdigest.byrevrank",
        handler: handler(query::byrevrank),
        summary: c"Estimates the values with given numbers of samples above them",
        args: &[Arg::KEY, RANKS],
        ..LOOK_UP
    },
    Command {
        name: c"tdigest.trimmed_mean",
        handler: handler(query::trimmed_mean),
        arity: 4,
        summary: c"Estimates the mean of the samples between two quantiles",
        complexity: c"O(c), c the compression; after a write O(b * log b) more, b the samples since the last compression",
        args: &[
            Arg::KEY,
            Arg::double(c"low_cut_quantile"),
            Arg::double(c"high_cut_quantile"),
        ],
        ..Command::READ
    },
    Command {
        name: c"tdigest.info",
        handler: handler(info::info),
        tips: DONT_CACHE,
        summary: c"Returns figures of a t-digest",
        ..READ
    },
    Command {
        name: c"tdigest.scandump",
        handler: handler(chunks::scandump::<TDigest>),
        summary: c"Returns a t-digest as bytes, to be loaded elsewhere with TDIGEST.LOADCHUNK",
        complexity: c"O(n), n the number of its nodes; after a write O(b * log b) more, b the samples since the last compression",
        since: Some(c"0.1.0"),
        ..Command::SCANDUMP
    },
    Command {
        name: c"tdigest.loadchunk",
        handler: handler(chunks::loadchunk::<TDigest>),
        keys: &[KeySpec::INSERT],
        summary: c"Makes a t-digest of the bytes that TDIGEST.SCANDUMP returned",
        complexity: c"O(n), n the number of its nodes",
        since: Some(c"0.1.0"),
        ..Command::LOADCHUNK
    },
];
