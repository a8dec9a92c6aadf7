//! A command that changes a value is propagated to replicas and counts as a change for the next save; one that does not is not.

use crate::families::{FAMILIES, dump};
use crate::support::resp::{Connection, Reply};
use crate::support::server::{Options, Server};
use crate::workload::{Command, Random, Workload, show, words};

/// Random commands per type.
const COMMANDS: u64 = 250;
/// Repetitions of each of [`PARTS`].
const ROUNDS: u64 = 40;

/// Panes begin and expire between the commands.
const WINDOWS: &[&str] = &["400 PANES 4", "3000 PANES 3"];
const LEVELS: &[&str] = &["4000 PANES 2 FINEST 250"];

/// Commands on values of several parts that change only some of the parts, and not the total: how to create the key, how to prepare a
/// round, and the command. `#` is another number in each round.
const PARTS: &[[&str; 3]] = &[
    // The cells are written in blocks.
    [
        "CMS.INITBYDIM k 3000 2",
        "DEL other;CMS.INITBYDIM other 3000 2;CMS.INCRBY other # 7",
        "CMS.MERGE k 1 other",
    ],
    [
        "BF.RESERVE k 0.01 50 EXPANSION 1;BF.INSERT k ITEMS 0..400",
        "DEL other;BF.RESERVE other 0.01 50 EXPANSION 1;BF.MADD other # more:#",
        "BF.MERGE k 1 other",
    ],
    [CUCKOO, "CF.DEL k #", "CF.COMPACT k"],
];

const CUCKOO: &str = "CF.RESERVE k 64 EXPANSION 1;CF.INSERT k ITEMS 0..300";

/// What a command that changes nothing must not change. The tests set the clock of the server.
pub struct Observer {
    pub server: Server,
    _replica: Server,
    pub connection: Connection,
    watcher: Connection,
    listener: Connection,
    changes: u64,
}

impl Observer {
    pub fn new() -> Self {
        let [server, mut replica] = [(); 2].map(|()| Options::new().debug_module().start());
        server.ok("CONFIG SET repl-ping-replica-period 3600");
        replica.replicate(&server);
        Self {
            connection: server.resp2(),
            watcher: server.resp2(),
            listener: server.listener(),
            _replica: replica,
            server,
            changes: 0,
        }
    }

    /// What a command may change, with names.
    fn observe(&mut self, key: &str) -> [(&'static str, Reply); 4] {
        let connection = &mut self.connection;
        let mut number = |section, field| {
            let number = connection.info(section, field).expect(field);
            Reply::Bulk(number.into())
        };
        let offset = number("replication", "master_repl_offset");
        let changes = number("persistence", "rdb_changes_since_last_save");
        let digest = connection.send(&["DEBUG", "DIGEST-VALUE", key]);
        [
            ("replication", offset),
            ("dirty", changes),
            ("value", dump(connection, key)),
            ("digest", digest),
        ]
    }

    /// Runs a command. Returns its reply, the names of what it changed, and its keyspace events.
    pub fn run(
        &mut self,
        key: &str,
        command: &[Vec<u8>],
    ) -> (Reply, Vec<&'static str>, Vec<String>) {
        assert!(self.watcher.send(&["WATCH", key]).is_ok());
        self.events();
        let before = self.observe(key);
        let reply = self.connection.send(command);
        let pairs = before.into_iter().zip(self.observe(key));
        let changed = pairs.filter(|(before, after)| before != after);
        let mut changed: Vec<_> = changed.map(|((name, _), _)| name).collect();
        let events = self.events();
        if !events.is_empty() {
            changed.push("event");
        }
        self.watcher.ok("MULTI");
        self.watcher.call("PING");
        if !matches!(self.watcher.call("EXEC"), Reply::Array(_)) {
            changed.push("watched key");
        }
        (reply, changed, events)
    }

    /// The events since the last call, except for those of missing and new keys.
    fn events(&mut self) -> Vec<String> {
        self.connection.call("SET marker x");
        self.connection.call("DEL marker");
        let mut events = Vec::new();
        loop {
            let event = self.listener.read().expect("an event").to_string();
            let (key, name) = event.rsplit_once(" $").expect("a name");
            let name = name.trim_end_matches(']');
            match (key.ends_with(":marker"), name) {
                (true, "del") => return events,
                (true, _) | (false, "keymiss" | "new") => {}
                (false, _) => events.push(name.to_owned()),
            }
        }
    }

    /// Runs a command whose first argument is the key that it may change: it changes all that shows a change, or nothing. The
    /// last event has the name of the command.
    fn check(&mut self, command: &Command) {
        let key = String::from_utf8_lossy(&command[1]);
        let (reply, changed, events) = self.run(&key, command);
        let shown = show(command);
        let is_all_or_nothing = changed.is_empty() || changed.len() == 6;
        assert!(is_all_or_nothing, "{shown}: {reply}: changed {changed:?}");
        if let Some(event) = events.last() {
            let name = String::from_utf8_lossy(&command[0]).to_lowercase();
            // Of valkey-bloom's type, the events are those of valkey-bloom. The advance can be the only change.
            let is_named = [&name, "sketch.advance"].contains(&&**event)
                || event.starts_with("bloom.")
                || name == "cms.incrbylimit" && event == "cms.incrby";
            assert!(is_named, "{shown}: {events:?}");
            self.changes += 1;
        }
    }

    /// Runs commands that are separated by semicolons.
    fn prepare(&mut self, commands: &str, number: u64) {
        for command in commands.split(';') {
            let mut arguments = Vec::new();
            for argument in command.split(' ') {
                match argument.split_once("..") {
                    Some((first, end)) => {
                        let [first, end] =
                            [first, end].map(|n| n.parse::<u64>().expect("a number"));
                        arguments.extend((first..end).map(|number| number.to_string()));
                    }
                    None => arguments.push(argument.replace('#', &number.to_string())),
                }
            }
            self.connection.send_run(&arguments);
        }
    }
}

#[test]
fn random_commands_are_propagated_if_they_change_the_value() {
    let mut observer = Observer::new();
    for (seed, family) in (0..).zip(FAMILIES) {
        let mut random = Random::new(!seed);
        let workload = Workload::new(seed, "", 2).of(family);
        let mut workload = workload.with_windows(WINDOWS).with_levels(LEVELS);
        let mut now = 1_700_000_000_000;
        observer.changes = 0;
        observer.server.set_clock(&now.to_string());
        for create in workload.creations() {
            observer.check(&create);
        }
        for _ in 0..COMMANDS {
            if random.one_in(4) {
                now += random.below(700);
                observer.server.set_clock(&now.to_string());
            }
            observer.check(&match random.below(3) {
                0 => workload.any(),
                _ => workload.write(),
            });
        }
        let changes = observer.changes;
        let are_mixed = changes > COMMANDS / 10 && changes < COMMANDS;
        assert!(are_mixed, "{}: {changes}", family.name);
    }
}

#[test]
fn a_change_of_any_part_of_a_value_is_propagated() {
    let mut observer = Observer::new();
    for [create, prepare, command] in PARTS {
        observer.connection.ok("FLUSHALL SYNC");
        observer.changes = 0;
        observer.prepare(create, 0);
        for number in 1..=ROUNDS {
            observer.prepare(prepare, number);
            // The second time, nothing is left to change.
            observer.check(&words(command));
            observer.check(&words(command));
        }
        let are_many = observer.changes >= ROUNDS / 4;
        assert!(are_many, "{command}: {}", observer.changes);
    }
}
