//! The bounds of docs/operations.md, "Longest time of one command": every command on the largest keys of every type, in every state.
//!
//! The parameters of the keys are the largest that creation accepts for keys of 16 MiB, or of `ROUGHLY_WORST_CASE_MIB`. A
//! window is just written, idle for half a window, or idle for two windows; each command runs on a copy and after RESTORE. In a
//! [`Sample`], one key of each type is tested, of 4 MiB.
//! The test measures CPU time of the server's main thread and divides it by the slowness of the machine, so it does not depend
//! on the speed of the machine. A command that exceeds its bound is repeated, and fails if it exceeds the bound each time.

mod adversarial;
mod arguments;
mod bloom;
mod bounds;
mod count_min;
mod cuckoo;
mod equal_counts;
mod false_counts;
mod full_tables;
mod keys;
mod rows;
mod t_digest;
mod top_k;
mod types;

use crate::families::{FAMILIES, Family};
use crate::support::main_thread::MainThread;
use crate::support::names::assert_same_names;
use crate::support::resp::{Connection, Reply};
use crate::support::sample::Sample;
use crate::support::server::Server;
use arguments::{Call, calls, is_accepted};
use bounds::{
    Work, bound_ns, compaction_bound_ns, compacts, is_large_digest, ns_per_gib,
    processes_whole_keys,
};
use keys::{LEVELS, Largest, Sizes, State};
use rows::Row;
use std::collections::BTreeSet;
use types::Type;

/// How often a command is measured before it exceeds its bound.
const ATTEMPTS: u32 = 20;
fn max_bytes() -> f64 {
    let mib = match std::env::var("ROUGHLY_WORST_CASE_MIB") {
        Ok(text) => text.parse(),
        Err(_) if Sample::of_run().is_all() => Ok(16),
        Err(_) => Ok(4),
    };
    let mib: u64 = mib.expect("a number of MiB in ROUGHLY_WORST_CASE_MIB");
    mib as f64 * f64::from(1 << 20)
}

/// How a command gets its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Origin {
    /// The key itself, or a copy if the command changes it.
    Copied,
    /// RESTORE of its DUMP.
    Restored,
    /// A copy on which the same command ran before.
    WrittenBefore,
}

/// A server with a key in all states.
struct Keys<'a> {
    family: &'static Family,
    of_type: &'static Type,
    sizes: &'a Sizes,
    has_one_pane: bool,
    /// Runs until the keys are dropped.
    _server: Server,
    thread: MainThread,
    connection: Connection,
    writes: BTreeSet<String>,
    slowness: f64,
}

/// What the test found: the slowest call of each command, and the calls above their bounds or with errors.
#[derive(Default)]
struct Results {
    rows: rows::Rows,
    failures: Vec<String>,
}

impl Results {
    fn add(&mut self, call: &Call, row: Row) {
        let slowest = self.rows.entry(call.title()).or_insert_with(|| row.clone());
        if slowest.ns < row.ns {
            *slowest = row;
        }
    }
}

