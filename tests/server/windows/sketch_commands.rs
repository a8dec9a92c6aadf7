//! SKETCH.WINDOW and SKETCH.ADVANCE.

use super::{SKETCHES, set_ms, start, totals, with_window};
use crate::families::{dump, one_per_family, run_on};
use crate::support::resp::{Protocol, Reply, error};
use crate::support::server::{Options, Server};

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
            let fields = |connection: &mut crate::support::resp::Connection| {
                let reply = connection.call("SKETCH.WINDOW k");
                match (&reply, protocol) {
                    (Reply::Array(items), Protocol::Resp2) => assert_eq!(items.len(), 14),
                    (Reply::Map(pairs), Protocol::Resp3) => assert_eq!(pairs.len(), 7),
                    _ => panic!("{reply}"),
                }
                let number = |name| {
                    reply
                        .field(name)
                        .and_then(Reply::integer)
                        .expect("a number")
                };
                ["window", "panes", "pane length", "newest pane"].map(number)
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
    let server = start(&[]);
    let mut connection = server.resp2();
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
            let reply = connection.call("SKETCH.WINDOW k");
            let found = reply.field("covered").and_then(Reply::integer);
            assert_eq!(found, Some(covered), "{} {at}", sketch.type_name);
        }
        let reply = connection.call("SKETCH.WINDOW k");
        let names = reply.items().expect("an array").chunks(2);
        let names: Vec<_> = names.filter_map(|field| field[0].text()).collect();
        let expected = [
            "window",
            "panes",
            "pane length",
            "newest pane",
            "covered",
            "items per pane",
            "pane starts",
        ];
        assert_eq!(names, expected.map(str::as_bytes));
    }
}

#[test]
fn sketch_commands_report_keys_without_a_window() {
    let server = Server::start();
    for protocol in [Protocol::Resp2, Protocol::Resp3] {
        let mut connection = server.connect(protocol);
        for command in [
            "SKETCH.WINDOW none",
            "SKETCH.ACCURACY none",
            "SKETCH.ADVANCE none 5",
        ] {
            connection.check(command, "-ERR no such key");
        }
        connection.call("SET string x");
        for command in [
            "SKETCH.WINDOW string",
            "SKETCH.ACCURACY string",
            "SKETCH.ADVANCE string 5",
        ] {
            connection.check(command, format!("-{WRONG_TYPE}"));
        }
        for family in one_per_family() {
            connection.call("DEL k");
            run_on(&mut connection, "k", family.build);
            let reply = connection.call("SKETCH.WINDOW k");
            assert!(
                matches!(reply, Reply::Null(_)),
                "{}: {reply}",
                family.type_name
            );
            let reply = connection.call("SKETCH.ADVANCE k 5");
            assert_eq!(reply, error("ERR the sketch has no window"));
        }
    }
}

#[test]
fn sketch_advance_moves_forward_only_and_not_far_into_the_future() {
    let server = start(&[]);
    let mut connection = server.resp2();
    for sketch in SKETCHES {
        server.call("FLUSHALL");
        set_ms(&server, 10_000_000);
        sketch.create(&mut connection, "k", "WINDOW 10000 PANES 10");
        sketch.add(&mut connection, "k", 1);
        let mut advance = |pane: &str| connection.call(&format!("SKETCH.ADVANCE k {pane}"));
        for (pane, reply) in [
            ("9999", Reply::Integer(0)),
            ("10000", Reply::Integer(0)),
            ("10001", Reply::Integer(1)),
            ("10001", Reply::Integer(0)),
            ("0", Reply::Integer(0)),
            ("10002", Reply::Integer(1)),
            ("10003", error("ERR pane is in the future")),
            ("9223372036854775807", error("ERR pane is in the future")),
            ("9223372036854775808", error("ERR invalid pane")),
            ("-1", error("ERR invalid pane")),
            ("x", error("ERR invalid pane")),
        ] {
            assert_eq!(advance(pane), reply, "{pane}");
        }
        // The clock is behind the newest pane: time stands still for the value.
        assert_eq!(
            totals(&mut connection, "k"),
            [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0]
        );
        let before = dump(&mut connection, "k");
        set_ms(&server, 9_000_000);
        sketch.add(&mut connection, "k", 2);
        assert_eq!(
            totals(&mut connection, "k"),
            [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 1]
        );
        assert_ne!(dump(&mut connection, "k"), before);
        let reply = connection.call("SKETCH.WINDOW k");
        assert_eq!(
            reply.field("newest pane"),
            Some(&Reply::Integer(10_002_000))
        );
    }
}

#[test]
fn an_advance_is_an_event_and_changes_a_watched_key() {
    let server = Options::new()
        .debug_module()
        .arguments(&["--notify-keyspace-events", "KEA"])
        .start();
    let mut subscriber = server.resp2();
    subscriber.call("SUBSCRIBE __keyspace@0__:k");
    let mut connection = server.resp2();
    set_ms(&server, 1_000_000);
    connection.ok(&with_window(
        "CMS.INITBYDIM k 2000 5",
        "WINDOW 1000 PANES 1",
    ));
    let mut watcher = server.resp2();
    watcher.call("WATCH k");
    set_ms(&server, 1_002_000);
    // The read changes nothing; the refused memory of a write changes nothing except for the newest pane.
    connection.call("CMS.QUERY k a");
    let set_limit = |bytes: &str| {
        let name = server.setting("sketch-max-key-bytes");
        server.ok(&format!("CONFIG SET {name} {bytes}"));
    };
    set_limit("1");
    let refused = connection.call("CMS.INCRBY k a 1").to_string();
    assert!(
        refused.starts_with("*[-ERR the key would hold"),
        "{refused}"
    );
    set_limit("0");
    watcher.call("MULTI");
    watcher.call("PING");
    let reply = watcher.call("EXEC");
    assert!(matches!(reply, Reply::Null(_)), "{reply}");
    connection.call("SKETCH.ADVANCE k 1003");
    set_ms(&server, 1_004_000);
    connection.call("CMS.INCRBY k a 1");
    let events: Vec<_> = (0..6)
        .map(|_| {
            let message = subscriber.read().expect("an event");
            let event = message.items().and_then(|items| items.last()?.text());
            String::from_utf8_lossy(event.expect("a name")).into_owned()
        })
        .collect();
    let expected = [
        "sketch.advance",
        "cms.initbydim",
        "sketch.advance",
        "sketch.advance",
        "sketch.advance",
        "cms.incrby",
    ];
    assert_eq!(events[..], expected[..], "{events:?}");
}
