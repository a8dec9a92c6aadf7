//! Numbers that servers parse differently. A number that one server accepts from a client is sent to replicas as the client spelled it,
//! so each server must obey it. A list of spellings with their values stands between the servers: what this server accepts from a
//! client has the value of the list, and it obeys all that have a value.

use super::options;
use crate::families::{all_commands, dump};
use crate::support::c_modules;
use crate::support::names::assert_same_names;
use crate::support::resp::{Connection, Reply};
use crate::support::state::State;
use crate::workload::{Command, words};
use std::collections::BTreeMap;
use std::iter;

const LONG_TENTH: &str = "0.1000000000000000055511151231257827021181583404541015625";

/// Spellings of doubles, and their values if a server accepts them.
const DOUBLES: &[(&str, Option<f64>)] = &[
    ("0.5", Some(0.5)),
    (".5", Some(0.5)),
    ("00.5", Some(0.5)),
    ("+0.5", Some(0.5)),
    ("5.", Some(5.0)),
    ("7", Some(7.0)),
    ("-7", Some(-7.0)),
    ("5e-1", Some(0.5)),
    ("5E-1", Some(0.5)),
    ("+5e+2", Some(500.0)),
    ("-0", Some(-0.0)),
    (LONG_TENTH, Some(0.1)),
    ("0.01000000000000000020816681711721685", Some(0.01)),
    ("5e-324", Some(5e-324)),
    ("1e-320", Some(1e-320)),
    ("2.2250738585072011e-308", Some(2.225_073_858_507_201e-308)),
    ("1.7976931348623157e308", Some(f64::MAX)),
    ("9007199254740993", Some(9_007_199_254_740_992.0)),
    // All servers except Valkey 9.1 accept these.
    ("0x1p-1", Some(0.5)),
    ("0X1P-1", Some(0.5)),
    ("+0x1p-2", Some(0.25)),
    ("-0x10", Some(-16.0)),
    ("0x.1", Some(0.0625)),
    ("0x1.999999999999ap-4", Some(0.1)),
    ("0x1.99999999999999999p-4", Some(0.1)),
    ("0x10", Some(16.0)),
    ("0x1p-1074", Some(5e-324)),
    ("1e400", None),
    ("1e-400", None),
    ("0x1p-1075", None),
    ("0x", None),
    ("0x1p", None),
    ("nan", None),
    ("1e", None),
    (".", None),
    ("0,5", None),
    ("0.5\t", None),
    ("\t0.5", None),
    ("0.5f", None),
    ("0_5", None),
    ("\u{660}.\u{665}", None),
];

/// Spellings of integers, and their values if a server accepts them.
const INTEGERS: &[(&str, Option<i64>)] = &[
    ("4", Some(4)),
    ("0", Some(0)),
    ("-4", Some(-4)),
    ("64", Some(64)),
    ("1000", Some(1000)),
    ("+4", None),
    ("04", None),
    ("-0", None),
    ("4.0", None),
    ("4e0", None),
    ("0x4", None),
    ("\t4", None),
    ("4\t", None),
    ("4\n", None),
    ("9223372036854775808", None),
    ("\u{664}", None),
    ("4_0", None),
];

/// The commands with a double N, after the one that creates the key K, if it must exist.
const OF_DOUBLES: &[(&str, &str)] = &[
    ("", "BF.RESERVE K N 10"),
    ("", "BF.INSERT K ERROR N ITEMS a"),
    ("", "CF.RESERVE K 64 WINDOW 1000 PANES 4 ERROR N SEED S"),
    ("", "CMS.INITBYPROB K N 0.1"),
    ("", "CMS.INITBYPROB K 0.1 N"),
    ("", "TOPK.RESERVE K 3 8 7 N"),
    ("TDIGEST.CREATE K", "TDIGEST.ADD K 0.1 N"),
];

