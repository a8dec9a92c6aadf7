//! Commands that change nothing do not advance a sketch, although the clock has entered a new pane.
//!
//! Such a command changes neither the value nor the replication stream, publishes no keyspace event, and does not end a
//! transaction that watches the key. Its reply is the one that it would have after an advance. The exceptions need the
//! advanced value, and docs/sliding-windows.md lists them.

use super::{set_ms, with_window};
use crate::propagation::Observer;
use crate::workload::words;

pub const START: u64 = 1_000_000;

/// The window of the keys: four full panes of one second.
pub const WINDOW: &str = "WINDOW 4000 PANES 4";

/// Seconds after the creation: in the next pane, after several panes, and after all panes have expired.
const ALWAYS: &[u64] = &[1, 3, 60];

/// While the counts of the creation are live.
const WHILE_LIVE: &[u64] = &[1, 3];

/// Keys, and commands that change nothing in them.
struct Case {
    /// Creates the key k; the option WINDOW is appended.
    create: &'static str,
    /// Further commands in the pane of the creation.
    build: &'static [&'static str],
    at: &'static [u64],
    /// Lines `COMMAND => REPLY` with the beginnings of the replies. `MANY` are 300 items with large increments.
    commands: &'static str,
}

/// [`Case::commands`] that fail for every key.
const OF_ALL: &str = "
    BF.ADD k => -ERR wrong number of arguments
    SKETCH.ADVANCE k x => -ERR invalid pane
    SKETCH.ADVANCE k 99999999 => -ERR pane is in the future
    SKETCH.WITHIN 1000 BF.ADD k a => -ERR SKETCH.WITHIN cannot run
    SKETCH.BETWEEN - + BF.ADD k a => -ERR SKETCH.BETWEEN cannot run
    SKETCH.SERIES - + 1000 BF.ADD k a => -ERR SKETCH.SERIES cannot run
";

