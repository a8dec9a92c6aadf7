//! The commands `TDIGEST.*`, as the server is told of them (spec: server.md, "Commands").

use super::{add, create, info, merge, query};
use crate::family::chunks;
use crate::server::command::{Arg, ArgKind, Command, KeySpec, handler, handler_telling_keys};
use roughly_sketch::t_digest::TDigest;
use std::ffi::CStr;

const VALUES: Arg = Arg::new(c"value", ArgKind::Double).multiple();
const RANKS: Arg = Arg::new(c"rank", ArgKind::Integer).multiple();
const COMPRESSION: Arg = Arg::new(c"compression", ArgKind::Integer)
    .token(c"COMPRESSION")
    .optional();
const ITERATOR: Arg = Arg::new(c"iterator", ArgKind::Integer);

const READS: &CStr = c"readonly";
/// The answer tells of the whole key, so a cached one is soon wrong.
const DONT_CACHE: Option<&CStr> = Some(c"dont_cache");

/// What a look-up costs.
const LOOK_UPS: &CStr = c"O(n * log c), n the number of arguments, c the compression; after a write O(b * log b) more, b the samples since the last compression";

/// What most commands have in common.
const READ: Command = Command {
    name: c"",
    handler: handler(query::min),
    flags: READS,
    acl: c"read fast",
    arity: 2,
    keys: &[KeySpec::READ],
    tips: None,
    summary: c"",
    complexity: c"O(1)",
    since: c"2.4.0",
    args: &[Arg::key()],
};
const LOOK_UP: Command = Command {
    arity: -3,
    complexity: LOOK_UPS,
    args: &[Arg::key(), VALUES],
    ..READ
};
const WRITE: Command = Command {
    flags: c"write deny-oom",
    acl: c"write",
    keys: &[KeySpec::INSERT],
    ..READ
};

/// The family's commands.
pub const COMMANDS: &[Command] = &[
    Command {
        name: c"tdigest.create",
        handler: handler(create::create),
        acl: c"write fast",
        arity: -2,
        summary: c"Creates an empty t-digest",
        args: &[Arg::key(), COMPRESSION],
        ..WRITE
    },
    Command {
        name: c"tdigest.reset",
        handler: handler(add::reset),
        acl: c"write fast",
        keys: &[KeySpec::DELETE],
        summary: c"Empties a t-digest and keeps its compression",
        ..WRITE
    },
    Command {
        name: c"tdigest.add",
        handler: handler(add::add),
        arity: -3,
        summary: c"Adds samples to a t-digest",
        complexity: c"O(n) for n samples, and a compression of O(c * log c) whenever 5 * c of them have come, c the compression",
        args: &[Arg::key(), VALUES],
        ..WRITE
    },
    Command {
        name: c"tdigest.merge",
        handler: handler_telling_keys(merge::merge),
        arity: -4,
        keys: KeySpec::MERGE,
        summary: c"Merges t-digests into one, which is created if it does not exist",
        complexity: c"O(n * c * log c), n the number of sources, c the largest compression",
        args: &[
            Arg::new(c"destination", ArgKind::Key(0)),
            Arg::new(c"numkeys", ArgKind::Integer),
            Arg::new(c"source", ArgKind::Key(1)).multiple(),
            COMPRESSION,
            Arg::flag(c"override", c"OVERRIDE"),
        ],
        ..WRITE
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
            Arg::key(),
            Arg::new(c"quantile", ArgKind::Double).multiple(),
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
        args: &[Arg::key(), RANKS],
        ..LOOK_UP
    },
    Command {
        name: c"tdigest.byrevrank",
        handler: handler(query::byrevrank),
        summary: c"Estimates the values with given numbers of samples above them",
        args: &[Arg::key(), RANKS],
        ..LOOK_UP
    },
    Command {
        name: c"tdigest.trimmed_mean",
        handler: handler(query::trimmed_mean),
        acl: c"read",
        arity: 4,
        summary: c"Estimates the mean of the samples between two quantiles",
        complexity: c"O(c), c the compression; after a write O(b * log b) more, b the samples since the last compression",
        args: &[
            Arg::key(),
            Arg::new(c"low_cut_quantile", ArgKind::Double),
            Arg::new(c"high_cut_quantile", ArgKind::Double),
        ],
        ..READ
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
        flags: c"readonly fast",
        acl: c"read",
        arity: 3,
        tips: DONT_CACHE,
        summary: c"Returns a t-digest as bytes, to be loaded elsewhere with TDIGEST.LOADCHUNK",
        complexity: c"O(n), n the number of its nodes; after a write O(b * log b) more, b the samples since the last compression",
        since: c"0.1.0",
        args: &[Arg::key(), ITERATOR],
        ..READ
    },
    Command {
        name: c"tdigest.loadchunk",
        handler: handler(chunks::loadchunk::<TDigest>),
        arity: 4,
        summary: c"Makes a t-digest of the bytes that TDIGEST.SCANDUMP returned",
        complexity: c"O(n), n the number of its nodes",
        since: c"0.1.0",
        args: &[Arg::key(), ITERATOR, Arg::new(c"data", ArgKind::String)],
        ..WRITE
    },
];
