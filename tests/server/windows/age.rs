//! SKETCH.AGE.

use super::{SKETCHES, set_ms, start};
use crate::families::{FAMILIES, run_on};
use crate::support::resp::{Connection, Protocol, Reply, error};

/// The ages of items; -1 for null.
fn ages(connection: &mut Connection, items: &str) -> Vec<i64> {
    let reply = connection.call(&format!("SKETCH.AGE k {items}"));
    let ages = reply.items().unwrap_or_else(|| panic!("{reply}")).iter();
    ages.map(|age| match age {
        Reply::Integer(age) => *age,
        Reply::Null(_) => -1,
        _ => panic!("{reply}"),
    })
    .collect()
}

#[test]
fn the_age_is_that_of_the_start_of_the_last_pane() {
    let server = start(&[]);
    for protocol in [Protocol::Resp2, Protocol::Resp3] {
        let mut connection = server.connect(protocol);
        for sketch in &SKETCHES[..2] {
            connection.call("DEL k");
            assert_eq!(ages(&mut connection, "1 2"), [-1, -1]);
            set_ms(&server, 1_000_050);
            sketch.create(&mut connection, "k", "WINDOW 1000 PANES 10");
            assert_eq!(ages(&mut connection, "1"), [-1]);
            sketch.add(&mut connection, "k", 1);
            assert_eq!(ages(&mut connection, "1 2 1"), [50, -1, 50]);
            set_ms(&server, 1_000_399);
            sketch.add(&mut connection, "k", 2);
            assert_eq!(ages(&mut connection, "1 2"), [399, 99]);
            // Added again: the last occurrence counts.
            sketch.add(&mut connection, "k", 1);
            assert_eq!(ages(&mut connection, "1 2"), [99, 99]);
            set_ms(&server, 1_001_399);
            assert_eq!(ages(&mut connection, "1 2"), [1099, 1099]);
            set_ms(&server, 1_001_400);
            assert_eq!(ages(&mut connection, "1 2"), [-1, -1]);
            // The clock goes back before the newest pane.
            set_ms(&server, 1_000_100);
            assert_eq!(ages(&mut connection, "1 2"), [0, 0]);
            set_ms(&server, 9_000_000);
            assert_eq!(ages(&mut connection, "1 2"), [-1, -1]);
        }
    }
}

#[test]
fn other_keys_have_no_ages() {
    let server = start(&[]);
    for protocol in [Protocol::Resp2, Protocol::Resp3] {
        let mut connection = server.connect(protocol);
        connection.call("SET string x");
        let wrong = "WRONGTYPE Operation against a key holding the wrong kind of value";
        connection.check("SKETCH.AGE string a", format!("-{wrong}"));
        let arity = "ERR wrong number of arguments for 'sketch.age' command";
        connection.check("SKETCH.AGE string", format!("-{arity}"));
        for family in FAMILIES {
            connection.call("DEL k");
            run_on(&mut connection, "k", family.build);
            let reply = connection.call("SKETCH.AGE k a");
            if family.has_window && ["bf", "cf"].contains(&family.prefix) {
                let ages = reply.items().map(<[_]>::len);
                assert_eq!(ages, Some(1), "{}: {reply}", family.name);
            } else {
                let text = "ERR SKETCH.AGE needs a Bloom or cuckoo filter with a window";
                assert_eq!(reply, error(text), "{}", family.name);
            }
        }
    }
}
