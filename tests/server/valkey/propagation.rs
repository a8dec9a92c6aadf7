//! What BF.* commands propagate: a replica and a loaded append-only file must have the keys of the primary, whatever the
//! syntax of the command, the settings, and the type that the key had before the command.

use super::{AOF, SEED, Words, with_random_seeds, with_seed, words};
use crate::support::resp::{Connection, Reply};
use crate::support::server::Options;
use crate::support::state::State;

/// The options of BF.INSERT in both syntaxes. `SEED` is followed by a seed. The windows do not end during the test.
const INSERT_OPTIONS: &str = "CAPACITY 2|capacity 100|CAP 3|ERROR 0.001|ERROR 1e-7|ERROR 0x1p-7|\
    ER .25|EXPANSION 0|EXPANSION 3|E 1|NONSCALING|NOSCALING|NOCREATE|WINDOW 315360000000|\
    WINDOW 315360000000 PANES 7|TIGHTENING 0.9|SEED|VALIDATESCALETO 1000";

/// What follows the options: items, of which one is repeated, or none.
const ITEMS: &[&str] = &["ITEMS a b a c d", "IT a x", ""];

/// Commands that create keys of each type and state, with `bf-new-keys redisbloom`.
const STATES: &[&[&str]] = &[
    &[],
    &["BF.RESERVE KEY 0.01 100", "BF.ADD KEY a"],
    &["BF.RESERVE KEY 0.01 2 EXPANSION 1", "BF.MADD KEY a y z"],
    &["BF.RESERVE KEY 0.01 2 NONSCALING", "BF.ADD KEY a"],
    &[
        "BF.RESERVE KEY 0.01 100 WINDOW 315360000000",
        "BF.ADD KEY a",
    ],
    &["BF.INSERT KEY CAPACITY 2 TIGHTENING 0.5 ITEMS a y"],
    &["BF.INSERT KEY CAPACITY 2 TIGHTENING 0.5 NONSCALING ITEMS a"],
];

/// Every command that adds items or creates filters: each option, each pair of options, and no option.
fn commands() -> Vec<Words> {
    let each = || INSERT_OPTIONS.split('|');
    let mut options = vec![String::new()];
    options.extend(each().map(|option| format!(" {option}")));
    for first in each() {
        options.extend(each().map(|second| format!(" {first} {second}")));
    }
    let mut commands = Vec::new();
    for options in options {
        for items in ITEMS {
            commands.push(format!("BF.INSERT KEY{options} {items}"));
        }
    }
    let options = "|EXPANSION 0|EXPANSION 1|EXPANSION 3|NONSCALING|WINDOW 315360000000|\
        NONSCALING WINDOW 315360000000 PANES 7";
    for options in options.split('|') {
        for rate in ["0.01", "1e-7", "0.7"] {
            commands.push(format!("BF.RESERVE KEY {rate} 2 {options}"));
        }
    }
    commands.extend(["BF.ADD KEY a", "BF.ADD KEY b", "BF.MADD KEY a b a c d"].map(Into::into));
    let commands = commands.iter().map(|command| command.trim_end());
    commands.map(|command| with_seed(command, SEED)).collect()
}

fn for_key(command: &[Vec<u8>], key: &str) -> Words {
    let mut command = command.to_vec();
    command[1] = key.into();
    command
}

/// Sends commands in batches, so that a round trip does not dominate the time. Returns the replies.
fn send_all(connection: &mut Connection, commands: &[Words]) -> Vec<Reply> {
    let mut replies = Vec::with_capacity(commands.len());
    for batch in commands.chunks(100) {
        for command in batch {
            connection.write(command).expect("a request");
        }
        let read = |_| connection.read().expect("a reply to each command");
        replies.extend(batch.iter().map(read));
    }
    replies
}

fn added(reply: &Reply) -> bool {
    let added = Reply::Integer(1);
    reply == &added || (reply.items()).is_some_and(|items| items.contains(&added))
}

#[test]
fn replicas_and_the_aof_have_what_every_command_added_to_every_key() {
    let mut primary = with_random_seeds().arguments(AOF).start();
    let mut replica = Options::new().start();
    replica.replicate(&primary);
    let commands = commands();
    for new_keys in ["redisbloom", "valkey-bloom"] {
        for replies in ["redisbloom", "valkey-bloom"] {
            for (state, creation) in STATES.iter().enumerate() {
                primary.set("bf-new-keys", "redisbloom");
                primary.set("bf-replies", "redisbloom");
                let mut connection = primary.resp2();
                let key = |number| format!("{new_keys}:{replies}:{state}:{number}");
                let keys: Vec<_> = (0..commands.len()).map(key).collect();
                for step in *creation {
                    let step = words(step);
                    let steps: Vec<_> = keys.iter().map(|key| for_key(&step, key)).collect();
                    let replies = send_all(&mut connection, &steps);
                    assert!(!replies.iter().any(Reply::is_error));
                }
                primary.set("bf-new-keys", new_keys);
                primary.set("bf-replies", replies);
                let calls = keys.iter().zip(&commands);
                let calls: Vec<_> = calls.map(|(key, command)| for_key(command, key)).collect();
                let replies = send_all(&mut connection, &calls);
                // Each state accepts a part of the commands.
                let adding = replies.iter().filter(|reply| added(reply)).count();
                assert!(adding > commands.len() / 10, "{adding} commands of {state}");
            }
        }
    }
    primary.wait_for_replica(&replica);
    let expected = State::of(&mut primary.resp2());
    State::of(&mut replica.resp2()).assert_same(&expected, "on the replica");
    let digest = primary.call("DEBUG DIGEST");
    assert_eq!(replica.call("DEBUG DIGEST"), digest);
    replica.assert_obeys();
    primary.restart();
    State::of(&mut primary.resp2()).assert_same(&expected, "after the restart");
    assert_eq!(primary.call("DEBUG DIGEST"), digest);
}
