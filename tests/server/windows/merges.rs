//! CMS.MERGE by pane, and TDIGEST.MERGE from sketches with a window.

use super::{LOG, SEED, set_ms, start, totals};
use crate::families::dump;
use crate::support::main_thread::MainThread;
use crate::support::resp::Connection;
use crate::workload::words;

#[test]
fn a_merge_of_windows_adds_panes_with_equal_numbers() {
    let (server, mut connection) = start(&[]).connected();
    for key in ["a", "b", "c"] {
        set_ms(&server, 1_000_000);
        let window = format!("WINDOW 300 PANES 3 SEED {SEED}");
        connection.run(&format!("CMS.INITBYDIM {key} 100 3 {window}"));
    }
    for (at, key, by) in [
        (1_000_000, "a", 1),
        (1_000_000, "b", 10),
        (1_000_100, "a", 2),
        (1_000_200, "b", 20),
    ] {
        set_ms(&server, at);
        connection.run(&format!("CMS.INCRBY {key} x {by}"));
    }
    connection.run("CMS.MERGE c 2 a b WEIGHTS 3 1");
    assert_eq!(connection.call("CMS.QUERY c x").integers(), [39]);
    assert_eq!(totals(&mut connection, "c"), [0, 13, 6, 20]);
    // What a source forgets, the result forgets at the same time.
    set_ms(&server, 1_000_400);
    assert_eq!(connection.call("CMS.QUERY c x").integers(), [26]);
    // An expired pane of a source does not count; the destination replaces its counts.
    connection.run("CMS.MERGE c 1 b");
    assert_eq!(totals(&mut connection, "c"), [0, 20, 0, 0]);
    let before = dump(&mut connection, "c");
    connection.run("CMS.MERGE c 1 c");
    assert_eq!(dump(&mut connection, "c"), before);
    connection.run("CMS.MERGE c 2 c c WEIGHTS 1 0");
    assert_eq!(dump(&mut connection, "c"), before);
}

/// The result depends on the clock of the primary. It is replicated as data.
#[test]
fn a_merge_of_windowed_digests_is_equal_on_replicas() {
    // The server cannot replicate a command that is disabled.
    let disabled = ["--rename-command", "DEL", ""];
    let mut primary = start(&[LOG, &disabled].concat());
    let mut replica = start(&disabled);
    replica.set_clock("+86400000");
    replica.replicate(&primary);
    let mut connection = primary.resp2();
    set_ms(&primary, 1_000_000);
    for command in [
        "TDIGEST.CREATE window WINDOW 1000 PANES 10",
        "TDIGEST.CREATE plain COMPRESSION 200",
        "TDIGEST.ADD window 1 2 3",
        "TDIGEST.ADD plain 1000",
    ] {
        connection.run(command);
    }
    set_ms(&primary, 1_000_900);
    connection.run("TDIGEST.ADD window 4 5 6");
    connection.run("TDIGEST.MERGE result 2 window plain");
    connection.run("PEXPIRE result 100000000");
    let min_and_count = |connection: &mut Connection| {
        let min = connection.call("TDIGEST.MIN result").to_string();
        let info = connection.call("TDIGEST.INFO result");
        format!("{min} {}", info.number("Observations"))
    };
    assert_eq!(min_and_count(&mut connection), "$1 7");
    primary.wait_for_replica(&replica);
    set_ms(&primary, 1_001_200);
    // A source whose oldest panes have expired; the destination contributes its samples and keeps its time to live.
    connection.run("TDIGEST.MERGE result 2 window window");
    assert_eq!(min_and_count(&mut connection), "$1 13");
    connection.run("TDIGEST.MERGE result 1 window OVERRIDE");
    assert_eq!(min_and_count(&mut connection), "$4 3");
    primary.wait_for_replica(&replica);
    let mut other = replica.resp2();
    let view = |connection: &mut Connection| {
        let info = connection.call("TDIGEST.INFO result");
        let expires = connection.call("PEXPIRETIME result");
        (dump(connection, "result"), info, expires)
    };
    let expected = view(&mut connection);
    assert!(expected.2.integer().is_some_and(|at| at > 0));
    assert_eq!(view(&mut other), expected);
    set_ms(&primary, 99_000_000);
    primary.kill_and_restart();
    assert_eq!(view(&mut primary.resp2()), expected);
    // All panes of the source have expired.
    let mut connection = primary.resp2();
    connection.run("TDIGEST.MERGE result 1 window OVERRIDE");
    assert_eq!(min_and_count(&mut connection), "$nan 0");
}

/// A source with many panes is merged once, however often it is specified.
#[test]
fn a_merge_of_a_source_that_is_specified_often_ends_in_time() {
    const TIMES: usize = 100_000;
    let (server, mut connection) = start(&[]).connected();
    set_ms(&server, 1_000_000);
    connection.run("TDIGEST.CREATE window WINDOW 1000 PANES 100");
    for pane in 0..100 {
        set_ms(&server, 1_000_000 + 10 * pane);
        connection.run("TDIGEST.ADD window 1 2 3");
    }
    let mut command = words(&format!("TDIGEST.MERGE result {TIMES}"));
    command.resize(command.len() + TIMES, b"window".to_vec());
    let thread = MainThread::of(&mut connection);
    let (windowed, reply) = thread.measured(|| connection.send(&command));
    assert!(reply.is_ok(), "{reply}");
    let info = connection.call("TDIGEST.INFO result");
    assert_eq!(info.number("Observations"), 300 * TIMES as i64);
    connection.run("TDIGEST.MERGE plain 1 window");
    command[3..].fill(b"plain".to_vec());
    let (plain, reply) = thread.measured(|| connection.send(&command));
    assert!(reply.is_ok(), "{reply}");
    let is_fast = windowed < 3 * plain;
    assert!(is_fast, "{windowed} nanoseconds, {plain} without a window");
}
