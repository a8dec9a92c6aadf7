//! The commands `SKETCH.*` as the server describes them (docs/sliding-windows.md).

use super::window;
use crate::server::command::{Arg, Command, DONT_CACHE, KeySpec, handler};

/// The family's commands.
pub const COMMANDS: &[Command] = &[
    Command {
        name: c"sketch.window",
        handler: handler(window::window),
        acl: c"read fast",
        tips: DONT_CACHE,
        summary: c"Returns the window of a sketch: its length, its panes, and the number of items per pane",
        complexity: c"O(n), n the number of panes",
        ..Command::READ
    },
    Command {
        name: c"sketch.advance",
        handler: handler(window::advance),
        flags: c"write fast",
        acl: c"write fast",
        arity: 3,
        keys: &[KeySpec::UPDATE],
        summary: c"Advances the window of a sketch to a later pane, and frees memory of expired panes",
        complexity: c"O(n) for CMS, n the number of panes, and up to 4 MiB of cells; O(f * n) for BF and CF, f the number of sub-filters; O(c * depth * n) for TOPK, c the number of items that the panes list; O(c) for TDIGEST, c the compression",
        args: &[Arg::KEY, Arg::integer(c"pane")],
        ..Command::WRITE
    },
];
