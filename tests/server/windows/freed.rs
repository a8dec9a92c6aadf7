//! Memory of expired panes: SKETCH.ADVANCE frees it, also on a server that is full.

use super::{LOG, SKETCHES, Sketch, set_ms, start};
use crate::families::{FAMILIES, dump};
use crate::support::resp::{Connection, Reply};
use crate::support::sample::Sample;

/// The options of the window: five live panes of 100 ms.
const WINDOW: &str = "WINDOW 400 PANES 4";

const INSERT: &str = "CF.INSERT KEY ITEMS";
const DIGEST: &str = "TDIGEST.CREATE KEY COMPRESSION 25000";

/// How to make a key with at least 2 MiB in its panes: the command that creates it, the start of a command that adds items,
/// and the number of items per pane.
fn large(sketch: &Sketch) -> (&'static str, &'static str, u64) {
    match sketch.type_name {
        "bf-window" => ("BF.RESERVE KEY 0.001 1000", "BF.MADD KEY", 300_000),
        "cf-window" => ("CF.RESERVE KEY 1000 EXPANSION 4", INSERT, 300_000),
        // More items than a pane can have without an array.
        "cmswindow" => ("CMS.INITBYDIM KEY 300000 5", "CMS.INCRBY KEY PAIRS", 4100),
        "tk-window" => ("TOPK.RESERVE KEY 100 50000 5 0.9", "TOPK.ADD KEY", 1000),
        "td-window" => (DIGEST, "TDIGEST.ADD KEY", 100_000),
        name => panic!("no large key of {name}"),
    }
}

fn usage(connection: &mut Connection, key: &str) -> i64 {
    let reply = connection.call(&format!("MEMORY USAGE {key} SAMPLES 0"));
    reply.integer().unwrap_or_else(|| panic!("{key}: {reply}"))
}

/// Adds `items` items from `first` on in the current pane.
fn fill(connection: &mut Connection, add: &str, first: u64, items: u64) {
    let add = add.replace("KEY", "k");
    for start in (first..first + items).step_by(10_000) {
        let numbers = start..(first + items).min(start + 10_000);
        let (head, suffix) = match add.strip_suffix(" PAIRS") {
            Some(head) => (head, " 1"),
            None => (&add[..], ""),
        };
        let numbers: Vec<_> = numbers.map(|number| format!("{number}{suffix}")).collect();
        connection.run(&format!("{head} {}", numbers.join(" ")));
    }
}

#[test]
fn the_types_of_these_tests_are_those_of_the_registry() {
    let windowed = FAMILIES.iter().filter(|family| family.has_window);
    let names: Vec<_> = windowed.map(|family| family.type_name).collect();
    assert_eq!(SKETCHES.map(|sketch| sketch.type_name), names[..]);
}

/// All panes of a key have expired, and the server refuses writes because it is full. Repeated calls of SKETCH.ADVANCE free
/// what a new key does not have. Copies are equal, whatever their clocks.
#[test]
fn repeated_advances_free_expired_panes_of_a_full_server() {
    let mut primary = start(&[LOG, &["--maxmemory-policy", "noeviction"]].concat());
    let mut replica = start(&[]);
    replica.set_clock("-86400000");
    replica.replicate(&primary);
    for sketch in Sample::of_run().of(&SKETCHES) {
        let name = sketch.type_name;
        let mut connection = primary.resp2();
        connection.call("FLUSHALL SYNC");
        let mut now = 1_000_000;
        set_ms(&primary, now);
        let (create, add, items) = large(sketch);
        for key in ["n", "k"] {
            connection.ok(&format!("{} {WINDOW}", create.replace("KEY", key)));
        }
        let new = usage(&mut connection, "n");
        for pane in 0..5 {
            set_ms(&primary, now + pane * 100);
            fill(&mut connection, add, pane * items, items);
        }
        let full = usage(&mut connection, "k");
        let is_large = full > new + (2 << 20);
        assert!(is_large, "{name}: {full} bytes, {new} of a new key");
        now += 1_000_000;
        set_ms(&primary, now);
        // The buffers of the replica and of the append-only file are empty then.
        primary.wait_for_replica(&replica);
        let max = primary.info_number("used_memory") - (1 << 20);
        connection.ok(&format!("CONFIG SET maxmemory {max}"));
        let write = sketch.add.replace("KEY", "k").replace("ITEM", "7");
        let reply = connection.call(&write);
        assert!(reply.to_string().contains("OOM"), "{name}: {reply}");
        let advance = format!("SKETCH.ADVANCE k {}", now / 100);
        let (mut bytes, mut calls) = (full, 0);
        loop {
            let advanced = connection.call(&advance);
            assert_eq!(advanced, Reply::Integer(i64::from(calls == 0)), "{name}");
            let after = usage(&mut connection, "k");
            if after == bytes {
                break;
            }
            (bytes, calls) = (after, calls + 1);
        }
        match name {
            // A filter that has grown has no sub-filter left.
            "bf-window" | "cf-window" => assert!(bytes <= new, "{name}: {bytes} {new}"),
            _ => assert_eq!(bytes, new, "{name}"),
        }
        // A call frees at least 4 MiB.
        assert!(calls <= full / (4 << 20) + 2, "{name}: {calls}");
        // A call that changes nothing is not replicated.
        let offset = primary.info_number("master_repl_offset");
        connection.check(&advance, ":0");
        let replicated = primary.info_number("master_repl_offset") - offset;
        assert!(replicated < 60, "{name}: {replicated} bytes");
        connection.run(&write);
        connection.ok("CONFIG SET maxmemory 0");
        let digest = "DEBUG DIGEST-VALUE k";
        let state = (dump(&mut connection, "k"), connection.call(digest));
        primary.wait_for_replica(&replica);
        let mut other = replica.resp2();
        assert_eq!((dump(&mut other, "k"), other.call(digest)), state, "{name}");
        primary.kill_and_restart();
        let mut connection = primary.resp2();
        let restarted = (dump(&mut connection, "k"), connection.call(digest));
        assert_eq!(restarted, state, "{name}");
        replica.wait_for_link();
    }
}

/// Some panes are live. Their counts stay, and the write that advances the key frees the memory of the others.
#[test]
fn the_arrays_of_expired_panes_are_freed_at_once() {
    let (server, mut connection) = start(&[]).connected();
    let (create, add, items) = large(&SKETCHES[2]);
    set_ms(&server, 1_000_000);
    connection.ok(&format!("{} {WINDOW}", create.replace("KEY", "k")));
    for pane in 0..5 {
        set_ms(&server, 1_000_000 + pane * 100);
        fill(&mut connection, add, 0, items);
    }
    let array = 300_000 * 5 * 4;
    let full = usage(&mut connection, "k");
    assert!((5 * array..5 * array + array / 2).contains(&full), "{full}");
    // The panes of 1,000,000 and 1,000,100 expire, and that of 1,000,600 begins, with one item and no array.
    set_ms(&server, 1_000_600);
    fill(&mut connection, add, 0, 1);
    let after = usage(&mut connection, "k");
    let are_three = (3 * array..3 * array + array / 2).contains(&after);
    assert!(are_three, "{after}");
    connection.check("CMS.QUERY k 0 1 2 nothing", "*[:4 :3 :3 :0]");
}
