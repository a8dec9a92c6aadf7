//! The same random commands on a server with RedisBloom and on one with Roughly: the replies are equal, except for the list
//! of wanted differences.
//!
//! A run starts with the example of each difference. Rounds follow, each of which starts with empty servers and is a function of
//! its seed, except that RedisBloom decays top-k randomly. At the end of a round, the keys of both servers are equal.
//!
//! - The values of t-digests are not compared, because RedisBloom compresses them when they are read; the replies to reads are.
//! - The values of top-k with a decay below 1 are not compared.
//!
//! `ROUGHLY_SEED` is the seed of the first round, and `ROUGHLY_COMMANDS` the number of commands per protocol. A failure prints the
//! values with which only one round runs, up to the difference.

mod differences;
mod digests;
mod generator;
mod stream;

pub use stream::{replicas_obey_random_commands, replicas_obey_unusual_parameters};

use super::Peer;
use super::compare::{Transfer, compare, names};
use crate::families::one_per_family;
use crate::golden::compare::is_same;
use crate::golden::recorded;
use crate::support::resp::{Connection, Protocol, Reply};
use crate::support::server::Server;
use crate::support::variables::number;
use crate::workload::{Command, show, words};
use differences::{Case, DIFFERENCES, Difference, VERSION_2_8};
use digests::Digests;
use generator::{Generator, ends_2_6, name};
use std::collections::BTreeMap;
use std::fmt::Write;

/// Commands per round.
const ROUND: u64 = 1000;
/// Commands in the suite per protocol.
const COMMANDS: u64 = 8000;
/// Unlisted differences that a failure shows, and commands on the same key before each of them.
const SHOWN: usize = 10;
const HISTORY: usize = 12;
/// Characters per reply or command in a failure.
const SHOWN_CHARACTERS: usize = 300;

/// A command with the replies of both servers.
struct Step {
    command: Command,
    replies: [Reply; 2],
}

struct Run {
    /// RedisBloom, then Roughly.
    servers: [Server; 2],
    connections: [Connection; 2],
    protocol: Protocol,
    /// The version of RedisBloom, as in MODULE LIST.
    version: i64,
    /// Commands by name: sent, and replied without an error.
    commands: BTreeMap<String, (u64, u64)>,
    /// The occurrences of each entry of [`DIFFERENCES`].
    occurrences: Vec<u64>,
    /// The texts of unlisted differences.
    unlisted: Vec<String>,
}

pub fn random_commands_have_the_same_replies_over_resp2(peer: &Peer) {
    Run::start(peer, Protocol::Resp2).all();
}

pub fn random_commands_have_the_same_replies_over_resp3(peer: &Peer) {
    Run::start(peer, Protocol::Resp3).all();
}

impl Run {
    fn start(peer: &Peer, protocol: Protocol) -> Self {
        let servers = [peer.options().start(), peer.roughly().start()];
        let connections = [0, 1].map(|i: usize| servers[i].connect(protocol));
        let version = servers[0].module_version();
        assert_eq!(peer.has_wrapped_sizes, version >= VERSION_2_8);
        Self {
            servers,
            connections,
            protocol,
            version,
            commands: BTreeMap::new(),
            occurrences: vec![0; DIFFERENCES.len()],
            unlisted: Vec::new(),
        }
    }

    fn all(mut self) {
        let first = number("ROUGHLY_SEED", 1);
        let commands = number("ROUGHLY_COMMANDS", COMMANDS);
        self.examples();
        let mut keys = 0;
        for round in 0..commands.div_ceil(ROUND) {
            keys += self.round(first + round, ROUND.min(commands - round * ROUND));
            let is_last = round + 1 == commands.div_ceil(ROUND);
            let are_few = self.unlisted.len() < SHOWN;
            assert!(is_last || are_few, "{}", self.unlisted.join("\n"));
        }
        let sum = |number: fn(&(u64, u64)) -> u64| self.commands.values().map(number).sum::<u64>();
        println!(
            "{:?}: {} commands of which {} succeeded, {keys} keys compared",
            self.protocol,
            sum(|counts| counts.0),
            sum(|counts| counts.1)
        );
        for (difference, count) in DIFFERENCES.iter().zip(&self.occurrences) {
            println!("{count:7} {} ({})", difference.reason, difference.page);
        }
        assert!(self.unlisted.is_empty(), "{}", self.unlisted.join("\n"));
        if commands >= COMMANDS {
            self.assert_all_commands_succeeded();
        }
    }

