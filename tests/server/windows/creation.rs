//! The option WINDOW of the commands that create a key, and the setting `sketch-windows`.

use super::{DISABLED, LOG, SKETCHES, dumps, logged_without_seeds, start};
use crate::support::server::{Options, Server};

const ARITY: &str = "ERR wrong number of arguments...";
const SYNTAX: &str = "ERR syntax error";
const BAD_LENGTH: &str = "ERR WINDOW must be between 1 and 315360000000 milliseconds";

/// The error for a number of panes.
fn bad_panes(max: u64) -> String {
    format!("ERR PANES must be between 1 and {max}, and at most WINDOW")
}

#[test]
fn an_invalid_window_is_refused_and_creates_nothing() {
    let (server, mut connection) = Server::start().connected();
    for sketch in SKETCHES {
        let create = sketch.create.replace("KEY", "k");
        let max = sketch.max_panes();
        let bad_panes = bad_panes(max);
        let more = format!("WINDOW 5000 PANES {}", max + 1);
        for (window, text) in [
            ("WINDOW 0", BAD_LENGTH),
            ("WINDOW -1", BAD_LENGTH),
            ("WINDOW x", BAD_LENGTH),
            ("WINDOW 1.5", BAD_LENGTH),
            ("WINDOW 315360000001", BAD_LENGTH),
            ("WINDOW 9223372036854775808", BAD_LENGTH),
            ("WINDOW 0 PANES 0", BAD_LENGTH),
            ("WINDOW 1000 PANES 0", &bad_panes),
            ("WINDOW 1000 PANES -1", &bad_panes),
            ("WINDOW 1000 PANES x", &bad_panes),
            (&more, &bad_panes),
            ("WINDOW 5 PANES 6", &bad_panes),
            ("WINDOW 5000 PANEZ 5", SYNTAX),
            ("WINDOW", ARITY),
            ("WINDOW 1000 PANES", ARITY),
            ("WINDOW 1000 PANES 5 6", SYNTAX),
            ("WINDOW 1000 OTHER", SYNTAX),
            ("WINDOW 1000 PANES 5 OTHER", SYNTAX),
            ("WINDOW 1000 PANES 5 OTHER 1 OTHER 2", SYNTAX),
        ] {
            connection.check(&format!("{create} {window}"), format!("-{text}"));
        }
        server.check("DBSIZE", ":0");
    }
}