/// The same for integers.
const OF_INTEGERS: &[(&str, &str)] = &[
    ("", "BF.RESERVE K 0.01 N"),
    ("", "BF.RESERVE K 0.01 10 EXPANSION N"),
    ("", "BF.RESERVE K 0.01 10 WINDOW N PANES 1 SEED S"),
    ("", "BF.RESERVE K 0.01 10 WINDOW 1000 PANES N SEED S"),
    ("", "BF.INSERT K CAPACITY N ITEMS a"),
    ("", "BF.INSERT K EXPANSION N ITEMS a"),
    ("", "BF.INSERT K WINDOW N PANES 1 ITEMS a"),
    ("", "BF.INSERT K WINDOW 1000 PANES N ITEMS a"),
    ("BF.RESERVE K 0.01 10", "BF.LOADCHUNK K N x"),
    ("", "BF.MERGE K N bf bf bf bf"),
    ("", "CF.RESERVE K N"),
    ("", "CF.RESERVE K 64 BUCKETSIZE N"),
    ("", "CF.RESERVE K 64 MAXITERATIONS N"),
    ("", "CF.RESERVE K 64 EXPANSION N"),
    ("", "CF.RESERVE K 64 WINDOW N PANES 1 SEED S"),
    ("", "CF.RESERVE K 64 WINDOW 1000 PANES N SEED S"),
    ("", "CF.INSERT K CAPACITY N ITEMS a"),
    ("", "CF.INSERT K WINDOW N PANES 1 ITEMS a"),
    ("", "CF.INSERT K WINDOW 1000 PANES N ITEMS a"),
    ("", "CF.INSERTNX K CAPACITY N ITEMS a"),
    ("", "CF.INSERTNX K WINDOW N PANES 1 ITEMS a"),
    ("", "CF.INSERTNX K WINDOW 1000 PANES N ITEMS a"),
    ("CF.RESERVE K 64", "CF.LOADCHUNK K N x"),
    ("", "CMS.INITBYDIM K N 2"),
    ("", "CMS.INITBYDIM K 2 N"),
    ("", "CMS.INITBYDIM K 2 2 CELL_SIZE N"),
    ("", "CMS.INITBYDIM K 2 2 WINDOW N PANES 1 SEED S"),
    ("", "CMS.INITBYDIM K 2 2 WINDOW 1000 PANES N SEED S"),
    (
        "",
        "CMS.INITBYDIM K 2 2 WINDOW 1000 PANES 4 FINEST N SEED S",
    ),
    ("", "CMS.INITBYPROB K 0.1 0.1 CELL_SIZE N"),
    ("", "CMS.INITBYPROB K 0.1 0.1 WINDOW N PANES 1 SEED S"),
    ("", "CMS.INITBYPROB K 0.1 0.1 WINDOW 1000 PANES N SEED S"),
    (
        "",
        "CMS.INITBYPROB K 0.1 0.1 WINDOW 1000 PANES 4 FINEST N SEED S",
    ),
    ("CMS.INITBYDIM K 2 2", "CMS.INCRBY K a N"),
    ("CMS.INITBYDIM K 2 2", "CMS.INCRBYLIMIT K N a 1"),
    ("CMS.INITBYDIM K 2 2", "CMS.INCRBYLIMIT K 1000 a N"),
    ("CMS.INITBYDIM K 2 2", "CMS.MERGE K N cms cms cms cms"),
    ("CMS.INITBYDIM K 2 2", "CMS.MERGE K 1 cms WEIGHTS N"),
    ("CMS.INITBYDIM K 2 2", "CMS.LOADCHUNK K N x"),
    ("", "TOPK.RESERVE K N"),
    ("", "TOPK.RESERVE K 3 N 7 0.9"),
    ("", "TOPK.RESERVE K 3 8 N 0.9"),
    ("", "TOPK.RESERVE K 3 WINDOW N PANES 1 SEED S"),
    ("", "TOPK.RESERVE K 3 WINDOW 1000 PANES N SEED S"),
    ("", "TOPK.RESERVE K 3 WINDOW 1000 PANES 4 FINEST N SEED S"),
    ("TOPK.RESERVE K 3", "TOPK.INCRBY K a N"),
    ("TOPK.RESERVE K 3", "TOPK.LOADCHUNK K N x"),
    ("", "TDIGEST.CREATE K COMPRESSION N"),
    ("", "TDIGEST.CREATE K WINDOW N PANES 1"),
    ("", "TDIGEST.CREATE K WINDOW 1000 PANES N"),
    ("", "TDIGEST.CREATE K WINDOW 1000 PANES 4 FINEST N"),
    ("", "TDIGEST.MERGE K N digest digest digest digest"),
    ("", "TDIGEST.MERGE K 1 digest COMPRESSION N"),
    ("TDIGEST.CREATE K", "TDIGEST.LOADCHUNK K N x"),
    ("TDIGEST.CREATE K WINDOW 1000", "SKETCH.ADVANCE K N"),
];

