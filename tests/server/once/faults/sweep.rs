//! The sweep over all requests for memory of all commands of a type.

use super::cases::{accepted, commands, on};
use super::documented::Documented;
use super::injector::{Refused, Requests};
use super::states::{State, states};
use crate::families::{FAMILIES, Family, SKETCH_COMMANDS, without_footer};
use crate::support::resp::{Connection, Reply, request};
use crate::support::sample::Sample;
use crate::support::server::{Options, Server};
use crate::support::state;
use crate::workload::{Command, words};
use std::collections::BTreeSet;

/// Runs that are sent at once.
const BATCH: usize = 8;

/// Bytes of an allocation that may end the process, at most.
pub const MAX_OTHER_BYTES: u64 = 4096;

/// The commands that no key of a type accepts. Every other command has a case that succeeds.
const NEVER_SUCCESSFUL: [(&str, &str); 6] = [
    // A payload of valkey-bloom creates a filter of its type.
    ("bf", "bf.load"),
    ("bf-window", "bf.load"),
    // Filters of these types cannot be merged.
    ("bf-window", "bf.merge"),
    ("bloomfltr", "bf.merge"),
    // A filter stores only the last addition of an item.
    ("bf-window", "sketch.between"),
    ("cf-window", "sketch.between"),
];

/// Runs the sweep of a type with these settings. Panics with all findings.
pub fn run(name: &str, settings: &[(&str, &str)]) {
    let family = Family::of(name);
    let mut sweep = Sweep::start(family);
    sweep.run_all(settings);
    sweep.finish(settings.is_empty());
}

/// What a run replied and left.
#[derive(Debug, Clone, PartialEq)]
struct Outcome {
    reply: Reply,
    /// The DUMP of the key before and after the command, without the footer.
    before: Reply,
    after: Reply,
    /// DEBUG DIGEST-VALUE of the key after the command.
    digest: Reply,
    requests: Requests,
    /// The reply of the same command without faults on a copy, and what it left.
    retried: (Reply, Reply),
}

/// The cases that run.
#[derive(Debug)]
enum Selection {
    Sample(Sample),
    /// Those whose description contains the text.
    Of(String),
}

impl Selection {
    fn of_environment() -> Self {
        match std::env::var("ROUGHLY_FAULTS") {
            Err(_) => Self::Sample(Sample::of_run().one_in(8)),
            Ok(text) => Self::Of(text),
        }
    }

    fn has(&self, number: usize, text: &str) -> bool {
        match self {
            Self::Sample(sample) => sample.contains(number),
            Self::Of(part) => text.contains(part),
        }
    }
}

/// Counters of INFO.
struct Counters {
    /// The values of all types, and their bytes.
    values: (i64, i64),
    /// Internal errors.
    errors: i64,
}

impl Counters {
    fn of(connection: &mut Connection) -> Self {
        let info = connection.call("INFO bf_stats").string();
        let field = |name: &str| {
            let value = |line: &str| line.strip_prefix(name)?.strip_prefix(':')?.parse().ok();
            let value: Option<i64> = info.lines().find_map(value);
            value.unwrap_or_else(|| panic!("no {name} in {info}"))
        };
        // A command can create a key of another type of the family.
        let sum = |name: &str| -> i64 {
            let own = |family: &Family| field(&format!("{}{name}", family.info_prefix));
            FAMILIES.iter().map(own).sum()
        };
        let values = (sum("keys"), sum("bytes"));
        let errors = field("bf_internal_errors");
        Self { values, errors }
    }
}

struct Sweep {
    selection: Selection,
    family: &'static Family,
    server: Server,
    replica: Server,
    connection: Connection,
    documented: Documented,
    /// The number of keys so far, for their names.
    keys: u64,
    /// The keys that exist, and the sum of their MEMORY USAGE.
    existing: i64,
    usage: i64,
    /// The DUMP of the source of merges.
    source: Vec<u8>,
    /// DEBUG DIGEST-VALUE of the key after it was advanced to the current pane: by SKETCH.ADVANCE, which also removes expired
    /// panes, and by a write.
    advanced: Vec<Reply>,
    /// What MEMORY USAGE measures in addition to the value.
    overhead: i64,
    internal_errors: i64,
    runs: u64,
    positions: u64,
    largest_other: (u64, String),
    findings: Vec<String>,
    succeeded: BTreeSet<String>,
}

