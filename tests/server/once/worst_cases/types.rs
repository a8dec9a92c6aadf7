//! What the test needs of each type.

use super::keys::Largest;
use crate::families::{Family, SKETCH_COMMANDS};
use crate::workload::Command;
use roughly::server::part::Parts;

/// A type: its largest keys, and the commands on them.
pub struct Type {
    /// The name of its [`Family`].
    pub name: &'static str,
    /// Every command of the family. `KEY` is a copy of a largest key, `SOURCE` the key itself, `new` a missing key.
    /// [`super::arguments`] expands the last argument.
    pub calls: &'static [&'static str],
    /// Commands that create keys of another type.
    pub not_applicable: &'static [&'static str],
    /// Parts of names of commands, and the errors that these may reply with.
    pub refusals: &'static [(&'static str, &'static str)],
    /// Whether a read keeps results for later reads. Each measured read then gets its own copy of the key.
    pub keeps_results: bool,
    /// The commands that create and fill a key of at least a megabyte with 100,000 items and several counts; the first, without the
    /// option `WINDOW`.
    pub create_counted: &'static str,
    pub counted: fn() -> Vec<Command>,
    pub keys: &'static [Largest],
}

/// The commands for sketches of any family, on any key.
const ANY_CALLS: &[&str] = &["SKETCH.ACCURACY KEY"];

/// Those on a key with a window.
const SKETCH_CALLS: &[&str] = &["SKETCH.WINDOW KEY", "SKETCH.ADVANCE KEY NOW"];

/// The calls of a filter besides [`SKETCH_CALLS`].
const FILTER_CALLS: &[&str] = &["SKETCH.AGE KEY ITEMS"];

/// Before the calls that these commands run: on half of the window, so that as many panes count as do not, and each pane in a row.
pub const PARTS: [(Parts, &str); 3] = [
    (Parts::Within, "SKETCH.WITHIN PART "),
    (Parts::Between, "SKETCH.BETWEEN - PAST "),
    (Parts::Series, "SKETCH.SERIES - + 1 "),
];

/// The commands of the server that process whole keys, except for DUMP, which compresses them as it does strings.
const SERVER_CALLS: &[&str] = &["COPY KEY new", "RESTORE new 0 DUMP"];

/// The commands that run this call on a part of the window.
fn parts_of(call: &str) -> Parts {
    let name = call.split(' ').next().unwrap_or(call);
    let families = roughly::MODULE.families.iter();
    let mut commands = families.flat_map(|family| family.commands);
    let found = commands.find(|found| name.eq_ignore_ascii_case(&found.name.to_string_lossy()));
    found.map_or(Parts::None, |command| command.handler.parts)
}

impl Type {
    /// All commands to measure.
    pub fn all_calls(&self, family: &Family) -> impl Iterator<Item = &'static str> {
        let of_windows = |calls| if family.has_window { calls } else { &[][..] };
        let is_filter = ["bf", "cf"].contains(&family.prefix);
        let sketch = of_windows(SKETCH_CALLS).iter();
        let sketch = sketch.chain(of_windows(if is_filter { FILTER_CALLS } else { &[] }));
        // SKETCH.ACCURACY runs on filters, too, but not on periods of them.
        let most = [Parts::Series, Parts::Within][usize::from(is_filter)];
        let read = [self.calls, ANY_CALLS].into_iter().flat_map(of_windows);
        let parts = read.flat_map(move |call| {
            let of_call = parts_of(call).min(most);
            let parts = PARTS.iter().filter(move |(by, _)| *by <= of_call);
            parts.map(move |(_, before)| &*format!("{before}{call}").leak())
        });
        let calls = [self.calls, ANY_CALLS, SERVER_CALLS].into_iter().flatten();
        let calls = calls.chain(sketch);
        calls.copied().chain(parts)
    }

    /// Asserts that the calls contain every command that applies to the type.
    pub fn check_calls(&self, family: &Family) {
        let name = |call: &str| call.split(' ').next().expect("a name").to_lowercase();
        let sketch = SKETCH_COMMANDS.map(|(name, _)| name.to_owned());
        let sketch = sketch.into_iter().filter(|_| family.has_window);
        for (command, _) in family.commands() {
            let has_call = self.calls.iter().any(|call| name(call) == command);
            let is_listed = has_call || self.not_applicable.contains(&command.as_str());
            assert!(is_listed, "{}: no call of {command}", self.name);
        }
        for command in sketch {
            let has_call = self.all_calls(family).any(|call| name(call) == command);
            let needs_none = ["sketch.age", "sketch.between", "sketch.series"];
            let is_listed = has_call || needs_none.contains(&&*command);
            assert!(is_listed, "no call of {command}");
        }
    }

    /// Whether a command of this name may reply with this error.
    pub fn may_refuse(&self, command: &str, error: &str) -> bool {
        let command = command.to_lowercase();
        let mut refusals = self.refusals.iter();
        refusals.any(|(part, text)| command.starts_with(part) && error.starts_with(text))
    }
}
