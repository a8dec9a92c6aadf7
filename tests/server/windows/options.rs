//! The words after WINDOW, for every type and in every order.

use super::{LOG, SKETCHES, Sketch, dumps, logged_commands, start};
use crate::support::resp::Reply;
use crate::support::server::Options;
use crate::workload::columns;

const SEED: &str = "SEED 00112233445566778899aabbccddeeff";
const MONTH: &str = "WINDOW 2592000000";
const DAY: &str = "WINDOW 86400000";
const BAD_FINEST: &str =
    "ERR FINEST must be between 1 millisecond and the length of WINDOW / PANES";
const TOO_MANY_PANES: &str = "ERR WINDOW, PANES and FINEST make more than 255 panes";

/// Every order of these words.
fn orders(words: &[&str]) -> Vec<String> {
    if words.is_empty() {
        return vec![String::new()];
    }
    let with_first = |first: usize| {
        let mut rest = words.to_vec();
        let word = rest.remove(first);
        let orders = orders(&rest).into_iter();
        orders.map(move |rest| format!(" {word}{rest}"))
    };
    (0..words.len()).flat_map(with_first).collect()
}

/// The command that creates a key of this type with this window.
fn create(sketch: &Sketch, key: &str, window: &str) -> String {
    format!("{} {window}", sketch.create.replace("KEY", key))
}

#[test]
fn the_words_can_be_in_any_order() {
    let mut server = start(LOG);
    server.set_clock("1000000");
    let mut replica = Options::new().start();
    replica.replicate(&server);
    let mut connection = server.resp2();
    let mut keys = Vec::new();
    for sketch in SKETCHES {
        let mut words = vec!["PANES 4"];
        words.extend(sketch.has_finest().then_some("FINEST 100"));
        words.extend(sketch.has_error().then_some("ERROR 1e-3"));
        words.extend(sketch.has_seed().then_some(SEED));
        let first = keys.len();
        for order in orders(&words) {
            let key = format!("{}:{}", sketch.type_name, keys.len());
            let window = format!("WINDOW 4000{order}");
            connection.ok(&create(&sketch, &key, &window));
            sketch.add(&mut connection, &key, 7);
            keys.push(key);
        }
        let dumps = dumps(&mut connection, &keys[first..]);
        assert!(dumps.iter().all(|dump| *dump == dumps[0]), "{words:?}");
        // The creation is replicated in one order.
        let logged = logged_commands(&server);
        let expected = format!(" WINDOW 4000{}", orders(&words)[0]);
        let own = logged
            .iter()
            .filter(|command| command.contains(sketch.type_name));
        let creations = own.filter(|command| command.ends_with(&expected)).count();
        assert_eq!(creations, keys.len() - first, "{expected}: {logged:#?}");
    }
    let before = dumps(&mut connection, &keys);
    server.wait_for_replica(&replica);
    assert_eq!(dumps(&mut replica.resp2(), &keys), before);
    server.kill_and_restart();
    assert_eq!(dumps(&mut server.resp2(), &keys), before);
}

/// Filters have other options, which can be between the words.
#[test]
fn other_options_can_be_between_the_words() {
    let (_server, mut connection) = start(&[]).connected();
    for row in [
        "CF.RESERVE KEY 1000 | EXPANSION 2 BUCKETSIZE 4 window 720000 error 0.01 panes 4 | PANES 4,ERROR 0.01,EXPANSION 2,BUCKETSIZE 4",
        "BF.RESERVE KEY 0.01 1000 | EXPANSION 4 window 720000 panes 4 | PANES 4,EXPANSION 4",
    ] {
        let [create, before, words] = columns(row);
        let words: Vec<_> = words.split(',').chain([SEED]).collect();
        let orders = orders(&words);
        let mut keys = Vec::new();
        for order in orders {
            let key = format!("{}:{}", &create[..2], keys.len());
            let create = create.replace("KEY", &key);
            connection.ok(&format!("{create} WINDOW 720000{order}"));
            keys.push(key);
        }
        // Options before WINDOW.
        keys.push(format!("{}:before", &create[..2]));
        let create = create.replace("KEY", keys.last().expect("a key"));
        connection.ok(&format!("{create} {before} {SEED}"));
        let dumps = dumps(&mut connection, &keys);
        assert!(dumps.iter().all(|dump| *dump == dumps[0]), "{words:?}");
    }
    for create in ["CF.RESERVE k 1000", "BF.RESERVE k 0.01 1000"] {
        let twice = "WINDOW 720000 PANES 4 EXPANSION 2 PANES 4";
        for options in ["PANES 4 WINDOW 720000", twice] {
            connection.check(&format!("{create} {options}"), "-ERR...");
        }
        let incomplete = format!("{create} WINDOW 720000 EXPANSION 2 PANES");
        connection.check(&incomplete, "-ERR wrong number...");
    }
}