#[test]
fn the_arguments_before_the_window_are_checked_first() {
    let (_server, mut connection) = Server::start().connected();
    connection.check_all(&format!("
        CMS.INITBYDIM k 4611686018427387904 8 WINDOW 0 => -CMS: invalid init arguments
        CMS.INITBYPROB k 1e-300 0.1 WINDOW 1000 PANES 0 => -CMS: invalid init arguments
        CMS.INITBYDIM k 0 5 WINDOW 0 => -CMS: invalid width
        CMS.INITBYDIM k 5 5 CELL_SIZE 3 WINDOW 0 => -CMS: invalid cell size
        CMS.INITBYPROB k 2 0.1 WINDOW 0 => -CMS: invalid overestimation value
        BF.RESERVE k 0.1 x WINDOW 0 => -ERR bad capacity
        BF.RESERVE k 0.1 9 WINDOW 0 EXPANSION x => -ERR bad expansion
        BF.INSERT k CAPACITY 0 WINDOW 0 ITEMS a => -Bad capacity
        BF.INSERT k WINDOW 0 CAPACITY 0 ITEMS a => -{BAD_LENGTH}
        BF.INSERT k PANES 4 WINDOW 9 ITEMS a => -Unknown argument received
        TOPK.RESERVE k 0 WINDOW 0 => -TopK: invalid k
        TOPK.RESERVE k 5 8 0 0.9 WINDOW 0 => -TopK: invalid depth
        TDIGEST.CREATE k COMPRESSION x WINDOW 0 => -ERR T-Digest: error parsing compression parameter
        CF.RESERVE k 100 WINDOW 0 EXPANSION -1 => -EXPANSION: value must be in the range [0, 32768]
        CF.RESERVE k 1 WINDOW 0 => -Capacity must be in the range [2 * BUCKETSIZE, 1073741824]
        SET s x
        CMS.INITBYDIM s 5 5 WINDOW 0 => -CMS: key already exists
        TOPK.RESERVE s 5 WINDOW 0 => -TopK: key already exists
    "));
}

#[test]
fn a_window_has_twelve_panes_by_default_and_at_most_one_per_millisecond() {
    let server = Server::start();
    for sketch in SKETCHES {
        let max = sketch.max_panes();
        let longest = format!("WINDOW 315360000000 PANES {max}");
        for (window, panes, pane_length) in [
            ("WINDOW 1", 1, 1),
            ("WINDOW 11", 11, 1),
            ("WINDOW 12", 12, 1),
            ("window 13", 7, 2),
            ("WINDOW 1001 PANES 100", 91, 11),
            ("WINDOW 3600000", 12, 300_000),
            ("WINDOW 3600000 panes 7", 7, 514_286),
            (&longest, max, 315_360_000_000 / max),
        ] {
            let [panes, pane_length] = [panes, pane_length].map(u64::cast_signed);
            server.call("FLUSHALL");
            let mut connection = server.resp2();
            sketch.create(&mut connection, "k", window);
            let reply = connection.call("SKETCH.WINDOW k");
            assert_eq!(reply.number("panes"), panes, "{window}");
            assert_eq!(reply.number("pane length"), pane_length, "{window}");
            connection.check("TYPE k", format!("+{}", sketch.type_name));
        }
    }
}

/// Only as many panes as fill the window: `*.INFO` describes them, and the creation is replicated with their number.
#[test]
fn a_creation_is_replicated_with_the_panes_that_fill_the_window() {
    let (mut server, mut connection) = start(LOG).connected();
    let mut expected = Vec::new();
    for sketch in SKETCHES {
        for (window, panes) in [("WINDOW 13", 7), ("WINDOW 1001 PANES 97", 91)] {
            let key = format!("{}:{panes}", sketch.type_name);
            sketch.create(&mut connection, &key, window);
            let ms = window.split(' ').nth(1).expect("a length");
            expected.push((key, format!(" WINDOW {ms} PANES {panes}")));
        }
    }
    // Every INFO command and DUMP of a key is that of the key that was created with the final number.
    for (key, window) in &expected {
        let mut sketches = SKETCHES.into_iter();
        let sketch = sketches.find(|sketch| key.starts_with(sketch.type_name));
        let sketch = sketch.expect("a sketch");
        sketch.create(&mut connection, "same", window.trim_start());
        let found = sketch.reads(&mut connection, "same");
        assert_eq!(found, sketch.reads(&mut connection, key));
        connection.call("DEL same");
    }
    let commands = logged_without_seeds(&server);
    for (key, window) in &expected {
        let is_creation = |command: &&String| command.contains(key) && command.ends_with(window);
        let found = commands.iter().filter(is_creation).count();
        assert_eq!(found, 1, "{key}{window}: {commands:#?}");
    }
    let names: Vec<_> = expected.into_iter().map(|(key, _)| key).collect();
    let before = dumps(&mut connection, &names);
    server.kill_and_restart();
    assert_eq!(dumps(&mut server.resp2(), &names), before);
}

#[test]
fn sketch_windows_disables_the_creation_only() {
    let disabled = ["sketch-windows", "no"];
    let mut server = Options::new().module_arguments(&disabled).start();
    for sketch in SKETCHES {
        let create = sketch.create.replace("KEY", sketch.type_name);
        let windowed = format!("{create} WINDOW 1000");
        server.check(&windowed, DISABLED);
        server.check(&format!("{create} WINDOW 0"), format!("-{BAD_LENGTH}"));
        server.set("sketch-windows", "yes");
        server.ok(&windowed);
        server.set("sketch-windows", "no");
        // Other commands, RESTORE and replication are not affected.
        let mut connection = server.resp2();
        sketch.add(&mut connection, sketch.type_name, 5);
        let payload = connection.payload(sketch.type_name);
        assert!(connection.replace("copy", &payload).is_ok());
    }
    let mut primary = Server::start();
    server.replicate(&primary);
    for sketch in SKETCHES {
        sketch.create(&mut primary.resp2(), sketch.type_name, "WINDOW 1000");
    }
    primary.wait_for_replica(&server);
    for sketch in SKETCHES {
        let name = sketch.type_name;
        server.check(&format!("TYPE {name}"), format!("+{name}"));
    }
}
