//! Commands beyond limits that no setting changes: the work of one command, and panes in the future. A primary with Roughly
//! refuses them to clients, so another module sends them.

use crate::families::{FAMILIES, Family};
use crate::support::c_modules::with_handler;
use crate::support::resp::{Connection, Reply};
use crate::support::sample::Sample;
use crate::support::state::State;
use crate::workload::{Command, words};

/// Bytes of `LONG`: more than one command may hash for 4,096 rows.
const LONG_BYTES: usize = 1 << 20;
/// Items of `EQUAL`, which fill more sub-filters than one command may add.
const EQUAL_ITEMS: usize = 9000;

/// How to create a key of a type, and a command beyond a limit of work. The other types have no such limit: sketches with a
/// window have at most 32 rows.
fn work(type_name: &str) -> Option<(&'static str, &'static str)> {
    match type_name {
        "MBbloomCF" | "cf-window" => Some((CHAIN, "CF.INSERT KEY ITEMS EQUAL")),
        "CMSk-TYPE" => Some(("CMS.INITBYDIM KEY 1 4096", "CMS.INCRBY KEY LONG 1")),
        "TopK-TYPE" => Some(("TOPK.RESERVE KEY 2 1 4096 0.9", "TOPK.ADD KEY LONG")),
        _ => None,
    }
}

const CHAIN: &str = "CF.RESERVE KEY 2 BUCKETSIZE 1 EXPANSION 1";

fn expanded(template: &str, key: &str) -> Command {
    let mut command = Vec::new();
    for word in words(&template.replace("KEY", key)) {
        match &word[..] {
            b"LONG" => command.push(vec![b'x'; LONG_BYTES]),
            b"EQUAL" => command.extend(vec![b"x".to_vec(); EQUAL_ITEMS]),
            _ => command.push(word),
        }
    }
    command
}

/// The newest pane of a key with a window: its number.
fn newest_pane(connection: &mut Connection, key: &str) -> i64 {
    let reply = connection.call(&format!("SKETCH.WINDOW {key}"));
    let number = |field| reply.number(field);
    number("newest pane") / number("pane length")
}

/// The commands of a type that are beyond a limit, after those that create their keys.
fn commands(connection: &mut Connection, family: &Family) -> Vec<Command> {
    let mut commands = Vec::new();
    if let Some((create, command)) = work(family.type_name) {
        let key = format!("{}:work", family.name);
        let window = match family.has_window {
            true => " WINDOW 315360000000 PANES 4 SEED 00112233445566778899aabbccddeeff",
            false => "",
        };
        connection.ok(&format!("{}{window}", create.replace("KEY", &key)));
        commands.push(expanded(command, &key));
    }
    if family.has_window {
        let key = format!("{}:pane", family.name);
        family.build(connection, &key);
        let later = newest_pane(connection, &key) + 2;
        commands.push(words(&format!("SKETCH.ADVANCE {key} {later}")));
    }
    commands
}

#[test]
fn commands_beyond_fixed_limits_are_obeyed() {
    let mut primary = with_handler().start();
    let log = ["--appendonly", "yes", "--aof-use-rdb-preamble", "no"];
    let mut replica = with_handler().arguments(&log).start();
    replica.replicate(&primary);
    let mut connection = primary.resp2();
    let mut found = [0, 0];
    let sample = Sample::of_run();
    for family in FAMILIES {
        for command in commands(&mut connection, family) {
            let is_pane = command[0].starts_with(b"SKETCH.");
            found[usize::from(is_pane)] += 1;
            if !sample.contains(found[0] + found[1]) {
                continue;
            }
            let text = command[..2].join(&b' ').escape_ascii().to_string();
            primary.wait_for_replica(&replica);
            let before = State::of(&mut replica.resp2());
            let sent = [&words("HANDLER.REPLICATE")[..], &command].concat();
            assert!(connection.send(&sent).is_ok(), "{text}");
            primary.wait_for_replica(&replica);
            let after = State::of(&mut replica.resp2());
            assert_ne!(after, before, "{text}");
            // The primary refuses all of it, or a part, to a client.
            let reply = connection.send(&command);
            let is_refused = match &reply {
                Reply::Array(replies) => replies.last() == Some(&Reply::Integer(-1)),
                other => other.is_error(),
            };
            assert!(is_refused, "{text}: {reply}");
        }
    }
    let what = "commands with a limit of work, types with a window";
    assert_eq!(found, [4, 5], "{what}");
    primary.wait_for_replica(&replica);
    let wanted = State::of(&mut replica.resp2());
    replica.assert_obeys();
    // It reads its own AOF, as a primary.
    replica.restart();
    State::of(&mut replica.resp2()).assert_same(&wanted, "AOF");
}

/// Creation parameters of a filter that exists have no effect, and of a missing filter, the last value of an option counts, so an
/// obeyed command can have any others.
#[test]
fn obeyed_insertions_ignore_parameters_without_an_effect() {
    let mut primary = with_handler().start();
    let mut replica = with_handler().start();
    replica.replicate(&primary);
    let mut connection = primary.resp2();
    connection.ok("BF.RESERVE bf 0.01 100");
    let parameters = "CAPACITY 9223372036854775807;CAPACITY 0;CAPACITY -1;CAPACITY x;ERROR 0.99;ERROR 0;ERROR 1;ERROR x;\
        EXPANSION 4294967296;EXPANSION -1;EXPANSION x;CAPACITY 0 ERROR 7 EXPANSION 40000 NONSCALING";
    for (number, parameters) in parameters.split(';').enumerate() {
        let command = format!("HANDLER.REPLICATE BF.INSERT bf {parameters} ITEMS {number}");
        connection.ok(&command);
    }
    // Of a missing filter, the last value of an option counts.
    let last = [
        "CAPACITY 0 CAPACITY 9",
        "CAPACITY -1 NONSCALING CAPACITY 9",
        "ERROR 0 CAPACITY 9 ERROR 2 ERROR 0.1",
        "EXPANSION -1 EXPANSION 2 CAPACITY 9",
    ];
    for (number, parameters) in last.iter().enumerate() {
        let command = format!("HANDLER.REPLICATE BF.INSERT new:{number} {parameters} ITEMS a");
        connection.ok(&command);
    }
    primary.wait_for_replica(&replica);
    replica.assert_obeys();
    let mut connection = replica.resp2();
    for (number, parameters) in parameters.split(';').enumerate() {
        let found = connection.call(&format!("BF.EXISTS bf {number}"));
        assert_eq!(found, Reply::Integer(1), "{parameters}");
    }
    connection.check("BF.INFO bf Capacity", "*[:100]");
    for number in 0..last.len() {
        connection.check(&format!("BF.INFO new:{number} Capacity"), "*[:9]");
    }
    // An invalid last value is refused.
    let mut connection = primary.resp2();
    connection.call("HANDLER.REPLICATE BF.INSERT refused CAPACITY 9 CAPACITY 0 ITEMS a");
    primary.wait_for_replica(&replica);
    replica.check("EXISTS refused", ":0");
    assert!(replica.log().contains("Bad capacity"));
}
