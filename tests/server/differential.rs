//! Random commands of every type, and what must not change the data: replication, RDB files and append-only files.
//!
//! A round runs random commands on a primary with a replica whose clock and settings differ: single, in transactions and in
//! scripts, among them copies with COPY, RESTORE and LOADCHUNK, times to live, jumps of the clock, limits of memory, and changes
//! of settings. At its end, the primary, the replica, and the primary after DEBUG RELOAD and after it loaded its append-only
//! file, as logged and rewritten, must have equal keys: payload, digest, replies of reads, and replies and effects of writes.
//!
//! A round is a function of its seed, except for random seeds of filters, the server's choice of keys to evict, and the memory
//! that the server uses. `ROUGHLY_SEED` sets the seed of the first round, and `ROUGHLY_COMMANDS` the number of commands (scripts and
//! transactions count as one): `scripts/check-release.sh differential` runs 200,000. A failure names the seed of its round and
//! the least number of commands that fails.

use crate::families::{
    FAMILIES, Family, SKETCH_USES, all_commands, dump, one_per_family, position_of_part,
    valkey_bloom,
};
use crate::support::resp::{Connection, Protocol, Reply, Text};
use crate::support::server::{Options, Server};
use crate::support::time;
use crate::support::variables::number;
use crate::workload::{Command, Random, Unit, Workload, show, words};
use std::collections::{BTreeMap, BTreeSet};
use std::thread;
use std::time::Duration;

/// Commands per round.
const ROUND: u64 = 500;
/// Keys per type.
const KEYS: u64 = 3;
const WINDOWS: &[&str] = &["1 PANES 1", "400 PANES 4", "5000 PANES 5", "60000 PANES 60"];
/// Windows whose panes grow with age, for the types that have them.
const LEVELS: &[&str] = &[
    "60000 PANES 2 FINEST 10",
    "86400000 FINEST 1000 PANES 3",
    "2592000000 FINEST 1000 PANES 12",
];
const DAY_MS: u64 = 86_400_000;
/// Longest time to live, except for those of many years.
const MAX_LIFE_MS: u64 = 5;
/// The key that [`Servers::view`] writes to. It removes the key.
const COPY: &str = "copy";
const START_MS: u64 = 1_700_000_000_000;
/// Later than the last pane of every window.
const LATER_MS: u64 = 40 * DAY_MS;

/// The visible state of all keys: for each key, commands with their replies.
type View = BTreeMap<Vec<u8>, Vec<(Command, Reply)>>;

/// How many commands of each name ran, and how many of them succeeded.
#[derive(Default)]
struct Counts {
    commands: BTreeMap<String, (u64, u64)>,
    types: BTreeSet<String>,
    compared: usize,
}

impl Counts {
    fn add(&mut self, command: &Command, reply: &Reply) {
        let name = String::from_utf8_lossy(&command[0]).to_lowercase();
        let (sent, succeeded) = self.commands.entry(name).or_default();
        *sent += 1;
        *succeeded += u64::from(!reply.is_error());
        // The command that SKETCH.WITHIN runs, for example.
        if let Some(position) = position_of_part(&command[0]) {
            self.add(&command[position..].to_vec(), reply);
        }
    }
}

