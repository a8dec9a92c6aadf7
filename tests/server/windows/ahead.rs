//! Panes that are ahead of the server's clock.

use super::{SEED, SKETCHES, set_ms, start, totals};
use crate::families::dump;

const IN_THE_FUTURE: &str = "-ERR pane is in the future";

/// Writes to a key whose newest pane is ahead of the clock are counted, and logged at most once a minute. Replicas, which
/// obey, do not count.
#[test]
fn a_key_that_is_ahead_of_the_clock_is_reported() {
    let mut server = start(&[]);
    let mut replica = start(&[]);
    replica.set_clock("-86400000");
    replica.replicate(&server);
    let mut connection = server.resp2();
    let mut expected = 0;
    for sketch in SKETCHES {
        set_ms(&server, 10_000_000);
        sketch.create(&mut connection, sketch.type_name, "WINDOW 10000 PANES 10");
        sketch.add(&mut connection, sketch.type_name, 1);
        assert_eq!(server.info_number("bf_window_keys_ahead"), expected);
        set_ms(&server, 9_994_600);
        for item in 0..2 {
            sketch.add(&mut connection, sketch.type_name, item);
        }
        sketch.reads(&mut connection, sketch.type_name);
        expected += 2;
        assert_eq!(server.info_number("bf_window_keys_ahead"), expected);
    }
    let log = server.log();
    let lines = log.matches("the newest pane of the key").count();
    let text =
        "the newest pane of the key \"bf-window\" begins 5.4 seconds after the server's time";
    assert!(lines == 1 && log.contains(text), "{lines}: {log}");
    server.wait_for_replica(&replica);
    assert_eq!(replica.info_number("bf_window_keys_ahead"), 0);
}

/// The tolerance is a pane and a second, at most a minute.
#[test]
fn an_advance_is_limited_to_a_pane_and_a_second_ahead() {
    let (server, mut connection) = start(&[]).connected();
    set_ms(&server, 36_000_000);
    for (window, newest, furthest) in [
        ("WINDOW 10 PANES 10", 36_000_000, 36_001_001),
        ("WINDOW 590000 PANES 10", 610, 611),
        ("WINDOW 36000000 PANES 10", 10, 10),
    ] {
        for sketch in SKETCHES {
            server.call("FLUSHALL");
            sketch.create(&mut connection, "k", window);
            sketch.add(&mut connection, "k", 1);
            let mut advance = |pane: i64| {
                let reply = connection.call(&format!("SKETCH.ADVANCE k {pane}"));
                format!("{} {window}: {reply}", sketch.type_name)
            };
            let is = |reply: &str| format!("{} {window}: {reply}", sketch.type_name);
            assert_eq!(advance(newest), is(":0"));
            assert_eq!(advance(furthest + 1), is(IN_THE_FUTURE));
            let has_advanced = if furthest > newest { ":1" } else { ":0" };
            assert_eq!(advance(furthest), is(has_advanced));
        }
    }
}

/// CMS.MERGE takes the newest pane of its sources, with the same limit.
#[test]
fn a_merge_from_a_source_in_the_future_is_refused() {
    let mut server = start(&[]);
    let mut replica = start(&[]);
    replica.set_clock("-86400000");
    replica.replicate(&server);
    let mut connection = server.resp2();
    set_ms(&server, 10_000_000);
    for key in ["a", "b"] {
        let window = format!("WINDOW 10000 PANES 10 SEED {SEED}");
        connection.ok(&format!("CMS.INITBYDIM {key} 100 3 {window}"));
        connection.call(&format!("CMS.INCRBY {key} x 1"));
    }
    set_ms(&server, 10_002_000);
    connection.call("CMS.INCRBY b x 1");
    set_ms(&server, 10_000_000);
    connection.ok("CMS.MERGE a 2 a b");
    set_ms(&server, 10_006_000);
    connection.call("CMS.INCRBY b x 1");
    let payload = connection.payload("b");
    set_ms(&server, 10_000_000);
    assert!(connection.restore("c", &payload).is_ok());
    let before = dump(&mut connection, "a");
    let merges = "CMS.MERGE a 1 b;CMS.MERGE a 2 a c WEIGHTS 1 2;CMS.MERGE a 3 a a c";
    for command in merges.split(';') {
        connection.check(command, IN_THE_FUTURE);
        assert_eq!(dump(&mut connection, "a"), before, "{command}");
    }
    // The destination is ahead itself, and its newest pane stays.
    connection.ok("CMS.MERGE c 2 a b");
    assert_eq!(totals(&mut connection, "c").iter().sum::<i64>(), 6);
    server.wait_for_replica(&replica);
    for key in ["a", "c"] {
        assert_eq!(dump(&mut replica.resp2(), key), dump(&mut connection, key));
    }
}