impl Keys<'_> {
    fn measure_all(&mut self, states: &[State], results: &mut Results) {
        for state in states {
            for template in self.of_type.all_calls(self.family) {
                let sizes = self.sizes;
                let connection = &mut self.connection;
                let calls = calls(connection, self.family, template, state.key, sizes);
                for (number, call) in calls.iter().enumerate() {
                    self.measure(state, Origin::Copied, call, results);
                    // The arguments make no difference to these.
                    if number == 0 && template.contains("KEY") {
                        self.measure(state, Origin::Restored, call, results);
                        if self.is_write(call) && state.is_expired {
                            self.measure(state, Origin::WrittenBefore, call, results);
                        }
                    }
                }
            }
            self.connection.call("DEL restored");
        }
    }

    /// The command with the names of its keys. A command that changes its key or keeps results in it gets a new key.
    fn prepare(&mut self, state: &State, origin: Origin, call: &Call) -> Vec<Vec<u8>> {
        let needs_new_key = self.is_write(call) || self.of_type.keeps_results;
        let key = match (origin, needs_new_key) {
            (Origin::Copied, false) => state.key,
            (Origin::Copied, true) | (Origin::WrittenBefore, _) => {
                let copy = ["COPY", state.key, "copy", "REPLACE"];
                self.connection.send(&copy);
                "copy"
            }
            (Origin::Restored, _) => {
                let exists = self.connection.call("EXISTS restored") == Reply::Integer(1);
                if needs_new_key || !exists {
                    let payload = self.connection.payload(state.key);
                    let restored = self.connection.replace("restored", &payload);
                    assert!(restored.is_ok(), "{restored}");
                }
                "restored"
            }
        };
        self.connection.call("DEL new");
        let name = |argument: &Vec<u8>| match argument == b"KEY" {
            true => key.into(),
            false => argument.clone(),
        };
        let command: Vec<_> = call.command.iter().map(name).collect();
        if origin == Origin::WrittenBefore {
            self.connection.send(&command);
            self.connection.call("DEL new");
        }
        command
    }

    fn is_write(&self, call: &Call) -> bool {
        self.writes.contains(&call.name().to_lowercase())
    }

    fn measure(&mut self, state: &State, origin: Origin, call: &Call, results: &mut Results) {
        // With levels, a step of several panes merges many.
        let is_jump = self.sizes.contains_key(LEVELS.name) && state.idle_panes > Some(1);
        let is_first_write = (state.is_expired || is_jump) && origin != Origin::WrittenBefore;
        let is_first_write = is_first_write && self.is_write(call);
        let mut best: Option<(f64, f64)> = None;
        for _ in 0..ATTEMPTS {
            let command = self.prepare(state, origin, call);
            if best.is_some() {
                self.slowness = self.thread.slowness(&mut self.connection);
            }
            let (ns, reply) = self.thread.measured(|| self.connection.send(&command));
            if !is_accepted(self.of_type, call, &reply) {
                let command = format!("{} {}", call.title(), call.text);
                let refused = format!("{command} on {}: {reply}", self.describe(state, origin));
                results.failures.push(refused);
            }
            let is_large = is_large_digest(self.of_type.name, self.sizes.get("compression"));
            let is_whole = processes_whole_keys(&call.name(), is_first_write)
                || is_large && call.name() == "TDIGEST.ADD"
                || call.is_series();
            let key = String::from_utf8_lossy(&command[call.key_index()]).into_owned();
            let whole_keys = is_whole.then(|| self.bytes(state.key) * call.keys.max(1));
            let work = Work {
                items: call.items,
                rows: self.sizes.get("depth").map_or(0, |&depth| depth),
                sub_filters: self.sub_filters(&key),
                whole_keys,
                ns_per_gib: ns_per_gib(&call.name(), is_large),
            };
            let bound = match compacts(self.of_type.name, &call.name()) {
                true => compaction_bound_ns(self.bytes(state.key), self.sub_filters(state.key)),
                false => bound_ns(&work),
            };
            let ns = ns as f64 / self.slowness;
            if best.is_none_or(|(best, _)| ns < best) {
                best = Some((ns, bound));
            }
            // A repetition cannot change the result if the time is far above the bound.
            if ns <= bound || ns > 4.0 * bound {
                break;
            }
        }
        self.connection.call("DEL new copy");
        let (ns, bound) = best.expect("a time");
        let key = match call.is_creation {
            true => "a new key".to_owned(),
            false => self.describe(state, origin),
        };
        let row = Row {
            ns,
            bound,
            key,
            arguments: call.text.clone(),
        };
        if ns > bound {
            let failure = format!("{} {}", call.title(), row.describe());
            println!("{} {failure}", self.of_type.name);
            results.failures.push(failure);
        }
        results.add(call, row);
    }

    /// The memory of a key; 0 if it does not exist.
    fn bytes(&mut self, key: &str) -> u64 {
        let bytes = self.connection.send(&["MEMORY", "USAGE", key]).integer();
        bytes.map_or(0, |bytes| u64::try_from(bytes).expect("a number"))
    }

    /// The number of sub-filters of a key. 0 for other types.
    fn sub_filters(&mut self, key: &str) -> u64 {
        if !["bf", "cf"].contains(&self.family.prefix) {
            return 0;
        }
        let info = self.connection.send(&[&self.family.command("INFO"), key]);
        let number = info.field("Number of filters").and_then(Reply::integer);
        number.map_or(0, |number| u64::try_from(number).expect("a number"))
    }

    fn describe(&self, state: &State, origin: Origin) -> String {
        let sizes = self.sizes.iter();
        let sizes = sizes.map(|(name, value)| format!("{name} {}", rows::grouped(*value)));
        let filled = ["", "one pane in use"][usize::from(self.has_one_pane)];
        let origin = match origin {
            Origin::Copied => "",
            Origin::Restored => "after RESTORE",
            Origin::WrittenBefore => "the second write",
        };
        let mut parts: Vec<_> = sizes
            .chain([filled, state.text, origin].map(str::to_owned))
            .collect();
        parts.retain(|part| !part.is_empty());
        parts.join(", ")
    }
}

