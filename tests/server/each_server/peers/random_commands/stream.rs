//! A replica with Roughly obeys random commands of a primary with RedisBloom: it replies no error, and has the same keys.
//!
//! `ROUGHLY_SEED` is the seed of the first round, and `ROUGHLY_ROUNDS` the number of rounds.

use super::super::compare::{Transfer, compare, names};
use super::super::{Peer, assert_no_refused_command};
use super::generator::{Generator, ends_2_6, name};
use super::{ROUND, short};
use crate::families::one_per_family;
use crate::support::resp::Text;
use crate::support::variables::number;
use crate::workload::{Command, show};

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
            let key = command.get(1);
            key.is_some_and(|key| {
                let mut options = options.iter();
                options.any(|option| key.eq_ignore_ascii_case(option.as_bytes()))
            })
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
            let reply = one.send(&[b"TYPE", &key[..]]);
            let type_name = reply.text().expect("a type");
            let mut families = one_per_family();
            if let Some(family) = families.find(|family| family.type_name.as_bytes() == type_name) {
                // `compare` derives the type from the name.
                let name = format!("{}:{number}:renamed", family.name);
                let reply = one.send(&[b"RENAME", &key[..], name.as_bytes()]);
                assert!(reply.is_ok(), "RENAME {}: {reply}", Text(key));
                keys.push((key.clone(), name));
            }
        }
        primary.wait_for_replica(&replica);
        for (key, renamed) in &keys {
            if let Err(difference) = compare(&mut one, &mut other, renamed, Transfer::Commands) {
                let of_key = history
                    .iter()
                    .filter(|(command, _)| command[1..].contains(key));
                let lines = of_key.map(|(command, reply)| {
                    let [command, reply] = [show(command), reply.to_string()];
                    format!("{} -> {}\n", short(&command), short(&reply))
                });
                let lines: String = lines.collect();
                panic!(
                    "ROUGHLY_SEED={seed}\n{lines}{renamed}: {}",
                    short(&difference)
                );
            }
        }
        assert_eq!(
            other.call("DBSIZE"),
            one.call("DBSIZE"),
            "ROUGHLY_SEED={seed}"
        );
        compared += keys.len();
    }
    assert!(compared > 30, "{compared} keys");
    assert_no_refused_command(&replica);
}