    /// Asserts that every command of RedisBloom ran without an error.
    fn assert_all_commands_succeeded(&self) {
        for family in one_per_family() {
            let added = family.added_commands;
            let commands = family.commands().into_iter().map(|(name, _)| name);
            for name in commands.filter(|name| !added.iter().any(|added| name.ends_with(added))) {
                let counts = self.commands.get(&name.to_uppercase()).copied();
                let (sent, succeeded) = counts.unwrap_or_default();
                assert!(succeeded > 0, "{name}: {sent} sent, none succeeded");
            }
        }
    }

    /// Runs the examples of the wanted differences. Each must occur.
    fn examples(&mut self) {
        for (i, difference) in DIFFERENCES.iter().enumerate() {
            if self.version >= difference.below {
                continue;
            }
            let before = self.occurrences[i];
            self.flush();
            let (mut digests, mut steps) = (Digests::default(), Vec::new());
            for command in difference.example {
                let step = self.step(words(command), 0, &mut digests, &steps);
                steps.push(step);
            }
            let last = steps.last().expect("a command");
            let [redisbloom, roughly] = &last.replies;
            assert!(
                self.occurrences[i] > before,
                "{:?}: {} did not occur: RedisBloom {redisbloom}, Roughly {roughly}",
                difference.example,
                difference.reason
            );
        }
    }

    /// Runs commands on empty servers and compares the keys. Returns the number of keys.
    fn round(&mut self, seed: u64, commands: u64) -> usize {
        self.flush();
        let mut generator = Generator::new(seed);
        let mut digests = Digests::default();
        let mut steps: Vec<Step> = Vec::new();
        for _ in 0..commands {
            let command = generator.next();
            if self.version < VERSION_2_8 && ends_2_6(&command) {
                continue;
            }
            let step = self.step(command, seed, &mut digests, &steps);
            generator.remember(&step.command, &step.replies[0]);
            steps.push(step);
        }
        for key in names(&mut self.connections[0]) {
            let command = vec![b"PEXPIRETIME".to_vec(), key];
            self.step(command, seed, &mut digests, &steps);
        }
        self.compare_keys(seed, &steps)
    }

    /// Runs a command on both servers and compares the replies.
    fn step(&mut self, command: Command, seed: u64, digests: &mut Digests, steps: &[Step]) -> Step {
        for key in digests.take_read(&command) {
            self.copy_digest(&key);
        }
        let replies = self.send(&command, seed, steps);
        let counts = self.commands.entry(name(&command)).or_default();
        counts.0 += 1;
        counts.1 += u64::from(!replies[1].is_error());
        let step = Step { command, replies };
        digests.follow(&step.command, &step.replies[1]);
        self.compare(&step, seed, digests, steps);
        step
    }

    /// Sends the command to both servers.
    fn send(&mut self, command: &Command, seed: u64, steps: &[Step]) -> [Reply; 2] {
        for connection in &mut self.connections {
            connection.write(command).expect("a command");
        }
        let names = ["RedisBloom", "Roughly"];
        [0, 1].map(|i: usize| {
            self.connections[i].read().unwrap_or_else(|error| {
                let log = self.servers[i].log_tail();
                let report = self.report(command, seed, steps);
                panic!("{}: {error}\n{report}\n{log}", names[i])
            })
        })
    }

    fn flush(&mut self) {
        for connection in &mut self.connections {
            connection.call("FLUSHALL");
        }
    }

    /// Gives Roughly the value of a digest that RedisBloom compressed when it was read: docs/migration.md, "Differences from
    /// RedisBloom". Later replies can then be equal.
    fn copy_digest(&mut self, key: &[u8]) {
        let [redisbloom, roughly] = &mut self.connections;
        let Reply::Bulk(payload) = redisbloom.send(&[b"DUMP", key]) else {
            return;
        };
        let expires = roughly.send(&[b"PEXPIRETIME", key]);
        let time = expires.integer().expect("a time").max(0).to_string();
        let [replace, absttl]: [&[u8]; 2] = [b"REPLACE", b"ABSTTL"];
        let restore = [b"RESTORE", key, time.as_bytes(), &payload, replace, absttl];
        roughly.send_ok(&restore);
    }