/// The commands that change keys, in lower case.
fn writes() -> BTreeSet<String> {
    let families = roughly::MODULE.families.iter();
    let commands = families.flat_map(|family| family.commands);
    let writes = commands.filter(|command| command.flags.to_bytes().starts_with(b"write"));
    let names = writes.map(|command| command.name.to_string_lossy().to_lowercase());
    names.collect()
}

/// Measures all commands on the largest keys of one kind.
fn measure_keys(
    family: &'static Family,
    of_type: &'static Type,
    largest: &Largest,
    results: &mut Results,
) {
    let all_sizes = largest.all_sizes(&mut Server::start().resp2(), max_bytes());
    // Each kind of key with each of its sizes.
    for sizes in &Sample::of_run().one_of(all_sizes, of_type.keys.len()) {
        let (server, states) = largest.build(sizes);
        let mut connection = server.resp2();
        let thread = MainThread::of(&mut connection);
        let slowness = thread.slowness(&mut connection);
        let mut keys = Keys {
            family,
            of_type,
            sizes,
            has_one_pane: largest.has_one_pane(sizes),
            _server: server,
            thread,
            connection,
            writes: writes(),
            slowness,
        };
        keys.measure_all(&states, results);
    }
}

/// A test for each type, and the list of the types.
macro_rules! tests {
    ($($name:ident: $type:expr,)*) => {
        static TYPES: &[Type] = &[$($type),*];

        $(
            #[test]
            fn $name() {
                check(&$type);
            }
        )*
    };
}

tests! {
    bloom_filters: bloom::CLASSIC,
    bloom_filters_with_a_window: bloom::WINDOW,
    bloom_filters_of_valkey_bloom: bloom::VALKEY,
    cuckoo_filters: cuckoo::CLASSIC,
    cuckoo_filters_with_a_window: cuckoo::WINDOW,
    count_min_sketches: count_min::CLASSIC,
    count_min_sketches_with_a_window: count_min::WINDOW,
    top_k_sketches: top_k::CLASSIC,
    top_k_sketches_with_a_window: top_k::WINDOW,
    t_digests: t_digest::CLASSIC,
    t_digests_with_a_window: t_digest::WINDOW,
}

/// Every command of a type is within its bound on its largest keys.
fn check(of_type: &'static Type) {
    let family = Family::of(of_type.name);
    of_type.check_calls(family);
    let mut results = Results::default();
    for largest in Sample::of_run().one_of(of_type.keys.iter().collect(), 1) {
        measure_keys(family, of_type, largest, &mut results);
    }
    for (command, _) in family.commands() {
        let is_measured = results.rows.contains_key(&command.to_uppercase());
        let applies = !of_type.not_applicable.contains(&command.as_str());
        assert_eq!(is_measured, applies, "{command}");
    }
    for (command, row) in &results.rows {
        println!("{command}: {}", row.describe());
    }
    let (name, count, failures) = (of_type.name, results.failures.len(), results.failures);
    let text = failures.join("\n");
    assert!(count == 0, "{count} calls of {name} fail:\n{text}");
}

#[test]
fn every_type_has_a_test() {
    let tested = TYPES.iter().map(|tested| tested.name);
    let all = FAMILIES.iter().map(|family| family.name);
    assert_same_names(tested, all, "types in TYPES");
}
