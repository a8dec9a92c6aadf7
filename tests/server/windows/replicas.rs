//! Clocks of replicas, and what a primary replicates.

use super::{LOG, SKETCHES, logged_without_seeds, set_ms, start, totals};

/// A replica that becomes the primary continues with its own clock. tests/server/differential.rs compares replicas whose clocks
/// differ.
#[test]
fn a_promoted_replica_uses_its_own_clock() {
    let mut primary = start(&[]);
    let mut replica = start(&[]);
    set_ms(&primary, 1_700_000_000_000);
    replica.replicate(&primary);
    let mut connection = primary.resp2();
    for sketch in SKETCHES {
        let key = sketch.type_name;
        sketch.create(&mut connection, key, "WINDOW 5000 PANES 5");
        sketch.add(&mut connection, key, 3);
    }
    primary.wait_for_replica(&replica);
    replica.call("REPLICAOF NO ONE");
    set_ms(&replica, 1_900_000_000_000);
    let mut connection = replica.resp2();
    for sketch in SKETCHES {
        let key = sketch.type_name;
        sketch.add(&mut connection, key, 3);
        let sum: i64 = totals(&mut connection, key).iter().sum();
        assert_eq!(sum, 1, "{key}");
    }
}

/// The advance and the write are one transaction.
#[test]
fn an_advance_is_replicated_before_its_write() {
    for sketch in SKETCHES {
        let (server, mut connection) = start(LOG).connected();
        set_ms(&server, 1_000_000);
        sketch.create(&mut connection, "k", "WINDOW 1000 PANES 10");
        for (at, item) in [(1_000_050, 1), (1_000_150, 2), (900_000, 3)] {
            set_ms(&server, at);
            sketch.add(&mut connection, "k", item);
        }
        let commands = logged_without_seeds(&server);
        let add = sketch.add.replace("KEY", "k");
        let [first, second, third] = ["1", "2", "3"].map(|item| add.replace("ITEM", item));
        let create = commands.get(1).map_or("", String::as_str);
        assert!(create.ends_with("WINDOW 1000 PANES 10"), "{create}");
        let expected = format!(
            "MULTI; {create}; SKETCH.ADVANCE k 10000; EXEC; {first}; \
             MULTI; SKETCH.ADVANCE k 10001; {second}; EXEC; {third}"
        );
        assert_eq!(commands.join("; "), expected);
    }
}