impl Sweep {
    fn start(family: &'static Family) -> Self {
        let server = Options::new()
            .debug_module()
            .arguments(&["--appendonly", "yes", "--appendfsync", "no"])
            .arguments(&["--auto-aof-rewrite-percentage", "0"])
            .arguments(&["--client-output-buffer-limit", "replica 0 0 0"])
            .start();
        let mut replica = Options::new().debug_module().start();
        replica.replicate(&server);
        let mut connection = server.resp2();
        connection.call("CONFIG SET bf.bloom-use-random-seed no");
        Self {
            selection: Selection::of_environment(),
            family,
            server,
            replica,
            connection,
            documented: Documented::default(),
            keys: 0,
            existing: 0,
            usage: 0,
            overhead: 0,
            source: Vec::new(),
            advanced: Vec::new(),
            internal_errors: 0,
            runs: 0,
            positions: 0,
            largest_other: (0, String::new()),
            findings: Vec::new(),
            succeeded: BTreeSet::new(),
        }
    }

    fn run_all(&mut self, settings: &[(&str, &str)]) {
        let states = states(&self.server, &mut self.connection, self.family);
        self.family.build(&mut self.connection, "SOURCE");
        let commands = commands(&mut self.connection, self.family);
        for (name, value) in settings {
            let set = format!("CONFIG SET {} {value}", self.server.setting(name));
            self.connection.ok(&set);
        }
        let mut number = 0;
        for state in &states {
            self.begin(state);
            for command in &commands {
                let text = describe(self.family, state, command);
                number += 1;
                if self.selection.has(number, &text) {
                    self.sweep(state, command, &text);
                }
            }
            self.compare(state);
        }
    }

    /// Prepares the server for a state, with no keys but SOURCE.
    fn begin(&mut self, state: &State) {
        self.connection.call("FLUSHALL SYNC");
        let connection = &mut self.connection;
        // Begins a new AOF.
        connection.ok("CONFIG SET appendonly no");
        connection.ok("CONFIG SET appendonly yes");
        assert!(self.server.wait_for_rewrite());
        self.server.set_clock(&state.clock_ms.to_string());
        self.replica.set_clock(&state.clock_ms.to_string());
        let limit = self.server.setting("sketch-max-key-bytes");
        let set = |connection: &mut Connection, bytes: i64| {
            connection.ok(&format!("CONFIG SET {limit} {bytes}"));
        };
        set(&mut self.connection, 0);
        // As long as the names of the other keys.
        let name = "k0000000";
        self.family.build(&mut self.connection, name);
        let usage = words(&format!("MEMORY USAGE {name}"));
        let usage = self.connection.send(&usage).integer().expect("a size");
        self.overhead = usage - Counters::of(&mut self.connection).values.1;
        self.source = self.connection.payload(name);
        self.connection.call("FLUSHALL SYNC");
        (self.existing, self.usage) = (0, 0);
        self.advanced.clear();
        set(&mut self.connection, state.max_key_bytes);
        if self.family.has_window && state.payload.is_some() {
            let advance = format!("SKETCH.ADVANCE KEY {}", state.pane());
            let write = match self.family.prefix {
                "topk" => "TOPK.INCRBY KEY a 0",
                // SKETCH.ADVANCE removes nothing.
                _ => &advance,
            };
            for command in [&advance, write] {
                let advanced = self.outcomes(state, &words(command), &[Refused::NONE]);
                self.advanced.push(advanced[0].digest.clone());
            }
        }
    }

    /// Runs a command in a state, without faults and then with each.
    fn sweep(&mut self, state: &State, command: &Command, text: &str) {
        let plain = self.outcomes(state, command, &[Refused::NONE, Refused::NONE]);
        let [success, again] = &plain[..] else {
            unreachable!("two runs")
        };
        let name = String::from_utf8_lossy(&command[0]).to_lowercase();
        if !success.reply.is_error() {
            self.succeeded.insert(name);
        }
        // A seed is random.
        let is_random = success.after != again.after;
        let count = success.requests.count;
        if again.requests.count != count && !is_random {
            self.find(text, Refused::NONE, "another number of requests", again);
        }
        let other = success.requests.largest_other;
        if other > self.largest_other.0 {
            self.largest_other = (other, text.to_owned());
        }
        self.positions += count;
        let faults: Vec<_> = Refused::each(count).collect();
        let mut partial: Vec<(Refused, Outcome, Vec<bool>)> = Vec::new();
        for faults in faults.chunks(BATCH) {
            let outcomes = self.outcomes(state, command, faults);
            for (&fault, outcome) in faults.iter().zip(outcomes) {
                match self.judge(command, success, &outcome, is_random) {
                    Ok(None) => {}
                    Ok(Some(refused)) => partial.push((fault, outcome, refused)),
                    Err(why) => self.find(text, fault, why, &outcome),
                }
            }
        }
        for (fault, outcome, refused) in partial {
            if !refused.contains(&false) && self.is_unchanged(&outcome) {
                continue;
            }
            let kept = accepted(command, &refused);
            let expected = &self.outcomes(state, &kept, &[Refused::NONE])[0];
            // Items that are accepted and change nothing do not advance the key, but the memory that is refused to others does.
            let only_advanced = expected.after == expected.before && self.is_unchanged(&outcome);
            if outcome.after != expected.after && !only_advanced && !is_random {
                self.find(text, fault, "not the state of the accepted items", &outcome);
            }
        }
        self.check_counters(text);
    }

