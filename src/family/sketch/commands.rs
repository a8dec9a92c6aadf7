//! The commands `SKETCH.*` as the server describes them (docs/sliding-windows.md).

use super::{advance, age, parts, query};
use crate::server::command::{Arg, ArgKind, Command, KeySpec, Since, handler, reader};
use crate::server::part::Parts;

/// The start of a period: a time, or `-`.
const FROM: Arg = Arg::new(c"from", ArgKind::String);
/// Its end: a time, or `+`.
const TO: Arg = Arg::new(c"to", ArgKind::String);

/// The command that reads a part of the window.
const COMMAND: Arg = Arg::new(c"command", ArgKind::String);
/// Its arguments after the key.
const ARGUMENTS: Arg = Arg::new(c"argument", ArgKind::String).multiple().optional();

/// The family's commands.
pub const COMMANDS: &[Command] = &[
    Command {
        name: c"sketch.within",
        handler: handler(parts::within),
        arity: -4,
        keys: &[KeySpec::read_at(3)],
        summary: c"Runs a command that reads a sketch on the last milliseconds of its window",
        complexity: c"O(c) for BF, CF and TDIGEST, O(c * n) for CMS and TOPK, c that of the command, n the number of panes in this part of the window",
        args: &[Arg::integer(c"milliseconds"), COMMAND, Arg::KEY, ARGUMENTS],
        ..Command::READ
    },
    Command {
        name: c"sketch.between",
        handler: handler(parts::between),
        since: Some(Since::Roughly(c"1.1.0")),
        arity: -5,
        keys: &[KeySpec::read_at(4)],
        summary: c"Runs a command that reads a count-min sketch, a top-k or a t-digest on a period of its window, also one in the past",
        complexity: c"O(c) for TDIGEST, O(c * n) for CMS and TOPK, c that of the command, n the number of panes in the period",
        args: &[FROM, TO, COMMAND, Arg::KEY, ARGUMENTS],
        ..Command::READ
    },
    Command {
        name: c"sketch.series",
        handler: handler(parts::series),
        since: Some(Since::Roughly(c"1.1.0")),
        arity: -6,
        keys: &[KeySpec::read_at(5)],
        summary: c"Runs a command that reads a count-min sketch, a top-k or a t-digest on each step of a period of its window",
        complexity: c"O(c * n), c that of the command, n the number of panes in the period",
        args: &[FROM, TO, Arg::integer(c"step"), COMMAND, Arg::KEY, ARGUMENTS],
        ..Command::READ
    },
    Command {
        name: c"sketch.age",
        handler: handler(age::age),
        arity: -3,
        summary: c"Returns for each item of a Bloom or cuckoo filter with a window how long ago it was last added, in milliseconds",
        complexity: c"O(f * n), f the number of sub-filters, n the number of items",
        args: &[Arg::KEY, Arg::ITEMS],
        ..Command::READ
    },
    Command {
        name: c"sketch.window",
        handler: reader(Parts::Between, query::window),
        acl: c"read fast",
        summary: c"Returns the window of a sketch: its length, its panes, the time that reads cover, and start and items of each pane",
        complexity: c"O(n), n the number of panes",
        ..Command::READ
    },
    Command {
        name: c"sketch.accuracy",
        handler: reader(Parts::Series, query::accuracy),
        summary: c"Returns how wrong the answers of a sketch are now, and the figures of the key that this depends on",
        complexity: c"O(n) for BF and CF, n the bytes of the filter; O(1) for CMS; O(k * d) for TOPK, d the depth, with a window the number of panes; O(c) for TDIGEST, c the compression",
        ..Command::READ
    },
    Command {
        name: c"sketch.advance",
        handler: handler(advance::advance),
        flags: c"write fast",
        acl: c"write fast",
        arity: 3,
        keys: &[KeySpec::UPDATE],
        summary: c"Advances the window of a sketch to a later pane, and frees memory of expired panes",
        complexity: c"O(n) for CMS, n the number of panes, and the cells of each pane that becomes part of another one; O(f * n) for BF and CF, f the number of sub-filters; O(c * depth * n) for TOPK, c the number of items that the panes list; O(c) for TDIGEST, c the compression",
        args: &[Arg::KEY, Arg::integer(c"pane")],
        ..Command::WRITE
    },
];