/// The numbers of BF.INSERT in the syntax of valkey-bloom, which the module parses itself.
const PARSED_BY_THE_MODULE: &[&str] =
    &["BF.INSERT K TIGHTENING N", "BF.INSERT K VALIDATESCALETO N"];

const SEED: &str = "00112233445566778899aabbccddeeff";

fn filled(template: &str, key: &str, number: &str) -> Command {
    let mut command = words(template);
    for argument in &mut command {
        match &argument[..] {
            b"K" => *argument = key.into(),
            b"N" => *argument = number.into(),
            b"S" => *argument = SEED.into(),
            _ => {}
        }
    }
    command
}

/// Runs commands in one pipeline, and returns their replies.
fn run(connection: &mut Connection, commands: impl IntoIterator<Item = Command>) -> Vec<Reply> {
    let mut count = 0;
    for command in commands {
        connection.write(&command).expect("a command");
        count += 1;
    }
    let replies = (0..count).map(|_| connection.read().expect("a reply"));
    replies.collect()
}

fn sent_to_replicas(command: Command) -> Command {
    [words("HANDLER.REPLICATE"), command].concat()
}

/// A command with a spelling of a number, and with the shortest decimal of the same value.
struct Case {
    create: &'static str,
    template: &'static str,
    spelling: &'static str,
    decimal: Option<String>,
}

fn cases() -> Vec<Case> {
    let case = |&(create, template): &(&'static str, &'static str), spelling, decimal| Case {
        create,
        template,
        spelling,
        decimal,
    };
    let mut cases = Vec::new();
    for command in OF_DOUBLES {
        for &(spelling, value) in DOUBLES {
            let decimal = value.map(|value| format!("{value:e}"));
            cases.push(case(command, spelling, decimal));
        }
    }
    for command in OF_INTEGERS {
        for &(spelling, value) in INTEGERS {
            let decimal = value.map(|value| value.to_string());
            cases.push(case(command, spelling, decimal));
        }
    }
    cases
}

