//! A replica with Roughly obeys random commands of a primary with RedisBloom: it replies no error, and has the same keys.
//!
//! `ROUGHLY_SEED` is the seed of the first round, and `ROUGHLY_ROUNDS` the number of rounds.

use super::super::compare::{Transfer, compare, names};
use super::super::{Peer, assert_no_refused_command};
use super::generator::{Generator, ends_2_6, name, parse, unusual_parameters};
use super::{ROUND, new_name, short};
use crate::support::resp::{Reply, Text};
use crate::support::variables::number;
use crate::workload::{Command, show, words};

/// Rounds in the suite.
const ROUNDS: u64 = 3;

/// Whether Roughly stores other values, or RedisBloom does not replicate the command.
fn is_excluded(command: &Command) -> bool {
    match name(command).as_str() {
        "CF.LOADCHUNK" => true,
        // Totals below 0, and above 2^63 - 1.
        "CMS.MERGE" => command.iter().any(|argument| argument.starts_with(b"-")),
        "CMS.INCRBY" => command.iter().any(|argument| argument.len() > 18),
        // A key may have the name of an option.
        "BF.RESERVE" | "CF.RESERVE" => {
            let options = ["EXPANSION", "NONSCALING", "BUCKETSIZE", "MAXITERATIONS"];
            let key = command.get(1).map(|key| key.to_ascii_uppercase());
            key.is_some_and(|key| options.iter().any(|option| key == option.as_bytes()))
        }
        // Roughly stores items with NUL completely.
        "TOPK.ADD" | "TOPK.INCRBY" => command.iter().any(|argument| argument.contains(&0)),
        _ => false,
    }
}

pub fn replicas_obey_random_commands(peer: &Peer) {
    let mut primary = peer.options().start();
    let mut replica = peer.roughly().start();
    replica.replicate(&primary);
    let (mut one, mut other) = (primary.resp2(), replica.resp2());
    let first = number("ROUGHLY_SEED", 1);
    let rounds = number("ROUGHLY_ROUNDS", ROUNDS);
    let mut compared = 0;
    for seed in first..first + rounds {
        one.call("FLUSHALL");
        let mut generator = Generator::new(seed);
        let mut history = Vec::new();
        for _ in 0..ROUND {
            let command = generator.next();
            let ends_server = !peer.has_wrapped_sizes && ends_2_6(&command);
            if !ends_server && !is_excluded(&command) {
                let reply = one.send(&command);
                generator.remember(&command, &reply);
                history.push((command, reply));
            }
        }
        let mut keys = Vec::new();
        for (number, key) in names(&mut one).iter().enumerate() {
            if let Some(name) = new_name(&mut one, key, number) {
                one.send_ok(&[b"RENAME", &key[..], name.as_bytes()]);
                keys.push((key.clone(), name));
            }
        }
        primary.wait_for_replica(&replica);
        for (key, renamed) in &keys {
            if let Err(difference) = compare(&mut one, &mut other, renamed, Transfer::Commands) {
                let of_key = |(command, _): &&(Command, Reply)| command[1..].contains(key);
                let lines = history.iter().filter(of_key).map(|(command, reply)| {
                    let [command, reply] = [show(command), reply.to_string()];
                    format!("{} -> {}\n", short(&command), short(&reply))
                });
                let (lines, difference) = (lines.collect::<String>(), short(&difference));
                panic!("ROUGHLY_SEED={seed}\n{lines}{renamed}: {difference}");
            }
        }
        let found = other.call("DBSIZE");
        assert_eq!(found, one.call("DBSIZE"), "ROUGHLY_SEED={seed}");
        compared += keys.len();
    }
    assert!(compared > 30, "{compared} keys");
    assert_no_refused_command(&replica);
}

/// Whether a command creates a filter of which a DUMP takes seconds ([`super::super::extremes`]).
fn is_large(command: &Command) -> bool {
    let is_filter = command[0].starts_with(b"BF.") || command[0].starts_with(b"CF.");
    let mut numbers = command[1..].iter().filter_map(|argument| parse(argument));
    is_filter && numbers.any(|number| (1e6..1e12).contains(&number))
}

/// Every parameter with every unusual argument, and options that are specified twice.
pub fn replicas_obey_unusual_parameters(peer: &Peer) {
    let mut primary = peer.options().start();
    let mut replica = peer.roughly().start();
    replica.replicate(&primary);
    let (mut one, mut other) = (primary.resp2(), replica.resp2());
    let mut commands = unusual_parameters();
    commands.retain(|command| {
        let ends_server = !peer.has_wrapped_sizes && ends_2_6(command);
        !ends_server && !is_excluded(command) && !is_large(command)
    });
    let mut accepted = 0;
    for command in &commands {
        let key = Text(&command[1]);
        let creation = match name(command).as_str() {
            "CMS.INCRBY" | "CMS.MERGE" => format!("CMS.INITBYDIM {key} 20 5"),
            "TOPK.INCRBY" => format!("TOPK.RESERVE {key} 3 8 7 1"),
            "TDIGEST.ADD" | "TDIGEST.MERGE" => format!("TDIGEST.CREATE {key}"),
            _ => "PING".to_owned(),
        };
        one.send(&words(&creation));
        let reply = one.send(command);
        accepted += usize::from(!reply.is_error());
    }
    primary.wait_for_replica(&replica);
    for key in names(&mut one) {
        let key = std::str::from_utf8(&key).expect("a name");
        if let Err(difference) = compare(&mut one, &mut other, key, Transfer::Commands) {
            let mut commands = commands.iter();
            let command = commands.find(|command| command[1] == key.as_bytes());
            let command = command.expect("a command");
            panic!("{}: {}", short(&show(command)), short(&difference));
        }
    }
    assert_eq!(other.call("DBSIZE"), one.call("DBSIZE"));
    let are_many = accepted > commands.len() / 8;
    assert!(are_many, "{accepted} of {}", commands.len());
    assert_no_refused_command(&replica);
}
