//! SKETCH.WINDOW and SKETCH.ADVANCE.

use super::{SKETCHES, seeded, set_ms, start, totals};
use crate::families::{dump, one_per_family, run_on};
use crate::support::resp::{Connection, Protocol, Reply};
use crate::support::server::Server;

const WRONG_TYPE: &str = "WRONGTYPE Operation against a key holding the wrong kind of value";

#[test]
fn sketch_window_describes_the_live_panes() {
    let server = start(&[]);
    for protocol in [Protocol::Resp2, Protocol::Resp3] {
        for sketch in SKETCHES {
            set_ms(&server, 1_000_000);
            server.call("FLUSHALL");
            let mut connection = server.connect(protocol);
            sketch.create(&mut connection, "k", "WINDOW 60 PANES 3");
            let fields = |connection: &mut Connection| {
                let reply = connection.call("SKETCH.WINDOW k");
                match (&reply, protocol) {
                    (Reply::Array(items), Protocol::Resp2) => assert_eq!(items.len(), 14),
                    (Reply::Map(pairs), Protocol::Resp3) => assert_eq!(pairs.len(), 7),
                    _ => panic!("{reply}"),
                }
                ["window", "panes", "pane length", "newest pane"].map(|name| reply.number(name))
            };
            assert_eq!(fields(&mut connection), [60, 3, 20, 1_000_000]);
            assert_eq!(totals(&mut connection, "k"), [0, 0, 0, 0]);
            for (at, items) in [
                (1_000_000, 0..2),
                (1_000_019, 2..3),
                (1_000_020, 3..7),
                (1_000_065, 7..8),
            ] {
                set_ms(&server, at);
                items.for_each(|item| sketch.add(&mut connection, "k", item));
            }
            assert_eq!(fields(&mut connection), [60, 3, 20, 1_000_060]);
            assert_eq!(totals(&mut connection, "k"), [3, 4, 0, 1]);
            // Reads use the clock, and the newest pane stays that of the last write.
            set_ms(&server, 1_000_100);
            assert_eq!(fields(&mut connection), [60, 3, 20, 1_000_060]);
            assert_eq!(totals(&mut connection, "k"), [0, 1]);
            set_ms(&server, 2_000_000);
            assert_eq!(totals(&mut connection, "k"), [0; 0]);
        }
    }
}

/// A read covers the full panes and what has passed of the current one, which is the newest if the clock is behind it.
#[test]
fn covered_is_the_time_that_a_read_covers() {
    let (server, mut connection) = start(&[]).connected();
    for sketch in SKETCHES {
        set_ms(&server, 1_000_000);
        server.call("FLUSHALL");
        // Three panes of 20 ms, which are longer than the window.
        sketch.create(&mut connection, "k", "WINDOW 59 PANES 3");
        sketch.add(&mut connection, "k", 1);
        for (at, covered) in [
            (1_000_000, 60),
            (1_000_001, 61),
            (1_000_019, 79),
            (1_000_020, 60),
            (2_000_013, 73),
            (999_999, 60),
            (1, 60),
        ] {
            set_ms(&server, at);
            let found = connection.call("SKETCH.WINDOW k").number("covered");
            assert_eq!(found, covered, "{} {at}", sketch.type_name);
        }
        let reply = connection.call("SKETCH.WINDOW k");
        let names = reply.items().expect("an array").chunks(2);
        let names: Vec<_> = names.map(|field| field[0].string()).collect();
        let expected =
            "window, panes, pane length, newest pane, covered, items per pane, pane starts";
        assert_eq!(names.join(", "), expected);
    }
}

#[test]
fn sketch_commands_report_keys_without_a_window() {
    let server = Server::start();
    for protocol in [Protocol::Resp2, Protocol::Resp3] {
        let mut connection = server.connect(protocol);
        connection.call("SET string x");
        for (key, error) in [("none", "ERR no such key"), ("string", WRONG_TYPE)] {
            for command in ["WINDOW KEY", "ACCURACY KEY", "ADVANCE KEY 5"] {
                let command = format!("SKETCH.{}", command.replace("KEY", key));
                connection.check(&command, format!("-{error}"));
            }
        }
        for family in one_per_family() {
            connection.call("DEL k");
            run_on(&mut connection, "k", family.build);
            let reply = connection.call("SKETCH.WINDOW k");
            let is_null = matches!(reply, Reply::Null(_));
            assert!(is_null, "{}: {reply}", family.type_name);
            connection.check("SKETCH.ADVANCE k 5", "-ERR the sketch has no window");
        }
    }
}

#[test]
fn sketch_advance_moves_forward_only_and_not_far_into_the_future() {
    let (server, mut connection) = start(&[]).connected();
    for sketch in SKETCHES {
        server.call("FLUSHALL");
        set_ms(&server, 10_000_000);
        sketch.create(&mut connection, "k", "WINDOW 10000 PANES 10");
        sketch.add(&mut connection, "k", 1);
        for (pane, reply) in [
            ("9999", ":0"),
            ("10000", ":0"),
            ("10001", ":1"),
            ("10001", ":0"),
            ("0", ":0"),
            ("10002", ":1"),
            ("10003", "-ERR pane is in the future"),
            ("9223372036854775807", "-ERR pane is in the future"),
            ("9223372036854775808", "-ERR invalid pane"),
            ("-1", "-ERR invalid pane"),
            ("x", "-ERR invalid pane"),
        ] {
            connection.check(&format!("SKETCH.ADVANCE k {pane}"), reply);
        }
        // The clock is behind the newest pane: time stands still for the value.
        let found = totals(&mut connection, "k");
        assert_eq!(found, [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0]);
        let before = dump(&mut connection, "k");
        set_ms(&server, 9_000_000);
        sketch.add(&mut connection, "k", 2);
        let found = totals(&mut connection, "k");
        assert_eq!(found, [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1]);
        assert_ne!(dump(&mut connection, "k"), before);
        let reply = connection.call("SKETCH.WINDOW k");
        assert_eq!(reply.number("newest pane"), 10_002_000);
    }
}

#[test]
fn an_advance_is_an_event_and_changes_a_watched_key() {
    let (server, mut connection) = start(&[]).connected();
    let mut listener = server.listener();
    set_ms(&server, 1_000_000);
    connection.ok(&seeded("CMS.INITBYDIM k 2000 5 WINDOW 1000 PANES 1"));
    let mut watcher = server.resp2();
    watcher.call("WATCH k");
    set_ms(&server, 1_002_000);
    // The read changes nothing; the refused memory of a write changes nothing except for the newest pane.
    connection.call("CMS.QUERY k a");
    server.set("sketch-max-key-bytes", 1);
    connection.check("CMS.INCRBY k a 1", "*[-ERR the key would hold...");
    server.set("sketch-max-key-bytes", 0);
    watcher.call("MULTI");
    watcher.call("PING");
    let reply = watcher.call("EXEC");
    assert!(matches!(reply, Reply::Null(_)), "{reply}");
    connection.call("SKETCH.ADVANCE k 1003");
    set_ms(&server, 1_004_000);
    connection.call("CMS.INCRBY k a 1");
    connection.call("SET end x");
    let expected = "k sketch.advance;k cms.initbydim;k sketch.advance;k sketch.advance;\
        k sketch.advance;k cms.incrby";
    assert_eq!(listener.events().join(";"), expected);
}
