//! The commands `TDIGEST.*` as the server describes them (docs/commands).

use super::types::{DigestType, NOT_FOUND};
use super::{add, create, merge, query};
use crate::family::chunks::{self, BAD_DATA, Chunks};
use crate::server::command::{
    Arg, ArgKind, Command, KeySpec, Since, handler, merge_handler, reader,
};
use crate::server::key::OneOf;
use crate::server::part::Parts;

const VALUES: Arg = Arg::double(c"value").multiple();
const COMPRESSION: Arg = Arg::block(
    c"compression_block",
    &[
        Arg::keyword(c"compression_token", c"COMPRESSION"),
        Arg::integer(c"compression"),
    ],
)
.optional();

/// Reads the samples of the window, or of its part with SKETCH.WITHIN.
const READ: Command = Command {
    acl: c"read fast",
    ..Command::READ
};
const LOOK_UP: Command = Command {
    arity: -3,
    complexity: c"O(n * log c), n the number of arguments, c the compression; after a write O(b * log b) more, b the number of samples since the last compression",
    args: &[Arg::KEY, VALUES],
    ..READ
};

/// SCANDUMP and LOADCHUNK.
const CHUNKS: Chunks = Chunks {
    types: DigestType::TYPES,
    // The result of a TDIGEST.MERGE from a window is replicated in this way.
    replaced: Some(DigestType::TYPES[0]),
    not_found: NOT_FOUND,
    event: c"tdigest.loadchunk",
    // The header of a digest is its only chunk.
    error: |_| BAD_DATA,
};

/// The family's commands.
pub const COMMANDS: &[Command] = &[
    Command {
        name: c"tdigest.create",
        handler: handler(create::create),
        arity: -2,
        summary: c"Creates an empty t-digest",
        args: &[Arg::KEY, COMPRESSION, Arg::WINDOW_OF_DIGEST],
        ..Command::CREATE
    },
    Command {
        name: c"tdigest.reset",
        handler: handler(add::reset),
        keys: &[KeySpec::DELETE],
        summary: c"Removes all samples from a t-digest and keeps its compression",
        ..Command::CREATE
    },
    Command {
        name: c"tdigest.add",
        handler: handler(add::add),
        arity: -3,
        summary: c"Adds one or more samples to a t-digest",
        complexity: c"O(n), n the number of samples; O(c * log c) more after every 5 * c samples, c the compression",
        args: &[Arg::KEY, VALUES],
        ..Command::WRITE
    },
    Command {
        name: c"tdigest.merge",
        handler: merge_handler(merge::merge),
        summary: c"Merges t-digests into one. Creates the destination if it does not exist",
        complexity: c"O(n * c * log c), n the number of sources, c the largest compression",
        args: &[
            Arg::new(c"destination-key", ArgKind::Key(0)),
            Arg::NUMKEYS,
            Arg::new(c"source-key", ArgKind::Key(1)).multiple(),
            COMPRESSION,
            Arg::flag(c"override", c"OVERRIDE"),
        ],
        ..Command::MERGE
    },
    Command {
        name: c"tdigest.min",
        handler: reader(Parts::Series, query::min),
        summary: c"Returns the smallest sample of a t-digest",
        ..READ
    },
    Command {
        name: c"tdigest.max",
        handler: reader(Parts::Series, query::max),
        summary: c"Returns the largest sample of a t-digest",
        ..READ
    },
    Command {
        name: c"tdigest.quantile",
        handler: reader(Parts::Series, query::quantile),
        summary: c"Returns estimates of the values at the specified quantiles",
        args: &[
            Arg::KEY,
            Arg::double(c"quantile").multiple(),
        ],
        ..LOOK_UP
    },
    Command {
        name: c"tdigest.cdf",
        handler: reader(Parts::Series, query::cdf),
        summary: c"For each value, returns the estimated fraction of the samples that are smaller, plus half of the samples that are equal",
        ..LOOK_UP
    },
    Command {
        name: c"tdigest.rank",
        handler: reader(Parts::Series, query::rank),
        summary: c"For each value, returns the estimated number of samples that are smaller, plus half of the samples that are equal",
        ..LOOK_UP
    },
    Command {
        name: c"tdigest.revrank",
        handler: reader(Parts::Series, query::revrank),
        summary: c"For each value, returns the estimated number of samples that are larger, plus half of the samples that are equal",
        ..LOOK_UP
    },
    Command {
        name: c"tdigest.byrank",
        handler: reader(Parts::Series, query::byrank),
        summary: c"Returns estimates of the values at the specified ranks, counted from the smallest sample",
        args: &[Arg::KEY, Arg::double(c"rank").multiple()],
        ..LOOK_UP
    },
    Command {
        name: c"tdigest.byrevrank",
        handler: reader(Parts::Series, query::byrevrank),
        summary: c"Returns estimates of the values at the specified ranks, counted from the largest sample",
        args: &[Arg::KEY, Arg::double(c"reverse_rank").multiple()],
        ..LOOK_UP
    },
    Command {
        name: c"tdigest.trimmed_mean",
        handler: reader(Parts::Series, query::trimmed_mean),
        arity: 4,
        summary: c"Returns an estimate of the mean of the samples between two quantiles",
        complexity: c"O(c), c the compression; after a write O(b * log b) more, b the number of samples since the last compression",
        args: &[
            Arg::KEY,
            Arg::double(c"low_cut_quantile"),
            Arg::double(c"high_cut_quantile"),
        ],
        ..Command::READ
    },
    Command {
        name: c"tdigest.info",
        handler: handler(query::info),
        summary: c"Returns the compression, the number of samples, and the memory of a t-digest",
        ..READ
    },
    Command {
        name: c"tdigest.scandump",
        handler: handler(|call| chunks::scandump(call, &CHUNKS)),
        summary: c"Returns a t-digest as bytes for TDIGEST.LOADCHUNK",
        complexity: c"O(n), n the number of centroids; after a write O(b * log b) more, b the number of samples since the last compression",
        since: Some(Since::Roughly(c"1.0.0")),
        ..Command::SCANDUMP
    },
    Command {
        name: c"tdigest.loadchunk",
        handler: handler(|call| chunks::loadchunk(call, &CHUNKS)),
        keys: &[KeySpec::INSERT],
        summary: c"Restores a t-digest from TDIGEST.SCANDUMP",
        complexity: c"O(n), n the number of centroids",
        since: Some(Since::Roughly(c"1.0.0")),
        ..Command::LOADCHUNK
    },
];