/// A primary that logs all commands, and a replica.
struct Servers {
    primary: Server,
    replica: Server,
    /// Names of the settings on this server, with their default and another value.
    settings: Vec<(String, [&'static str; 2])>,
    key_limit: String,
    now: u64,
    counts: Counts,
}

impl Servers {
    fn start() -> Self {
        // The server ends a rewrite in its timer.
        let arguments = ["--hz", "100", "--repl-ping-replica-period", "3600"];
        let log = ["--appendonly", "yes", "--appendfsync", "no"];
        let no_preamble = ["--aof-use-rdb-preamble", "no"];
        let start = |arguments: &[&str]| Options::new().debug_module().arguments(arguments).start();
        let primary = start(&[&arguments[..], &log, &no_preamble].concat());
        let mut replica = start(&["--replica-read-only", "no"]);
        replica.replicate(&primary);
        let settings = one_per_family().flat_map(|family| family.settings);
        let settings = settings.map(|set| (primary.setting(set.name), [set.default, set.other]));
        Self {
            settings: settings.collect(),
            key_limit: primary.setting("sketch-max-key-bytes"),
            primary,
            replica,
            now: START_MS,
            counts: Counts::default(),
        }
    }

    /// Runs a round of this many commands. Returns what differs.
    fn round(&mut self, seed: u64, commands: u64) -> Result<(), String> {
        let mut random = Random::new(!seed);
        let workload = Workload::new(seed, "", KEYS).with_windows(WINDOWS);
        let mut workload = workload.with_levels(LEVELS).with_all_commands(4);
        let mut connection = self.primary.connect(random.pick(&Protocol::BOTH));
        self.reset_settings(&mut connection);
        self.change_settings(&mut self.replica.resp2(), |values| random.pick(&values));
        connection.ok("FLUSHALL");
        self.set_clock(START_MS + random.below(1000));
        self.replica
            .set_clock(random.pick(&["+7000", "-7000", "1", "1900000000000"]));
        workload.create(&mut connection);
        for _ in 0..commands {
            self.step(&mut random, &mut workload, &mut connection);
        }
        self.reset_settings(&mut connection);
        // Keys with a short time to live expire.
        thread::sleep(Duration::from_millis(MAX_LIFE_MS + 1));
        self.compare(seed)
    }

    fn set_clock(&mut self, now: u64) {
        self.now = now;
        self.primary.set_clock(&now.to_string());
    }

    fn reset_settings(&self, connection: &mut Connection) {
        for setting in ["maxmemory 0", &format!("{} 0", self.key_limit)] {
            set(connection, setting);
        }
        self.change_settings(connection, |[default, _]| default);
    }

    /// Sets each setting of the module to one of two values.
    fn change_settings(
        &self,
        connection: &mut Connection,
        mut value: impl FnMut([&'static str; 2]) -> &'static str,
    ) {
        for (name, values) in &self.settings {
            set(connection, &format!("{name} {}", value(*values)));
        }
    }

    fn step(&mut self, random: &mut Random, workload: &mut Workload, connection: &mut Connection) {
        match random.below(100) {
            0..8 => self.set_clock(match random.below(16) {
                0 => self.now - random.below(10_000),
                1 => self.now + random.below(100_000),
                2 => self.now + random.below(3 * DAY_MS),
                _ => self.now + random.below(700),
            }),
            8..20 => {
                let create = workload.creation();
                connection.send(&[b"DEL", &create[1][..]]);
                let reply = connection.send(&create);
                self.counts.add(&create, &reply);
            }
            20..23 => {
                let life = random.below(MAX_LIFE_MS) + 1;
                connection.call(&format!("PEXPIRE {} {life}", workload.key()));
            }
            23..28 => self.restore(random, connection, &workload.key(), &workload.key()),
            28..31 => self.copy_in_chunks(random, connection, &workload.key(), &workload.key()),
            31..33 => self.limit(random, connection),
            33 => {
                let number = random.below(self.settings.len() as u64) as usize;
                let (name, values) = &self.settings[number];
                set(connection, &format!("{name} {}", random.pick(values)));
            }
            _ => {}
        }
        let unit = workload.unit();
        let reply = unit.send(connection).expect("a reply");
        match (&unit, reply.items()) {
            (Unit::Single(command), _) => self.counts.add(command, &reply),
            (Unit::Transaction(commands) | Unit::Script(commands), Some(replies)) => {
                for (command, reply) in commands.iter().zip(replies) {
                    self.counts.add(command, reply);
                }
            }
            _ => {}
        }
    }

    /// DUMP and RESTORE, or BF.LOAD if the type has it.
    fn restore(&mut self, random: &mut Random, connection: &mut Connection, key: &str, to: &str) {
        let Reply::Bulk(payload) = connection.send(&["DUMP", key]) else {
            return;
        };
        let type_name = connection.send(&["TYPE", key]);
        let is_valkey = type_name.text() == Some(valkey_bloom::TYPE.type_name.as_bytes());
        let load = if is_valkey && random.one_in(2) {
            connection.send(&["DEL", to]);
            let payload = valkey_bloom::load_payload_of(&payload);
            vec![b"BF.LOAD".to_vec(), to.into(), payload]
        } else {
            let life = random.pick(&["0", "1", "100000000"]);
            let mut restore = words(&format!("RESTORE {to} {life} PAYLOAD REPLACE"));
            restore[3] = payload;
            restore
        };
        let reply = connection.send(&load);
        self.counts.add(&load, &reply);
    }

    /// SCANDUMP and LOADCHUNK. One chunk of 20 is missing.
    fn copy_in_chunks(
        &mut self,
        random: &mut Random,
        connection: &mut Connection,
        key: &str,
        to: &str,
    ) {
        // The key must exist until its last chunk was read.
        set(connection, "maxmemory 0");
        connection.send(&["PERSIST", key]);
        let Some(family) = family_of(connection, key).filter(|_| key != to) else {
            return;
        };
        connection.send(&["DEL", to]);
        for (iterator, chunk) in family.chunks(connection, key) {
            if random.one_in(20) {
                continue;
            }
            let name = family.command("LOADCHUNK");
            let mut load = words(&format!("{name} {to} {iterator}"));
            load.push(chunk);
            let reply = connection.send(&load);
            self.counts.add(&load, &reply);
        }
    }

    /// Sets or removes a limit.
    fn limit(&self, random: &mut Random, connection: &mut Connection) {
        match random.below(6) {
            0 => {
                let used = self.primary.info_number("used_memory");
                let limit = used + random.below(1 << 20) as i64;
                let policy = random.pick(&["noeviction", "allkeys-random", "volatile-ttl"]);
                set(connection, &format!("maxmemory-policy {policy}"));
                set(connection, &format!("maxmemory {limit}"));
            }
            1 => {
                let bytes = 100 + random.below(20_000);
                set(connection, &format!("{} {bytes}", self.key_limit));
            }
            2 => {
                let bytes = 100 + random.below(5000);
                set(connection, &format!("bf.bloom-memory-usage-limit {bytes}"));
            }
            _ => {
                set(connection, "maxmemory 0");
                set(connection, &format!("{} 0", self.key_limit));
                set(connection, "bf.bloom-memory-usage-limit 134217728");
            }
        }
    }

    fn compare(&mut self, seed: u64) -> Result<(), String> {
        let protocol = Random::new(seed).pick(&Protocol::BOTH);
        let expected = view(&self.primary, protocol, self.now, seed);
        self.counts.compared += expected.len();
        for replies in expected.values() {
            let type_name = replies[0].1.text().expect("a type");
            self.counts.types.insert(Text(type_name).to_string());
        }
        self.primary.wait_for_replica(&self.replica);
        // The settings limit writes of clients, but not replicated ones.
        self.reset_settings(&mut self.replica.resp2());
        let found = view(&self.replica, protocol, self.now, seed);
        same("the replica", &expected, &found)?;
        // A primary replicates only commands that succeeded.
        let log = self.replica.log();
        let mut lines = log.lines();
        if let Some(line) = lines.find(|line| line.contains("sending an error to its master")) {
            return Err(line.to_owned());
        }
        for reload in ["DEBUG RELOAD", "DEBUG LOADAOF", "BGREWRITEAOF"] {
            if reload == "BGREWRITEAOF" {
                assert!(self.primary.rewrite_aof());
            }
            let load = reload.replace("BGREWRITEAOF", "DEBUG LOADAOF");
            let reply = self.primary.call(&load);
            if !reply.is_ok() {
                return Err(format!("{reload}: {reply}\n{}", self.primary.log_tail()));
            }
            let found = view(&self.primary, protocol, self.now, seed);
            same(reload, &expected, &found)?;
        }
        Ok(())
    }
}

fn set(connection: &mut Connection, setting: &str) {
    connection.ok(&format!("CONFIG SET {setting}"));
}

/// The entry of the type of a key, whatever its name; `None` if there is no such key.
fn family_of(connection: &mut Connection, key: &str) -> Option<&'static Family> {
    let name = connection.send(&["TYPE", key]).string();
    FAMILIES.iter().find(|family| family.type_name == name)
}

/// The state of all keys: what reads show at two times, and the replies and effects of writes to a copy.
fn view(server: &Server, protocol: Protocol, now: u64, seed: u64) -> View {
    let mut connection = server.connect(protocol);
    let mut keys = connection.call("KEYS *").strings();
    keys.sort();
    let mut view = View::new();
    for at in [now + LATER_MS, now] {
        server.set_clock(&at.to_string());
        for key in &keys {
            let family = family_of(&mut connection, key);
            let family = family.unwrap_or_else(|| panic!("{key} has no type of the module"));
            let views = view.entry(key.clone().into()).or_default();
            let mut commands: Vec<_> = ["TYPE", "PEXPIRETIME", "DEBUG DIGEST-VALUE"]
                .map(|command| words(&format!("{command} {key}")))
                .into();
            // After BF.LOAD, which the AOF contains, the header and the size of valkey-bloom's type differ until the filter
            // grows (docs/families/bloom.md).
            let is_loaded = family.name == valkey_bloom::TYPE.name;
            let reads = family.reads.iter();
            let reads = reads.filter(|read| !(is_loaded && **read == "BF.SCANDUMP KEY 0"));
            let sketch = SKETCH_USES.iter();
            let sketch = sketch.filter(|read| !read.starts_with("SKETCH.ADVANCE"));
            for read in reads.chain(sketch) {
                let on_key = |argument: &str| match argument {
                    "K" | "KEY" => key.to_owned(),
                    argument => argument.to_owned(),
                };
                let read: Vec<_> = read.split(' ').map(on_key).collect();
                commands.push(words(&read.join(" ")));
            }
            for command in &commands {
                connection.write(command).expect("a command");
            }
            for command in commands {
                let mut reply = connection.read().expect("a reply");
                if is_loaded {
                    reply.remove_field("Size");
                }
                views.push((command, reply));
            }
            views.push((words("DUMP"), dump(&mut connection, key)));
        }
    }
    let mut random = Random::new(seed);
    for (key, views) in &mut view {
        let key = std::str::from_utf8(key).expect("UTF-8");
        let family = family_of(&mut connection, key).expect("a type");
        let mut commands = vec![words(&format!("COPY {key} {COPY} REPLACE"))];
        commands.extend((0..3).map(|_| (family.random.write)(&mut random, COPY, key)));
        for command in commands {
            let reply = connection.send(&command);
            views.push((command, reply));
        }
        views.push((words("DUMP of the copy"), dump(&mut connection, COPY)));
        connection.send(&["DEL", COPY]);
    }
    view
}

/// Compares the state of a server with that of the primary.
fn same(what: &str, expected: &View, found: &View) -> Result<(), String> {
    let keys: BTreeSet<_> = expected.keys().chain(found.keys()).collect();
    for key in keys {
        let (Some(expected), Some(found)) = (expected.get(key), found.get(key)) else {
            let is_missing = found.get(key).is_none();
            let problem = if is_missing { "missing" } else { "unexpected" };
            return Err(format!("{what}: {} is {problem}", Text(key)));
        };
        for ((command, expected), (_, found)) in expected.iter().zip(found) {
            if expected != found {
                let command = format!("{}: {}", Text(key), show(command));
                return Err(format!("{what}: {command}: {found}, expected {expected}"));
            }
        }
    }
    Ok(())
}

/// The least number of commands of a round that fails, and how. The round fails with `commands` commands.
fn shorten(seed: u64, commands: u64, error: String) -> (u64, String) {
    let (mut succeeds, mut fails, mut failure) = (0, commands, error);
    while succeeds + 1 < fails {
        let middle = succeeds.midpoint(fails);
        match Servers::start().round(seed, middle) {
            Ok(()) => succeeds = middle,
            Err(error) => (fails, failure) = (middle, error),
        }
    }
    (fails, failure)
}

#[test]
fn random_commands_leave_primary_replica_and_files_equal() {
    let seed = number("ROUGHLY_SEED", 1);
    let commands = number("ROUGHLY_COMMANDS", time::cases(5000) as u64);
    let mut servers = Servers::start();
    let rounds = commands.div_ceil(ROUND);
    for round in 0..rounds {
        let (seed, commands) = (seed + round, ROUND.min(commands - round * ROUND));
        if let Err(error) = servers.round(seed, commands) {
            drop(servers);
            let (commands, error) = shorten(seed, commands, error);
            panic!(
                "{error}\nROUGHLY_SEED={seed} ROUGHLY_COMMANDS={commands} runs only these commands; the last one causes it"
            );
        }
    }
    let counts = &servers.counts;
    let sum = |number: fn(&(u64, u64)) -> u64| counts.commands.values().map(number).sum::<u64>();
    println!(
        "differential: {rounds} rounds, {} commands of which {} succeeded, {} keys compared",
        sum(|counts| counts.0),
        sum(|counts| counts.1),
        counts.compared
    );
    if commands >= 5000 {
        for (name, _) in all_commands() {
            let (sent, succeeded) = counts.commands.get(&name).copied().unwrap_or_default();
            assert!(succeeded > 0, "{name}: {sent} sent, none succeeded");
        }
        for data_type in roughly::MODULE.data_types() {
            let name = data_type.name.to_str().expect("UTF-8");
            assert!(counts.types.contains(name), "no key of the type {name}");
        }
    }
}