    fn compare(&mut self, step: &Step, seed: u64, digests: &mut Digests, steps: &[Step]) {
        let Step { command, replies } = step;
        let [redisbloom, roughly] = replies;
        let mut case = Case::new(command, redisbloom, roughly);
        let (name, arguments) = (name(command), &command[1..]);
        let is_equal = redisbloom == roughly
            || is_same(&recorded::json(redisbloom), roughly, &name, arguments);
        let key = command.get(1).cloned().unwrap_or_default();
        if !is_equal {
            case.is_digest = digests.contains(&key);
            case.has_equal_samples = digests.has_equal_samples(&key);
            case.has_one_sample = digests.has_one_sample(&key);
            case.decays = self.decays(&key);
        }
        let version = self.version;
        let is_listed =
            |difference: &Difference| version < difference.below && difference.explains(&case);
        match DIFFERENCES.iter().position(is_listed) {
            Some(i) => {
                self.occurrences[i] += 1;
                for &at in DIFFERENCES[i].deleted {
                    self.delete(&command[at], digests);
                }
            }
            None if is_equal => {}
            None => {
                let report = self.report(command, seed, steps);
                let [redisbloom, roughly] =
                    [redisbloom, roughly].map(|reply| short(&reply.to_string()));
                let replies = format!("RedisBloom {redisbloom}\n  Roughly    {roughly}");
                self.unlisted.push(format!("{report}\n  {replies}\n"));
                self.delete(&key, digests);
            }
        }
    }

    fn delete(&mut self, key: &[u8], digests: &mut Digests) {
        for connection in &mut self.connections {
            connection.send(&[b"DEL", key]);
        }
        digests.follow(&vec![b"DEL".to_vec(), key.to_vec()], &Reply::Integer(1));
    }

    /// Whether a key is a top-k with a decay below 1.
    fn decays(&mut self, key: &[u8]) -> bool {
        let info = self.connections[0].send(&[b"TOPK.INFO", key]);
        info.field("decay").is_some_and(|decay| {
            !matches!(decay, Reply::Double(text) if text == "1") && decay.text() != Some(b"1")
        })
    }

    /// The seed, the last commands on the key of the command, and the command.
    fn report(&self, command: &Command, seed: u64, steps: &[Step]) -> String {
        let (protocol, number) = (self.protocol, steps.len() + 1);
        let mut text = format!("{protocol:?}: ROUGHLY_SEED={seed} ROUGHLY_COMMANDS={number}");
        let key = command.get(1);
        let of_key = |step: &&Step| key.is_some_and(|key| step.command[1..].contains(key));
        let last: Vec<_> = steps.iter().rev().filter(of_key).take(HISTORY).collect();
        for step in last.into_iter().rev() {
            let reply = short(&step.replies[1].to_string());
            write!(text, "\n  {} -> {reply}", short(&show(&step.command))).expect("a string");
        }
        write!(text, "\n> {}", short(&show(command))).expect("a string");
        text
    }

    /// Compares the keys of both servers. Returns their number.
    fn compare_keys(&mut self, seed: u64, steps: &[Step]) -> usize {
        let [keys, of_roughly] = self.connections.each_mut().map(names);
        let protocol = self.protocol;
        assert_eq!(keys, of_roughly, "ROUGHLY_SEED={seed} over {protocol:?}");
        for (number, key) in keys.iter().enumerate() {
            let [redisbloom, roughly] = &mut self.connections;
            let Some(name) = new_name(redisbloom, key, number) else {
                continue;
            };
            for connection in [&mut *redisbloom, &mut *roughly] {
                connection.send_ok(&[b"RENAME", &key[..], name.as_bytes()]);
            }
            if let Err(difference) = compare(redisbloom, roughly, &name, Transfer::Commands) {
                let command = vec![b"DUMP".to_vec(), key.clone()];
                let report = self.report(&command, seed, steps);
                let difference = short(&difference);
                self.unlisted.push(format!("{report}\n  {difference}\n"));
            }
        }
        keys.len()
    }
}

/// A name for a key that begins with that of its type, as [`compare`] needs. `None` if the key is no sketch.
fn new_name(connection: &mut Connection, key: &[u8], number: usize) -> Option<String> {
    let type_name = connection.send(&[b"TYPE", key]).string();
    let family = one_per_family().find(|family| family.type_name == type_name)?;
    Some(format!("{}:{number}:renamed", family.name))
}

fn short(text: &str) -> String {
    text.chars().take(SHOWN_CHARACTERS).collect()
}