const CASES: &[Case] = &[
    Case {
        create: "BF.RESERVE k 0.001 100",
        build: &["BF.ADD k a", "BF.RESERVE other 0.001 100"],
        at: ALWAYS,
        commands: "
            BF.MADD k => -ERR wrong number of arguments
            BF.ADDNX k => -ERR wrong number of arguments
            BF.INSERT k ITEMS => -ERR wrong number of arguments
            BF.INSERT k CAPACITY x ITEMS a => -
            BF.INSERT k ERROR 2 ITEMS a => -
            BF.INSERT k EXPANSION x ITEMS a => -
            BF.INSERT k UNKNOWN ITEMS a => -
            BF.INSERT k WINDOW 0 ITEMS a => -
            BF.INSERT missing NOCREATE ITEMS a => -ERR not found
            BF.ADDNX missing a => -ERR not found
            BF.RESERVE k 0.001 100 => -ERR item exists
            BF.RESERVE k x 100 WINDOW 1000 => -
            BF.MERGE k 1 other => -ERR filters with a window cannot be merged
            BF.MERGE k 1 k => -ERR filters with a window cannot be merged
            BF.MERGE k 1 missing => -ERR filters with a window cannot be merged
            BF.MERGE other 1 k => -ERR filters with a window cannot be merged
            BF.MERGE other 2 other k => -ERR filters with a window cannot be merged
            BF.MERGE new 1 k => -ERR filters with a window cannot be merged
            BF.MERGE new 2 other k => -ERR filters with a window cannot be merged
            BF.MERGE new 2 missing k => -ERR not found
            BF.MERGE other 2 missing k => -ERR not found
            BF.LOADCHUNK k x abc => -ERR Second argument
            BF.LOADCHUNK k 1 abc => -ERR
            BF.LOADCHUNK k 999999999 abc => -ERR
            BF.LOAD k abc => -BUSYKEY
            CF.ADD k a => -WRONGTYPE
            CF.INSERT k ITEMS a => -WRONGTYPE
            CF.DEL k a => -Not found
            CMS.INCRBY k a 1 => -WRONGTYPE
            TOPK.ADD k a => -WRONGTYPE
            TDIGEST.ADD k 1 => -WRONGTYPE
            TDIGEST.RESET k => -WRONGTYPE
        ",
    },
    Case {
        create: "BF.RESERVE k 1e-9 4 NONSCALING",
        build: &["BF.MADD k 1 2 3 4 5 6 7 8"],
        at: WHILE_LIVE,
        commands: "
            BF.ADD k x => -ERR non scaling filter is full
            BF.MADD k x => *[-ERR non scaling filter is full]
            BF.MADD k x 1 2 => *[-ERR non scaling filter is full]
            BF.INSERT k ITEMS x y z => *[-ERR non scaling filter is full]
            BF.INSERT k NOCREATE ITEMS x => *[-ERR non scaling filter is full]
            BF.ADDNX k x => *[-ERR non scaling filter is full]
            BF.ADDNX k 1 x 2 => *[:0 -ERR non scaling filter is full]
            BF.ADDNX k 1 => *[:0]
            BF.ADDNX k 1 2 1 => *[:0 :0 :0]
        ",
    },
    Case {
        // The fingerprints and the buckets of a second sub-filter exceed the bits of the hash.
        create: "BF.RESERVE k 1e-14 10 EXPANSION 32768",
        build: &["BF.MADD k 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16"],
        at: WHILE_LIVE,
        commands: "
            BF.ADD k x => -ERR problem inserting into filter
            BF.MADD k x => *[-ERR problem inserting into filter]
            BF.INSERT k ITEMS x => *[-ERR problem inserting into filter]
            BF.MADD k x y => *[-ERR problem inserting into filter -ERR problem inserting into filter]
            BF.ADDNX k 1 x 2 y => *[:0 -ERR problem inserting into filter :0 -ERR problem inserting into filter]
        ",
    },
    Case {
        create: "CF.RESERVE k 100",
        build: &["CF.ADD k a"],
        at: ALWAYS,
        commands: "
            CF.ADD k => -ERR wrong number of arguments
            CF.INSERT k ITEMS => -ERR wrong number of arguments
            CF.INSERT k CAPACITY x ITEMS a => -Bad capacity
            CF.INSERT k CAPACITY 0 ITEMS a => -Capacity must be
            CF.INSERTNX k UNKNOWN ITEMS a => -Unknown argument
            CF.INSERT k WINDOW 0 ITEMS a => -ERR WINDOW
            CF.INSERT missing NOCREATE ITEMS a => -ERR not found
            CF.RESERVE k 100 => -ERR item exists
            CF.COMPACT k x => -ERR wrong number of arguments
            CF.COMPACT missing => -Cuckoo filter was not found
            CF.DEL k x => :0
            CF.DEL missing x => -Not found
            CF.LOADCHUNK k x abc => -
            CF.LOADCHUNK k 999999999 abc => -
            BF.ADD k a => -WRONGTYPE
            BF.MADD k a b => -WRONGTYPE
            BF.ADDNX k a => -WRONGTYPE
            CMS.MERGE k 1 k => -WRONGTYPE
            TOPK.INCRBY k a 1 => -WRONGTYPE
        ",
    },
    Case {
        create: "CF.RESERVE k 8 BUCKETSIZE 2 EXPANSION 0",
        build: &["CF.INSERT k ITEMS 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16"],
        at: WHILE_LIVE,
        commands: "
            CF.ADD k x => -Filter is full
            CF.ADD k 1 => -Filter is full
            CF.ADDNX k x => -Filter is full
            CF.ADDNX k 1 => :0
            CF.INSERT k ITEMS x => *[:-1]
            CF.INSERT k NOCREATE ITEMS x 1 y => *[:-1 :-1 :-1]
            CF.INSERTNX k ITEMS x 1 y => *[:-1 :0 :-1]
            CF.INSERTNX k ITEMS 1 2 => *[:0 :0]
            CF.DEL k x => :0
        ",
    },
    Case {
        // The setting cf-max-expansions is 3.
        create: "CF.RESERVE k 4 BUCKETSIZE 2 EXPANSION 1",
        build: &["CF.INSERT k ITEMS 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20"],
        at: WHILE_LIVE,
        commands: "
            CF.ADD k x => -Maximum expansions reached
            CF.ADDNX k 1 => -Maximum expansions reached
            CF.INSERT k ITEMS x => -Maximum expansions reached
            CF.INSERTNX k ITEMS 1 2 => -Maximum expansions reached
            CF.DEL k x => :0
        ",
    },
    Case {
        create: "CMS.INITBYDIM k 1000 3 CELL_SIZE 1",
        build: &[
            "CMS.INCRBY k a 1",
            "COPY k other",
            "CMS.INITBYDIM classic 1000 3 CELL_SIZE 1",
            "CMS.INITBYDIM width 999 3 CELL_SIZE 1 WINDOW 4000 PANES 4",
            "CMS.INITBYDIM cells 1000 3 WINDOW 4000 PANES 4",
            "CMS.INITBYDIM panes 1000 3 CELL_SIZE 1 WINDOW 4000 PANES 5",
            "CMS.INITBYDIM length 1000 3 CELL_SIZE 1 WINDOW 4001 PANES 4",
            "CMS.INITBYDIM finest 1000 3 CELL_SIZE 1 WINDOW 4000 PANES 4 FINEST 10",
            "CMS.INITBYDIM seed 1000 3 CELL_SIZE 1 WINDOW 4000 PANES 4",
            "SET string x",
        ],
        at: ALWAYS,
        commands: "
            CMS.INCRBY k a => -ERR wrong number of arguments
            CMS.INCRBY k a 1 b => -ERR wrong number of arguments
            CMS.INCRBY k a x => -CMS: Cannot parse number
            CMS.INCRBY k a x b 1 c 1 => -CMS: Cannot parse number
            CMS.INCRBY k a 1 b x c 1 => -CMS: Cannot parse number
            CMS.INCRBY k a 1 b 1 c x => -CMS: Cannot parse number
            CMS.INCRBY k a -1 => -CMS: a sketch with a window cannot be decremented
            CMS.INCRBY k a -9223372036854775808 => -CMS: a sketch with a window cannot be decremented
            CMS.INCRBY k a -1 b 1 c 1 => -CMS: a sketch with a window cannot be decremented
            CMS.INCRBY k a 1 b -1 c 1 => -CMS: a sketch with a window cannot be decremented
            CMS.INCRBY k a 1 b 1 c -1 => -CMS: a sketch with a window cannot be decremented
            CMS.INCRBY k a 256 => *[-CMS: INCRBY overflow]
            CMS.INCRBY k a 256 b 9223372036854775807 => *[-CMS: INCRBY overflow -CMS: INCRBY overflow]
            CMS.INCRBY k b 0 => *[:0]
            CMS.INCRBY k b 0 c 256 => *[:0 -CMS: INCRBY overflow]
            CMS.INCRBY missing a 1 => -CMS: key does not exist
            CMS.INCRBYLIMIT k 0 a 1 => -CMS: Cannot parse number
            CMS.INCRBYLIMIT k x a 1 => -CMS: Cannot parse number
            CMS.INCRBYLIMIT k 10 a x b 1 => -CMS: Cannot parse number
            CMS.INCRBYLIMIT k 10 a 1 b x => -CMS: Cannot parse number
            CMS.INCRBYLIMIT k 10 a 1 b -1 => -CMS: Cannot parse number
            CMS.INCRBYLIMIT k 10 b 11 => *[*[:0 :0]]
            CMS.INCRBYLIMIT k 10 b 11 c 0 d 12 => *[*[:0 :0] *[:1 :0] *[:0 :0]]
            CMS.INITBYDIM k 1000 3 => -CMS: key already exists
            CMS.MERGE k 1 => -ERR wrong number of arguments
            CMS.MERGE k x other => -CMS: invalid numkeys
            CMS.MERGE k 0 other => -CMS: Number of keys
            CMS.MERGE k 2 other => -CMS: wrong number of keys
            CMS.MERGE k 1 other WEIGHTS x => -CMS: invalid weight value
            CMS.MERGE k 2 other k WEIGHTS 1 -1 => -CMS: a sketch with a window cannot be decremented
            CMS.MERGE k 2 other k WEIGHTS -1 1 => -CMS: a sketch with a window cannot be decremented
            CMS.MERGE k 2 other missing => -CMS: key does not exist
            CMS.MERGE k 2 missing other => -CMS: key does not exist
            CMS.MERGE k 2 k string => -WRONGTYPE
            CMS.MERGE k 1 classic => -CMS: window/panes is not equal
            CMS.MERGE classic 1 k => -CMS: window/panes is not equal
            CMS.MERGE classic 2 classic k => -CMS: window/panes is not equal
            CMS.MERGE k 2 k panes => -CMS: window/panes is not equal
            CMS.MERGE k 1 length => -CMS: window/panes is not equal
            CMS.MERGE k 1 finest => -CMS: window/panes is not equal
            CMS.MERGE k 1 width => -CMS: width/depth is not equal
            CMS.MERGE k 1 cells => -CMS: cell size is not equal
            CMS.MERGE k 3 k other seed => -CMS: seeds are not equal, create the sketches with COPY of one empty sketch or the same SEED
            CMS.LOADCHUNK k x abc => -ERR Second argument
            CMS.LOADCHUNK k 999999999 abc => -ERR
            BF.INSERT k ITEMS a => -WRONGTYPE
            CF.ADDNX k a => -WRONGTYPE
            TDIGEST.MERGE k 1 k => -WRONGTYPE
        ",
    },
    Case {
        create: "CMS.INITBYDIM k 1000 3 CELL_SIZE 1",
        build: &["CMS.INCRBY k a 250 b 2", "COPY k other"],
        at: WHILE_LIVE,
        commands: "
            CMS.INCRBY k a 6 => *[-CMS: INCRBY overflow]
            CMS.INCRBY k a 10 b 254 => *[-CMS: INCRBY overflow -CMS: INCRBY overflow]
            CMS.INCRBYLIMIT k 250 a 1 => *[*[:0 :250]]
            CMS.INCRBYLIMIT k 1000 a 6 => *[*[:0 :250]]
            CMS.INCRBYLIMIT k 251 a 2 b 250 => *[*[:0 :250] *[:0 :2]]
            CMS.MERGE k 2 k other => -CMS: MERGE overflow
            CMS.MERGE k 1 k WEIGHTS 2 => -CMS: MERGE overflow
            CMS.MERGE k 1 other WEIGHTS 2 => -CMS: MERGE overflow
            CMS.MERGE k 1 other WEIGHTS 9223372036854775807 => -CMS: MERGE overflow
        ",
    },
    Case {
        create: "CMS.INITBYDIM k 10 3 CELL_SIZE 8",
        build: &["CMS.INCRBY k a 9223372036854775807"],
        at: WHILE_LIVE,
        commands: "
            CMS.INCRBY k a 1 => *[-CMS: INCRBY overflow]
            CMS.INCRBY k b 1 => *[-CMS: INCRBY overflow]
            CMS.INCRBY k b 1 a 9223372036854775807 => *[-CMS: INCRBY overflow -CMS: INCRBY overflow]
            CMS.MERGE k 2 k k => -CMS: MERGE overflow
        ",
    },
    Case {
        create: "TOPK.RESERVE k 3 50 32 0.999999",
        build: &["TOPK.ADD k a"],
        at: ALWAYS,
        commands: "
            TOPK.ADD k => -ERR wrong number of arguments
            TOPK.INCRBY k a 1 b => -ERR wrong number of arguments
            TOPK.INCRBY k a x => *[-TopK: increment must be
            TOPK.INCRBY k a -1 => *[-TopK: increment must be
            TOPK.INCRBY k a 100001 => *[-TopK: increment must be
            TOPK.INCRBY k a x b 1 c 1 => *[-TopK: increment must be
            TOPK.INCRBY k a x b y c z => *[-TopK: increment must be
            TOPK.INCRBY k MANY => -TopK: too much work
            TOPK.ADD missing a => -TopK: key does not exist
            TOPK.RESERVE k 3 => -TopK: key already exists
            TOPK.LOADCHUNK k x abc => -ERR Second argument
            TOPK.LOADCHUNK k 999999999 abc => -ERR
            BF.ADD k a => -WRONGTYPE
            CMS.INCRBYLIMIT k 1 a 1 => -WRONGTYPE
        ",
    },
    Case {
        create: "TDIGEST.CREATE k",
        build: &["TDIGEST.ADD k 1"],
        at: ALWAYS,
        commands: "
            TDIGEST.ADD k => -ERR wrong number of arguments
            TDIGEST.ADD k x => -ERR T-Digest: error parsing val parameter
            TDIGEST.ADD k x 1 2 => -ERR T-Digest: error parsing val parameter
            TDIGEST.ADD k 1 x 2 => -ERR T-Digest: error parsing val parameter
            TDIGEST.ADD k 1 2 x => -ERR T-Digest: error parsing val parameter
            TDIGEST.ADD k 1 2 inf => -ERR T-Digest: val parameter
            TDIGEST.ADD missing 1 => -ERR T-Digest: key does not exist
            TDIGEST.RESET missing => -ERR T-Digest: key does not exist
            TDIGEST.CREATE k => -ERR T-Digest: key already exists
            TDIGEST.MERGE k 1 k => -ERR T-Digest: cannot merge into a digest with a window
            TDIGEST.MERGE k 1 k OVERRIDE => -ERR T-Digest: cannot merge into a digest with a window
            TDIGEST.LOADCHUNK k x abc => -ERR Second argument
            TDIGEST.LOADCHUNK k 2 abc => -ERR
            BF.ADD k a => -WRONGTYPE
            CMS.MERGE k 1 k => -WRONGTYPE
        ",
    },
];

impl Observer {
    /// Creates the keys, and sets the clock to `second` seconds later.
    fn build(&mut self, create: &str, build: &[&str], second: u64) {
        self.connection.call("FLUSHALL SYNC");
        set_ms(&self.server, START);
        self.connection.ok(&with_window(create, WINDOW));
        for command in build {
            self.connection.run(command);
        }
        set_ms(&self.server, START + 1000 * second);
    }
}

#[test]
fn a_refused_command_changes_nothing() {
    let mut observer = Observer::new();
    observer.server.set("cf-max-expansions", 3);
    let many: Vec<_> = (0..300).map(|item| format!("{item} 100000")).collect();
    let many = many.join(" ");
    let mut failures = Vec::new();
    for case in CASES {
        for &second in case.at {
            observer.build(case.create, case.build, second);
            let lines = OF_ALL.lines().chain(case.commands.lines());
            for (command, expected) in lines.filter_map(|line| line.trim().split_once(" => ")) {
                let sent = words(&command.replace("MANY", &many));
                let (reply, changed, _) = observer.run("k", &sent);
                let name = format!("{command} after {second} seconds, {}: {reply}", case.create);
                if !reply.to_string().starts_with(expected) {
                    failures.push(format!("{name} is not {expected}"));
                }
                if !changed.is_empty() {
                    failures.push(format!("{name}: changed {}", changed.join(", ")));
                    observer.build(case.create, case.build, second);
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The weight of all samples is limited to 63 bits.
#[test]
fn a_sample_beyond_the_largest_weight_changes_nothing() {
    const MEAN: f64 = 12345.5;
    let mut observer = Observer::new();
    let build = [&format!("TDIGEST.ADD k {MEAN}"), "SKETCH.ADVANCE k 1001"];
    observer.build("TDIGEST.CREATE k", &build, 1);
    let reply = observer.connection.call("TDIGEST.SCANDUMP k 0");
    let header = reply.items().and_then(|items| items.get(1)?.text());
    let mut header = header.expect("a header").to_vec();
    // The node of the closed pane, mean and weight, is the last one.
    let node = [MEAN.to_le_bytes(), 1u64.to_le_bytes()].concat();
    let at = (header.windows(node.len())).rposition(|bytes| bytes == node);
    let weight = at.expect("a node") + MEAN.to_le_bytes().len();
    header[weight..weight + 8].copy_from_slice(&i64::MAX.to_le_bytes());
    observer.connection.call("DEL k");
    let load = [&b"TDIGEST.LOADCHUNK"[..], b"k", b"1", &header];
    observer.connection.send_ok(&load);
    for second in [2, 4] {
        set_ms(&observer.server, START + 1000 * second);
        for command in ["TDIGEST.ADD k 1", "TDIGEST.ADD k 1 2 3"] {
            let (reply, changed, _) = observer.run("k", &words(command));
            assert_eq!(reply.to_string(), "-ERR T-Digest: overflow detected");
            assert!(changed.is_empty(), "{command}, {second}: {changed:?}");
        }
    }
    // The pane has expired.
    set_ms(&observer.server, START + 5000);
    observer.connection.ok("TDIGEST.ADD k 1 2 3");
}