#[test]
fn numbers_that_a_server_accepts_are_obeyed_by_all_servers() {
    let handler = ["--loadmodule", c_modules::handler()];
    let mut primary = options().arguments(&handler).start();
    let mut replica = options().start();
    replica.replicate(&primary);
    let mut connection = primary.resp2();
    connection.check_all(
        "
        BF.RESERVE bf 0.01 10
        CMS.INITBYDIM cms 2 2
        CMS.INCRBY cms a 5
        TDIGEST.CREATE digest
        TDIGEST.ADD digest 1 2
        ",
    );
    let cases = cases();
    // Of clients: the key c has the spelling, d the decimal. Obeyed: o and p.
    for (number, case) in cases.iter().enumerate() {
        let [c, d, o, p] = ["c", "d", "o", "p"].map(|name| format!("{name}:{number}"));
        if !case.create.is_empty() {
            let create = filled(case.create, &c, "");
            // A key that is created later can have a later pane.
            let copies = [&d, &o, &p].map(|key| words(&format!("COPY {c} {key}")));
            run(&mut connection, iter::once(create).chain(copies));
        }
        let spelled = |key: &str| filled(case.template, key, case.spelling);
        let mut commands = vec![spelled(&c), sent_to_replicas(spelled(&o))];
        if let Some(decimal) = &case.decimal {
            let decimal = |key: &str| filled(case.template, key, decimal);
            commands.extend([decimal(&d), sent_to_replicas(decimal(&p))]);
        }
        let replies = run(&mut connection, commands);
        let at = format!("{} with {:?}", case.template, case.spelling);
        let is_error = |reply: &Reply| match reply {
            Reply::Array(replies) => replies.iter().all(Reply::is_error),
            reply => reply.is_error(),
        };
        let is_listed = is_error(&replies[0]) || case.decimal.is_some();
        assert!(is_listed, "{at}: {}", replies[0]);
        let has_clock = case.template.contains("WINDOW") || case.template.starts_with("SKETCH");
        if !is_error(&replies[0]) && !has_clock {
            assert_eq!(dump(&mut connection, &c), dump(&mut connection, &d), "{at}");
        }
    }
    primary.wait_for_replica(&replica);
    let mut other = replica.resp2();
    let mut changed = BTreeMap::new();
    for (number, case) in cases.iter().enumerate() {
        if case.decimal.is_none() {
            continue;
        }
        // These keys have random seeds.
        let is_random = case.template.contains(" ITEMS") && case.template.contains("WINDOW");
        let [of_spelling, of_decimal] = ["o", "p"].map(|name| {
            let key = format!("{name}:{number}");
            match is_random {
                true => other.call(&format!("EXISTS {key}")),
                false => dump(&mut other, &key),
            }
        });
        let at = format!("{} with {:?}", case.template, case.spelling);
        assert_eq!(of_spelling, of_decimal, "{at}");
        // The key without the command is that of a case with an invalid number.
        let is_changed = other.call(&format!("EXISTS p:{number}")) == Reply::Integer(1);
        *changed.entry(case.template).or_insert(0) += i64::from(is_changed);
    }
    for (template, count) in changed {
        assert!(count > 0, "{template} was never obeyed");
    }
    let wanted = State::of(&mut other);
    replica.restart();
    State::of(&mut replica.resp2()).assert_same(&wanted, "AOF");
}

/// The numbers in the description of a command's arguments.
fn count_numbers(arguments: &Reply) -> usize {
    let mut count = 0;
    for argument in arguments.items().unwrap_or(&[]) {
        let kind = argument.field("type").and_then(Reply::text);
        let is_number = kind.is_some_and(|kind| kind == b"integer" || kind == b"double");
        count += usize::from(is_number);
        count += argument.field("arguments").map_or(0, count_numbers);
    }
    count
}

#[test]
fn every_number_of_every_command_that_writes_is_tested() {
    let (_server, mut connection) = options().start().connected();
    let mut described = Vec::new();
    for (name, flags) in all_commands() {
        if !flags.contains("RW") && !flags.contains("OW") {
            continue;
        }
        let reply = connection.call(&format!("COMMAND DOCS {name}"));
        let description = reply.items().and_then(|items| items.get(1));
        let arguments = description.and_then(|description| description.field("arguments"));
        let count = arguments.map_or(0, count_numbers);
        described.extend(vec![name; count]);
    }
    let templates = OF_DOUBLES.iter().chain(OF_INTEGERS);
    let templates = templates.map(|(_, template)| *template);
    let templates = templates.chain(PARSED_BY_THE_MODULE.iter().copied());
    let name = |template: &str| template.split(' ').next().map(str::to_lowercase);
    let names = templates.filter_map(name);
    assert_same_names(names, described, "commands with a number");
}