    /// Whether the outcome of a run with refused memory is allowed. Returns which items were refused if only some were.
    fn judge(
        &mut self,
        command: &Command,
        success: &Outcome,
        outcome: &Outcome,
        is_random: bool,
    ) -> Result<Option<Vec<bool>>, &'static str> {
        if outcome.requests.refused == 0 && is_random {
            return Ok(None);
        }
        if outcome.requests.refused == 0 {
            return Err("nothing was refused");
        }
        if outcome.before != success.before {
            return Err("another key before");
        }
        // Other items may be false positives.
        if is_random && let Some(items) = outcome.reply.items() {
            let documented = &mut self.documented;
            let mut others = items.iter().filter(|item| item.integer().is_none());
            let are_allowed = others.all(|item| documented.has(command, item));
            return are_allowed.then_some(None).ok_or("another reply");
        }
        if outcome.reply == success.reply {
            let is_same = outcome.after == success.after || is_random;
            let why = "the reply of the successful command, and another key";
            return is_same.then_some(None).ok_or(why);
        }
        if let Reply::Error(_) = outcome.reply {
            if !self.documented.has(command, &outcome.reply) {
                return Err("an error that is not on the page");
            }
            if !self.is_unchanged(outcome) {
                return Err("an error, and the key has changed");
            }
            let expected = (success.reply.clone(), success.after.clone());
            if outcome.retried != expected && !is_random {
                return Err("the command does not succeed afterwards");
            }
            return Ok(None);
        }
        let (Some(expected), Some(items)) = (success.reply.items(), outcome.reply.items()) else {
            return Err("another reply");
        };
        // Some commands stop at the first error.
        let is_cut = matches!(items, [.., Reply::Error(_)]) && items.len() < expected.len();
        if expected.len() != items.len() && !is_cut {
            return Err("an array of another length");
        }
        let mut refused = Vec::new();
        for (expected, item) in expected.iter().zip(items) {
            let is_refused = match item {
                Reply::Error(_) => self.documented.has(command, item),
                item => *item == Reply::Integer(-1),
            };
            refused.push(is_refused && item != expected);
        }
        if !refused.contains(&true) {
            return Err("another reply");
        }
        if outcome.after == outcome.before && success.after == success.before {
            return Ok(None);
        }
        Ok(Some(refused))
    }

    /// Whether a run left the key as it was, or only advanced it to the current pane.
    fn is_unchanged(&self, outcome: &Outcome) -> bool {
        outcome.after == outcome.before || self.advanced.contains(&outcome.digest)
    }

    /// Runs a command on a new key for each fault.
    fn outcomes(&mut self, state: &State, command: &Command, faults: &[Refused]) -> Vec<Outcome> {
        let first = self.keys + 1;
        let names = |number: u64| ["k", "r", "s"].map(|kind| format!("{kind}{number:07}"));
        let has_source = command.iter().any(|argument| argument == b"SOURCE");
        let mut requests = Vec::new();
        for (number, fault) in (first..).zip(faults) {
            let [key, copy, source] = names(number);
            let mut send = |command: &Command| requests.extend(request(command));
            if let Some(payload) = &state.payload {
                send(&restore(&key, payload));
            }
            for read in state.reads {
                send(&words(&read.replace("KEY", &key)));
            }
            send(&words(&format!("DUMP {key}")));
            if has_source {
                send(&restore(&source, &self.source));
            }
            send(&fault.command());
            send(&on(command, &key, &source));
            send(&Refused::NONE.command());
            send(&words(&format!("DUMP {key}")));
            send(&words(&format!("DEBUG DIGEST-VALUE {key}")));
            send(&words(&format!("MEMORY USAGE {key}")));
            send(&words(&format!("COPY {key} {copy}")));
            send(&on(command, &copy, &source));
            send(&words(&format!("DUMP {copy}")));
            send(&words(&format!("MEMORY USAGE {copy}")));
            if has_source {
                send(&words(&format!("DUMP {source}")));
                send(&words(&format!("DEL {source}")));
            }
        }
        self.connection.write_raw(&requests).expect("a connection");
        self.keys += faults.len() as u64;
        self.runs += faults.len() as u64;
        let last = describe(self.family, state, command);
        let last = format!("{last}, faults {faults:?}");
        let (server, connection) = (&self.server, &mut self.connection);
        let ended = |error: std::io::Error| panic!("{last}: {error}\n{}", server.log_tail());
        let mut read = || connection.read().unwrap_or_else(ended);
        let mut outcomes = Vec::new();
        for _ in faults {
            if state.payload.is_some() {
                let restored = read();
                assert!(restored.is_ok(), "RESTORE: {restored}");
            }
            for _ in state.reads {
                read();
            }
            let before = without_footer(read());
            if has_source {
                let restored = read();
                assert!(restored.is_ok(), "RESTORE: {restored}");
            }
            read();
            let reply = read();
            let requests = Requests::of(&read());
            let after = without_footer(read());
            let digest = read();
            let mut count = |usage: Reply| {
                if let Reply::Integer(bytes) = usage {
                    self.existing += 1;
                    self.usage += bytes;
                }
            };
            count(read());
            read();
            let retried = (read(), without_footer(read()));
            count(read());
            if has_source {
                let source = without_footer(read());
                let restored = Reply::Bulk(self.source[..self.source.len() - 10].to_vec());
                assert_eq!(source, restored, "{last}: a command changed a source");
                read();
            }
            outcomes.push(Outcome {
                reply,
                before,
                after,
                digest,
                requests,
                retried,
            });
        }
        outcomes
    }

    /// Compares what INFO counts with MEMORY USAGE of all keys.
    fn check_counters(&mut self, text: &str) {
        let Counters { values, errors } = Counters::of(&mut self.connection);
        let measured = (self.existing, self.usage - self.existing * self.overhead);
        if values != measured {
            let finding = format!("{text}\n    INFO counts {values:?}, measured {measured:?}");
            self.findings.push(finding);
            self.usage += values.1 - measured.1;
        }
        if errors != self.internal_errors {
            self.internal_errors = errors;
            self.findings.push(format!("{text}\n    an internal error"));
        }
    }

    /// Compares the keys with those of the replica and of the AOF.
    fn compare(&mut self, state: &State) {
        self.server.wait_for_replica(&self.replica);
        let expected = self.connection.call("DEBUG DIGEST");
        let keys = state::State::of(&mut self.connection);
        let mut compare = |connection: &mut Connection, what: &str| {
            if connection.call("DEBUG DIGEST") != expected {
                let differences = state::State::of(connection).differences(&keys);
                let finding = format!("{}, {what}: {differences:#?}", state.name);
                self.findings.push(finding);
            }
        };
        compare(&mut self.replica.resp2(), "replica");
        self.connection.ok("DEBUG LOADAOF");
        compare(&mut self.connection, "AOF");
    }

    fn find(&mut self, text: &str, fault: Refused, why: &str, outcome: &Outcome) {
        let changed = match (outcome.before == outcome.after, &outcome.after) {
            (true, _) => "unchanged",
            (_, Reply::Null(_)) => "deleted",
            _ => "changed",
        };
        let start = |text: &Reply, len| text.to_string().chars().take(len).collect::<String>();
        let (reply, retried) = (start(&outcome.reply, 200), start(&outcome.retried.0, 100));
        self.findings.push(format!(
            "{text}\n    {fault:?} of {:?}: {why}. Reply {reply}, key {changed}, retried {retried}",
            outcome.requests
        ));
    }

    /// `has_defaults`: the settings are those for which there is a case that succeeds.
    fn finish(self, has_defaults: bool) {
        let (runs, positions, (largest, of)) = (self.runs, self.positions, &self.largest_other);
        let name = self.family.name;
        println!(
            "{name}: {runs} runs, {positions} positions, largest other allocation {largest} bytes: {of}"
        );
        if has_defaults && matches!(self.selection, Selection::Sample(sample) if sample.is_all()) {
            let commands = self.family.commands().into_iter().map(|(name, _)| name);
            let sketch = SKETCH_COMMANDS.map(|(name, _)| name.to_owned());
            let sketch = sketch.into_iter().filter(|_| self.family.has_window);
            let mut missing: Vec<_> = commands.chain(sketch).collect();
            missing.retain(|command| !self.succeeded.contains(command));
            missing.retain(|command| !NEVER_SUCCESSFUL.contains(&(name, command)));
            assert!(missing.is_empty(), "no successful case: {missing:?}");
        }
        let count = self.findings.len();
        let findings = self.findings[..count.min(400)].join("\n");
        assert!(count == 0, "{count} findings:\n{findings}");
        assert!(*largest <= MAX_OTHER_BYTES, "{largest} {of}");
    }
}

fn describe(family: &Family, state: &State, command: &Command) -> String {
    let start = |argument: &Vec<u8>| -> String {
        let text = String::from_utf8_lossy(argument);
        text.escape_debug().take(60).collect()
    };
    let arguments: Vec<_> = command.iter().map(start).collect();
    format!("{}, {}: {}", family.name, state.name, arguments.join(" "))
}

fn restore(key: &str, payload: &[u8]) -> Command {
    let command = [&b"RESTORE"[..], key.as_bytes(), b"0", payload];
    command.map(<[u8]>::to_vec).to_vec()
}