#[test]
fn repeated_unknown_and_incomplete_words_are_refused() {
    const ARITY: &str = "-ERR wrong number of arguments...";
    const SYNTAX: &str = "-ERR syntax error...";
    const UNKNOWN: &str = "-Unknown argument received...";
    let (server, mut connection) = start(&[]).connected();
    for sketch in SKETCHES {
        let mut words = vec![("PANES", "4")];
        words.extend(sketch.has_finest().then_some(("FINEST", "100")));
        words.extend(sketch.has_error().then_some(("ERROR", "0.001")));
        words.extend(sketch.has_seed().then_some(("SEED", &SEED[5..])));
        for (word, value) in words {
            for (window, text) in [
                (format!("WINDOW 4000 {word}"), ARITY),
                (format!("WINDOW 4000 {word} {value} {word} {value}"), SYNTAX),
                (format!("WINDOW 4000 {word} {value} OTHER {value}"), SYNTAX),
                (format!("WINDOW 4000 {word} {value} WINDOW 4000"), SYNTAX),
            ] {
                connection.check(&create(&sketch, "k", &window), text);
            }
        }
        for (word, has_word) in [
            ("ERROR 0.001", sketch.has_error()),
            ("FINEST 100", sketch.has_finest()),
        ] {
            if !has_word {
                let create = create(&sketch, "k", &format!("WINDOW 4000 {word}"));
                connection.check(&create, SYNTAX);
            }
        }
    }
    for insert in ["BF.INSERT k", "CF.INSERT k", "CF.INSERTNX k"] {
        for (window, text) in [
            ("WINDOW 4000 FINEST 100 ITEMS a", UNKNOWN),
            ("WINDOW 4000 NOCREATE PANES 4 ITEMS a", UNKNOWN),
            ("WINDOW 4000 PANES 4 PANES 4 ITEMS a", SYNTAX),
            ("WINDOW 4000 PANES", ARITY),
        ] {
            connection.check(&format!("{insert} {window}"), text);
        }
    }
    server.check("DBSIZE", ":0");
}

#[test]
fn finest_is_limited_by_the_panes_and_their_number() {
    let (server, mut connection) = start(&[]).connected();
    for sketch in SKETCHES.iter().filter(|sketch| sketch.has_finest()) {
        for (window, text) in [
            ("WINDOW 4000 PANES 4 FINEST 0".to_owned(), BAD_FINEST),
            ("WINDOW 4000 PANES 4 FINEST -1".to_owned(), BAD_FINEST),
            ("WINDOW 4000 PANES 4 FINEST x".to_owned(), BAD_FINEST),
            ("WINDOW 4000 PANES 4 FINEST 1001".to_owned(), BAD_FINEST),
            ("WINDOW 4001 PANES 4 FINEST 1002".to_owned(), BAD_FINEST),
            ("WINDOW 4000 FINEST 0 PANES 0".to_owned(), "ERR PANES must"),
            ("WINDOW 0 FINEST 0".to_owned(), "ERR WINDOW must be"),
            (format!("{DAY} PANES 19 FINEST 1000"), TOO_MANY_PANES),
            (format!("{MONTH} PANES 13 FINEST 1000"), TOO_MANY_PANES),
        ] {
            connection.check(&create(sketch, "k", &window), format!("-{text}..."));
        }
        for (window, panes, pane_length, largest) in [
            ("WINDOW 4001 PANES 4 FINEST 1001".to_owned(), 4, 1001, 5),
            ("WINDOW 4000 FINEST 334".to_owned(), 12, 334, 13),
            ("WINDOW 4000 PANES 4 FINEST 1".to_owned(), 4, 1, 55),
            (format!("{DAY} PANES 18 FINEST 1000"), 18, 1000, 255),
            (format!("{MONTH} PANES 12 FINEST 1000"), 12, 1000, 242),
        ] {
            server.call("FLUSHALL");
            connection.ok(&create(sketch, "k", &window));
            let reply = connection.call("SKETCH.WINDOW k");
            assert_eq!(reply.number("panes"), panes, "{window}");
            assert_eq!(reply.number("pane length"), pane_length, "{window}");
            let items = |name| reply.field(name).and_then(Reply::items).map(<[Reply]>::len);
            assert_eq!(items("items per pane"), items("pane starts"));
            let live = items("pane starts").expect("panes");
            assert!(live <= largest && live > largest / 2, "{window}: {live}");
        }
        server.call("FLUSHALL");
    }
}
